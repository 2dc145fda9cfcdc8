"""The progress of a study on Spark: trials done, their rate, the time left, and tasks that were retried.

A stream reports with each batch how many trials are written. Spark's status tracker has the share of the tasks of the
current batch that is done; a Connect client has no tracker, so its progress goes from batch to batch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct
from pyspark.sql import SparkSession

from hawb.study.cells import Cell
from hawb.study.spark import cores, is_remote
from hawb.study.spark_partitions import Costs, Offset, next_offset


class Progress(Struct, frozen=True):
    """The progress of a run.

    It has the trials done out of all, how many of them this run played, how long it has run, how many tasks died and
    were retried, and whether the run waits for another run in its folder.
    """

    done: int
    total: int
    played: int
    elapsed_s: float
    tried_again: int = 0
    waits: bool = False

    @property
    def rate(self) -> float:
        """Return the trials a second in this run."""
        return self.played / self.elapsed_s if self.elapsed_s else 0.0

    @property
    def left_s(self) -> float | None:
        """Return the seconds until the end at this rate; None before the first trials."""
        return (self.total - self.done) / self.rate if self.played else None


MOST_NAMED = 8
"""The most cells that a batch's name has."""

OnProgress = Callable[[Progress], object]


class Watch:
    """Watch the jobs of a study up to its last trial, and report the progress."""

    def __init__(
        self, spark: SparkSession, cells: Sequence[Cell], costs: Costs, trials: int, on_progress: OnProgress
    ) -> None:
        self.spark, self.cells, self.costs, self.trials, self.on_progress = spark, cells, costs, trials, on_progress
        self.total = trials * len(cells)
        self.began, self.before, self.done = time.monotonic(), 0, 0
        self.written: Offset = {}
        self.failed: dict[int, int] = {}

    def begins(self, written: Mapping[str, int]) -> None:
        """Record how many trials of each cell, by its place, exist before any are played."""
        self.written = dict(written)
        self.before = self.done = self._all(self.written)
        self.report()

    def report(self, waits: bool = False) -> None:
        """Report the progress."""
        elapsed_s = time.monotonic() - self.began
        failed = sum(self.failed.values())
        self.on_progress(Progress(self.done, self.total, self.done - self.before, elapsed_s, failed, waits))

    def look(self, jobs: str, trials: int, reached: Mapping[str, int] = MappingProxyType({})) -> None:
        """Check jobs, by the name of their group, that go up to `trials` trials of each cell, and report the progress.

        `reached` is how many trials of each cell a stream has written.
        """
        self.written |= reached
        now = self._all(self.written)
        coming = self._all(next_offset(self.cells, self.costs, self.written, trials, cores(self.spark)))
        part = 0.0 if is_remote(self.spark) else self._part_done(jobs)
        self.done = max(self.done, now + int(part * (coming - now)))
        self.report()

    @property
    def called(self) -> str:
        """Return the name of a study's batches: the study, and the cells that lack trials."""
        left = [cell for cell in self.cells if self.written.get(cell.place, 0) < self.trials]
        names = [f"{cell.design} in {cell.environment}" for cell in left]
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        return f"{self.cells[0].label}: {', '.join(names[:MOST_NAMED])}{more}"

    def ends(self, trials: int) -> None:
        """Record that each cell has `trials` trials now, and report the progress."""
        self.done = max(self.done, trials * len(self.cells))
        self.report()

    def _all(self, offset: Offset) -> int:
        return sum(min(self.trials, offset.get(cell.place, 0)) for cell in self.cells)

    def _part_done(self, job: str) -> float:
        """Return the share of a group's current jobs that is done. Record how many of their tasks were retried."""
        tracker = self.spark.sparkContext.statusTracker()
        jobs = [tracker.getJobInfo(number) for number in tracker.getJobIdsForGroup(job)]
        stages = [tracker.getStageInfo(stage) for one in jobs if one for stage in one.stageIds]
        under_way = [stage for stage in stages if stage and stage.numCompletedTasks < stage.numTasks]
        self.failed |= {stage.stageId: stage.numFailedTasks for stage in stages if stage}
        tasks = sum(stage.numTasks for stage in under_way)
        return sum(stage.numCompletedTasks for stage in under_way) / tasks if tasks else 0.0
