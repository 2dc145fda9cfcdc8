"""A Spark session: on this machine, under a cluster's master, or over Spark Connect on a running server.

A Java that hawb starts has its files in the temporary folder of this process (`hawb.process`), the messages of Java and
of Spark's Python workers among them, and a process group of its own: a terminal's Ctrl-C reaches only this process,
which then ends Java. With a local master it listens on the loopback interface only. With another one executors connect
to the driver, which listens on the address from which this machine reaches the master.

hawb does not own a Connect server: it needs no Java here, keeps its own settings, and runs hawb's code in its own
Python, which must be of this version and have hawb installed. An address may have a token, `sc://HOST:PORT/;token=...`,
which is sent over TLS only, except to `localhost`; the variable SPARK_CONNECT_AUTHENTICATE_TOKEN may have it too.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen
from types import SimpleNamespace
from typing import Any
from unittest import mock
from urllib.parse import urlsplit

from pyspark import SparkConf, SparkContext, java_gateway
from pyspark.core import context as spark_context
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from hawb import process
from hawb.study import class_archive, register
from hawb.study.failures import keep_secret, without_secrets
from hawb.study.java import java_home

_LOOPBACK = "127.0.0.1"
_CONNECT, _CONNECT_PORT = "sc://", 15_002
_ANSWERS_IN_S = 10
_DIES_WITH_PARENT = 1
"""PR_SET_PDEATHSIG of Linux."""
_MANY = 100_000
"""The number of rows asked for: more than any Spark has cores."""

_EVERYWHERE = {
    "spark.sql.session.timeZone": "UTC",
    # Rows come in the order of the partitions that they are written to: without this Spark sorts them first.
    "spark.sql.maxConcurrentOutputFileWriters": "64",
}

BRIEF = "-XX:TieredStopAtLevel=1 -XX:-UsePerfData"
"""Use Java's first compiler alone, and write no file of figures about Java into /tmp.

A study's work is done by hawb's kernel, a command ends within a minute, and on two cores the second compiler costs more
time than it saves.
"""

TRIES = 4
"""The number of tries of a task, as on Spark's clusters; a local Spark tries it once by default."""
_LOCAL = re.compile(r"local(?:\[(\d+|\*)\])?")
_NAMES = ("spark.job.description", "callSite.short")
"""The properties of a thread that name its jobs and its stages."""
_STANDALONE = "spark://"


class SparkRefused(RuntimeError):  # noqa: N818 - it reads as what happened
    """No Spark is available, or it cannot do what hawb needs. The message says why."""


def session(app_name: str = "hawb", master: str = "local[*]", ui: bool = False, **config: str) -> SparkSession:
    """Return the running Spark session, or a new one, with hawb's data sources (`hawb.study.register`).

    `master` is `local[*]`, `spark://HOST:PORT` or any other master URL of Spark, or the address of a Spark Connect
    server, `sc://HOST:PORT`. For such a server, `config` can have only settings that a session may set.

    `config` overrides hawb's own settings: `session(**{"spark.sql.shuffle.partitions": "8"})`. A running session keeps
    the settings that can only be set at its start: stop it first to change `master` or memory. With `ui` Spark shows
    its work on a page, where jobs cannot be killed (`spark.sparkContext.uiWebUrl`).

    To start Spark, set these environment variables of this process: JAVA_HOME, PYSPARK_PYTHON, PYSPARK_DRIVER_PYTHON,
    and with a local master SPARK_LOCAL_IP. Without the Python variables, workers would use the first Python on the
    PATH. If executors have another Python, set `spark.pyspark.python`.

    Raise hawb.study.java.JavaNotFoundError, and SparkRefused if Java does not start, hawb's extra `connect` is not
    installed or no Connect server answers.
    """
    builder = SparkSession.builder.appName(app_name)
    keep_secret(config)
    if master.startswith(_CONNECT):
        return register(_connected(builder.remote(master).config(map=_EVERYWHERE | config), master))
    os.environ["JAVA_HOME"] = str(java_home())
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYSPARK_PYTHON"] = config.get("spark.pyspark.python", sys.executable)
    if is_local(master):
        os.environ["SPARK_LOCAL_IP"] = _LOOPBACK
    settings = {
        "spark.driver.extraJavaOptions": f'{BRIEF} {class_archive.options()} "-Djava.io.tmpdir={process.folder()}"',
        **addresses(master),
        "spark.log.level": "OFF",
        "spark.sql.warehouse.dir": str(process.folder() / "warehouse"),
        "spark.ui.enabled": str(ui).lower(),
        "spark.ui.killEnabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    settings |= _EVERYWHERE | config
    _start_java(settings | {"spark.master": tried_again(master), "spark.app.name": app_name})
    with _without_handler():
        return register(builder.master(tried_again(master)).config(map=settings).getOrCreate())


def is_local(master: str) -> bool:
    """Return True if a master runs all its executors on this machine, started by this process."""
    return master.startswith("local")


def addresses(master: str) -> dict[str, str]:
    """Return the settings of the address where the driver listens.

    It is loopback for a local master, and for a standalone one the address from which this machine reaches it. For
    other masters Spark decides: their executors find a driver by their own means.
    """
    if is_local(master):
        return {"spark.driver.host": _LOOPBACK, "spark.driver.bindAddress": _LOOPBACK}
    if not master.startswith(_STANDALONE):
        return {}
    own = _own_address(master.removeprefix(_STANDALONE).split(",")[0])
    return {"spark.driver.host": own, "spark.driver.bindAddress": own}


def _own_address(place: str) -> str:
    """Return this machine's address on the route to HOST:PORT, without sending anything. Raise SparkRefused."""
    try:
        address = urlsplit(f"//{place}")
        family, kind, _, _, target = socket.getaddrinfo(address.hostname, address.port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as way:
            way.connect(target)
            return way.getsockname()[0]
    except (OSError, ValueError) as error:
        raise SparkRefused(f"{_STANDALONE}{place}: this master cannot be reached: {error}") from None


def java_log() -> Path:
    """Return the file to which the Java that this process has started writes its messages."""
    return process.folder() / "java.log"


def _start_java(settings: dict[str, str]) -> None:
    """Start Spark's Java, unless this process has one. Raise SparkRefused."""
    if SparkContext._gateway is not None:
        return
    log = java_log()
    try:
        with log.open("wb") as messages:
            of_java = {"stdout": messages, "stderr": messages, "process_group": 0}
            with mock.patch.object(java_gateway, "Popen", _ended_with_this_process):
                gateway = java_gateway.launch_gateway(SparkConf().setAll(list(settings.items())), of_java)
    except PySparkException as error:
        lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
        said = next((line for line in lines if "rror" in line), str(error))
        raise SparkRefused(f"Java does not start: {without_secrets(said)}") from None
    SparkContext._ensure_initialized(gateway=gateway)


def _ended_with_this_process(command: list[str], preexec_fn: Callable[[], object] | None = None, **more: Any) -> Popen:
    """Start a process that Linux kills when this one ends, so that Java does not disturb a resumed study.

    By itself, Java ends only seconds later. Linux watches the thread that starts the process, and only the main thread
    lives as long as this process.
    """
    if sys.platform != "linux" or preexec_fn is None or threading.current_thread() is not threading.main_thread():
        return Popen(command, preexec_fn=preexec_fn, **more)
    set_option, first = ctypes.CDLL(None).prctl, preexec_fn

    def prepare() -> None:
        first()
        set_option(_DIES_WITH_PARENT, signal.SIGKILL)

    return Popen(command, preexec_fn=prepare, **more)


@contextmanager
def _without_handler() -> Iterator[None]:
    """Keep Spark from setting its handler of SIGINT in a process that has its own (`hawb.process.listening`).

    Spark's asks Java to cancel its jobs, and writes a traceback if another call to Java is under way.
    """
    if not process.listens():
        yield
        return
    ignoring = SimpleNamespace(SIGINT=signal.SIGINT, signal=lambda _number, _handler: None)
    with mock.patch.object(spark_context, "signal", ignoring):
        yield


def tried_again(master: str) -> str:
    """Return a local master with `TRIES` tries of a task, unless it sets them; other masters as they are."""
    local = _LOCAL.fullmatch(master)
    return f"local[{local[1] or 1},{TRIES}]" if local else master


def _connected(builder: SparkSession.Builder, master: str) -> SparkSession:
    """Return a session of a Connect server. Messages leave out the token that its address may have.

    The port is tried once first, since Spark's client would try for ten minutes to reach a server that does not answer.
    """
    place = master.partition("/;")[0]
    try:
        importlib.import_module("pyspark.sql.connect.session")
    except ImportError as error:
        raise SparkRefused(f"{place}: needs the extra `connect`, which is not installed: {error}") from None
    try:
        address = urlsplit(place)
        socket.create_connection((address.hostname, address.port or _CONNECT_PORT), _ANSWERS_IN_S).close()
    except (OSError, ValueError) as error:
        raise SparkRefused(f"{place}: no Spark Connect server answers there: {error}") from None
    try:
        return builder.getOrCreate()
    except PySparkException as error:
        raise SparkRefused(f"{place}: the Spark Connect server did not open a session: {error}") from None


@contextmanager
def named(spark: SparkSession, what: str) -> Iterator[None]:
    """Name the jobs and stages of a `with` block on Spark's pages and in its logs.

    Do nothing on a Connect server, which names them itself.
    """
    if is_remote(spark):
        yield
        return
    context = spark.sparkContext
    before = {key: context.getLocalProperty(key) for key in _NAMES}
    for key in _NAMES:
        context.setLocalProperty(key, what)
    try:
        yield
    finally:
        for key, value in before.items():
            context.setLocalProperty(key, value)


def is_remote(spark: SparkSession) -> bool:
    """Return True for a session of Spark Connect, which has no context here and no RDDs."""
    return not hasattr(spark, "sparkContext")


def cores(spark: SparkSession) -> int:
    """Return the number of tasks that a Spark runs at a time.

    A Connect server has no such figure: a range is cut into as many parts as it has cores.
    """
    if is_remote(spark):
        return spark.range(_MANY).selectExpr("spark_partition_id()").tail(1)[0][0] + 1
    return spark.sparkContext.defaultParallelism
