"""A real cluster plays scenarios: `make test-broker`, which takes root, Debian's rabbitmq-server and minutes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hawb.broker.cluster import Bench, lacking
from hawb.broker.compare import compare
from hawb.broker.real import bench, play
from hawb.scenario.load import load

pytestmark = pytest.mark.broker

SCENARIOS = Path(__file__).parent.parent / "data" / "scenarios"


@pytest.fixture(scope="module")
def ready(unavailable) -> Iterator[Bench]:
    if lacks := lacking():
        unavailable("; ".join(lacks))
    with bench() as made:
        yield made


@pytest.mark.parametrize("name", ["unsynchronised-mirror-promoted", "virtual-hosts", "consumers-by-priority"])
def test_model_and_broker_agree(ready: Bench, name: str) -> None:
    assert compare(play(ready, load(SCENARIOS / f"{name}.yaml"))) == []


def test_an_interrupted_run_leaves_nothing_behind(unavailable, tmp_path) -> None:
    if lacks := lacking():
        unavailable("; ".join(lacks))
    code = "from hawb.cli import main; main()"
    file = SCENARIOS / "virtual-hosts.yaml"
    run = subprocess.Popen(
        [sys.executable, "-c", code, "run", "--on", "broker", str(file)],
        env=os.environ | {"TMPDIR": str(tmp_path)}, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    namespaces = Path("/run/netns")
    mine = f"hawb-{run.pid}-*"
    try:
        while not [log for log in tmp_path.rglob("broker.log") if log.stat().st_size]:
            assert run.poll() is None
        assert list(namespaces.glob(mine))
        run.send_signal(signal.SIGTERM)
        assert run.wait(60) == 128 + signal.SIGTERM
    finally:
        run.kill()
    assert list(namespaces.glob(mine)) == []
    assert list(tmp_path.iterdir()) == []
    commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not [command for command in commands if str(tmp_path).encode() in command]
