"""Starts Spark on this machine: quiet, on the loopback interface only, and without litter in the working directory."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import sys
import tempfile

from pyspark.sql import SparkSession

from hawb.study.java import java_home

_LOOPBACK = "127.0.0.1"


def session(app_name: str = "hawb", master: str = "local[*]", **config: str) -> SparkSession:
    """The running Spark session, or a new one.

    `config` goes over hawb's own settings: `session(**{"spark.sql.shuffle.partitions": "8"})`. A session that already
    runs keeps what can only be set at its start: stop it first to change `master` or memory.

    The environment of this process is changed for the Spark it starts: JAVA_HOME, SPARK_LOCAL_IP, PYSPARK_PYTHON and
    PYSPARK_DRIVER_PYTHON, the last two because the workers would otherwise take the first Python on the PATH.

    Raises hawb.study.java.JavaNotFoundError.
    """
    os.environ["JAVA_HOME"] = str(java_home())
    os.environ["SPARK_LOCAL_IP"] = _LOOPBACK
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    settings = {
        "spark.driver.bindAddress": _LOOPBACK,
        "spark.driver.host": _LOOPBACK,
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": _warehouse(),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    return SparkSession.builder.appName(app_name).master(master).config(map=settings | config).getOrCreate()


@functools.cache
def _warehouse() -> str:
    directory = tempfile.mkdtemp(prefix="hawb-warehouse-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory
