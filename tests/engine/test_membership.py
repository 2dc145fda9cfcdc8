"""Join, reset, forget_cluster_node and lost disks: details that the scenarios do not cover."""

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
    """Play the steps on three nodes, checking the invariants after every event."""
    with watched():
        run = Run.of(load(HEAD + "".join(f"  - {step}\n" for step in steps)))
    check_settled(run.settings, run.moment())
    check_trace(run.moment())
    return run


def causes(run: Run) -> list[tuple[str, str, list]]:
    """Return the queue, cause and numbers of each loss."""
    return [(loss["queue"], loss["cause"], loss["ids"]) for loss in outcome(run)["losses"]]


def test_wipe_of_the_master_promotes_a_mirror_without_loss():
    run = story("declare: {queue: q, node: a}", "publish: {queue: q, count: 3}", "wipe: a")
    assert causes(run) == []
    assert outcome(run)["queues"]["q"]["master"] == "b"


def test_wipe_of_the_last_copy_loses_its_messages():
    up = story("declare: {queue: plain, node: a}", "publish: {queue: plain, count: 3}", "wipe: a")
    down = story("declare: {queue: plain, node: a}", "publish: {queue: plain, count: 3}", "stop: a", "wipe: a")
    at_once = story(
        "declare: {queue: plain, node: a}", "publish: {queue: plain, count: 3}", "{kill: a, at: 1}", "{wipe: a, at: 1}"
    )
    assert causes(up) == causes(down) == causes(at_once) == [("plain", "disk_lost", [[1, 3]])]


def test_wiped_mirror_has_no_copy_to_serve():
    run = story(
        "declare: {queue: q, node: a}", "publish: {queue: q, count: 3}", "stop: b", "stop: c", "start: c", "wipe: b",
        "stop: c", "kill: a", "start: a", "kill: a",
    )  # fmt: skip
    assert outcome(run)["queues"]["q"]["replicas"].keys().isdisjoint({"b"})


def test_outdated_mirror_restores_acknowledged_messages():
    run = story(
        "set_policy: {name: all, pattern: ^q, definition: {ha-mode: nodes, ha-params: [a, b]}}",
        "declare: {queue: q, node: a}", "publish: {queue: q, count: 1}", "publish: {queue: q, count: 2}", "stop: b",
        "publish: {queue: q, count: 2}", "get: {queue: q, count: 1}",
        "kill: a", "forget_cluster_node: {node: a, from: c}", "start: b",
    )  # fmt: skip
    found = outcome(run)
    assert found["queues"]["q"]["ids"] == [[1, 3]]
    assert found["ledger"]["q"]["lost"] == [[4, 5]]
    assert found["ledger"]["q"]["acknowledged"] == [[1, 1]], "an acknowledgement stays in the ledger"
    assert causes(run) == [("q", "node_forgotten", [[4, 5]])]


def test_forget_cluster_node_can_recover_lost_messages():
    # b takes over from a without what c has on its disk; then b goes as well, and c is asked.
    run = story(
        "join: d", "set_policy: {name: all, pattern: ^q, definition: {ha-mode: nodes, ha-params: [a, b, c]}}",
        "declare: {queue: q, node: a}", "publish: {queue: q, count: 3}", "stop: b", "publish: {queue: q, count: 1}",
        "{stop: c, at: 10}", "{start: b, at: 20}", "{kill: a, at: 30}", "kill: b",
        "forget_cluster_node: {node: b, from: d}",
    )  # fmt: skip
    found = outcome(run)
    before = outcome(run, run.moment(len(run.steps) - 1))
    assert before["ledger"]["q"]["lost"] == [[1, 4]]
    assert found["queues"]["q"]["master"] == "c"
    assert found["ledger"]["q"]["lost"] == [] and found["losses"] == []


def test_running_members_do_not_wait_for_a_forgotten_node_at_boot():
    run = story("stop: c", "kill: b", "forget_cluster_node: {node: b}", "stop: a", "start: a")
    assert outcome(run)["nodes"] == {"a": "running", "b": "down", "c": "down"}


def test_node_can_be_forgotten_before_failure_detection():
    run = story(
        "declare: {queue: q, node: b}", "publish: {queue: q, count: 3}",
        "{kill: b, at: 10}", "{forget_cluster_node: {node: b, from: a}, at: 10}",
    )  # fmt: skip
    assert (outcome(run)["queues"]["q"]["master"], outcome(run)["losses"]) == ("a", [])


def test_reset_node_keeps_no_replicas():
    run = story("declare: {queue: q, node: a}", "publish: {queue: q, count: 3}", "stop: b", "reset: b")
    assert outcome(run)["queues"]["q"]["replicas"].keys() == {"a", "c"}


def test_node_that_was_down_still_waits_for_the_forgotten_node():
    run = story("stop: c", "kill: b", "forget_cluster_node: {node: b}", "stop: a", "start: c")
    assert outcome(run)["nodes"]["c"] == "waiting"


def test_wiped_node_must_be_forgotten_before_it_joins_again():
    lost = "wipe: c", "start: c", "reset: c", "start: c", "join: c"
    found = outcome(story(*lost))
    assert [(error["step"], error["text"].partition(":")[0]) for error in found["errors"]] == [
        (1, "node 'c' has not joined the cluster since its disk was lost"),
        (3, "node 'c' has not joined the cluster since its disk was lost"),
        (4, "inconsistent_cluster"),
    ]
    found = outcome(story(*lost, "forget_cluster_node: {node: c}", "join: c"))
    assert (len(found["errors"]), found["nodes"]["c"]) == (3, "running")


def test_wiped_node_can_be_reset_while_the_others_are_down():
    assert outcome(story("wipe: c", "kill: [a, b]", "reset: c"))["errors"] == []


def test_reset_of_the_only_member_leaves_an_empty_cluster():
    run = story(
        "declare: {queue: q, node: a}", "publish: {queue: q, count: 3}", "kill: [b, c]",
        "forget_cluster_node: {node: b}", "forget_cluster_node: {node: c}", "stop: a", "reset: a", "start: a",
    )  # fmt: skip
    found = outcome(run)
    assert (found["nodes"]["a"], found["queues"], found["errors"]) == ("running", {}, [])
    assert run.moment().state.policies == ()


def test_node_that_has_not_joined_gets_no_replicas():
    run = story(
        "set_policy: {name: all, pattern: ^q, definition: {ha-mode: exactly, ha-params: 9}}",
        "declare: {queue: q, node: a}", "publish: {queue: q, count: 3}", "start: d", "join: d",
    )  # fmt: skip
    before, after = outcome(run, run.moment(4)), outcome(run)
    assert before["nodes"] == {"a": "running", "b": "running", "c": "running", "d": "down"}
    assert sorted(before["queues"]["q"]["mirrors"]) == ["b", "c"]
    assert after["queues"]["q"]["mirrors"][2:] == ["d"]
    assert "d" not in after["queues"]["q"]["synchronised_mirrors"]


def test_search_key_includes_membership_and_lost_disks():
    gone, forgotten = story("kill: a"), story("kill: a", "forget_cluster_node: {node: a}")
    wiped, reset = story("wipe: a"), story("kill: a", "reset: a")
    keys = {key(run.moment().state, run.settings) for run in (gone, forgotten, wiped, reset)}
    assert len(keys) == 4


FORGOTTEN_MASTERS = ("forgotten-master-and-the-oldest-mirror", "forgotten-master-without-a-stopped-mirror")


@pytest.mark.parametrize("name", FORGOTTEN_MASTERS)
def test_errors_of_forgotten_nodes_are_those_of_a_real_cluster(name: str):
    """Ignore a prefix and the line breaks of the terminal."""
    mine = outcome(Run.of(load(DATA / "scenarios" / f"{name}.yaml")))["errors"][0]["text"]
    recorded = json.loads((DATA / "recorded" / "3.10" / f"{name}.json").read_text(encoding="utf-8"))
    theirs = " ".join(recorded["outcome"]["errors"][0]["text"].split())
    assert mine.removeprefix("inconsistent_cluster: ") in theirs


def test_node_that_waits_at_boot_cannot_be_forgotten():
    run = story("{kill: [a, b, c], at: 1}", "start: a", "forget_cluster_node: {node: a, from: b, offline: true}",
                "forget_cluster_node: {node: c, from: b, offline: true}")  # fmt: skip
    found = outcome(run)
    assert [error["text"].split(":")[0] for error in found["errors"]] == [
        "RabbitMQ on node a must be stopped with 'rabbitmqctl -n a stop_app' before it can be removed",
        "removing_node_from_offline_node",
    ]
    assert found["nodes"]["a"] == "waiting"
