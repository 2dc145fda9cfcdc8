"""Studies as sources of data for Spark: trials, faults and losses are rows that are played when they are read.

    from hawb import study
    study.register(spark)
    spark.read.format("hawb-trials").options(environments="kills", trials=1000).load("data/studies/policies.yaml")

A partition is a share of one cell (`hawb.study.shares`). Options say what is played: `designs` and `environments` by
their names, with commas between, `trials` in place of the file's number, and `first`, the trial to begin with;
`numbers` is a file of one's own numbers that is laid over the study (`hawb.study.numbers`). `study` is the question
itself as JSON in place of a file, with its `label`.

Why options and not filters that Spark hands down (`pushFilters`, `spark.sql.python.filterPushdown.enabled`): Spark
4.3.0 keeps what a filter leaves with the DataFrame that was loaded, for every query of it. Measured with such a source
of 302 rows: a query for one cluster counted 14, after which all of them counted 14, too, and two queries in one plan,
14 and 4 rows, gave 8 together. Spark's main branch keeps it with each scan (`PythonScanBuilder`); until that is
released, a filter is for Spark alone, and what is not to be played is said as an option.

As a stream (`spark.readStream`) `hawb-trials` goes from the first trial to the last in micro-batches and knows its
offsets by themselves: how many trials of each cell there are, and the question that was asked with them. So a batch
that Spark plays again after a crash is the same batch, whatever the file says by then; and a file that asks for more
trials, or for other cells, makes the stream grow. Option `cores` says for how many cores a batch is cut, `costs` as
JSON how long a trial of each cell takes, `rows` how many trials are a task, and a file where they are written.

Spark makes and plans sources in Python processes of their own, which do not play. So the players, numba and all, are
imported as a share is played: that saves each process a second.
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

from hawb.study.cells import LABEL, Cell, cells_of, label_of
from hawb.study.load import load, read_study
from hawb.study.numbers import lay_over
from hawb.study.question import Study
from hawb.study.shares import Costs, Offset, Share, costs, next_offset, shares
from hawb.study.tables import CELL, DESIGN, ENVIRONMENT, FAULTS, LOSSES, STUDY, TRIAL, TRIALS, Table

OF_A_CELL: dict[str, Callable[[Cell], str]] = {
    STUDY: lambda cell: cell.label, CELL: lambda cell: cell.key, DESIGN: lambda cell: cell.design,
    ENVIRONMENT: lambda cell: cell.environment,
}  # fmt: skip
"""The columns that are the same in all rows of a cell."""

OF_PAIRS = ("designs", "environments")
QUESTION, ROWS = "question", "rows"


class RowsRefused(ValueError):  # noqa: N818 - it reads as what happened
    """Rows of other trials than those that were asked for."""


def register(spark: SparkSession) -> SparkSession:
    """Makes a session know `hawb-trials`, `hawb-faults` and `hawb-losses`, and returns it."""
    for source in (Trials, Faults, Losses):
        spark.dataSource.register(source)
    return spark


class StudySource(DataSource):
    """What sources of a study share. `play` gives a share's rows, without the columns of `table` that are the same in
    all rows of a cell."""

    table: Table

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(options)
        self.asked, self.label = from_options(options)
        self.in_a_share = int(options[ROWS]) if ROWS in options else None

    @classmethod
    def name(cls) -> str:
        """The name of the format: hawb- and the table's."""
        return f"hawb-{cls.table.name}"

    def schema(self) -> StructType:
        """The columns of the table, each with what it means."""
        return self.table.own

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the trials."""
        return StudyReader(self)

    def play(self, share: Share) -> Iterator[pa.RecordBatch]:
        """Plays a share."""
        raise NotImplementedError

    def rows(self, share: Share) -> Iterator[pa.RecordBatch]:
        """The rows of a share, whole."""
        for rows in self.play(share):
            yield with_cell(share.cell, rows, self.table)


def from_options(options: Mapping[str, str]) -> tuple[Study, str]:
    """(the study that options name, its label). Raises ScenarioRefused, and ValueError for options that say too
    little."""
    if "study" in options:
        study, label = read_study(msgspec.json.decode(options["study"])), options.get("label", LABEL)
    elif "path" in options:
        study, label = load(Path(options["path"])), options.get("label", label_of(Path(options["path"])))
    else:
        raise ValueError("no study: give the file of a study to load(FILE), or the study as JSON in the option `study`")
    if "numbers" in options:
        study, _ = lay_over(study, Path(options["numbers"]))
    chosen = {name: only(getattr(study, name), name, options[name]) for name in OF_PAIRS if name in options}
    if "trials" in options:
        chosen["trials"] = int(options["trials"])
    return replace(study, **chosen, sources={}), label


def only(given: dict[str, Any], what: str, names: str) -> dict[str, Any]:
    """The designs or environments that `names` lists. Raises ValueError for an unknown name."""
    wanted = [name.strip() for name in names.split(",")]
    for name in wanted:
        if name not in given:
            raise ValueError(f"{what}: {name} is not one of {', '.join(given)}")
    return {name: value for name, value in given.items() if name in wanted}


def as_option(study: Study) -> str:
    """A study as the option `study` takes it."""
    return msgspec.json.encode(study).decode()


class Trials(StudySource):
    """Format `hawb-trials`: a row a trial."""

    table = TRIALS

    def play(self, share: Share) -> Iterator[pa.RecordBatch]:
        """The records of a share."""
        yield trial_rows(share, self.records)

    @staticmethod
    def records(*asked: Any) -> pa.RecordBatch:
        """Plays trials (`hawb.study.trial_rows`)."""
        from hawb.study.trial_rows import records

        return records(*asked)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """A reader that goes on from an offset."""
        return StudyStream(self)


class Faults(StudySource):
    """Format `hawb-faults`: a row an event of a trial's history."""

    table = FAULTS

    def play(self, share: Share) -> Iterator[pa.RecordBatch]:
        """The events of a share's trials."""
        from hawb.study.fault_rows import faults

        return faults(share.cell, share.first, share.count)


class Losses(StudySource):
    """Format `hawb-losses`: a row a loss. Trials are played by the kernel, and those that lose something again by the
    engine, which knows why."""

    table = LOSSES

    def play(self, share: Share) -> Iterator[pa.RecordBatch]:
        """The losses of a share's trials."""
        from hawb.study.loss_rows import losses

        return losses(share.cell, share.first, share.count)


OF_EVENTS: dict[str, type[StudySource]] = {"faults": Faults, "losses": Losses}
"""The sources of what happens within trials, by the names of their tables."""


class StudyReader(DataSourceReader):
    """Reads the trials from the option `first` on to the last."""

    def __init__(self, source: StudySource) -> None:
        self.source, self.cells = source, cells_of(source.asked, source.label)

    def partitions(self) -> Sequence[Share]:
        """The shares to be played."""
        first, end = int(self.source.options.get("first", 0)), self.source.asked.trials
        begins, ends = ({cell.place: number for cell in self.cells} for number in (min(first, end), end))
        return shares(self.cells, costs(self.cells), begins, ends, self.source.in_a_share)

    def read(self, partition: Share) -> Iterator[pa.RecordBatch]:
        """Plays a share."""
        return self.source.rows(partition)


class StudyStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads a study's trials from offset to offset: `{place of a cell: trials, "question": what was asked as JSON}`."""

    def __init__(self, source: StudySource) -> None:
        self.source, self.cells = source, cells_of(source.asked, source.label)
        self.cores = int(source.options.get("cores", 1))
        given = source.options.get("costs")
        self.costs: Costs = msgspec.json.decode(given) if given else costs(self.cells)

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """The offset at which nothing is played."""
        return {}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Does nothing: what is available is what the study asks for, which does not change while it is played."""

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """One batch at a time; how many rows that is, the batch decides."""
        return ReadMaxRows(self.source.asked.trials * len(self.cells))

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Where the next batch ends, or the study where there is no limit."""
        trials, done = self.source.asked.trials, counts(start)
        cores = 2**40 if isinstance(limit, ReadAllAvailable) else self.cores
        end = next_offset(self.cells, self.costs, done, trials, cores)
        if end == done:
            return start
        return end | {QUESTION: as_option(self.source.asked), "label": self.source.label}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[Share]:
        """The shares between two offsets, of the question that the second one carries."""
        if QUESTION not in end:
            return []
        cells = cells_of(read_study(msgspec.json.decode(end[QUESTION])), end["label"])
        known = self.costs if self.costs.keys() >= {cell.place for cell in cells} else costs(cells)
        return shares(cells, known, counts(start), counts(end), self.source.in_a_share)

    def read(self, partition: Share) -> Iterator[pa.RecordBatch]:
        """Plays a share."""
        return self.source.rows(partition)


def counts(offset: Mapping[str, Any]) -> Offset:
    """How many trials of each cell an offset has come to."""
    return {key: value for key, value in offset.items() if isinstance(value, int)}


def trial_rows(share: Share, records: Callable[..., pa.RecordBatch]) -> pa.RecordBatch:
    """The rows of a share's trials. Raises RowsRefused where rows are of other trials; a note says where an error
    happened."""
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
    """Rows with the columns that are the same in all rows of the cell."""
    schema = pa.schema([(one.name, one.type) for one in table.columns if one.name in table.own.names])
    columns = [
        pa.repeat(pa.scalar(OF_A_CELL[name](cell)), rows.num_rows) if name in OF_A_CELL else rows[name]
        for name in schema.names
    ]  # fmt: skip
    return pa.RecordBatch.from_arrays(columns, schema=schema)
