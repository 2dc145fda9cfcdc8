"""Spark Connect: studies and audits on a running server, and the error if there is none."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest
from click.testing import CliRunner
from made_up_trials import CELLS, TRIALS_ASKED, expected
from spark_servers import FEW, PYTHONPATH, READ, ROOT, connect_server, free_port

from hawb import cli
from hawb.study.spark import SparkRefused, session

EXPORTS, TOKEN = ROOT / "data" / "real", "known to both"
BY_CONNECT = """
import json, os, signal, sys
from pathlib import Path
sys.path[:0] = {path!r}
from made_up_trials import CELLS, made_up, row, study
from hawb.study.audit import audit, summary
from hawb.study.estimates import estimates
from hawb.study.spark_search import spread
from hawb.study.pipeline import run
from hawb.study.spark import SparkRefused, cores, session

folder, asked, seen = Path({folder!r}), study({trials}), {{}}
spark = session(master={master!r})

def interrupt(progress):
    if progress.done > 500 and {killed}:
        os.kill(os.getpid(), signal.SIGKILL)

rows = run(spark, asked, folder / "study", interrupt, source=made_up())
names = ["design", "environment", *row(3, CELLS[0], 0)]
seen["rows"] = sorted(list(one) for one in rows.select(names).collect())
seen["cores"] = cores(spark)
seen["estimates"] = len(estimates(rows, ["lost", "publish_down_s"]).collect())
sources = spark.read.format
few = {few!r}
seen["read"] = [sources(f"hawb-{{name}}").options(**few).load({question!r}).select("design").distinct().count()
                for name in ("trials", "faults", "losses")]
seen["read"] += [sources(f"rabbitmq-{{name}}").load({exports!r}).count() for name in ("queues", "definitions")]
audit(spark, [Path({exports!r})], folder / "audit")
seen["clusters"] = summary(spark, folder / "audit").clusters
try:
    spread(spark)
except SparkRefused as refused:
    seen["search"] = str(refused)
spark.stop()
print(json.dumps(seen))
"""


@pytest.fixture(autouse=True)
def main_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """pyspark takes a process whose main module has no file, such as a worker of pytest-xdist, for one that runs
    doctests, and ends it in place of saying what is missing (`pyspark.sql.connect.utils.check_dependencies`)."""
    monkeypatch.setattr(sys.modules["__main__"], "__file__", __file__, raising=False)


@pytest.mark.spark
@pytest.mark.full
def test_connect_server_plays_resumes_and_audits(tmp_path: Path, unavailable: Callable[[str], NoReturn]):
    """The first client is killed, and the server may go on with what it asked for; the second one goes on there. Each
    in its own process: one that has a Spark of its own cannot have a Connect session as well."""
    try:
        import grpc_status  # noqa: F401
    except ImportError as missing:
        unavailable(f"hawb's extra `connect` is not installed: {missing}")
    with connect_server(tmp_path, TOKEN) as master:
        stranger = [sys.executable, "-m", "hawb.cli", "audit", "--master", f"{master}/;token=guessed", str(EXPORTS)]
        refused = subprocess.run(stranger, cwd=ROOT, capture_output=True, text=True, timeout=300)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert f"{master}: the Spark Connect server did not open a session" in refused.stderr
        environment = os.environ | {"SPARK_CONNECT_AUTHENTICATE_TOKEN": TOKEN}
        for killed in (True, False):
            program = BY_CONNECT.format(
                path=PYTHONPATH, master=master, folder=str(tmp_path), trials=TRIALS_ASKED, killed=killed,
                few=FEW, exports=str(EXPORTS), question=str(ROOT / "data" / "studies" / "policies.yaml"),
            )  # fmt: skip
            command = [sys.executable, "-c", program]
            ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
            assert ran.returncode == (-signal.SIGKILL if killed else 0), ran.stderr
    answer = json.loads(ran.stdout)
    assert answer.pop("rows") == [list(one) for one in expected(TRIALS_ASKED)]
    assert "Spark Connect does not have" in answer.pop("search")
    assert answer == {"cores": 2, "estimates": 2 * len(CELLS), "read": READ, "clusters": 1}


def test_without_the_extra_a_connect_server_is_refused(monkeypatch: pytest.MonkeyPatch):
    for name in [name for name in sys.modules if name.startswith("pyspark.sql.connect")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(SparkRefused, match=r"^sc://a:1: needs the extra `connect`, which is not installed: .*grpc"):
        session(master="sc://a:1/;token=secret")


def test_missing_connect_server_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unavailable: Callable[[str], NoReturn]
):
    file, master = tmp_path / "definitions.json", f"sc://127.0.0.1:{free_port()}"
    file.write_text("{}")
    monkeypatch.setenv("HAWB_MASTER", master)
    result = CliRunner().invoke(cli.main, ["audit", str(file)], catch_exceptions=False)
    if "extra `connect`" in result.stderr:
        unavailable(result.stderr)
    assert (result.exit_code, f"{master}: no Spark Connect server answers there" in result.stderr) == (2, True)
