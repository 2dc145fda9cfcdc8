"""Plans for rolling upgrades rehearsed on a real cluster: each queue keeps and loses what was predicted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from test_upgrade import ALL, cluster, mirrored, quorum

from hawb.broker.cluster import Bench, lacking
from hawb.broker.real import bench, play
from hawb.planning.full_stop import plan_full_stop
from hawb.planning.upgrade import Plan, task_of
from hawb.planning.upgrade_search import search
from hawb.scenario.run import Run

pytestmark = pytest.mark.broker

ALWAYS = ALL | {"ha-promote-on-shutdown": "always"}
CLUSTERS = {
    "shutdown always": lambda: cluster(mirrored("ha", messages=100), ha=ALWAYS),
    "shutdown always, by themselves": lambda: cluster(mirrored("ha"), ha=ALWAYS | {"ha-sync-mode": "automatic"}),
    "when synchronised": lambda: cluster(mirrored("ha", messages=100), mirrored("hb", "ca", 20), ha=ALL, hb=ALL),
    "quorum queues": lambda: cluster(quorum("qq", messages=100), quorum("pair", "bc", 20), quorum("one", "c", 5)),
    "both types": lambda: cluster(mirrored("ha", "bca", 100), mirrored("plain", "a", 7), quorum("qq"), ha=ALWAYS),
}
PLANNED, NAIVE = 0, 1


@pytest.fixture(scope="module")
def ready(unavailable) -> Iterator[Bench]:
    if lacks := lacking():
        unavailable("; ".join(lacks))
    with bench() as made:
        yield made


def kept(ready: Bench, run: Run, plan: Plan) -> None:
    """Plays a rehearsal, and looks what each queue still has."""
    told = play(ready, plan.rehearsal).outcome
    lost = {effect.queue: effect.lost for effect in plan.prediction.effects}
    expected = {entry.queue: entry.messages - lost.get(entry.queue, 0) for entry in run.scenario.queues}
    assert {name: told["queues"][name]["messages"] for name in expected} == expected
    assert set(told["nodes"].values()) == {"running"} and told["errors"] == []


@pytest.mark.parametrize("which", [PLANNED, NAIVE], ids=["planned", "naive"])
@pytest.mark.parametrize("name", CLUSTERS)
def test_a_plan_loses_on_a_real_cluster_what_is_predicted(ready: Bench, name: str, which: int) -> None:
    run = CLUSTERS[name]()
    answer = search(run, task_of(run, away_s=0))
    kept(ready, run, answer.plan if which == PLANNED else answer.others[NAIVE])


@pytest.mark.parametrize("name", ["when synchronised", "quorum queues", "both types"])
def test_a_full_stop_and_start_comes_back(ready: Bench, name: str) -> None:
    run = CLUSTERS[name]()
    kept(ready, run, plan_full_stop(run, task_of(run, away_s=0)).plan)
