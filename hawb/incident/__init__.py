"""Reconstruct an incident from a cluster's logs.

`rules` is the table of RabbitMQ's log messages and their meanings, `events` the event type that rules produce;
`reading` turns files into events in order of time, with `files`, `wrappings`, `entries`, `recogniser`, `templates` and
`clocks`. `absences` finds which node saw which other node as down, and which of these absences were partitions.
`sources` provides the events to Spark. `exports` separates definitions and listings from logs.

From log events follow `node_runs` and `cluster_events`. `before` (the cluster's initial state), `steps` and
`reconstruction` make a scenario of them, with `doubts`; `depths` and `following` play it the way the cluster went,
`compared` matches both, and `losses` says what was lost. `understanding` does all of that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> SparkSession:
    """Register `rabbitmq-logs` (`hawb.incident.sources`) with a Spark session and return the session."""
    from hawb.incident import sources

    return sources.register(spark)
