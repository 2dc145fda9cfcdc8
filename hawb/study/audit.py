"""An audit of a fleet: every queue of any number of clusters, on Spark.

A task is a share of the clusters, dealt out by size, and there are a few tasks for each core: starting one costs as
much as hundreds of queues. Each task writes its queues to a Parquet file of its own and hands back a row for each
cluster, so that the queues go straight to disk and not through the driver. A task that is tried again writes the same
file. On a Spark of several machines files and folder must be reachable under their names from each of them, and hawb be
installed there.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from msgspec import Struct
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from hawb.study.audit_rows import CLUSTER_SCHEMA, QUEUE_SCHEMA, audited
from hawb.study.fleet import ClusterFiles
from hawb.study.folders import write_parquet, written_whole
from hawb.study.spark import cores

TASKS_FOR_A_CORE = 4
"""Enough that a core which got the slow clusters does not keep the others waiting for long."""

RISKS = """\
WITH found AS (
  SELECT code, cluster, concat('queue ', vhost, '::', queue) AS thing, 1 AS of_queue
  FROM (SELECT cluster, vhost, queue, explode(findings) AS code FROM {queues})
  UNION ALL
  SELECT code, cluster, concat(kind, ' ', name) AS thing, 0 AS of_queue
  FROM (SELECT cluster, inline(findings) FROM {clusters})
)
SELECT code, sum(of_queue) AS queues, count(*) - sum(of_queue) AS policies_and_nodes,
       count(DISTINCT cluster) AS clusters, min(struct(cluster, thing)) AS example
FROM found
GROUP BY code
ORDER BY queues DESC, policies_and_nodes DESC, code"""
"""Each kind of finding: in how many queues, counting those under a policy that has it, in how many policies and nodes,
in how many clusters, and one of them."""

BLOCKERS = """\
SELECT blocker, count(*) AS queues, count(DISTINCT cluster) AS clusters
FROM (SELECT cluster, explode(blockers) AS blocker FROM {queues})
GROUP BY blocker
ORDER BY queues DESC, blocker"""
"""What blocks the move of how many queues to quorum queues."""

TYPES = "SELECT type, count(*) AS queues FROM {queues} GROUP BY type ORDER BY queues DESC, type"

REFUSED = "SELECT inline(refused) FROM {clusters} ORDER BY file"
"""The files that could not be read, and why."""

CLUSTERS = "SELECT count(version) AS clusters FROM {clusters}"
"""The clusters of which something could be read."""


class Summary(Struct, frozen=True):
    """What an audit comes to, rows as plain values; the statements above say what they are."""

    clusters: int
    types: dict[str, int]
    risks: list[dict]
    blockers: list[dict]
    refused: list[dict]


def audit(spark: SparkSession, clusters: Sequence[ClusterFiles], folder: Path, tasks: int | None = None) -> None:
    """Audits all clusters into `folder`, in place of what was there: `queues` and `clusters`, both Parquet, with the
    columns of `hawb.study.audit_rows`. `tasks` is into how many the work is cut."""
    tasks = tasks or min(len(clusters), TASKS_FOR_A_CORE * cores(spark))
    by_size = sorted(clusters, key=lambda cluster: (-cluster.size_bytes, cluster.name))
    shares = [by_size[task::tasks] for task in range(tasks)]
    with written_whole(folder.absolute()) as new:

        def look(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for task in batch["id"].to_pylist():
                    yield from audit_share(shares[task], new / "queues" / f"{task:06}.parquet")

        numbers = spark.range(0, tasks, 1, tasks)
        numbers.mapInArrow(look, from_arrow_schema(CLUSTER_SCHEMA)).write.parquet(str(new / "clusters"))


def audit_share(share: Iterable[ClusterFiles], file: Path) -> list[pa.RecordBatch]:
    """Writes the queues of a share of the clusters to a Parquet file; the clusters' own rows."""
    own = []

    def queues() -> Iterator[pa.RecordBatch]:
        for cluster in share:
            rows, row = audited(cluster)
            own.append(row)
            yield rows

    with collecting_later():
        write_parquet(file, QUEUE_SCHEMA, queues())
    return own


@contextmanager
def collecting_later() -> Iterator[None]:
    """Python does not look for cycles meanwhile. A cluster is a hundred thousand small objects without one, gone with
    its last name; to look through them again and again takes a third of an audit."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def summary(spark: SparkSession, folder: Path) -> Summary:
    """What the audit in a folder comes to."""
    parts = {name: spark.read.parquet(str(folder / name)) for name in ("queues", "clusters")}

    def rows(statement: str) -> list[dict]:
        needed = {name: frame for name, frame in parts.items() if f"{{{name}}}" in statement}
        return [row.asDict(recursive=True) for row in spark.sql(statement, **needed).collect()]

    return Summary(
        clusters=rows(CLUSTERS)[0]["clusters"],
        types={row["type"]: row["queues"] for row in rows(TYPES)},
        risks=rows(RISKS),
        blockers=rows(BLOCKERS),
        refused=rows(REFUSED),
    )
