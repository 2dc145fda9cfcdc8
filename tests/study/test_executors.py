"""Spark on several machines: addresses that hawb listens on, and reports of lost executors."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn
from unittest.mock import MagicMock

import pytest
from spark_servers import PYTHONPATH, QUICK, ROOT, cluster_of_two_machines
from study_processes import a_study, program

from hawb.broker.namespaces import address
from hawb.study import executors
from hawb.study.executors import Executors, reporting_executors

LOG = """\
26/11/28 INFO StandaloneAppClient$ClientEndpoint: Executor added: app-1/0 on worker-1 (10.0.0.2:1) with 1 core(s)
26/11/28 INFO StandaloneAppClient$ClientEndpoint: Executor updated: app-1/0 is now RUNNING
26/11/28 INFO StandaloneAppClient$ClientEndpoint: Executor updated: app-1/0 is now EXITED (Command exited with code 1)
26/11/28 INFO StandaloneAppClient$ClientEndpoint: Executor updated: app-1/1 is now EXITED (Command exited with code 1)
26/11/28 INFO StandaloneAppClient$ClientEndpoint: Executor updated: app-1/2 is now LOST (worker lost)
"""


def watched(tmp_path: Path, log: str, *there: tuple[str, str | None]) -> Executors:
    """The executors of a session: those that Spark's store has, each with the reason why it went, None while it is
    there."""
    (tmp_path / "java.log").write_text(log)
    spark = MagicMock()
    spark.sparkContext.getConf().get.return_value = "10.0.0.1"
    listed = spark.sparkContext._jsc.sc().statusStore().executorList.return_value
    ones = []
    for number, reason in (("driver", None), *there):
        one = MagicMock()
        one.id.return_value, one.isActive.return_value = number, reason is None
        one.removeReason().isDefined.return_value, one.removeReason().get.return_value = bool(reason), reason
        ones.append(one)
    listed.size.return_value, listed.apply.side_effect = len(ones), ones.__getitem__
    return Executors(spark, tmp_path / "java.log")


def test_each_reason_is_reported_once(tmp_path: Path):
    found = watched(tmp_path, LOG, ("3", None), ("4", "killed by the system"), ("5", ""))
    assert sorted(found.news()) == [
        "Spark lost 2 executors: Command exited with code 1",
        "Spark lost executor 2: worker lost",
        "Spark lost executor 4: killed by the system",
        "Spark lost executor 5: for no reason that Spark knows",
    ]
    assert list(found.news()) == []


def test_missing_executors_are_reported_once_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    found, others = watched(tmp_path, ""), watched(tmp_path, "", ("0", None))
    assert list(found.news()) == []
    monkeypatch.setattr(executors, "WAITS_S", -1)
    (line,) = found.news()
    assert "no executor connected" in line and "cannot reach 10.0.0.1" in line
    assert (list(found.news()), list(others.news())) == ([], [])


def test_local_spark_reports_nothing():
    spark = MagicMock()
    spark.sparkContext.master = "local[2,4]"
    with reporting_executors(spark, pytest.fail):
        pass
    spark.sparkContext._jsc.sc.assert_not_called()


FEW = 100
"""The trials of each cell, which one batch plays."""
SOON = """
from hawb.study import executors
executors.WAITS_S = 5
from hawb.cli import main
main()
"""
"""The command `hawb`, which says sooner that no executor comes: meanwhile one Java after another starts and ends."""


@pytest.mark.spark
@pytest.mark.full
def test_study_and_audit_run_over_a_network(tmp_path: Path, unavailable: Callable[[str], NoReturn]):
    """The worker reaches this machine by one address, which is not its loopback. Where a setting has hawb listen on
    loopback all the same, the command says which executors are lost and why, until it is stopped."""
    path = os.pathsep.join(PYTHONPATH)
    config = {
        "spark.executor.memory": "512m", "spark.executorEnv.PYTHONPATH": path, "spark.executor.extraJavaOptions": QUICK,
    }  # fmt: skip
    with cluster_of_two_machines(tmp_path, unavailable) as (master, here):
        more = "print(spark.conf.get('spark.driver.host'))"
        text = program(a_study(tmp_path / "study", trials=FEW), master=master, more=more, **config)
        ran = subprocess.run([*here, sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, timeout=300)
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout.splitlines()[-2:] == [f"{4 * FEW} {4 * FEW}", address(254)]
        given = [part for name, value in config.items() for part in ("--conf", f"{name}={value}")]
        given += ["--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.driver.bindAddress=127.0.0.1"]
        command = [*here, sys.executable, "-c", SOON, "audit", "data/real", "--master", master, *given]
        with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as ran:
            result = ""
            for line in ran.stderr:
                result += line
                if "cannot reach 127.0.0.1" in result and "exited with code 1" in result:
                    ran.send_signal(signal.SIGINT)
                    break
            result += ran.stderr.read()
    assert re.search(r"Spark lost .*executors?.*: Command exited with code 1", result), result
    assert "cannot reach 127.0.0.1, where hawb listens" in result
    assert ran.returncode == 130, result
