"""Read the spans of many clusters, from a folder for each: one after the other in this process, or all on Spark.

Of the paths given, a folder that holds logs is one cluster, with all that is below it; any other folder has a folder
for each cluster. Files that are given one by one belong to one cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, structs, to_builtins

from hawb.incident.asked import WHOLE, Asked
from hawb.incident.files import LOG, Limits, log_files
from hawb.incident.not_logs import not_logs, what
from hawb.incident.reading import FileReading, Reading, read_logs, together
from hawb.incident.spans import Span, spans
from hawb.scenario.inputs import check_there

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

NAMED = "the files given"
"""Name of a cluster whose files are given one by one."""


class Fleet(Struct, frozen=True):
    """The spans of all clusters, and the number of files read.

    `refused` are the files that could not be read to their end, each with the reason; `others` are files that are no
    logs of RabbitMQ, each with its kind.
    """

    spans: list[Span]
    files: int
    refused: list[tuple[str, str]]
    others: Sequence[tuple[str, str]] = ()


def clusters(paths: Iterable[Path]) -> dict[str, list[Path]]:
    """Return the log files of each cluster, by the cluster's name. Raise OSError for a path that does not exist."""
    found: dict[str, list[Path]] = {}
    for path in paths:
        if not path.is_dir():
            check_there(path)
            found.setdefault(NAMED, []).append(path)
        elif any(LOG.search(file.name) and file.is_file() for file in path.iterdir()):
            found[path.name or str(path)] = log_files([path])
        else:
            for place in sorted(one for one in path.iterdir() if one.is_dir()):
                if files := log_files([place]):
                    found[place.name] = files
    return found


def read_fleet(
    files: Mapping[str, Iterable[Path]], zone: tzinfo = UTC, watch: Callable[[str], None] = lambda _: None,
    asked: Asked = WHOLE, limits: Limits | None = None,
) -> Fleet:  # fmt: skip
    """Read clusters one after the other, restricted to the time asked about, and return their spans.

    `watch` is called with the name of each cluster that is done.
    """
    found: list[Span] = []
    refused: list[tuple[str, str]] = []
    others: list[tuple[str, str]] = []
    count = 0
    for cluster, paths in files.items():
        reading = read_logs(paths, zone, limits=limits)
        found += spans(cluster, asked.of(reading))
        count += len(reading.files)
        refused += [(file.file, file.refused) for file in reading.files if file.refused]
        others += [(file.file, what(file)) for file in not_logs(reading) if not file.refused]
        watch(cluster)
    return Fleet(found, count, refused, others)


def spans_on(
    spark: SparkSession, files: Mapping[str, Iterable[Path]], zone: str = "UTC", asked: Asked = WHOLE,
    limits: Limits | None = None,
) -> DataFrame:  # fmt: skip
    """Return a row for each span (`hawb.incident.event_table.SPANS`), computed on Spark.

    Spark reads the files and groups them by cluster; one task handles each cluster.
    """
    from pyspark.sql import functions as sql

    from hawb import incident
    from hawb.incident.event_table import SPANS

    placed = [(str(path.absolute()), cluster) for cluster, paths in files.items() for path in paths]
    rows = incident.register(spark).read.format("rabbitmq-logs").option("zone", zone)
    for name, value in structs.asdict(limits or Limits()).items():
        rows = rows.option(name, value)
    events = rows.load([file for file, _ in placed])
    whose = spark.createDataFrame(placed, "file string, cluster string")
    return events.join(sql.broadcast(whose), "file").groupBy("cluster").applyInArrow(
        lambda table: of_rows(table, asked), SPANS.schema
    )


def of_rows(table: pa.Table, asked: Asked = WHOLE) -> pa.Table:
    """Return the spans of one cluster from the rows of its events."""
    import pyarrow as pa

    from hawb.incident.event_table import SPANS, events_of

    by_file: dict[str, FileReading] = {}
    for event in sorted(events_of(table), key=lambda event: (event.file, event.line)):
        by_file.setdefault(event.file, FileReading(event.file)).events.append(event)
    cluster = table["cluster"][0].as_py() if table.num_rows else ""
    reading: Reading = asked.of(together([*by_file.values()]))
    return pa.Table.from_pylist([to_builtins(span) for span in spans(cluster, reading)], schema=SPANS.arrow)


def collected(rows: DataFrame) -> list[Span]:
    """Return the spans of a Spark table in a stable order."""
    found = [Span(**row.asDict()) for row in rows.collect()]
    return sorted(found, key=lambda span: (span.cluster, span.from_us, span.kind, span.node or ""))
