"""Play a scenario on a real cluster, from its file to its outcome."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from hawb import process
from hawb.broker.actions import ACTIONS
from hawb.broker.cluster import Bench, CannotPlay
from hawb.broker.control import CallFailed
from hawb.broker.drive import CALM_S, QUIET_S, Drive
from hawb.broker.driven import harmless, undriven
from hawb.broker.node_logs import LogLine
from hawb.broker.observe import glance, observe
from hawb.broker.roots import SUITES
from hawb.broker.standing import build
from hawb.broker.witness import Witness
from hawb.rules.nearest_profile import profile_for
from hawb.scenario.document import Scenario
from hawb.scenario.verbs import Expect

__all__ = ["CannotPlay", "Played", "bench", "broker_for", "play"]

VERSION = "3.10"
"""The version of the broker for a scenario whose own version has none."""


class Played(NamedTuple):
    """A scenario as it was played, its outcome, the outcome so far at each `expect` step, and its nodes' log lines.

    `log` is empty if logs were not read.
    """

    scenario: Scenario
    outcome: dict[str, Any]
    glances: dict[int, dict[str, Any]]
    log: Sequence[LogLine] = ()


@contextlib.contextmanager
def bench() -> Iterator[Bench]:
    """Yield a bench on which scenarios are played on real clusters, one after the other.

    All that was started is removed when the program ends, also on SIGTERM or SIGHUP. Raise CannotPlay if the machine
    lacks something.
    """
    if sys.platform != "linux":
        raise CannotPlay(f"a real cluster is run on Linux alone, in network namespaces; this is {sys.platform}")

    with process.unwinding(), Bench() as made:
        yield made


def broker_for(scenario: Scenario) -> str:
    """Return the version of the broker for a scenario: its own or the nearest, if there is such a broker."""
    version = profile_for(scenario.cluster.version).version
    return version if version in SUITES else VERSION


def play(
    bench: Bench, scenario: Scenario, version: str = VERSION, logged: bool = False, witness: Witness | None = None
) -> Played:
    """Play a scenario on a cluster of a version. Raise CannotPlay.

    With `logged`, also read the nodes' logs. The bench keeps the cluster for the next scenario after one that does
    nothing to nodes and links, except with a witness.
    """
    if reasons := undriven(scenario):
        raise CannotPlay("not driven on a real cluster: " + "; ".join(reasons))
    scenario = replace(scenario, cluster=replace(scenario.cluster, version=version))
    try:
        calm = harmless(scenario)
        with bench.cluster(scenario.known_nodes, scenario.cluster, calm and witness is None) as cluster:
            drive = Drive(cluster, ACTIONS, CALM_S if calm else QUIET_S)
            try:
                return _play(drive, scenario, logged, witness)
            finally:
                drive.close()
    except CallFailed as failed:
        raise CannotPlay(f"the cluster did not answer: {failed}") from failed


def _play(drive: Drive, scenario: Scenario, logged: bool, witness: Witness | None) -> Played:
    broker = drive.cluster.versions()
    build(drive, scenario)
    drive.begin(scenario.steps)
    if witness:
        witness.begin(drive, scenario.steps)
    glances = {}
    for index, step in enumerate(scenario.steps):
        if witness:
            witness.step(drive, index)
        drive.apply(index, step)
        if isinstance(step.verb, Expect):
            glances[index] = glance(drive)
    drive.settle()
    drive.logs.begin(None)
    if witness:
        witness.end(drive)
    observed = observe(drive, scenario) | {"broker": broker}
    return Played(scenario, observed, glances, drive.logs.lines() if logged else ())
