"""A study on Spark: its blocks played by as many tasks as keep the cores busy, one row a trial in Parquet files.

A task plays its share of the blocks, writes each to its file and tells nothing but that. So rows do not go through
Spark or the driver, memory does not grow with the number of trials, and a task that is tried again, or a study that is
started again, finds what is done on disk (`hawb.study.blocks`). On a Spark of several machines the folder must be
reachable under its name from each of them, and hawb be installed there: of a Connect server, too, of which the client
is one more machine.

A study that is stopped ends what Spark does for it. Should Spark not end it, its tasks end by themselves with the block
that they are at (`hawb.study.lease`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as sql
from pyspark.sql.pandas.types import from_arrow_schema

from hawb.study.blocks import TRIALS, Block, Records, done, play
from hawb.study.lease import Lease, LeaseLost
from hawb.study.question import Study
from hawb.study.results import open_results
from hawb.study.spark import cores, marking

TASKS_FOR_A_CORE = 16
"""Enough that the core which is the last does not keep the others waiting for long; a task costs some 50 ms."""

LOOK_S = 0.5
"""How often progress is told."""


class Progress(Struct, frozen=True):
    """Trials done out of all, how many of them in this run, and how long it has run."""

    done: int
    total: int
    played: int
    elapsed_s: float

    @property
    def rate(self) -> float:
        """Trials a second in this run."""
        return self.played / self.elapsed_s if self.elapsed_s else 0.0

    @property
    def left_s(self) -> float | None:
        """Seconds until the end at this rate; None before the first block."""
        return (self.total - self.done) / self.rate if self.played else None


Tell = Callable[[Progress], object]


def run(
    spark: SparkSession,
    study: Study,
    folder: Path,
    records: Records,
    tell: Tell = lambda progress: None,
    tasks: int | None = None,
) -> DataFrame:
    """Plays what is missing of a study in a folder, and returns the trials of all of it.

    `tell` hears of the progress a few times a second. `tasks` is into how many the work is cut. Ends early, with
    everything that is played kept, at a KeyboardInterrupt or whatever `tell` raises. Raises
    hawb.study.results.FolderRefused, hawb.study.blocks.RowsRefused and hawb.study.lease.LeaseLost.
    """
    folder = folder.absolute()
    kept, todo = open_results(study, folder, records)
    total, before = study.trials * len(study.cells), sum(block.count for block in kept)
    began = time.monotonic()

    def progress() -> Progress:
        now = sum(block.count for block in done(folder))
        return Progress(now, total, now - before, time.monotonic() - began)

    if todo:
        lease = Lease.taken(folder)
        _watched(spark, lambda: _play_all(spark, study, lease, records, todo, tasks), lambda: tell(progress()), lease)
    tell(progress())
    return trials(spark, folder)


def _play_all(
    spark: SparkSession, study: Study, lease: Lease, records: Records, todo: Sequence[Block], tasks: int | None
) -> None:
    shares = dealt(todo, tasks or min(len(todo), TASKS_FOR_A_CORE * cores(spark)))

    def play_share(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in batch["id"].to_pylist():
                for block in shares[task]:
                    play(block, study, records, lease.folder, lambda: lease.is_held)
                yield pa.record_batch({"id": [task]})

    spark.range(0, len(shares), 1, len(shares)).mapInArrow(play_share, "id long").collect()


def dealt(todo: Sequence[Block], tasks: int) -> list[list[Block]]:
    """The blocks of each task: of each cell about as many, since a design may take three times as long as the next."""
    by_cell = sorted(todo)
    return [sorted(by_cell[task::tasks], key=lambda block: block.first) for task in range(tasks)]


def _watched(spark: SparkSession, work: Callable[[], None], look: Callable[[], object], lease: Lease) -> None:
    """Does the work beside, looking on; stops it when looking on ends with an exception. Raises LeaseLost."""
    mark, stop = marking(spark, lease.name)

    def marked() -> None:
        mark()
        work()

    with ThreadPoolExecutor(max_workers=1) as pool:
        working = pool.submit(marked)
        try:
            while wait([working], LOOK_S).not_done:
                look()
            working.result()
            if not lease.is_held:
                raise LeaseLost(lease.folder)
        finally:
            lease.give_up()
            # Again and again, since a job that begins now was not there to be stopped a moment ago.
            while wait([working], LOOK_S).not_done:
                stop()


def trials(spark: SparkSession, folder: Path) -> DataFrame:
    """The trials that a folder holds, one row each: design, environment, and the columns of the records. Raises
    FileNotFoundError where there are none."""
    found = done(folder)
    if not found:
        raise FileNotFoundError(f"{folder}: holds no trials")
    schema = from_arrow_schema(pq.read_schema(folder / found[0].file))
    for cell in ("design", "environment"):
        schema = schema.add(sql.StructField(cell, sql.StringType()))
    return spark.read.schema(schema).parquet(str(folder / TRIALS))
