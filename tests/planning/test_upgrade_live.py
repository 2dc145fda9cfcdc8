"""Plans for rolling upgrades rehearsed on a real cluster: each queue loses what was predicted.

With HAWB_SAMPLE one of them is played, another each day.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import product

import pytest
from conftest import DAY
from upgrade_clusters import ALL, cluster, mirrored, quorum

from hawb.broker.cluster import Bench, lacking
from hawb.broker.real import bench, play
from hawb.planning.full_stop import plan_full_stop
from hawb.planning.upgrade import Plan, task_of
from hawb.planning.upgrade_search import search
from hawb.scenario.run import Run

pytestmark = pytest.mark.broker

ALWAYS = ALL | {"ha-promote-on-shutdown": "always"}
TWO = ALL | {"ha-mode": "nodes", "ha-params": ["c", "a"]}
CLUSTERS = {
    "shutdown always": lambda: cluster(mirrored("ha", messages=100), ha=ALWAYS),
    "shutdown always, by themselves": lambda: cluster(mirrored("ha"), ha=ALWAYS | {"ha-sync-mode": "automatic"}),
    "when synchronised": lambda: cluster(mirrored("ha", messages=100), mirrored("hb", "ca", 20), ha=ALL, hb=TWO),
    "quorum queues": lambda: cluster(quorum("qq", messages=100), quorum("pair", "bc", 20), quorum("one", "c", 5)),
    "both types": lambda: cluster(mirrored("ha", "bca", 100), mirrored("plain", "a", 7), quorum("qq"), ha=ALWAYS),
}
PLANNED, NAIVE = "planned", "naive"
STOP = "stopped whole"
PLANS = [*product(CLUSTERS, (PLANNED, NAIVE)), *product(("when synchronised", "quorum queues", "both types"), (STOP,))]
if "HAWB_SAMPLE" in os.environ:
    PLANS = [PLANS[DAY % len(PLANS)]]


@pytest.fixture(scope="module")
def ready(unavailable) -> Iterator[Bench]:
    if lacks := lacking():
        unavailable("; ".join(lacks))
    with bench() as made:
        yield made


def kept(ready: Bench, run: Run, plan: Plan) -> None:
    """Play a rehearsal and compare the messages that each queue still has."""
    outcome = play(ready, plan.rehearsal).outcome
    lost = {effect.queue: effect.lost for effect in plan.prediction.effects}
    expected = {entry.queue: entry.messages - lost.get(entry.queue, 0) for entry in run.scenario.queues}
    assert {name: outcome["queues"][name]["messages"] for name in expected} == expected
    assert set(outcome["nodes"].values()) == {"running"} and outcome["errors"] == []


def plan_of(run: Run, way: str) -> Plan:
    """Return the plan for one way to restart all nodes."""
    task = task_of(run, away_s=0)
    if way == STOP:
        return plan_full_stop(run, task).plan
    answer = search(run, task)
    return answer.plan if way == PLANNED else answer.others[1]


@pytest.mark.parametrize(("name", "way"), PLANS)
def test_plan_loses_on_a_real_cluster_what_is_predicted(ready: Bench, name: str, way: str) -> None:
    run = CLUSTERS[name]()
    kept(ready, run, plan_of(run, way))
