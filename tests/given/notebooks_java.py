"""One Spark for all notebooks and tests of a process that use it: to start and to warm it up takes half of their time.

A notebook's kernel is a process of its own. pyspark connects it to a Java that is there already where
PYSPARK_GATEWAY_PORT and PYSPARK_GATEWAY_SECRET say so. Spark has one context in a Java, with its Python workers: the
kernel takes that (`shared_spark`), and a session of its own in it, with its own views and settings. This is a plugin,
since a conftest.py in tests/ hears nothing of items in notebooks/.
"""

from __future__ import annotations

import os
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
NAMED = ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "PYTHONSTARTUP")
FIRST = Path(__file__).with_name("shared_spark.py")


_played: list[Path] = []
"""The notebooks that this process has begun."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before the kernel of a notebook starts, name this process's Spark to it if the notebook uses Spark."""
    if item.path.suffix != ".ipynb" or item.path in _played[-1:]:
        return
    _played.append(item.path)
    for name in NAMED:
        os.environ.pop(name, None)
    if "hawb.study.spark import session" in item.path.read_text(encoding="utf-8"):
        os.environ.update(zip(NAMED, _address(), strict=True))


def start() -> JavaGateway:
    """Start Spark, unless this process has one, in the folder of the notebooks: relative places are from there."""
    from pyspark import SparkContext

    from hawb.study.spark import session

    if SparkContext._active_spark_context is None:
        with chdir(NOTEBOOKS):
            session(master="local[2]")
    return SparkContext._gateway


def _address() -> tuple[str, str, str]:
    """Start Spark, have the next session be a new one, and return Java's port, its secret and what to run first."""
    gateway = start()
    sessions = getattr(getattr(gateway.jvm.org.apache.spark.sql.classic, "SparkSession$"), "MODULE$")
    sessions.clearDefaultSession()
    sessions.clearActiveSession()
    return str(gateway.java_parameters.port), gateway.java_parameters.auth_token, str(FIRST)
