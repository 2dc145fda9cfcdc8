"""The tables of studies and audits: their columns with meanings, and checks of tables on disk.

A table is a folder of Parquet files which Spark writes, below one folder for each value of the columns that it is
partitioned by, `study=policies/cell=4f0c…`. pandas, DuckDB and polars can read it. The meaning of a column is in its
comment, which a DataFrame's schema carries; `dictionary` is all of them as a page, kept in `data/tables.md`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import Struct
from msgspec.structs import fields
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, from_arrow_type
from pyspark.sql.types import StructField, StructType

from hawb.study.design import Design
from hawb.study.environment import Environment
from hawb.study.trial_record import BATCH, TRIAL, WEIGHT

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset

TEXT, WHOLE, NUMBER, TRUTH = pa.string(), pa.int64(), pa.float64(), pa.bool_()
TEXTS = pa.list_(TEXT)


class Column(Struct, frozen=True):
    """A column: its name with its unit last, its type, its meaning."""

    name: str
    type: pa.DataType
    comment: str


class Table(Struct, frozen=True):
    """A table: the meaning of a row, its columns, and the names of the first columns, which partition it."""

    name: str
    row: str
    columns: tuple[Column, ...]
    partitioned_by: tuple[str, ...] = ()

    @property
    def arrow(self) -> pa.Schema:
        """Return the table's schema for pyarrow, without comments."""
        return pa.schema([(column.name, column.type) for column in self.columns])

    @property
    def schema(self) -> StructType:
        """Return the table's schema for Spark, with comments."""
        types = from_arrow_schema(self.arrow).fields
        return StructType([
            StructField(column.name, field.dataType, metadata={"comment": column.comment})
            for column, field in zip(self.columns, types, strict=True)
        ])  # fmt: skip

    @property
    def own(self) -> StructType:
        """Return the schema of a source's rows: without the column that is known only after they are written."""
        return StructType([field for field in self.schema if field.name not in WRITTEN])

    def read(self, spark: SparkSession, folder: Path) -> DataFrame:
        """Return the table below a folder. Raise TableRefused if there is none, or if it has other columns."""
        place = folder / self.name
        self.check(folder)
        return spark.read.schema(self.schema).parquet(str(place))

    def of(self, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
        """Return rows of plain values as a table; a value that is no text becomes JSON in a column of text."""

        def plain(column: Column, value: Any) -> Any:
            is_json = column.type == TEXT and not isinstance(value, str | None)
            return msgspec.json.encode(value).decode() if is_json else value

        values = [{one.name: plain(one, row.get(one.name)) for one in self.columns} for row in rows]
        return pa.Table.from_pylist(values, schema=self.arrow)

    def write(self, rows: DataFrame, folder: Path, **options: int) -> None:
        """Write rows below a folder, in place of those in the same partitions of the table.

        `options` are further options of Spark's writer.
        """
        writer = rows.select(self.schema.names).write.mode("overwrite").option("partitionOverwriteMode", "dynamic")
        writer.options(**options).partitionBy(*self.partitioned_by).parquet(str(folder / self.name))

    def file(self, folder: Path) -> Path | None:
        """Return a file of the table below a folder; None if none is written."""
        place = folder / self.name
        whole = (file for file in place.rglob("[!._]*.parquet")
                 if not any(part.startswith((".", "_")) for part in file.relative_to(place).parts))  # fmt: skip
        return next(whole, None)

    def count(self, folder: Path, where: pc.Expression) -> int:
        """Return the number of rows of the table below a folder. Raise TableRefused.

        It comes mostly from the metadata of files, without a job of Spark.
        """
        return self.dataset(folder).count_rows(filter=where)

    def dataset(self, folder: Path) -> Dataset:
        """Return the table below a folder for pyarrow. Raise TableRefused."""
        import pyarrow.dataset as ds  # processes that make or plan a source read no table, and need not wait for it

        self.check(folder)
        parts = ds.partitioning(pa.schema([self.arrow.field(name) for name in self.partitioned_by]), flavor="hive")
        return ds.dataset(folder / self.name, format="parquet", partitioning=parts)

    def check(self, folder: Path) -> None:
        """Raise TableRefused for a table on disk with other columns."""
        place = folder / self.name
        file = self.file(folder)
        if file is None:
            raise TableRefused(place, "no Parquet file", "a folder that holds one")
        parts = [part.partition("=")[0] for part in file.relative_to(place).parts[:-1]]
        found = from_arrow_schema(pq.read_schema(file))
        for column in self.columns:
            kind = from_arrow_type(column.type)
            if column.name in self.partitioned_by:
                if column.name not in parts:
                    raise TableRefused(place, f"no folders {column.name}=…", ", ".join(self.partitioned_by))
            elif column.name not in found.names:
                raise TableRefused(place, f"no column {column.name}", f"{column.name}, {kind.simpleString()}")
            elif found[column.name].dataType != kind:
                given = f"column {column.name}, {found[column.name].dataType.simpleString()}"
                raise TableRefused(place, given, kind.simpleString())
        if more := set(found.names + parts) - {column.name for column in self.columns}:
            raise TableRefused(place, f"column {min(more)}", ", ".join(column.name for column in self.columns))

    def __str__(self) -> str:
        cut = f" Partitioned by {', '.join(self.partitioned_by)}." if self.partitioned_by else ""
        lines = [f"## {self.name}", "", f"{self.row}{cut}", "", "| column | type | what it is |", "|---|---|---|"]
        for one in self.columns:
            lines.append(f"| `{one.name}` | {from_arrow_type(one.type).simpleString()} | {one.comment} |")
        return "\n".join(lines)


class TableRefused(ValueError):  # noqa: N818 - it reads as what happened
    """A table on disk with another schema: its place, its content and the accepted schema."""

    def __init__(self, place: Path, given: str, accepted: str) -> None:
        super().__init__(f"{place}: not a table of this version of hawb\n  given: {given}\n  accepted: {accepted}")


# Of a study

STUDY, CELL = "study", "cell"
DESIGN, ENVIRONMENT = "design", "environment"
WRITTEN = (BATCH,)

OF_A_CELL = (
    Column(STUDY, TEXT, "the name of the study's file"),
    Column(CELL, TEXT, "the cell: design, environment, and a digest of all their settings, seed and horizon"),
)
NAMES = (
    Column(DESIGN, TEXT, "the design's name in the study"),
    Column(ENVIRONMENT, TEXT, "the environment's name in the study"),
    Column(TRIAL, WHOLE, "the number of the trial within its cell, counted from 0; trials with the same number have the"
                         " same faults at the same times in all designs"),
)
BATCHES = (Column(BATCH, WHOLE, "the micro-batch of Spark's stream that wrote the row; negative if there was no"
                                " stream"),)

RECORD: dict[str, str] = {
    "published": "messages published",
    "confirmed": "messages that were confirmed to publishers",
    "nacked": "messages that were nacked to publishers",
    "refused": "messages that no queue accepted",
    "lost": "messages whose last copy was lost",
    "lost_confirmed": "confirmed messages that were lost, or that no queue had accepted",
    "delivered_twice": "messages that were delivered more than once",
    "promotions": "how often a mirror became master",
    "unsynchronised_promotions": "how often an unsynchronised mirror became master",
    "outages": "how often the queue was without a master or leader",
    "publish_down_s": "seconds in which clients published messages that were not confirmed within the deadline",
    "consume_down_s": "seconds in which ready messages were not delivered within the deadline",
    "sync_blocked_s": "seconds in which a synchronisation blocked the queue",
    "metadata_down_s": "seconds in which no running node could change metadata (queues, bindings, policies)",
    "bytes_replicated": "bytes sent from replica to replica",
    "messages": "messages in the queue at the end",
    "queue_down_s": "seconds in which a classic queue had no master, or a quorum queue had no leader with a majority",
}
"""The meaning of each number of a record (`hawb.study.trial_record`), in its order."""

TRIALS = Table(
    "trials", "A row for each trial: one cluster over the horizon of the study.",
    (
        *OF_A_CELL, *BATCHES, *NAMES,
        *(Column(name, NUMBER if name[-2:] == "_s" else WHOLE, what) for name, what in RECORD.items()),
        Column(WEIGHT, NUMBER, "the weight of the trial in means and shares; 1 unless failures are biased"),
    ),
    (STUDY, CELL, BATCH),
)  # fmt: skip

FAULTS = Table(
    "faults", "A row for each event in the history of a trial: failures, repairs and planned work.",
    (
        *OF_A_CELL, *NAMES,
        Column("event", WHOLE, "the number of the event within its trial, counted from 0"),
        Column("at_s", NUMBER, "seconds from the trial's beginning"),
        Column("kind", TEXT, "kill, power_off, stop, start, lose_disk, cut, cut_link, heal, consumers_away, …"),
        Column("nodes", TEXTS, "the nodes that fail or return, one side of a partition, or the ends of a link"),
    ),
    (STUDY, CELL),
)  # fmt: skip

LOSSES = Table(
    "losses", "A row for each loss in a trial: messages whose last copy was lost at one moment, for one cause.",
    (
        *OF_A_CELL, *NAMES,
        Column("loss", WHOLE, "the number of the loss within its trial, counted from 0"),
        Column("at_s", NUMBER, "seconds from the trial's beginning; null for messages that no queue accepted"),
        Column("cause", TEXT, "the cause, as an outcome names it; no_queue: no queue accepted the confirmed messages"),
        Column("node", TEXT, "the node on which the messages were lost, such as the node of the promoted mirror"),
        Column("messages", WHOLE, "the number of lost messages"),
        Column("confirmed", WHOLE, "how many of the lost messages had been confirmed"),
    ),
    (STUDY, CELL),
)  # fmt: skip


def _setting_columns(name: str, kind: object) -> Iterator[Column]:
    """Yield a column for each setting of a struct, with those of its parts."""
    kind = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    options = [one for one in get_args(kind) if one is not type(None)] if get_origin(kind) not in (tuple, dict) else []
    kind = options[0] if len(options) == 1 else kind
    kind = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    if isinstance(kind, type) and issubclass(kind, Struct):
        hints = get_type_hints(kind, include_extras=True)
        for field in fields(kind):
            yield from _setting_columns(f"{name}_{field.name}", hints[field.name])
    else:
        place, _, path = name.partition("_")
        plain = {bool: TRUTH, int: WHOLE, float: NUMBER}.get(kind, TEXT)
        yield Column(name, plain, f"the {place}'s setting {path}")


CELLS = Table(
    "cells",
    "A row for each cell (a design in an environment), with all its settings. A setting that is not set is null. A"
    " map is JSON.",
    (
        *OF_A_CELL, *NAMES[:2],
        Column("title", TEXT, "the study's title"),
        Column("seed", WHOLE, "the study's seed"),
        Column("horizon_days", NUMBER, "the simulated time of each trial, in days"),
        *_setting_columns("design", Design), *_setting_columns("environment", Environment),
    ),
    (STUDY, CELL),
)  # fmt: skip

OF_STUDIES: Sequence[Table] = (TRIALS, CELLS, FAULTS, LOSSES)


def dictionary(tables: Sequence[Table]) -> str:
    """Return the data dictionary: all tables with their columns, as a page of Markdown."""
    head = (
        "# Tables\n\nSpark writes each table as Parquet files, into a folder with the table's name. This page is "
        "generated from\n`hawb.study.tables`."
    )
    return "\n\n".join([head, *map(str, tables)]) + "\n"
