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


QUORUM = """
scenario: A quorum queue loses its leader, a member and its majority
cluster: {nodes: [a, b, c], version: "3.10", net_ticktime: 8}
steps:
  - declare: {queue: q, node: a, arguments: {x-queue-type: quorum}}
  - publish: {queue: q, count: 10}
  - consume: {consumer: one, queue: q, node: b, prefetch: 2}
  - kill: a
  - publish: {queue: q, count: 5}
  - ack: {consumer: one, count: 2}
  - delete_member: {queue: q, node: a}
  - expect: {}
  - kill: c
  - publish: {queue: q, count: 2, node: b}
"""


def test_a_quorum_queue_is_driven_and_read(ready: Bench) -> None:
    told = play(ready, load(QUORUM))
    before, after = told.glances[7]["queues"]["q"], told.outcome["queues"]["q"]
    counts = {"messages": 13, "messages_ready": 11, "messages_unacknowledged": 2}
    assert before.items() >= {"state": "running", "members": ["b", "c"], "online": ["b", "c"], **counts}.items()
    assert before["leader"] in before["online"]
    assert after.items() >= {"state": "minority", "online": ["b"], "redelivered": [[3, 4]]}.items()
    assert after["ids"] in ([[3, 15]], [[3, 17]])
    assert told.outcome["errors"] == []


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
