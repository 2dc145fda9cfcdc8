"""The day after: a cluster's own logs read back.

`rules` is the table of what RabbitMQ says and what it means, `events` what comes of it; `reading` goes from files to
events in the order of time, by way of `files`, `wrappings`, `entries`, `recogniser`, `templates` and `clocks`.
`absences` puts together who missed whom, and which of that was a partition. `sources` has the events for Spark.
`exports` tells definitions and listings from logs.

What they come to is a story: `lives` of brokers and `happenings`; `before` (how the cluster stood), `steps` and
`retold` make a scenario of it, with `doubts`; `depths` and `following` play it as the cluster went on, `compared` has
both beside each other, and `losses` says what it cost. `understanding` does all of that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> SparkSession:
    """Makes a Spark session know `rabbitmq-logs` (`hawb.incident.sources`), and returns it."""
    from hawb.incident import sources

    return sources.register(spark)
