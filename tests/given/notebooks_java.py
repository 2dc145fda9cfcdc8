"""One Java for all notebooks of a process that use Spark: to start one and to warm it up takes half of their time.

A notebook's kernel is a process of its own. pyspark connects it to a Java that is there already where
PYSPARK_GATEWAY_PORT and PYSPARK_GATEWAY_SECRET say so, and Spark has one context in a Java: what the notebook before
left behind is stopped first. This is a plugin, since a conftest.py in tests/ hears nothing of items in notebooks/.
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
NAMED = ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET")


_played: list[Path] = []
"""The notebooks that this process has begun."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before the kernel of a notebook starts, name this process's Java to it if the notebook starts Spark."""
    if item.path.suffix != ".ipynb" or item.path in _played[-1:]:
        return
    _played.append(item.path)
    for name in NAMED:
        os.environ.pop(name, None)
    if "hawb.study.spark import session" in item.path.read_text(encoding="utf-8"):
        os.environ.update(zip(NAMED, _address(), strict=True))


def start() -> JavaGateway:
    """Start Java, unless this process has one, in the folder of the notebooks: relative places are from there."""
    from pyspark import SparkContext

    from hawb.study.spark import session

    if SparkContext._gateway is None:
        with chdir(NOTEBOOKS):
            session(master="local[2]").stop()
    return SparkContext._gateway


def _address() -> tuple[str, str]:
    """Stop what Spark does in Java, and return Java's port and the secret that it asks for."""
    from pyspark import SparkContext

    gateway = start()
    # A session of this process is stopped by pyspark, which then makes another where a test asks for one.
    if SparkContext._active_spark_context is not None:
        SparkContext._active_spark_context.stop()
    left = getattr(getattr(gateway.jvm.org.apache.spark, "SparkContext$"), "MODULE$").getActive()
    if left.isDefined():
        left.get().stop()
    return str(gateway.java_parameters.port), gateway.java_parameters.auth_token
