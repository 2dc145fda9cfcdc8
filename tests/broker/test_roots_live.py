"""Other releases play scenarios: `make test-broker`, for those that `hawb run --on broker --broker ...` installed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hawb.broker.cluster import Bench, lacking
from hawb.broker.real import bench, play
from hawb.broker.roots import SUITES, found
from hawb.conformance.compare import compare
from hawb.rules.profiles import PROFILES
from hawb.scenario.load import load

pytestmark = pytest.mark.broker

SCENARIOS = Path(__file__).parents[2] / "data" / "scenarios"
INSTALLED = [version for version in SUITES if found(version) and found(version).root != Path("/")]
TELLING = {
    "3.8": ("exclusive-and-locator-3-8", "late-acknowledgements-count"),
    "3.10": ("late-acknowledgements-count",),
    "4.0": ("locator-4-0", "refused-ha-settings"),
    "4.3": ("quorum-group-size-4-0", "refused-ha-settings"),
}
"""Scenarios in which a release differs from others."""


@pytest.fixture(scope="module")
def ready(unavailable) -> Iterator[Bench]:
    if lacks := lacking():
        unavailable("; ".join(lacks))
    with bench() as made:
        yield made


@pytest.mark.parametrize(("version", "name"), [(version, name) for version in INSTALLED for name in TELLING[version]])
def test_model_and_broker_of_a_release_agree(ready: Bench, version: str, name: str) -> None:
    played = play(ready, load(SCENARIOS / f"{name}.yaml"), version)
    assert played.outcome["broker"]["rabbitmq"] == PROFILES[version].release
    assert compare(played) == []


@pytest.mark.parametrize("version", INSTALLED)
def test_interrupted_run_leaves_nothing_mounted(version: str, unavailable, tmp_path) -> None:
    if lacks := lacking():
        unavailable("; ".join(lacks))
    command = ["run", "--on", "broker", "--broker", version, str(SCENARIOS / "virtual-hosts.yaml")]
    run = subprocess.Popen(
        [sys.executable, "-c", "from hawb.cli import main; main()", *command],
        env=os.environ | {"TMPDIR": str(tmp_path)}, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        while not [log for log in tmp_path.rglob("broker.log") if log.stat().st_size]:
            assert run.poll() is None
        run.send_signal(signal.SIGTERM)
        assert run.wait(60) == 128 + signal.SIGTERM
    finally:
        run.kill()
    assert str(found(version).root) not in Path("/proc/self/mountinfo").read_text()
    assert list(tmp_path.iterdir()) == []
    commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not [command for command in commands if str(tmp_path).encode() in command]
