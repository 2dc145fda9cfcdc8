"""Report executors that Spark loses, and those that never start: a line for each reason.

Spark's status store has the executors that were there, and why one was removed. An executor that ends before it has
reached the driver is in no store: the master of a standalone cluster reports it to the driver's client, which logs it.
That one logger is switched on, and its lines are read from Java's log (`hawb.study.spark.java_log`).
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from hawb.study.spark import is_local, is_remote, java_log

LOOK_S = 2.0
"""The interval, in seconds, between looks at the executors."""
WAITS_S = 30
"""The time without any executor, in seconds, after which a line says so."""

CLIENT = "org.apache.spark.deploy.client.StandaloneAppClient$ClientEndpoint"
ENDED = re.compile(r"Executor updated: \S+/(\d+) is now (?:EXITED|FAILED|LOST)(?: \((.*)\))?")
DRIVER = "driver"
ASKED_FOR = "killed by driver"
"""A part of the reason of an executor that this process gave back, as with `spark.dynamicAllocation`."""


class Executors:
    """The executors of a session on a cluster, and the reasons that were reported already."""

    def __init__(self, spark: SparkSession, log: Path) -> None:
        self.store, self.log = spark.sparkContext._jsc.sc().statusStore(), log
        self.came, self.began_s = False, time.monotonic()
        self.address = spark.sparkContext.getConf().get("spark.driver.host", "")
        self.said: set[str] = set()
        log4j = spark.sparkContext._jvm.org.apache.logging.log4j
        log4j.core.config.Configurator.setLevel(CLIENT, log4j.Level.INFO)

    def news(self) -> Iterator[str]:
        """Yield a line for each reason that was not reported yet."""
        lost: dict[str, list[str]] = {}
        for number, reason in dict([*self._ended(), *self._removed()]).items():
            lost.setdefault(reason, []).append(number)
        for reason in lost.keys() - self.said:
            numbers = lost[reason]
            names = f"executor {numbers[0]}" if len(numbers) == 1 else f"{len(numbers)} executors"
            yield f"Spark lost {names}: {reason}"
        self.said |= lost.keys()
        if not self.came and "" not in self.said and time.monotonic() - self.began_s > WAITS_S:
            self.said.add("")
            yield (f"no executor connected within {WAITS_S} s: the cluster has no free cores or memory, or its"
                   f" machines cannot reach {self.address}, where hawb listens (--conf"
                   " spark.driver.host=ADDRESS)")  # fmt: skip

    def _removed(self) -> Iterator[tuple[str, str]]:
        """Yield the executors that were removed after they had started, each with Spark's reason."""
        executors = self.store.executorList(False)
        for place in range(executors.size()):
            one = executors.apply(place)
            if one.id() != DRIVER:
                self.came = True
                reason = one.removeReason()
                text = reason.get() if reason.isDefined() else "for no reason that Spark knows"
                if not one.isActive() and ASKED_FOR not in text:
                    yield one.id(), text

    def _ended(self) -> Iterator[tuple[str, str]]:
        """Yield the executors that a standalone master reported as ended, each with its reason."""
        for number, reason in ENDED.findall(self.log.read_text(encoding="utf-8", errors="replace")):
            yield number, reason or "for no reason that its worker knows"


@contextmanager
def reporting_executors(spark: SparkSession, say: Callable[[str], object]) -> Iterator[None]:
    """Report lost executors while the `with` block runs.

    Nothing is reported for a local Spark, whose only executor is in its driver, or for a Connect server, whose
    executors belong to another process.
    """
    if is_remote(spark) or is_local(spark.sparkContext.master):
        yield
        return
    executors, done = Executors(spark, java_log()), threading.Event()

    def look() -> None:
        while not done.wait(LOOK_S):
            try:
                for line in executors.news():
                    say(line)
            except (Py4JError, OSError):  # Java has ended
                return

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    try:
        yield
    finally:
        done.set()
        looking.join(LOOK_S)
