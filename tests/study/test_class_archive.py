"""The archive of Java's classes: which options use it, and that Java maps it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest
from pyspark.sql import SparkSession

from hawb.study import class_archive


def test_options_name_both_layers_of_an_archive(tmp_path: Path):
    assert class_archive.options(tmp_path) == ""
    for name in class_archive.FILES:
        (tmp_path / name).touch()
    named = f'"-XX:SharedArchiveFile={tmp_path}/java.jsa:{tmp_path}/spark.jsa"'
    assert class_archive.options(tmp_path).startswith(named)


@pytest.mark.spark
def test_spark_maps_the_archive_that_setup_has_written(spark: SparkSession, unavailable: Callable[[str], NoReturn]):
    if class_archive.options() == "":
        unavailable("no archive of Java's classes: `make setup` writes it")
    maps = Path("/proc", str(spark.sparkContext._gateway.proc.pid), "maps").read_text()
    assert {str(class_archive.folder() / name) for name in class_archive.FILES} <= set(maps.split())
