"""A study on Spark: a stream of trials into a table, which goes on where it stopped.

`hawb-trials` (`hawb.study.sources`) is read as a stream and written by Spark in micro-batches, each into a partition of
its own that is put in place of what an earlier try left there. The stream's checkpoint, beside the tables, says which
batches are planned and which are written. So a study that was stopped, or whose driver was killed, goes on with the
batch that it was at; one of which a file asks for more grows; and no trial is ever there twice, by Spark's own word.

What Spark leaves to be done by hand:

* Its file sink is exactly once only for readers of its log, which names files by their absolute places. pandas and
  DuckDB would see what a killed batch has left, and a folder that was moved could not be read. Hence `foreachBatch` and
  a partition for each batch.
* Of two drivers with one checkpoint Spark ends one, with CONCURRENT_STREAM_LOG_UPDATE, but only as it writes a batch
  into its log, after both have written that batch's files. So whoever comes second waits for a lock, which the
  operating system takes from a process that dies. What a Connect server goes on with for a client that was killed,
  Spark stops as the next one begins (`spark.sql.streaming.stopActiveRunOnRestart`).
* A checkpoint knows neither of files that somebody took out of the table, nor of a hawb that plays otherwise than it
  did. So a few trials are played again before any are added, and the rows are counted at the end.

On a Spark of several machines the folder must be reachable under its name from each of them, and hawb be installed
there: of a Connect server, too, of which the client is one more machine.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.compute as pc
from filelock import FileLock, Timeout
from msgspec.structs import replace
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from hawb.study.cells import LABEL, Cell, cells_of, settings
from hawb.study.estimates import estimates
from hawb.study.failures import FAILURES, BatchFailed, StudyFailed
from hawb.study.folders import local_folder
from hawb.study.intervals import LEAST_EVENTS
from hawb.study.progress import Tell, Watch
from hawb.study.question import Precision, Study
from hawb.study.shares import costs
from hawb.study.sources import OF_A_CELL, OF_EVENTS, ROWS, Trials, as_option
from hawb.study.spark import cores, named
from hawb.study.tables import BATCH, CELL, CELLS, DESIGN, ENVIRONMENT, STUDY, TRIAL, TRIALS, Table, TableRefused

CHECKPOINT, LOCK = "checkpoint", ".lock"
LOOK_S = 0.5
"""How often progress is told."""

STARTS, STARTS_SLOWLY = 4, "failed to connect back"
"""The most starts of a stream whose Python process does not connect in time, and the text of Spark's error. Spark waits
ten seconds for that process (`PythonWorkerFactory`) and, unlike a task, never retries it; a busy machine may need more
to import pyspark."""

PLAYED_AGAIN = 4
"""How many trials of each cell are played again before anything is added to it."""

FIRST_LOOK, MORE = 1_000, 2
"""With a precision: how many trials there are before the first look at it, and how many times as many before the next.
The more often one looks, the more often one stops because a mean seems precise by chance."""


def run(
    spark: SparkSession,
    study: Study,
    folder: Path,
    tell: Tell = lambda progress: None,
    label: str = LABEL,
    source: type[Trials] = Trials,
    rows_per_file: int | None = None,
) -> DataFrame:
    """Plays the trials of a study that a folder lacks, and returns all of them, a row each (`hawb.study.tables`).

    `tell` is called with the progress a few times a second, `label` names the study in the tables. With `rows_per_file`
    a task plays so many trials and writes a file, in place of a few seconds of work. Ends early, with
    every written batch kept, at a KeyboardInterrupt or whatever `tell` raises. Raises hawb.study.tables.TableRefused
    for a folder with tables of something else, ValueError for one that is no path (`hawb.study.folders`), and
    hawb.study.failures.StudyFailed.
    """
    folder, cells = local_folder(folder).absolute(), cells_of(study, label)
    known = costs(cells)
    watch = Watch(spark, cells, known, study.trials, tell)
    spark.dataSource.register(source)

    def of_study(reader: Any, asked: Study) -> DataFrame:
        options = {"study": as_option(asked), "label": label, "cores": str(cores(spark))}
        options |= {ROWS: str(rows_per_file)} if rows_per_file else {}
        return reader.format(source.name()).options(costs=msgspec.json.encode(known).decode(), **options).load()

    folder.mkdir(parents=True, exist_ok=True)
    with alone(folder, lambda: watch.report(waits=True)):
        for left in folder.glob("*/.spark-staging-*"):  # of a batch whose Java was killed
            shutil.rmtree(left, ignore_errors=True)
        there = counted(TRIALS, folder, cells, study.trials)
        watch.begins(there)
        with described(spark, folder, cells, study):
            if there and watch.done < watch.total:
                again = of_study(spark.read, replace(study, trials=min(study.trials, PLAYED_AGAIN)))
                with named(spark, f"{label}: the first trials again"):
                    check_rows(trials(spark, folder, cells, PLAYED_AGAIN), again, folder)
            for asked in looks(study):
                if any(there.get(cell.place, 0) < asked.trials for cell in cells):
                    _stream(of_study(spark.readStream, asked), folder, watch, asked.trials)
                    check_whole(folder, cells, asked.trials)
                rows = trials(spark, folder, cells, asked.trials)
                if study.precision is None or is_precise(rows, study.precision):
                    break
    watch.ends(asked.trials)
    return rows


def write_of_trials(spark: SparkSession, study: Study, folder: Path, name: str, count: int, label: str = LABEL) -> None:
    """Writes what happened in the first trials of each cell, as the table `faults` or `losses`, in place of the table's
    rows of these cells; there is no table where nothing happened. Raises StudyFailed."""
    table = OF_EVENTS[name].table
    asked = replace(study, trials=min(count, study.trials))
    rows = spark.read.format(OF_EVENTS[name].name()).options(study=as_option(asked), label=label).load()
    try:
        table.write(rows, folder)
    except FAILURES as error:
        raise StudyFailed(error, folder) from None


def compact(spark: SparkSession, folder: Path, study: Study, rows_per_file: int, label: str = LABEL) -> None:
    """Write the trials of each batch of each cell of a study into as few files as hold so many rows each. A batch is
    put in the place of the one that was read, so that a compaction that is killed costs nothing. Raise TableRefused and
    StudyFailed."""
    folder, cells = local_folder(folder).absolute(), cells_of(study, label)
    with alone(folder, lambda: None):
        before = counted(TRIALS, folder, cells)
        if not before:
            return
        rows = trials(spark, folder, cells, max(before.values()))
        batch = (STUDY, CELL, BATCH)
        try:
            with named(spark, f"{label}: fewer files"):
                whole = rows.repartition(*batch).sortWithinPartitions(*batch, TRIAL)
                TRIALS.write(whole, folder, maxRecordsPerFile=rows_per_file)
        except FAILURES as error:
            raise StudyFailed(error, folder) from None
        for cell in cells:
            check_whole(folder, [cell], before.get(cell.place, 0))


@contextmanager
def alone(folder: Path, waits: Callable[[], object]) -> Iterator[None]:
    """Holds a folder alone; calls `waits` again and again while another run holds it."""
    lock = FileLock(folder / LOCK)
    while not lock.is_locked:
        try:
            lock.acquire(timeout=LOOK_S)
        except Timeout:
            waits()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def described(spark: SparkSession, folder: Path, cells: Sequence[Cell], study: Study) -> Iterator[None]:
    """Writes the cells into their table beside the work of the `with` block: the first rows of a Spark that has just
    started take it seconds. Raises StudyFailed, and TableRefused before the block begins."""
    lacking = counted(CELLS, folder, cells).keys() != {cell.place for cell in cells}
    with ThreadPoolExecutor(1) as beside:
        writing = beside.submit(_describe, spark, folder, cells, study) if lacking else None
        yield
        if writing is not None:
            writing.result()


def _describe(spark: SparkSession, folder: Path, cells: Sequence[Cell], study: Study) -> None:
    try:
        with named(spark, f"{cells[0].label}: the settings of its cells"):
            CELLS.write(spark.createDataFrame(CELLS.of(cell_rows(cells, study))), folder)
    except FAILURES as error:
        raise StudyFailed(error, folder) from None


def _stream(rows: DataFrame, folder: Path, watch: Watch, trials: int) -> None:
    """Write a stream up to so many trials of each cell, and watch it. Raise StudyFailed."""

    called = watch.called  # a Connect server gets what `write` refers to, which must not be a session

    def write(batch: DataFrame, number: int) -> None:
        try:
            with named(batch.sparkSession, f"{called}, batch {number}"):
                TRIALS.write(batch.withColumn(BATCH, sql.lit(number).cast("long")), folder)
        except Exception as error:
            raise BatchFailed(error) from None

    stream = rows.writeStream.foreachBatch(write).option("checkpointLocation", str(folder / CHECKPOINT))
    for start in range(1, STARTS + 1):
        query = stream.trigger(availableNow=True).start()
        try:
            while not query.awaitTermination(LOOK_S):
                watch.look(query, trials)
            return
        except StreamingQueryException as error:
            if start == STARTS or STARTS_SLOWLY not in str(error):
                raise StudyFailed(error, folder) from None
        finally:
            query.stop()


def looks(study: Study) -> list[Study]:
    """The studies up to each look at the precision: with more trials each time, with all at the last."""
    counts = [study.trials]
    while study.precision and counts[0] > FIRST_LOOK:
        counts.insert(0, -(-counts[0] // MORE))
    return [replace(study, trials=count) for count in counts]


def is_precise(rows: DataFrame, wanted: Precision) -> bool:
    """Return True if the mean of the measure is known well enough in every cell: its interval is narrow, and enough
    trials had any for the interval to hold (`LEAST_EVENTS`)."""
    for row in estimates(rows, [wanted.column]).collect():
        if row.share * row.trials < LEAST_EVENTS:
            return False
        allowed = max((wanted.relative or 0) * abs(row.mean), wanted.absolute or 0)
        if row.mean_low is None or (row.mean_high - row.mean_low) / 2 > allowed:
            return False
    return True


# What a folder holds


def trials(spark: SparkSession, folder: Path, cells: Sequence[Cell], count: int) -> DataFrame:
    """The first trials of cells, as far as a folder has them. Raises TableRefused."""
    keys, found = [cell.key for cell in cells], TRIALS.read(spark, folder)
    return found.where((sql.col(STUDY) == cells[0].label) & sql.col(CELL).isin(keys) & (sql.col(TRIAL) < count))


def counted(table: Table, folder: Path, cells: Sequence[Cell], trials: int | None = None) -> dict[str, int]:
    """How many rows a table has of each cell, by the cell's place; of the first trials, or of all. Raises
    TableRefused."""
    if not table.file(folder):
        return {}
    those = pc.scalar(True) if trials is None else pc.field(TRIAL) < trials
    of_cell = {cell.place: (pc.field(STUDY) == cell.label) & (pc.field(CELL) == cell.key) for cell in cells}
    found = {place: table.count(folder, those & where) for place, where in of_cell.items()}
    return {place: rows for place, rows in found.items() if rows}


def check_whole(folder: Path, cells: Sequence[Cell], count: int) -> None:
    """Raises TableRefused where there are not as many trials as the checkpoint says are written."""
    found = counted(TRIALS, folder, cells, count)
    for cell in cells:
        if (rows := found.get(cell.place, 0)) != count:
            given = f"{rows:,} rows for {count:,} trials of {cell.design} in {cell.environment}"
            raise TableRefused(folder / TRIALS.name, given, "what was written there, or another folder")


def check_rows(kept: DataFrame, again: DataFrame, folder: Path) -> None:
    """Raises TableRefused where the first trials of a cell come out otherwise than they did."""
    for row in kept.select(again.columns).exceptAll(again).limit(1).collect():
        given = f"trial {row[TRIAL]} of {row[DESIGN]} in {row[ENVIRONMENT]}, which comes out otherwise now"
        raise TableRefused(folder / TRIALS.name, given, "trials of this version of hawb, or another folder")


def cell_rows(cells: Sequence[Cell], study: Study) -> list[dict[str, Any]]:
    """The cells' rows in their table."""
    of_study = {"title": study.study, "seed": study.seed, "horizon_days": study.horizon_days}
    return [dict(settings(cell)) | of_study | {name: of(cell) for name, of in OF_A_CELL.items()} for cell in cells]
