"""Nodes join, are reset, are forgotten and lose their disks: what the scenarios about it do not show."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from invariants import watched
from settled_invariants import check_settled, check_trace

from hawb.engine.keys.state_key import key
from hawb.scenario.load import load
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run

DATA = Path(__file__).parents[2] / "data"

HEAD = """
scenario: a story
cluster: {nodes: [a, b, c], version: "3.10"}
policies: [{name: all, pattern: ^q, definition: {ha-mode: all}}]
steps:
"""


def story(*steps: str) -> Run:
    """The steps, played on three nodes with every check."""
    with watched():
        run = Run.of(load(HEAD + "".join(f"  - {step}\n" for step in steps)))
    check_settled(run.settings, run.moment())
    check_trace(run.moment())
    return run


def causes(run: Run) -> list[tuple[str, str, list]]:
    """What was lost, and why."""
    return [(loss["queue"], loss["cause"], loss["ids"]) for loss in outcome(run)["losses"]]


def test_a_wiped_master_is_followed_by_its_mirror_and_nothing_is_lost():
    run = story("declare: {queue: q, node: a}", "publish: {queue: q, count: 3}", "wipe: a")
    assert causes(run) == []
    assert outcome(run)["queues"]["q"]["master"] == "b"


def test_the_last_copy_is_lost_with_its_disk_whether_or_not_its_node_was_up():
    up = story("declare: {queue: plain, node: a}", "publish: {queue: plain, count: 3}", "wipe: a")
    down = story("declare: {queue: plain, node: a}", "publish: {queue: plain, count: 3}", "stop: a", "wipe: a")
    at_once = story(
        "declare: {queue: plain, node: a}", "publish: {queue: plain, count: 3}", "{kill: a, at: 1}", "{wipe: a, at: 1}"
    )
    assert causes(up) == causes(down) == causes(at_once) == [("plain", "disk_lost", [[1, 3]])]


def test_a_wiped_mirror_is_no_heir_with_anything_to_inherit():
    run = story(
        "declare: {queue: q, node: a}", "publish: {queue: q, count: 3}", "stop: b", "stop: c", "start: c", "wipe: b",
        "stop: c", "kill: a", "start: a", "kill: a",
    )  # fmt: skip
    assert outcome(run)["queues"]["q"]["replicas"].keys().isdisjoint({"b"})


def test_an_old_copy_brings_back_what_had_been_acknowledged():
    run = story(
        "set_policy: {name: all, pattern: ^q, definition: {ha-mode: nodes, ha-params: [a, b]}}",
        "declare: {queue: q, node: a}", "publish: {queue: q, count: 1}", "publish: {queue: q, count: 2}", "stop: b",
        "publish: {queue: q, count: 2}", "get: {queue: q, count: 1}",
        "kill: a", "forget_cluster_node: {node: a, from: c}", "start: b",
    )  # fmt: skip
    told = outcome(run)
    assert told["queues"]["q"]["ids"] == [[1, 3]]
    assert told["ledger"]["q"]["lost"] == [[4, 5]]
    assert told["ledger"]["q"]["acknowledged"] == [[1, 1]], "what a client said stays said"
    assert causes(run) == [("q", "node_forgotten", [[4, 5]])]


def test_forgetting_takes_back_a_loss():
    # b takes over from a without what c has on its disk; then b goes as well, and c is asked.
    run = story(
        "join: d", "set_policy: {name: all, pattern: ^q, definition: {ha-mode: nodes, ha-params: [a, b, c]}}",
        "declare: {queue: q, node: a}", "publish: {queue: q, count: 3}", "stop: b", "publish: {queue: q, count: 1}",
        "{stop: c, at: 10}", "{start: b, at: 20}", "{kill: a, at: 30}", "kill: b",
        "forget_cluster_node: {node: b, from: d}",
    )  # fmt: skip
    told = outcome(run)
    before = outcome(run, run.moment(len(run.steps) - 1))
    assert before["ledger"]["q"]["lost"] == [[1, 4]]
    assert told["queues"]["q"]["master"] == "c"
    assert told["ledger"]["q"]["lost"] == [] and told["losses"] == []


def test_the_members_that_run_do_not_wait_for_a_forgotten_node():
    run = story("stop: c", "kill: b", "forget_cluster_node: {node: b}", "stop: a", "start: a")
    assert outcome(run)["nodes"] == {"a": "running", "b": "down", "c": "down"}


def test_a_node_may_be_forgotten_before_anybody_noticed_that_it_died():
    run = story(
        "declare: {queue: q, node: b}", "publish: {queue: q, count: 3}",
        "{kill: b, at: 10}", "{forget_cluster_node: {node: b, from: a}, at: 10}",
    )  # fmt: skip
    assert (outcome(run)["queues"]["q"]["master"], outcome(run)["losses"]) == ("a", [])


def test_a_node_that_is_reset_keeps_no_copies():
    run = story("declare: {queue: q, node: a}", "publish: {queue: q, count: 3}", "stop: b", "reset: b")
    assert outcome(run)["queues"]["q"]["replicas"].keys() == {"a", "c"}


def test_a_forgotten_node_that_stopped_first_is_still_waited_for_by_who_was_down():
    run = story("stop: c", "kill: b", "forget_cluster_node: {node: b}", "stop: a", "start: c")
    assert outcome(run)["nodes"]["c"] == "waiting"


def test_a_node_whose_disk_is_lost_runs_for_the_cluster_only_after_it_was_forgotten_and_joined():
    lost = "wipe: c", "start: c", "reset: c", "start: c", "join: c"
    told = outcome(story(*lost))
    assert [(error["step"], error["text"].partition(":")[0]) for error in told["errors"]] == [
        (1, "node 'c' has not joined the cluster since its disk was lost"),
        (3, "node 'c' has not joined the cluster since its disk was lost"),
        (4, "inconsistent_cluster"),
    ]
    told = outcome(story(*lost, "forget_cluster_node: {node: c}", "join: c"))
    assert (len(told["errors"]), told["nodes"]["c"]) == (3, "running")


def test_a_node_whose_disk_is_lost_is_reset_though_nobody_is_there_to_be_told():
    assert outcome(story("wipe: c", "kill: [a, b]", "reset: c"))["errors"] == []


def test_resetting_the_only_member_leaves_an_empty_cluster():
    run = story(
        "declare: {queue: q, node: a}", "publish: {queue: q, count: 3}", "kill: [b, c]",
        "forget_cluster_node: {node: b}", "forget_cluster_node: {node: c}", "stop: a", "reset: a", "start: a",
    )  # fmt: skip
    told = outcome(run)
    assert (told["nodes"]["a"], told["queues"], told["errors"]) == ("running", {}, [])
    assert run.moment().state.policies == ()


def test_a_node_that_has_not_joined_counts_nowhere_until_it_does():
    run = story(
        "set_policy: {name: all, pattern: ^q, definition: {ha-mode: exactly, ha-params: 9}}",
        "declare: {queue: q, node: a}", "publish: {queue: q, count: 3}", "start: d", "join: d",
    )  # fmt: skip
    before, after = outcome(run, run.moment(4)), outcome(run)
    assert before["nodes"] == {"a": "running", "b": "running", "c": "running", "d": "down"}
    assert sorted(before["queues"]["q"]["mirrors"]) == ["b", "c"]
    assert after["queues"]["q"]["mirrors"][2:] == ["d"]
    assert "d" not in after["queues"]["q"]["synchronised_mirrors"]


def test_members_and_outsiders_are_told_apart_by_the_key():
    gone, forgotten = story("kill: a"), story("kill: a", "forget_cluster_node: {node: a}")
    wiped, reset = story("wipe: a"), story("kill: a", "reset: a")
    keys = {key(run.moment().state, run.settings) for run in (gone, forgotten, wiped, reset)}
    assert len(keys) == 4


TOLD = ("forgotten-master-and-the-oldest-mirror", "forgotten-master-without-a-stopped-mirror")


@pytest.mark.parametrize("name", TOLD)
def test_who_is_told_what_of_forgotten_nodes_is_what_a_real_cluster_told(name: str):
    """But for a prefix, and for where a terminal breaks lines."""
    mine = outcome(Run.of(load(DATA / "scenarios" / f"{name}.yaml")))["errors"][0]["text"]
    recorded = json.loads((DATA / "recorded" / "3.10" / f"{name}.json").read_text(encoding="utf-8"))
    theirs = " ".join(recorded["outcome"]["errors"][0]["text"].split())
    assert mine.removeprefix("inconsistent_cluster: ") in theirs


def test_a_node_that_waits_with_its_boot_can_be_forgotten_by_nobody():
    run = story("{kill: [a, b, c], at: 1}", "start: a", "forget_cluster_node: {node: a, from: b, offline: true}",
                "forget_cluster_node: {node: c, from: b, offline: true}")  # fmt: skip
    told = outcome(run)
    assert [error["text"].split(":")[0] for error in told["errors"]] == [
        "RabbitMQ on node a must be stopped with 'rabbitmqctl -n a stop_app' before it can be removed",
        "removing_node_from_offline_node",
    ]
    assert told["nodes"]["a"] == "waiting"
