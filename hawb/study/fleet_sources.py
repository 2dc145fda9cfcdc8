"""Data sources for Spark that read exports of any number of clusters: queues, definitions, and an audit of both.

    spark.read.format("rabbitmq-queues").load("exports/")

A path is a file or a folder (`hawb.study.fleet` defines which files are one cluster); `load` also takes several, and
opens no others. A partition is a share of the clusters, dealt by size. Files are untrusted: an unreadable file becomes
a row, with the reason in the columns `refused_…`, and does not end the job. Option `mode` is that of Spark's own
readers: PERMISSIVE, DROPMALFORMED without such rows, or FAILFAST; `base` is the folder at which relative paths begin,
by default Spark's working directory.

Users, passwords and permissions are never decoded (`hawb.exports.definitions`). Python reads one cluster after the
other; each of Spark's machines must have the files under the same paths.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
from msgspec.structs import asdict
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from hawb import process
from hawb.exports.definitions import holds_export, read_definitions
from hawb.exports.imported import split_source
from hawb.planning.inventory import of_files
from hawb.study.audit_rows import OWN_SCHEMA, QUEUE_SCHEMA, audited, read_rest
from hawb.study.fleet import ClusterFiles, clusters
from hawb.study.fleet_tables import EXPORTED_DEFINITIONS, EXPORTED_QUEUES, Table

SHARES = 8
"""The default number of partitions (option `shares`): a few for each of two cores."""

MODES = ("PERMISSIVE", "DROPMALFORMED", "FAILFAST")
Row = dict[str, Any]


def register(spark: SparkSession) -> SparkSession:
    """Register `rabbitmq-queues`, `rabbitmq-definitions` and `hawb-audit` in a session. Return the session."""
    for source in (ExportedQueues, ExportedDefinitions, Audit):
        spark.dataSource.register(source)
    return spark


class Share(InputPartition):
    """The clusters that one task of Spark reads."""

    def __init__(self, clusters: Sequence[ClusterFiles]) -> None:
        super().__init__(None)
        self.clusters = clusters


class FleetSource(DataSource):
    """The base of all sources of a fleet; `rows` returns the rows of a cluster."""

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(options)
        self.paths, self.base = [Path(path) for path in paths_of(options)], Path(options.get("base", ""))
        self.mode, self.shares = options.get("mode", MODES[0]).upper(), int(options.get("shares", SHARES))
        if self.mode not in MODES:
            raise ValueError(f"mode: {self.mode} is not one of {', '.join(MODES)}")

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return a reader of all clusters."""
        return FleetReader(self)

    def rows(self, cluster: ClusterFiles) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a cluster."""
        raise NotImplementedError


def paths_of(options: Mapping[str, str]) -> list[str]:
    """Return the paths that were given to `load`. Raise ValueError if there are none."""
    if "paths" in options:
        return msgspec.json.decode(options["paths"], type=list[str])
    if "path" in options:
        return [options["path"]]
    raise ValueError("no exports: give a file or a folder to load(PATH)")


class FleetReader(DataSourceReader):
    """A reader of clusters."""

    def __init__(self, source: FleetSource) -> None:
        self.source, self.clusters = source, clusters(source.paths, source.base)

    def partitions(self) -> Sequence[Share]:
        """Return the clusters dealt to partitions, the largest first."""
        by_size = sorted(self.clusters, key=lambda cluster: (-cluster.size_bytes, cluster.name))
        count = min(self.source.shares, len(by_size)) or 1
        return [Share(by_size[number::count]) for number in range(count)]

    def read(self, partition: Share) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a partition's clusters."""
        with collecting_later():
            for cluster in partition.clusters:
                yield from self.source.rows(cluster)
        process.spare_the_collector()


@contextmanager
def collecting_later() -> Iterator[None]:
    """Switch Python's cycle collector off during the `with` block.

    A cluster is a hundred thousand small objects without cycles, freed with its last name. To search them for cycles
    takes a third of an audit.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class Exported(FleetSource):
    """The base of the sources of exports: rows of a table, and a row for each file that is refused."""

    table: Table

    @classmethod
    def name(cls) -> str:
        """Return the name of the format: the table's."""
        return cls.table.name

    def schema(self) -> StructType:
        """Return the columns of the table, with comments."""
        return self.table.schema

    def rows_of_files(self, files: Sequence[str]) -> list[Row]:
        """Return the rows of files, without the cluster's name. Raise ImportRefused."""
        raise NotImplementedError

    def rows(self, cluster: ClusterFiles) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a cluster. In mode FAILFAST raise ValueError for a refused file."""
        refused: list[dict[str, str]] = []
        found = read_rest(cluster, refused, self.rows_of_files) or []
        if refused and self.mode == "FAILFAST":
            raise ValueError("{file}: {place}: {given}, not {accepted}".format(**refused[0]))
        if self.mode == "PERMISSIVE":
            found += [{f"refused_{name}": value for name, value in one.items()} for one in refused]
        yield from self.table.of([{"cluster": cluster.name} | row for row in found]).to_batches()


class ExportedQueues(Exported):
    """Format `rabbitmq-queues`: one row for each queue."""

    table = EXPORTED_QUEUES

    def rows_of_files(self, files: Sequence[str]) -> list[Row]:
        """Return the queues of files. Raise ImportRefused."""
        return [
            asdict(queue.facts) | {
                "vhost": queue.vhost, "queue": queue.name, "type": queue.type,
                "node": queue.facts.leader or queue.facts.node, "synchronised_mirrors": queue.facts.synchronised,
            }
            for queue in of_files(files).queues
        ]  # fmt: skip


class ExportedDefinitions(Exported):
    """Format `rabbitmq-definitions`: one row for each virtual host, policy, operator policy or queue."""

    table = EXPORTED_DEFINITIONS

    def rows_of_files(self, files: Sequence[str]) -> list[Row]:
        """Return the definitions of files. Listings beside them are read only to check them. Raise ImportRefused."""
        of_files(files)
        exports = [(file, vhost) for file, vhost in map(split_source, files) if holds_export(file)]
        return [row for file, vhost in exports for row in _defined(file, vhost)]


def _defined(file: Path, vhost: str | None) -> Iterator[Row]:
    defined = read_definitions(file, vhost)
    release = {"release": defined.release}
    for name in defined.vhosts:
        yield release | {"kind": "vhost", "vhost": name, "name": name}
    for kind, policies in (("policy", defined.policies), ("operator policy", defined.operator_policies)):
        for (of_vhost, name), entry in policies.items():
            yield entry | release | {"kind": kind, "vhost": of_vhost, "name": name}
    for (of_vhost, name), queue in defined.queues.items():
        yield asdict(queue) | release | {"kind": "queue", "vhost": of_vhost, "name": name}


class Audit(FleetSource):
    """Format `hawb-audit`: one row for each queue, and one for each cluster.

    The column of the other kind is null. All tables of an audit come from one read (`hawb.study.audit`).
    """

    QUEUE, OWN = pa.struct(list(QUEUE_SCHEMA)), pa.struct(list(OWN_SCHEMA))

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "hawb-audit"

    def schema(self) -> StructType:
        """Return two columns: a queue's row, and a cluster's own."""
        return from_arrow_schema(self.arrow)

    @property
    def arrow(self) -> pa.Schema:
        """Return the schema for pyarrow."""
        return pa.schema([("queue", self.QUEUE), ("own", self.OWN)])

    def rows(self, cluster: ClusterFiles) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a cluster's queues, and the cluster's own row."""
        queues, own = audited(cluster)
        for columns in ([queues.to_struct_array(), pa.nulls(queues.num_rows, self.OWN)],
                        [pa.nulls(own.num_rows, self.QUEUE), own.to_struct_array()]):  # fmt: skip
            yield pa.RecordBatch.from_arrays(columns, schema=self.arrow)
