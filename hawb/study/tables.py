"""The tables of studies and audits: which columns each has, what these mean, and whether a table on disk has them.

A table is a folder of Parquet files which Spark writes, below one folder for each value of the columns that it is
partitioned by, `study=policies/cell=4f0c…`. pandas, DuckDB and polars read it as it stands. What a column means stands
in its comment, which a DataFrame's schema carries; `dictionary` is all of them as a page, kept in `data/tables.md`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

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

TEXT, WHOLE, NUMBER, TRUTH = pa.string(), pa.int64(), pa.float64(), pa.bool_()
TEXTS = pa.list_(TEXT)


class Column(Struct, frozen=True):
    """A column: its name with its unit last, its type, what it means."""

    name: str
    type: pa.DataType
    comment: str


class Table(Struct, frozen=True):
    """A table: what a row of it is, its columns, and by which of them (the first ones) it is divided into folders."""

    name: str
    row: str
    columns: tuple[Column, ...]
    partitioned_by: tuple[str, ...] = ()

    @property
    def arrow(self) -> pa.Schema:
        """The table's schema, without comments, as pyarrow has it."""
        return pa.schema([(column.name, column.type) for column in self.columns])

    @property
    def schema(self) -> StructType:
        """The table's schema as Spark has it, with comments."""
        types = from_arrow_schema(self.arrow).fields
        return StructType([
            StructField(column.name, field.dataType, metadata={"comment": column.comment})
            for column, field in zip(self.columns, types, strict=True)
        ])  # fmt: skip

    @property
    def own(self) -> StructType:
        """The schema of rows as a source gives them: without the column that is known only once they are written."""
        return StructType([field for field in self.schema if field.name not in WRITTEN])

    def read(self, spark: SparkSession, folder: Path) -> DataFrame:
        """The table below a folder. Raises TableRefused where there is none, and where it has other columns."""
        place = folder / self.name
        self.check(folder)
        return spark.read.schema(self.schema).parquet(str(place))

    def of(self, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
        """Rows of plain values; a value for a column of text that is no text becomes JSON."""

        def plain(column: Column, value: Any) -> Any:
            is_json = column.type == TEXT and not isinstance(value, str | None)
            return msgspec.json.encode(value).decode() if is_json else value

        told = [{one.name: plain(one, row.get(one.name)) for one in self.columns} for row in rows]
        return pa.Table.from_pylist(told, schema=self.arrow)

    def write(self, rows: DataFrame, folder: Path, **options: int) -> None:
        """Writes rows below a folder, in place of those that stand in the same parts of the table, with more of Spark's
        options."""
        writer = rows.select(self.schema.names).write.mode("overwrite").option("partitionOverwriteMode", "dynamic")
        writer.options(**options).partitionBy(*self.partitioned_by).parquet(str(folder / self.name))

    def file(self, folder: Path) -> Path | None:
        """A file of the table below a folder; None where nothing is written."""
        place = folder / self.name
        whole = (file for file in place.rglob("[!._]*.parquet")
                 if not any(part.startswith((".", "_")) for part in file.relative_to(place).parts))  # fmt: skip
        return next(whole, None)

    def count(self, folder: Path, where: pc.Expression) -> int:
        """How many rows of the table are below a folder, mostly by the metadata of its files, without a job of Spark's.
        Raises TableRefused."""
        import pyarrow.dataset as ds  # whoever makes or plans a source counts nothing, and need not wait for it

        self.check(folder)
        parts = ds.partitioning(pa.schema([self.arrow.field(name) for name in self.partitioned_by]), flavor="hive")
        return ds.dataset(folder / self.name, format="parquet", partitioning=parts).count_rows(filter=where)

    def check(self, folder: Path) -> None:
        """Raises TableRefused for a table on disk with other columns, by their names."""
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
    """A table on disk that is not as it has to be: where it is, what it has and what is accepted."""

    def __init__(self, place: Path, given: str, accepted: str) -> None:
        super().__init__(f"{place}: not a table of this version of hawb\n  given: {given}\n  accepted: {accepted}")


# Of a study

STUDY, CELL = "study", "cell"
DESIGN, ENVIRONMENT = "design", "environment"
WRITTEN = (BATCH,)

OF_A_CELL = (
    Column(STUDY, TEXT, "the study: its file's name"),
    Column(CELL, TEXT, "the cell: design, environment, and a digest of all their settings, seed and horizon"),
)
NAMES = (
    Column(DESIGN, TEXT, "the design's name in the study"),
    Column(ENVIRONMENT, TEXT, "the environment's name in the study"),
    Column(TRIAL, WHOLE, "the trial's number in its cell, from 0; the same faults at the same times in all designs"),
)
BATCHES = (Column(BATCH, WHOLE, "the micro-batch of the stream in which it was written"),)

RECORD: dict[str, str] = {
    "published": "messages published",
    "confirmed": "messages that publishers were told are safe",
    "nacked": "messages that publishers were told are not safe",
    "refused": "messages that no queue took",
    "lost": "messages whose last copy is gone",
    "lost_confirmed": "messages that were confirmed and are lost, or that no queue took",
    "delivered_twice": "messages that a client was sent more than once",
    "promotions": "how often a mirror became master",
    "unsynchronised_promotions": "how often one that did not hold all messages did",
    "outages": "how often the queue was without a master or leader",
    "publish_down_s": "seconds in which nothing could be published",
    "consume_down_s": "seconds in which nothing could be consumed",
    "sync_blocked_s": "seconds in which a synchronisation blocked the queue",
    "metadata_down_s": "seconds in which no node that ran could have metadata changed (queues, bindings, policies)",
    "bytes_replicated": "bytes sent from replica to replica",
    "messages": "messages in the queue at the end",
}
"""The meaning of each number of a record (`hawb.study.trial_record`), in its order."""

TRIALS = Table(
    "trials", "A row for each trial: a cluster watched from the study's first day to its last.",
    (
        *OF_A_CELL, *BATCHES, *NAMES,
        *(Column(name, NUMBER if name[-2:] == "_s" else WHOLE, what) for name, what in RECORD.items()),
        Column(WEIGHT, NUMBER, "what the trial counts for; 1 unless failures are drawn more often than they happen"),
    ),
    (STUDY, CELL, BATCH),
)  # fmt: skip

FAULTS = Table(
    "faults", "A row for each event of a trial's history: what fails, what comes back, what is planned.",
    (
        *OF_A_CELL, *NAMES,
        Column("event", WHOLE, "its number in the trial, from 0"),
        Column("at_s", NUMBER, "seconds from the trial's beginning"),
        Column("kind", TEXT, "kill, power_off, stop, start, lose_disk, cut, cut_link, heal, consumers_away, …"),
        Column("nodes", TEXTS, "the nodes it is about: those that go or come, one side of a cut, the ends of a link"),
    ),
    (STUDY, CELL),
)  # fmt: skip

LOSSES = Table(
    "losses", "A row for each loss of a trial: messages of which the last copy went at one moment for one cause.",
    (
        *OF_A_CELL, *NAMES,
        Column("loss", WHOLE, "its number in the trial, from 0"),
        Column("at_s", NUMBER, "seconds from the trial's beginning; null for what no queue ever took"),
        Column("cause", TEXT, "the cause, as outcomes name it, or no_queue: confirmed though no queue took them"),
        Column("node", TEXT, "the node at which it came about, such as that of a mirror that took over"),
        Column("messages", WHOLE, "messages that are gone"),
        Column("confirmed", WHOLE, "those of them that were confirmed"),
    ),
    (STUDY, CELL),
)  # fmt: skip


def _setting_columns(name: str, kind: object) -> Iterator[Column]:
    """A column for each setting of a struct, with those of its parts."""
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
    "A row for each cell: a design in an environment, with every setting; null is what is not set, JSON what is a map.",
    (
        *OF_A_CELL, *NAMES[:2],
        Column("title", TEXT, "the study's title"),
        Column("seed", WHOLE, "the study's seed"),
        Column("horizon_days", NUMBER, "days for which each trial is watched"),
        *_setting_columns("design", Design), *_setting_columns("environment", Environment),
    ),
    (STUDY, CELL),
)  # fmt: skip

OF_STUDIES: Sequence[Table] = (TRIALS, CELLS, FAULTS, LOSSES)


def dictionary(tables: Sequence[Table]) -> str:
    """The data dictionary: all tables with their columns, as a page of Markdown."""
    head = "# Tables\n\nWritten by Spark as Parquet, each in a folder of its name; generated from `hawb.study.tables`."
    return "\n\n".join([head, *map(str, tables)]) + "\n"
