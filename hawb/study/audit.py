"""An audit of a fleet: every queue of any number of clusters, on Spark.

The exports are read once (`hawb-audit` of `hawb.study.fleet_sources`). Spark caches them in memory and on disk while
the tables are written one after another: Spark writes one table at a time. Measured with 400,000 queues on two cores:
one table alone took 146,000 queues a second, all tables from the cache 124,000; one write into folders partitioned by a
column 141,000, but then every table has the columns of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct
from pyspark.sql import DataFrame, SparkSession

from hawb.study.failures import FAILURES, SparkFailed
from hawb.study.fleet_tables import CLUSTERS, FINDINGS, QUEUES, REFUSALS
from hawb.study.folders import local_folder, written_whole
from hawb.study.spark import cores

SHARES_FOR_A_CORE = 4
"""Partitions for each core: enough that one with slow clusters does not delay the end."""

TABLES = {
    QUEUES: ("queue IS NOT NULL", "queue.*"),
    CLUSTERS: ("own IS NOT NULL", "own.*"),
    FINDINGS: ("own IS NOT NULL", "own.cluster", "inline(own.findings)"),
    REFUSALS: ("own IS NOT NULL", "own.cluster", "inline(own.refused)"),
}
"""For each table the rows of an audit that it comes from, and the columns it takes from them."""

RISKS = """\
SELECT code, sum(queues) AS queues, count_if(queues = 0) AS policies_and_nodes,
       count(DISTINCT cluster) AS clusters, min(struct(cluster, concat(kind, ' ', name) AS thing)) AS example
FROM {findings}
GROUP BY code
ORDER BY queues DESC, policies_and_nodes DESC, code"""
"""Each kind of finding, with an example and the numbers of queues, of policies and nodes, and of clusters that have it.

A queue counts if it or a policy that applies to it has the finding.
"""

BLOCKERS = """\
SELECT blocker, count(*) AS queues, count(DISTINCT cluster) AS clusters
FROM (SELECT cluster, explode(blockers) AS blocker FROM {queues})
GROUP BY blocker
ORDER BY queues DESC, blocker"""
"""Each obstacle to quorum queues, with the number of queues that it blocks."""

TYPES = "SELECT type, count(*) AS queues FROM {queues} GROUP BY type ORDER BY queues DESC, type"

REFUSED = "SELECT file, place, given, accepted FROM {refusals} ORDER BY file"
"""The files that could not be read, with the reasons."""

CLUSTERS_READ = "SELECT count(version) AS clusters FROM {clusters}"
"""The number of clusters of which at least one file could be read."""


class Summary(Struct, frozen=True):
    """The results of an audit, with rows as plain values; the statements above define the rows."""

    clusters: int
    types: dict[str, int]
    risks: list[dict]
    blockers: list[dict]
    refused: list[dict]


def audit(
    spark: SparkSession, paths: Sequence[Path], folder: Path, shares: int | None = None, base: Path | None = None
) -> None:
    """Audit the clusters of files and folders into the tables of `folder` (`hawb.study.fleet_tables`).

    The tables replace those that are there. Relative paths begin at `base`, by default the working directory. The work
    is cut into `shares` partitions. Raise hawb.study.failures.SparkFailed, and ValueError for a folder that is no path.
    """
    read = spark.read.format("hawb-audit").options(
        paths=msgspec.json.encode([str(path) for path in paths]).decode(), base=str(base or Path.cwd()),
        shares=str(shares or SHARES_FOR_A_CORE * cores(spark)),
    ).load()  # fmt: skip
    read.persist()
    try:
        with written_whole(local_folder(folder).absolute()) as new:
            for table, (of_rows, *columns) in TABLES.items():
                table.write(read.where(of_rows).selectExpr(*columns), new)
    except FAILURES as error:
        raise SparkFailed(error) from None
    finally:
        read.unpersist()


def tables(spark: SparkSession, folder: Path) -> dict[str, DataFrame]:
    """Return the tables of an audit by their names. Raise hawb.study.tables.TableRefused."""
    return {table.name: table.read(spark, folder) for table in TABLES}


def summary(spark: SparkSession, folder: Path) -> Summary:
    """Return the results of the audit in a folder. Raise hawb.study.tables.TableRefused."""
    found = tables(spark, folder)

    def rows(statement: str) -> list[dict]:
        needed = {name: frame for name, frame in found.items() if f"{{{name}}}" in statement}
        return [row.asDict(recursive=True) for row in spark.sql(statement, **needed).collect()]

    return Summary(
        clusters=rows(CLUSTERS_READ)[0]["clusters"],
        types={row["type"]: row["queues"] for row in rows(TYPES)},
        risks=rows(RISKS),
        blockers=rows(BLOCKERS),
        refused=rows(REFUSED),
    )
