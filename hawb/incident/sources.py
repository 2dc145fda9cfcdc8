"""Logs as a data source for Spark.

    from hawb import incident
    incident.register(spark)
    spark.read.format("rabbitmq-logs").load("logs/").where("kind = 'node_down'")

A path is a file or a folder; `load` takes several, too. Rows are those of `hawb.incident.event_table`; a partition is
one file, so a node is known only from its own file, and times are those of its own clock (`hawb.incident.reading`
compares the clocks of one cluster). Option `zone` is the IANA name of the zone for times without one; `clients` true
includes connections and users; `unpacked_mb` and `unpacked_ratio` limit what each file unpacks to; `mode` is that of
Spark's own readers: PERMISSIVE skips what cannot be read of a file, FAILFAST ends with an error.

Python reads one line after the other, four to twelve million a minute on a core (`benchmarks/logs.py`); the paths must
be reachable under their names from each of Spark's machines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from hawb import process
from hawb.incident.entries import zone_of
from hawb.incident.event_table import LOG_EVENTS, rows
from hawb.incident.files import Limits, Unpacking, log_files
from hawb.incident.reading import read_file
from hawb.study.fleet_sources import paths_of

BATCH = 20_000
"""Number of events per batch sent to Spark."""
MODES = ("PERMISSIVE", "FAILFAST")


def register(spark: SparkSession) -> SparkSession:
    """Register `rabbitmq-logs` with a session and return the session."""
    spark.dataSource.register(Logs)
    return spark


class LogFile(InputPartition):
    """A file that one task of Spark reads."""

    def __init__(self, file: Path) -> None:
        super().__init__(None)
        self.file = file


class Logs(DataSource):
    """Format `rabbitmq-logs`: a row an event. Raises ValueError for an unknown zone or mode."""

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(options)
        base = Path(options.get("base", ""))
        self.paths = [base / path for path in paths_of(options)]
        self.clients = options.get("clients", "false").lower() == "true"
        self.mode = options.get("mode", MODES[0]).upper()
        if self.mode not in MODES:
            raise ValueError(f"mode: {self.mode} is not one of {', '.join(MODES)}")
        self.zone = zone_of(options.get("zone", "UTC"))
        self.limits = Limits(**{name: float(options[name]) for name in Limits.__struct_fields__ if name in options})

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "rabbitmq-logs"

    def schema(self) -> StructType:
        """Return the columns of events with their descriptions."""
        return LOG_EVENTS.schema

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return a reader of all files."""
        return LogReader(self)


class LogReader(DataSourceReader):
    """Reads the files of logs, each by itself."""

    def __init__(self, source: Logs) -> None:
        self.source = source

    def partitions(self) -> Sequence[LogFile]:
        """Return the files, largest first."""
        return [LogFile(file) for file in sorted(log_files(self.source.paths), key=lambda file: -file.stat().st_size)]

    def read(self, partition: LogFile) -> Iterator[pa.RecordBatch]:
        """Yield the events of a file.

        Raise ValueError if the file cannot be read to its end and the mode is FAILFAST.
        """
        reading = read_file(partition.file, self.source.zone, self.source.clients, Unpacking(self.source.limits))
        if reading.refused and self.source.mode == "FAILFAST":
            raise ValueError(f"{reading.file}: {reading.refused}")
        for first in range(0, len(reading.events), BATCH):
            yield rows(reading.events[first : first + BATCH])
        process.spare_the_collector()
