"""The node of a mirror starts while the queue has no master: promotion or waiting, by the queue record."""

from __future__ import annotations

import pytest
import yaml

from hawb.scenario.expect import check
from hawb.scenario.load import read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run

EMPTIED = {"ids": [], "state": "running"}
WAITS = {"ids": [[1, 10]], "state": "down", "master": "b"}


def story(steps: str, **policy: str) -> Run:
    """Play steps with ten messages in q, whose replicas are on b, a and d in this order; c has none."""
    definition = {"ha-mode": "nodes", "ha-params": ["a", "b", "d"], **policy}
    scenario = {
        "scenario": "s",
        "cluster": {"nodes": ["a", "b", "c", "d"], "version": "3.10"},
        "policies": [{"name": "p", "pattern": "^q", "definition": definition}],
        "steps": [{"declare": {"queue": "q", "node": "b"}}, {"publish": {"queue": "q", "count": 10, "node": "c"}},
                  *yaml.safe_load(steps)],
    }  # fmt: skip
    return Run.of(read_scenario(scenario))


def differences(run: Run, **queue) -> list[str]:
    return [str(difference) for difference in check(run, {"queues": {"q": queue}})]


BY_HOW_THE_MASTER_WENT = [
    pytest.param({}, "kill", EMPTIED, id="killed"),
    pytest.param({}, "power_off", EMPTIED, id="power off"),
    pytest.param({}, "stop", WAITS, id="stopped"),
    pytest.param({"ha-promote-on-shutdown": "always"}, "stop", EMPTIED, id="stopped, always on shutdown"),
    pytest.param({"ha-promote-on-failure": "when-synced"}, "kill", WAITS, id="killed, when-synced"),
    pytest.param(
        {"ha-promote-on-failure": "when-synced", "ha-promote-on-shutdown": "always"}, "stop", WAITS,
        id="stopped, when-synced on failure",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("policy", "how", "expected"), BY_HOW_THE_MASTER_WENT)
def test_returning_mirror_is_promoted_or_waits_by_how_the_master_went_down(policy: dict, how: str, expected: dict):
    run = story(f"[{{stop: [a, d]}}, {{{how}: b}}, {{wait: 90}}, {{start: a}}]", **policy)
    assert not differences(run, **expected)


def test_promotion_of_a_returning_mirror_is_the_cause_of_the_loss():
    run = story("[{stop: [a, d]}, {kill: b}, {start: a}, {start: b}]")
    assert not differences(run, master="a", mirrors=["b"], synchronised_mirrors=["b"], ids=[])
    losses = outcome(run)["losses"]
    assert [(loss["cause"], loss["ids"]) for loss in losses] == [("unsynchronised_promotion", [[1, 10]])]


def test_returning_mirror_refuses_promotion_and_the_master_restarts_without_loss():
    run = story("[{stop: [a, d]}, {kill: b}, {start: a}]", **{"ha-promote-on-failure": "when-synced"})
    assert not differences(run, mirrors=[], **WAITS)
    run = story("[{stop: [a, d]}, {kill: b}, {start: a}, {start: b}]", **{"ha-promote-on-failure": "when-synced"})
    assert not differences(run, master="b", mirrors=["a"], ids=[[1, 10]])


def test_policy_changed_meanwhile_applies_to_the_returning_mirror():
    careful = {"ha-mode": "nodes", "ha-params": ["a", "b", "d"], "ha-promote-on-failure": "when-synced"}
    change = f"{{set_policy: {{name: p, pattern: ^q, definition: {careful}}}}}"
    assert not differences(story(f"[{{stop: [a, d]}}, {{kill: b}}, {change}, {{start: a}}]"), **WAITS)


def test_first_node_to_start_after_all_replicas_died_is_the_master():
    assert not differences(story("[{kill: [a, b, d]}, {start: d}]"), master="d", **EMPTIED)
    assert not differences(story("[{kill: [a, b, d]}, {start: b}]"), master="b", state="running", ids=[[1, 10]])


def test_dead_synchronised_mirror_on_the_record_permits_promotion():
    """`rabbit_mirror_queue_misc:remove_from_queue` checks that some mirror is synchronised, not which one. The mirror
    that returns is removed from the record before."""
    careful = {"ha-promote-on-failure": "when-synced"}
    assert not differences(story("[{kill: [a, b, d]}, {start: a}]", **careful), master="a", **EMPTIED)
    assert not differences(story("[{stop: d}, {kill: [a, b]}, {start: a}]", **careful), **WAITS)


def test_returning_mirror_waits_for_the_master_if_no_node_saw_it_die():
    alone = "{stop: [a, d]}, {kill: b}, {stop: c}, {force_boot: c}, {start: a}"
    assert not differences(story(f"[{alone}]"), mirrors=[], recoverable_mirrors=["a", "d"], **WAITS)
    back = story(f"[{alone}, {{start: b}}]")
    assert not differences(back, state="running", master="b", mirrors=["a"], ids=[[1, 10]])


def test_queue_known_only_on_disks_is_refused_and_its_publishes_confirmed_and_lost():
    """As for an unreplicated queue on a dead node: `rabbit_amqqueue:is_absent`."""
    run = story(
        """[{stop: [a, b, d]}, {stop: c}, {force_boot: c}, {declare: {queue: q, passive: true}}, {delete: {queue: q}},
        {publish: {queue: q, count: 2}}, {bind: {queue: q, exchange: x, routing_key: r}}, {stop: c}, {start: b}]"""
    )
    found = outcome(run)
    assert [(error["step"], error["code"]) for error in found["errors"]] == [(5, 404), (6, 404), (8, 404)]
    assert all("home node 'b'" in error["text"] for error in found["errors"])
    assert (found["ledger"]["q"]["confirmed"], found["ledger"]["q"]["refused"]) == ([[1, 12]], [[11, 12]])


def test_policy_adds_no_mirrors_to_a_queue_on_a_dead_node():
    policy = "{set_policy: {name: p2, pattern: ^plain, definition: {ha-mode: all}}}"
    steps = f"{{declare: {{queue: plain, node: b}}}}, {{stop: b}}, {policy}, {{stop: a}}, {{start: a}}"
    assert not check(story(f"[{steps}]"), {"queues": {"plain": {"mirrors": [], "state": "down"}}})
    back = f"{steps}, {{start: b}}"
    assert not check(story(f"[{back}]"), {"queues": {"plain": {"mirrors": [], "state": "running", "policy": None}}})
    again = "{set_policy: {name: p3, pattern: ^nothing, definition: {ha-mode: all}}}"
    assert not check(story(f"[{back}, {again}]"), {"queues": {"plain": {"mirrors": ["a", "c", "d"]}}})


def test_returning_master_restarts_its_mirrors_in_the_policys_order():
    """`rabbit_amqqueue:internal_declare` puts the record from its disk, without mirrors, over the one that others had
    joined; `suggested_queue_nodes` sorts the listed nodes as long as none is synchronised."""
    waiting = "{stop: [a, d]}, {stop: b}, {start: d}, {start: a}"
    assert not differences(story(f"[{waiting}]"), mirrors=["d", "a"], **WAITS)
    back = story(f"[{waiting}, {{start: b}}]")
    assert not differences(back, master="b", mirrors=["a", "d"], synchronised_mirrors=[], ids=[[1, 10]])
    events = outcome(back)["events"]
    replaced = [event["node"] for event in events if event["detail"].get("reason") == "master_recovered"]
    assert replaced == ["d", "a"]


CHANGED = "{{set_policy: {{name: p, pattern: ^q, definition: {{ha-mode: {mode}, ha-params: {params}}}}}}}"
INHERITED = "{stop: a}, {stop: d}, {stop: c}, {stop: b}, {forget_cluster_node: {node: b, from: a, offline: true}}"


def test_promoted_node_recorded_as_mirror_crashes_once_and_gets_no_mirrors():
    """`rabbit_amqqueue:update` writes a record with its mirrors when the policy changes; a 3.10.8 cluster."""
    changed = CHANGED.format(mode="exactly", params=3)
    down = story(f"[{changed}, {INHERITED}, {{start: a}}, {{start: c}}, {{start: d}}]")
    assert not differences(down, state="down", master="a", mirrors=[])
    crashes = [event for event in outcome(down)["events"] if event["event"] == "process_crashed"]
    assert [(event["node"], event["detail"]["final"]) for event in crashes] == [("a", True)]
    again = story(f"[{changed}, {INHERITED}, {{start: a}}, {{stop: a}}, {{start: a}}]")
    assert not differences(again, state="running", master="a", ids=[[1, 10]])


@pytest.mark.parametrize(
    "before",
    [
        pytest.param("", id="no change of policy"),
        pytest.param(CHANGED.format(mode="nodes", params="[b, a, d]") + ",", id="another mode"),
        pytest.param(CHANGED.format(mode="exactly", params=3) + ", {stop: d}, {start: d},", id="mirrors changed since"),
    ],
)
def test_other_promoted_nodes_serve_their_disks(before: str):
    run = story(f"[{before} {INHERITED}, {{start: a}}]")
    assert not differences(run, state="running", master="a", ids=[[1, 10]])


def test_waiting_mirror_is_promoted_when_the_other_waiting_mirror_dies():
    waiting = "{stop: [a, d]}, {stop: b}, {start: a}, {start: d}"
    assert not differences(story(f"[{waiting}]"), mirrors=["a", "d"], **WAITS)
    assert not differences(story(f"[{waiting}, {{kill: a}}]"), master="d", mirrors=[], **EMPTIED)


def test_next_mirror_to_start_sees_a_dead_waiting_mirror():
    alone = "{stop: [a, d]}, {stop: b}, {start: a}, {kill: a}"
    assert not differences(story(f"[{alone}, {{start: a}}]"), mirrors=["a"], **WAITS)
    assert not differences(story(f"[{alone}, {{start: d}}]"), master="d", **EMPTIED)


def test_master_that_crashed_too_often_is_replaced():
    crashes = ", ".join(f"{{crash: {{queue: q}}, at: {20 + second}}}" for second in range(6))
    run = story(f"[{{stop: [a, d]}}, {crashes}, {{start: a, at: 60}}]")
    assert not differences(run, master="a", mirrors=["b"], **EMPTIED)


def test_transient_queue_without_a_master_is_promoted_empty():
    run = story("[{declare: {queue: q2, node: b, durable: false}}, {stop: [a, d]}, {kill: b}, {start: a}]")
    assert not check(run, {"queues": {"q2": {"state": "running", "master": "a", "messages": 0}}})


def test_node_that_starts_before_the_offline_candidate_is_promoted_instead():
    """`rabbit_amqqueue:forget_all_durable` writes the new master to disk; the record in memory names the dead one."""
    forgotten = "{stop: a}, {stop: d}, {kill: b}, {forget_cluster_node: {node: b, from: c}}"
    assert not differences(story(f"[{forgotten}]"), master="a", state="down", ids=[[1, 10]])
    assert not differences(story(f"[{forgotten}, {{start: a}}, {{start: d}}]"), master="a", ids=[[1, 10]])
    assert not differences(story(f"[{forgotten}, {{start: d}}, {{start: a}}]"), master="d", ids=[])
