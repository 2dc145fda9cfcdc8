"""The progress of a study on Spark: trials done, their rate, the time left, and tasks that were tried again.

A stream tells with each batch what is written. Spark's status tracker tells which share of the tasks of the batch under
way is done; a Connect client has no tracker, and its progress goes from batch to batch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec import Struct
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from hawb.study.cells import Cell
from hawb.study.shares import Costs, Offset, next_offset
from hawb.study.sources import counts
from hawb.study.spark import cores, is_remote


class Progress(Struct, frozen=True):
    """Trials done out of all, how many of them in this run, how long it has run, how many tasks died and were tried
    again, and whether it waits for another run in its folder."""

    done: int
    total: int
    played: int
    elapsed_s: float
    tried_again: int = 0
    waits: bool = False

    @property
    def rate(self) -> float:
        """Trials a second in this run."""
        return self.played / self.elapsed_s if self.elapsed_s else 0.0

    @property
    def left_s(self) -> float | None:
        """Seconds until the end at this rate; None before the first trials."""
        return (self.total - self.done) / self.rate if self.played else None


MOST_NAMED = 8
"""So many cells are named of a batch."""

Tell = Callable[[Progress], object]


class Watch:
    """Watches the streams of a study on their way to its last trial, and tells the progress."""

    def __init__(self, spark: SparkSession, cells: Sequence[Cell], costs: Costs, trials: int, tell: Tell) -> None:
        self.spark, self.cells, self.costs, self.trials, self.tell = spark, cells, costs, trials, tell
        self.total = trials * len(cells)
        self.began, self.before, self.done = time.monotonic(), 0, 0
        self.written: Offset = {}
        self.failed: dict[int, int] = {}

    def begins(self, written: Mapping[str, int]) -> None:
        """Notes how many trials of each cell, by its place, are there before anything is played."""
        self.written = dict(written)
        self.before = self.done = self._all(self.written)
        self.report()

    def report(self, waits: bool = False) -> None:
        """Tells the progress."""
        elapsed_s = time.monotonic() - self.began
        self.tell(Progress(self.done, self.total, self.done - self.before, elapsed_s, sum(self.failed.values()), waits))

    def look(self, query: StreamingQuery, trials: int) -> None:
        """Looks at a stream that goes up to so many trials of each cell, and tells the progress."""
        if last := query.lastProgress:
            self.written |= counts(msgspec.json.decode(last["sources"][0]["endOffset"]))
        now = self._all(self.written)
        coming = self._all(next_offset(self.cells, self.costs, self.written, trials, cores(self.spark)))
        part = 0.0 if is_remote(self.spark) else self._part_done(str(query.runId))
        self.done = max(self.done, now + int(part * (coming - now)))
        self.report()

    @property
    def called(self) -> str:
        """What the batches of a stream are called: the study, and the cells that lack trials."""
        left = [cell for cell in self.cells if self.written.get(cell.place, 0) < self.trials]
        names = [f"{cell.design} in {cell.environment}" for cell in left]
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        return f"{self.cells[0].label}: {', '.join(names[:MOST_NAMED])}{more}"

    def ends(self, trials: int) -> None:
        """Notes that there are so many trials of each cell now, and tells the progress."""
        self.done = max(self.done, trials * len(self.cells))
        self.report()

    def _all(self, offset: Offset) -> int:
        return sum(min(self.trials, offset.get(cell.place, 0)) for cell in self.cells)

    def _part_done(self, job: str) -> float:
        """The part of a group's jobs under way that is done; notes how many of their tasks were tried again."""
        tracker = self.spark.sparkContext.statusTracker()
        jobs = [tracker.getJobInfo(number) for number in tracker.getJobIdsForGroup(job)]
        stages = [tracker.getStageInfo(stage) for one in jobs if one for stage in one.stageIds]
        under_way = [stage for stage in stages if stage and stage.numCompletedTasks < stage.numTasks]
        self.failed |= {stage.stageId: stage.numFailedTasks for stage in stages if stage}
        tasks = sum(stage.numTasks for stage in under_way)
        return sum(stage.numCompletedTasks for stage in under_way) / tasks if tasks else 0.0
