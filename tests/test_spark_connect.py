"""Spark Connect: a study and an audit on a server that is there already, and what is said where there is none."""

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
from conftest import LONG
from spark_servers import PYTHONPATH, ROOT, connect_server, free_port
from test_pipeline import digest, made_up, play_all, small_blocks, study  # noqa: F401 - small_blocks is for all

from hawb import cli
from hawb.study.spark import SparkRefused, session

EXPORTS, TOKEN = ROOT / "data" / "real", "known to both"
BY_CONNECT = """
import json, os, signal, sys
from pathlib import Path
sys.path[:0] = {path!r}
import test_pipeline
from hawb.study import blocks
from hawb.study.audit import audit, summary
from hawb.study.estimates import estimates
from hawb.study.exploring import spread
from hawb.study.fleet import clusters
from hawb.study.lease import Lease
from hawb.study.pipeline import run
from hawb.study.spark import SparkRefused, cores, session

blocks.TRIALS_IN_A_BLOCK = 10
folder, gate, asked, told = Path({folder!r}), {gate!r}, test_pipeline.study(), {{}}
spark = session(master={master!r})

def interrupt(progress):
    if progress.done and {killed}:
        os.kill(os.getpid(), signal.SIGKILL)
    if progress.done:
        raise KeyboardInterrupt

# Whether the server ends what waits at the gate or passes over that, it is not written once the study was stopped.
give_up = Lease.give_up
Lease.give_up = lambda lease: (give_up(lease), gates.append(os.open(gate, os.O_RDWR)))
gates = []
try:
    run(spark, asked, folder / "study", test_pipeline.made_up(gate=gate), interrupt)
except KeyboardInterrupt:
    told["first trials kept"] = sorted({{block.first for block in blocks.done(folder / "study")}})
told["cores"] = cores(spark)
rows = run(spark, asked, folder / "study", test_pipeline.made_up())
told["trials"] = [rows.count(), rows.select("design", "environment", "trial").distinct().count()]
told["estimates"] = [row.asDict() for row in estimates(rows).collect()]
audit(spark, clusters([Path({exports!r})]), folder / "audit")
told["clusters"] = summary(spark, folder / "audit").clusters
try:
    spread(spark)
except SparkRefused as refused:
    told["search"] = str(refused)
spark.stop()
print(json.dumps(told))
"""


@pytest.mark.spark
@pytest.mark.skipif(not LONG, reason="starts a Spark Connect server: a part of make test-long")
def test_a_connect_server_plays_stops_goes_on_and_audits(tmp_path: Path, unavailable: Callable[[str], NoReturn]):
    """The first client is killed, and what it asked for goes on. The second one is stopped, and begins again. Each in
    its own process: one that has a Spark of its own cannot have a Connect session as well."""
    try:
        import grpc_status  # noqa: F401
    except ImportError as missing:
        unavailable(f"hawb's extra `connect` is not installed: {missing}")
    os.mkfifo(tmp_path / "gate")
    with connect_server(tmp_path, TOKEN) as master:
        stranger = [sys.executable, "-m", "hawb.cli", "audit", "--master", f"{master}/;token=guessed", str(EXPORTS)]
        refused = subprocess.run(stranger, cwd=ROOT, capture_output=True, text=True, timeout=300)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert f"{master}: the Spark Connect server gives no session" in refused.stderr
        environment = os.environ | {"SPARK_CONNECT_AUTHENTICATE_TOKEN": TOKEN}
        for killed in (True, False):
            program = BY_CONNECT.format(
                path=PYTHONPATH, master=master, folder=str(tmp_path), gate=str(tmp_path / "gate"),
                exports=str(EXPORTS), killed=killed,
            )  # fmt: skip
            command = [sys.executable, "-c", program]
            ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
            assert ran.returncode == (-signal.SIGKILL if killed else 0), ran.stderr
    told = json.loads(ran.stdout)
    assert (told["cores"], told["first trials kept"], told["trials"]) == (2, [0], [100, 100])
    assert (len(told["estimates"]), told["clusters"]) == (8, 1)
    assert "Spark Connect has not" in told["search"]
    play_all(study(), tmp_path / "alone", made_up())
    assert digest(tmp_path / "alone") == digest(tmp_path / "study")


def test_without_the_extra_a_connect_server_is_refused(monkeypatch: pytest.MonkeyPatch):
    for name in [name for name in sys.modules if name.startswith("pyspark.sql.connect")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(SparkRefused, match=r"^sc://a:1: takes hawb's extra `connect`, which is not installed: .*grpc"):
        session(master="sc://a:1/;token=secret")


def test_where_no_connect_server_answers_the_command_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unavailable: Callable[[str], NoReturn]
):
    file, master = tmp_path / "definitions.json", f"sc://127.0.0.1:{free_port()}"
    file.write_text("{}")
    monkeypatch.setenv("HAWB_MASTER", master)
    result = CliRunner().invoke(cli.main, ["audit", str(file)], catch_exceptions=False)
    if "extra `connect`" in result.stderr:
        unavailable(result.stderr)
    assert (result.exit_code, f"{master}: no Spark Connect server answers there" in result.stderr) == (2, True)
