"""Real clusters play scenarios: `make test-broker`, which needs root, Debian's rabbitmq-server and hours.

The machine's release, and the newest release if installed, play the scenarios that have recordings. With HAWB_SAMPLE=6
each plays six short ones, different ones each day; HAWB_DAY repeats the sample of another day.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import DAY

from hawb.broker import recordings
from hawb.broker.cluster import Bench, lacking
from hawb.broker.real import VERSION, bench, play
from hawb.broker.roots import found
from hawb.conformance.compare import compare
from hawb.scenario.load import load, load_known

pytestmark = pytest.mark.broker

DATA = Path(__file__).parents[2] / "data"
SCENARIOS = DATA / "scenarios"
KNOWN = load_known(DATA / "known-differences.yaml")
TODAYS = "4.3"
PLAYING = [VERSION, *([TODAYS] if found(TODAYS) else [])]
"""The releases that play: the machine's own, and today's where it is installed."""
LONGEST_S = 60
"""How long the recording of a scenario may have taken that is to be in a sample."""


def to_play(version: str) -> list[str]:
    """Return the scenarios that have a recording of a release, or a sample of them."""
    files = sorted((DATA / "recorded" / version).glob("*.json"))
    if "HAWB_SAMPLE" not in os.environ:
        return [file.stem for file in files]
    brief = [file.stem for file in files if recordings.read(file).seconds < LONGEST_S]
    return sorted(random.Random(DAY).sample(brief, int(os.environ["HAWB_SAMPLE"])))


@pytest.fixture(scope="module")
def ready(unavailable) -> Iterator[Bench]:
    if lacks := lacking():
        unavailable("; ".join(lacks))
    with bench() as made:
        yield made


@pytest.mark.parametrize(("version", "name"), [(version, name) for version in PLAYING for name in to_play(version)])
def test_model_and_broker_agree(ready: Bench, version: str, name: str) -> None:
    scenario = load(SCENARIOS / f"{name}.yaml")
    # What differs once and not again is a race on a busy machine; what differs twice is a difference.
    for differing in (compare(play(ready, scenario, version), KNOWN.get(name)) for _ in range(2)):
        print(*differing, sep="\n")
        if not differing:
            return
    pytest.fail("\n".join(map(str, differing)), pytrace=False)


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


def test_quorum_queue_is_driven_and_read(ready: Bench) -> None:
    result = play(ready, load(QUORUM))
    before, after = result.glances[7]["queues"]["q"], result.outcome["queues"]["q"]
    counts = {"messages": 13, "messages_ready": 11, "messages_unacknowledged": 2}
    assert before.items() >= {"state": "running", "members": ["b", "c"], "online": ["b", "c"], **counts}.items()
    assert before["leader"] in before["online"]
    assert after.items() >= {"state": "minority", "online": ["b"], "redelivered": [[3, 4]]}.items()
    assert after["ids"] in ([[3, 15]], [[3, 17]])
    assert result.outcome["errors"] == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_run_leaves_nothing_behind(number, unavailable, tmp_path) -> None:
    if lacks := lacking():
        unavailable("; ".join(lacks))
    code = "from hawb.cli import main; main()"
    file = SCENARIOS / "virtual-hosts.yaml"
    run = subprocess.Popen(
        [sys.executable, "-c", code, "run", "--on", "broker", "--broker", VERSION, str(file)],
        env=os.environ | {"TMPDIR": str(tmp_path)}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    namespaces = Path("/run/netns")
    mine = f"hawb-{run.pid}-*"
    try:
        while not [log for log in tmp_path.rglob("broker.log") if log.stat().st_size]:
            assert run.poll() is None
        assert list(namespaces.glob(mine))
        run.send_signal(number)
        assert (run.communicate(timeout=60)[1], run.returncode) == ("stopped\n", 128 + number)
    finally:
        run.kill()
    assert list(namespaces.glob(mine)) == []
    assert list(tmp_path.iterdir()) == []
    commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not [command for command in commands if str(tmp_path).encode() in command]
