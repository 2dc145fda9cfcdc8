"""Data sources for Spark that play studies: trials, faults and losses are rows that are played when they are read.

    from hawb import study
    study.register(spark)
    spark.read.format("hawb-trials").options(environments="kills", trials=1000).load("data/studies/policies.yaml")

A partition is a share of one cell (`hawb.study.spark_partitions`). Options select the rows to play: `designs` and
`environments` by their names, with commas between, `trials` in place of the file's number, and `first`, the trial to
begin with; `numbers` is a file of own numbers that is laid over the study (`hawb.study.numbers`). `study` is the
question itself as JSON in place of a file, with its `label`.

Why options and not filters that Spark pushes down (`pushFilters`, `spark.sql.python.filterPushdown.enabled`): Spark
4.3.0 keeps the filtered partitions with the DataFrame that was loaded, for every query of it. Measured with such a
source of 302 rows: a query for one cluster counted 14, after which a query for all counted 14, too, and two queries in
one plan, 14 and 4 rows, gave 8 together. Spark's main branch keeps them with each scan (`PythonScanBuilder`); until
that is released, filters are left to Spark, and options select what to play.

As a stream (`spark.readStream`) `hawb-trials` goes from the first trial to the last in micro-batches. Its offsets are
complete: they have the number of trials of each cell, and the question. So a batch that Spark plays again after a crash
is the same batch, even if the file has changed; and a file that asks for more trials, or for other cells, makes the
stream grow. Option `cores` is the number of cores that a batch is cut for, `costs` as JSON the time for a trial of each
cell, `rows` the number of trials of a task, and of a file where they are written, and `done` as JSON the number of
trials of each cell that are left out because they are written already. `code` is the code of the process that asks
(`hawb.study.same_code`), with which each task compares its own.

Spark makes and plans sources in separate Python processes, which do not play. So the players, numba included, are
imported only when a share is played: that saves each process a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
from msgspec.structs import replace
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from hawb import process
from hawb.study import same_code
from hawb.study.cells import LABEL, Cell, cells_of, label_of
from hawb.study.load import load, read_study
from hawb.study.numbers import lay_over
from hawb.study.question import Study
from hawb.study.spark_partitions import Costs, Offset, Share, costs, next_offset, shares
from hawb.study.tables import CELL, DESIGN, ENVIRONMENT, FAULTS, LOSSES, STUDY, TRIAL, TRIALS, Table

OF_A_CELL: dict[str, Callable[[Cell], str]] = {
    STUDY: lambda cell: cell.label, CELL: lambda cell: cell.key, DESIGN: lambda cell: cell.design,
    ENVIRONMENT: lambda cell: cell.environment,
}  # fmt: skip
"""The columns that are the same in all rows of a cell."""

OF_PAIRS = ("designs", "environments")
QUESTION, ROWS, COSTS, DONE, CODE = "question", "rows", "costs", "done", "code"


class RowsRefused(ValueError):  # noqa: N818 - it reads as what happened
    """The rows of a task are not those of its trials, each once and in order."""


def register(spark: SparkSession) -> SparkSession:
    """Register `hawb-trials`, `hawb-faults` and `hawb-losses` in a session. Return the session."""
    for source in (Trials, Faults, Losses):
        spark.dataSource.register(source)
    return spark


class StudySource(DataSource):
    """The base of all sources of a study.

    `play` yields a share's rows, without the columns of `table` that are the same in all rows of a cell.
    """

    table: Table

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(options)
        self.asked, self.label = from_options(options)
        self.in_a_share = int(options[ROWS]) if ROWS in options else None
        self.done: Offset = msgspec.json.decode(options.get(DONE, "{}"))
        self.code = options.get(CODE) or same_code.described()

    @classmethod
    def name(cls) -> str:
        """Return the name of the format: hawb- and the table's."""
        return f"hawb-{cls.table.name}"

    def schema(self) -> StructType:
        """Return the columns of the table, with comments."""
        return self.table.own

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return a reader of the trials."""
        return StudyReader(self)

    def costs(self, cells: Sequence[Cell]) -> Costs:
        """Return about how long a trial of each cell takes: as the options say, or by this process."""
        given: Costs = msgspec.json.decode(self.options.get(COSTS, "{}"))
        return given if given.keys() >= {cell.place for cell in cells} else costs(cells)

    def play(self, share: Share) -> Iterator[pa.RecordBatch]:
        """Play a share."""
        raise NotImplementedError

    def rows(self, share: Share) -> Iterator[pa.RecordBatch]:
        """Yield the complete rows of a share. Raise OtherCode on a machine whose hawb would play other rows."""
        same_code.require(self.code)
        for rows in self.play(share):
            yield with_cell(share.cell, rows, self.table)
        process.spare_the_collector()


def from_options(options: Mapping[str, str]) -> tuple[Study, str]:
    """Return the study that options name, and its label.

    Raise ScenarioRefused, and ValueError for options without a study.
    """
    if "study" in options:
        study, label = read_study(msgspec.json.decode(options["study"])), options.get("label", LABEL)
    elif "path" in options:
        study, label = load(Path(options["path"])), options.get("label", label_of(Path(options["path"])))
    else:
        raise ValueError("no study: give load(FILE) the file of a study, or give the study as JSON in the option"
                         " `study`")
    if "numbers" in options:
        study, _ = lay_over(study, Path(options["numbers"]))
    chosen = {name: only(getattr(study, name), name, options[name]) for name in OF_PAIRS if name in options}
    if "trials" in options:
        chosen["trials"] = int(options["trials"])
    return replace(study, **chosen, sources={}), label


def only(given: dict[str, Any], what: str, names: str) -> dict[str, Any]:
    """Return the designs or environments that `names` lists. Raise ValueError for an unknown name."""
    wanted = [name.strip() for name in names.split(",")]
    for name in wanted:
        if name not in given:
            raise ValueError(f"{what}: {name} is not one of {', '.join(given)}")
    return {name: value for name, value in given.items() if name in wanted}


def as_option(study: Study) -> str:
    """Return a study as the option `study` takes it. Its control decides nothing about rows, and is left out."""
    return msgspec.json.encode(replace(study, control=None)).decode()


def options_for(study: Study, label: str) -> dict[str, str]:
    """Return the options that ask for a study, with the code of this process."""
    return {"study": as_option(study), "label": label, CODE: same_code.described()}


class Trials(StudySource):
    """Format `hawb-trials`: one row for each trial."""

    table = TRIALS

    def play(self, share: Share) -> Iterator[pa.RecordBatch]:
        """Yield the records of a share."""
        yield trial_rows(share, self.records)

    @staticmethod
    def records(*asked: Any) -> pa.RecordBatch:
        """Play trials (`hawb.study.trial_rows`)."""
        from hawb.study.trial_rows import records

        return records(*asked)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """Return a reader that continues from an offset."""
        return StudyStream(self)


class Faults(StudySource):
    """Format `hawb-faults`: one row for each event of a trial's history."""

    table = FAULTS

    def play(self, share: Share) -> Iterator[pa.RecordBatch]:
        """Return the events of a share's trials."""
        from hawb.study.fault_rows import faults

        return faults(share.cell, share.first, share.count)


class Losses(StudySource):
    """Format `hawb-losses`: one row for each loss.

    The kernel plays the trials, and the engine plays those with a loss again, because only the engine has the causes.
    """

    table = LOSSES

    def play(self, share: Share) -> Iterator[pa.RecordBatch]:
        """Return the losses of a share's trials."""
        from hawb.study.loss_rows import losses

        return losses(share.cell, share.first, share.count)


OF_EVENTS: dict[str, type[StudySource]] = {"faults": Faults, "losses": Losses}
"""The sources of events within trials, by the names of their tables."""


class StudyReader(DataSourceReader):
    """Read the trials from the option `first` on to the last."""

    def __init__(self, source: StudySource) -> None:
        self.source, self.cells = source, cells_of(source.asked, source.label)

    def partitions(self) -> Sequence[Share]:
        """Return the shares to play."""
        first, end = int(self.source.options.get("first", 0)), self.source.asked.trials
        begins, ends = ({cell.place: number for cell in self.cells} for number in (min(first, end), end))
        known, begins = self.source.costs(self.cells), begins | self.source.done
        return shares(self.cells, known, begins, ends, self.source.in_a_share)

    def read(self, partition: Share) -> Iterator[pa.RecordBatch]:
        """Play a share."""
        return self.source.rows(partition)


class StudyStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Read a study's trials from offset to offset.

    An offset is `{place of a cell: trials, "question": the question as JSON, "label": its label}`.
    """

    def __init__(self, source: StudySource) -> None:
        self.source, self.cells = source, cells_of(source.asked, source.label)
        self.cores = int(source.options.get("cores", 1))
        self.costs = source.costs(self.cells)

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Return the offset at which nothing is played."""
        return {}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Do nothing: the trials that the study asks for are available, and do not change while it is played."""

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Return a limit above any batch, so that `latestOffset` decides the size of a batch."""
        return ReadMaxRows(self.source.asked.trials * len(self.cells))

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Return the end of the next batch, or of the study if there is no limit."""
        trials, done = self.source.asked.trials, self.source.done | counts(start)
        cores = 2**40 if isinstance(limit, ReadAllAvailable) else self.cores
        end = next_offset(self.cells, self.costs, done, trials, cores)
        if end == done:
            return start
        return end | {QUESTION: as_option(self.source.asked), "label": self.source.label}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[Share]:
        """Return the shares to play between two offsets of the stream. The second one names the study."""
        if QUESTION not in end:
            return []
        cells = cells_of(read_study(msgspec.json.decode(end[QUESTION])), end["label"])
        known, begins = self.source.costs(cells), self.source.done | counts(start)
        return shares(cells, known, begins, counts(end), self.source.in_a_share)

    def read(self, partition: Share) -> Iterator[pa.RecordBatch]:
        """Play a share."""
        return self.source.rows(partition)


def counts(offset: Mapping[str, Any]) -> Offset:
    """Return the number of trials of each cell in an offset."""
    return {key: value for key, value in offset.items() if isinstance(value, int)}


def trial_rows(share: Share, records: Callable[..., pa.RecordBatch]) -> pa.RecordBatch:
    """Return the rows of a share's trials. Raise RowsRefused for rows of other trials.

    An error has a note with its trials, design and environment.
    """
    cell, last = share.cell, share.first + share.count - 1
    try:
        rows = records(cell.study, cell.design, cell.environment, share.first, share.count)
        numbers = rows[TRIAL].to_pylist() if TRIAL in rows.schema.names else None
        if numbers != list(range(share.first, last + 1)):
            raise RowsRefused(f"{TRIAL}: not {share.first} to {last}, each once and in order")
        return rows
    except Exception as error:
        error.add_note(f"in trials {share.first} to {last} of {cell.design} in {cell.environment}")
        raise


def with_cell(cell: Cell, rows: pa.RecordBatch, table: Table) -> pa.RecordBatch:
    """Return rows with the columns that are the same in all rows of the cell."""
    schema = pa.schema([(one.name, one.type) for one in table.columns if one.name in table.own.names])
    columns = [
        pa.repeat(pa.scalar(OF_A_CELL[name](cell)), rows.num_rows) if name in OF_A_CELL else rows[name]
        for name in schema.names
    ]  # fmt: skip
    return pa.RecordBatch.from_arrays(columns, schema=schema)
