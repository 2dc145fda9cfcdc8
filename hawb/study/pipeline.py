"""A study on Spark: a stream of trials into a table, which continues where it stopped.

Trials that a single batch plays are written without a stream, which takes seconds to start. A later stream sees in the
table itself that they are there, and begins after them: each cell's part of the table appears whole or not at all, as
Spark renames its folder. Their batches have numbers below 0, so that no batch of a stream replaces them.

`hawb-trials` (`hawb.study.sources`) is read as a stream and written by Spark in micro-batches, each into a partition of
its own that replaces the content of an earlier try. The stream's checkpoint, beside the tables, records which batches
are planned and which are written. So a study that was stopped, or whose driver was killed, continues with the batch
that was under way; a study whose file asks for more trials grows; and Spark guarantees that no trial is there twice.

Spark leaves three things to hawb:

* Its file sink is exactly once only for readers of its log, which names files by their absolute paths. pandas and
  DuckDB would see the files that a killed batch has left, and a folder that was moved could not be read. Hence
  `foreachBatch` and a partition for each batch.
* Of two drivers with one checkpoint Spark ends one, with CONCURRENT_STREAM_LOG_UPDATE, but only as it writes a batch
  into its log, after both have written that batch's files. So the second driver waits for a lock, which the operating
  system releases when a process dies. If a Connect server continues the stream of a client that was killed, Spark stops
  that stream as the next one begins (`spark.sql.streaming.stopActiveRunOnRestart`).
* A checkpoint does not detect files that were removed from the table, nor a hawb that plays differently than before. So
  a few trials are played again before any are added, and the rows are counted at the end.

On a Spark of several machines, each machine needs the folder under the same path, and hawb installed. That includes the
client of a Connect server.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

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
from hawb.study.progress import OnProgress, Watch
from hawb.study.question import Precision, Study
from hawb.study.sources import COSTS, DONE, OF_A_CELL, OF_EVENTS, ROWS, Trials, counts, options_for
from hawb.study.spark import cores, is_remote, named
from hawb.study.spark_partitions import Costs, Offset, costs, next_offset
from hawb.study.tables import BATCH, CELL, CELLS, DESIGN, ENVIRONMENT, STUDY, TRIAL, TRIALS, Table, TableRefused

CHECKPOINT, LOCK = "checkpoint", ".lock"
JOB_GROUP = "spark.jobGroup.id"
"""The property of a thread by which its jobs are watched and cancelled."""
LOOK_S = 0.5
"""The interval between reports of progress, in seconds."""

STARTS, STARTS_SLOWLY = 4, "failed to connect back"
"""The most starts of a stream whose Python process does not connect in time, and the text of Spark's error.

Spark waits ten seconds for that process (`PythonWorkerFactory`) and, unlike a task, never retries it; a busy machine
may need more to import pyspark.
"""

PLAYED_AGAIN = 4
"""The number of trials of each cell that are played again before more are added to it."""

FIRST_LOOK, MORE = 1_000, 2
"""With a precision: the number of trials before the first check of it, and the factor between checks.

With more checks, a mean more often seems precise by chance, and the study ends too early.
"""


def run(
    spark: SparkSession,
    study: Study,
    folder: Path,
    on_progress: OnProgress = lambda progress: None,
    label: str = LABEL,
    source: type[Trials] = Trials,
    rows_per_file: int | None = None,
) -> DataFrame:
    """Play the trials of a study that are not in a folder yet, and return all, one row each (`hawb.study.tables`).

    `on_progress` is called with the progress a few times a second, and `label` names the study in the tables. By
    default, a task plays trials for a few seconds; with `rows_per_file`, it plays that many trials and writes one file.
    A KeyboardInterrupt, or an error that `on_progress` raises, ends the run early. Batches that are already written
    stay.

    Raise hawb.study.tables.TableRefused if the folder has other tables, ValueError if it is not a path
    (`hawb.study.folders`), and hawb.study.failures.StudyFailed.
    """
    folder, cells = local_folder(folder).absolute(), cells_of(study, label)
    known = costs(cells)
    watch = Watch(spark, cells, known, study.trials, on_progress)
    spark.dataSource.register(source)

    def of_study(reader: Any, asked: Study, done: Offset) -> DataFrame:
        options = options_for(asked, label) | {"cores": str(cores(spark))}
        options |= {COSTS: msgspec.json.encode(known).decode(), DONE: msgspec.json.encode(done).decode()}
        options |= {ROWS: str(rows_per_file)} if rows_per_file else {}
        return reader.format(source.name()).options(**options).load()

    folder.mkdir(parents=True, exist_ok=True)
    with alone(folder, lambda: watch.report(waits=True)):
        for left in folder.glob("*/.spark-staging-*"):  # left by a batch whose Java was killed
            shutil.rmtree(left, ignore_errors=True)
        there = counted(TRIALS, folder, cells, study.trials)
        watch.begins(there)
        with described(spark, folder, cells, study):
            if there and watch.done < watch.total:
                again = of_study(spark.read, replace(study, trials=min(study.trials, PLAYED_AGAIN)), {})
                with named(spark, f"{label}: the first trials again"):
                    check_rows(trials(spark, folder, cells, PLAYED_AGAIN), again, folder)
            for asked in looks(study):
                if any(there.get(cell.place, 0) < asked.trials for cell in cells):
                    done, number = written_at_once(folder, cells)
                    if is_one_batch(spark, folder, cells, known, done, asked.trials):
                        _write_at_once(of_study(spark.read, asked, done), folder, watch, asked.trials, number)
                    else:
                        _stream(of_study(spark.readStream, asked, done), folder, watch, asked.trials)
                    check_whole(folder, cells, asked.trials)
                rows = trials(spark, folder, cells, asked.trials)
                if study.precision is None or is_precise(rows, study.precision):
                    break
    watch.ends(asked.trials)
    return rows


def write_of_trials(spark: SparkSession, study: Study, folder: Path, name: str, count: int, label: str = LABEL) -> None:
    """Write the events in the first trials of each cell, as the table `faults` or `losses`. Raise StudyFailed.

    They replace the table's rows of these cells; there is no table without events.
    """
    table = OF_EVENTS[name].table
    asked = replace(study, trials=min(count, study.trials))
    rows = spark.read.format(OF_EVENTS[name].name()).options(**options_for(asked, label)).load()
    try:
        table.write(rows, folder)
    except FAILURES as error:
        raise StudyFailed(error, folder) from None


def compact(spark: SparkSession, folder: Path, study: Study, rows_per_file: int, label: str = LABEL) -> None:
    """Write the trials of each batch of each cell of a study into as few files as possible.

    A file has at most `rows_per_file` rows. A new batch replaces the one that was read only when it is complete, so
    that a compaction that is killed loses nothing. Raise TableRefused and StudyFailed.
    """
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
    """Hold the lock of a folder; call `waits` repeatedly while another run holds it."""
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
    """Write the cells into their table in parallel to the `with` block.

    The first rows that a new Spark session writes take seconds. Raise StudyFailed, and before the block begins
    TableRefused.
    """
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


def is_one_batch(
    spark: SparkSession, folder: Path, cells: Sequence[Cell], known: Costs, done: Offset, trials: int
) -> bool:
    """Return True if one batch plays what a folder lacks, and no stream has begun to write into it.

    A Connect server goes on with what a killed client has asked for, and only a stream ends as the next one begins.
    """
    if is_remote(spark) or (folder / CHECKPOINT).exists():
        return False
    end = next_offset(cells, known, done, trials, cores(spark))
    return all(end.get(cell.place, 0) >= trials for cell in cells)


def _write_at_once(rows: DataFrame, folder: Path, watch: Watch, trials: int, number: int) -> None:
    """Write the trials of one batch without a stream, and watch their jobs. Raise StudyFailed."""
    context, group = rows.sparkSession.sparkContext, str(uuid4())

    def write() -> None:
        context.setLocalProperty(JOB_GROUP, group)  # of this thread
        with named(rows.sparkSession, f"{watch.called}, at once"):
            TRIALS.write(rows.withColumn(BATCH, sql.lit(number).cast("long")), folder)

    with ThreadPoolExecutor(1) as beside:
        writing = beside.submit(write)
        try:
            while not wait([writing], LOOK_S).done:
                watch.look(group, trials)
            writing.result()
        except FAILURES as error:
            raise StudyFailed(error, folder) from None
        finally:
            context.cancelJobGroup(group)


def _stream(rows: DataFrame, folder: Path, watch: Watch, trials: int) -> None:
    """Write a stream up to `trials` trials of each cell, and watch it. Raise StudyFailed."""
    called = watch.called  # a Connect server gets the values that `write` refers to, which must not be a session

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
                last = query.lastProgress
                reached = counts(msgspec.json.decode(last["sources"][0]["endOffset"])) if last else {}
                watch.look(str(query.runId), trials, reached)
            return
        except StreamingQueryException as error:
            if start == STARTS or STARTS_SLOWLY not in str(error):
                raise StudyFailed(error, folder) from None
        finally:
            query.stop()


def looks(study: Study) -> list[Study]:
    """Return the study for each check of the precision: with more trials each time, with all at the last."""
    counts = [study.trials]
    while study.precision and counts[0] > FIRST_LOOK:
        counts.insert(0, -(-counts[0] // MORE))
    return [replace(study, trials=count) for count in counts]


def is_precise(rows: DataFrame, wanted: Precision) -> bool:
    """Return True if the mean of the measure is known well enough in every cell.

    It has an interval (`hawb.study.intervals.trials_for_mean`), which is narrow.
    """
    for row in estimates(rows, [wanted.column]).collect():
        allowed = max((wanted.relative or 0) * abs(row.mean), wanted.absolute or 0)
        if row.mean_low is None or (row.mean_high - row.mean_low) / 2 > allowed:
            return False
    return True


# The content of a folder.


def trials(spark: SparkSession, folder: Path, cells: Sequence[Cell], count: int) -> DataFrame:
    """Return the first trials of cells, as far as a folder has them. Raise TableRefused."""
    keys, found = [cell.key for cell in cells], TRIALS.read(spark, folder)
    return found.where((sql.col(STUDY) == cells[0].label) & sql.col(CELL).isin(keys) & (sql.col(TRIAL) < count))


def counted(table: Table, folder: Path, cells: Sequence[Cell], trials: int | None = None) -> dict[str, int]:
    """Return the number of rows that a table has of each cell, by the cell's place. Raise TableRefused.

    They are those of the first `trials` trials, or all.
    """
    if not table.file(folder):
        return {}
    those = pc.scalar(True) if trials is None else pc.field(TRIAL) < trials
    of_cell = {cell.place: (pc.field(STUDY) == cell.label) & (pc.field(CELL) == cell.key) for cell in cells}
    found = {place: table.count(folder, those & where) for place, where in of_cell.items()}
    return {place: rows for place, rows in found.items() if rows}


def written_at_once(folder: Path, cells: Sequence[Cell]) -> tuple[Offset, int]:
    """Return how many trials of each cell, by its place, were written without a stream, and a number for more of them.

    Raise TableRefused if some of them are missing.
    """
    if not TRIALS.file(folder):
        return {}, -1
    those = (pc.field(BATCH) < 0) & (pc.field(STUDY) == cells[0].label)
    rows = TRIALS.dataset(folder).to_table([CELL, BATCH, TRIAL], filter=those)
    found = rows.group_by(CELL).aggregate([(TRIAL, "count"), (TRIAL, "max"), (BATCH, "min")]).to_pylist()
    of_cell = {one[CELL]: one for one in found}
    done = {cell.place: of_cell[cell.key][f"{TRIAL}_count"] for cell in cells if cell.key in of_cell}
    for cell in cells:
        if cell.place in done:
            check_count(folder, cell, done[cell.place], of_cell[cell.key][f"{TRIAL}_max"] + 1)
    return done, min((one[f"{BATCH}_min"] for one in found), default=0) - 1


def check_whole(folder: Path, cells: Sequence[Cell], count: int) -> None:
    """Raise TableRefused if the number of trials is not that which the checkpoint records as written."""
    found = counted(TRIALS, folder, cells, count)
    for cell in cells:
        check_count(folder, cell, found.get(cell.place, 0), count)


def check_count(folder: Path, cell: Cell, rows: int, count: int) -> None:
    """Raise TableRefused if a cell has not a row for each of its trials."""
    if rows != count:
        given = f"{rows:,} rows for {count:,} trials of {cell.design} in {cell.environment}"
        raise TableRefused(folder / TRIALS.name, given, "what was written there, or another folder")


def check_rows(kept: DataFrame, again: DataFrame, folder: Path) -> None:
    """Raise TableRefused if the first trials of a cell differ from the kept ones when played again."""
    for row in kept.select(again.columns).exceptAll(again).limit(1).collect():
        given = f"trial {row[TRIAL]} of {row[DESIGN]} in {row[ENVIRONMENT]}, which comes out otherwise now"
        raise TableRefused(folder / TRIALS.name, given, "trials of this version of hawb, or another folder")


def cell_rows(cells: Sequence[Cell], study: Study) -> list[dict[str, Any]]:
    """Return the cells' rows in their table."""
    of_study = {"title": study.study, "seed": study.seed, "horizon_days": study.horizon_days}
    return [dict(settings(cell)) | of_study | {name: of(cell) for name, of in OF_A_CELL.items()} for cell in cells]
