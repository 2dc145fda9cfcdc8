"""Studies at scale: designs × environments × trials on Apache Spark, with the rules of `hawb.rules` and no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> SparkSession:
    """Makes any Spark session know hawb's sources of data (`hawb.study.sources`, `hawb.study.fleet_sources`), and
    returns it."""
    from hawb.study import fleet_sources, sources

    return fleet_sources.register(sources.register(spark))
