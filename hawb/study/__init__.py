"""Studies at scale: designs × environments × trials on Apache Spark, with the rules of `hawb.rules` and no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> SparkSession:
    """Register hawb's data sources in a Spark session and return the session.

    The data sources are in `hawb.study.sources` and `hawb.study.fleet_sources`.
    """
    from hawb.study import fleet_sources, sources

    return fleet_sources.register(sources.register(spark))
