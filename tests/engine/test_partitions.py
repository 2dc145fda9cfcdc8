"""Cut links, partitions and their end, hosts without power, and forced boots."""

from __future__ import annotations

import pytest
from invariants import watched

from hawb.engine.core.state import Batch
from hawb.engine.keys.state_key import key
from hawb.engine.queues.contents import united
from hawb.rules import partitions
from hawb.scenario.load import load
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run

ALL = "policies: [{name: p, pattern: ^q, definition: {ha-mode: all}}]"


def story(*steps: str, nodes: str = "a, b, c", more: str = "", policies: str = ALL) -> Run:
    lines = "".join(f"  - {step}\n" for step in ("declare: {queue: q, node: a}", *steps))
    with watched():
        run = Run.of(
            load(f'scenario: t\ncluster: {{nodes: [{nodes}], version: "3.10"{more}}}\n{policies}\nsteps:\n{lines}')
        )
        run.moment()
    return run


def after(*steps: str, **how: str) -> dict:
    return outcome(story(*steps, **how))


# What nobody has noticed yet


def test_mirrors_catch_up_with_publishes_and_acks_when_links_heal():
    found = after(
        "publish: {queue: q, count: 10, node: a}",
        "partition: [[a], [b, c]]",
        "publish: {queue: q, count: 5, node: a}",
        "get: {queue: q, count: 3}",
        "wait: 30",
        "heal: true",
        "kill: a",
    )
    assert found["queues"]["q"]["master"] == "b" and found["queues"]["q"]["ids"] == [[4, 15]]
    assert found["ledger"]["q"]["removed"]["acknowledged"] == [[1, 3]] and found["ledger"]["q"]["lost"] == []


def test_unsynchronised_mirror_catches_up_with_missed_publishes_only():
    found = after(
        "publish: {queue: q, count: 10, node: a}",
        "stop: c",
        "start: c",
        "cut: [[a, c]]",
        "publish: {queue: q, count: 5, node: a}",
        "heal: true",
        "publish: {queue: q, count: 1, node: a}",
    )
    assert found["queues"]["q"]["replicas"]["c"] == {
        "role": "mirror", "online": True, "synchronised": False, "syncing": False, "messages": 6,
    }  # fmt: skip


@pytest.mark.parametrize(("steps", "received", "lost"), [
    (["wait: 30", "heal: true"], [[1, 4]], []),
    (["wait: 75"], [], [[1, 4]]),
])  # fmt: skip
def test_delivery_over_a_cut_link_arrives_when_it_heals_or_is_lost_at_net_ticktime(steps, received, lost):
    found = after(
        "consume: {consumer: c, queue: q, node: b, ack: auto}",
        "partition: [[a], [b, c]]",
        "publish: {queue: q, count: 4, node: a}",
        *steps,
        policies="policies: []",
    )
    assert found["consumers"]["c"]["received"] == received
    assert found["ledger"]["q"]["lost"] == lost
    assert [loss["cause"] for loss in found["losses"]] == ["auto_ack_in_flight"] * len(lost)


@pytest.mark.parametrize("change", ["declare: {queue: new, node: b}", "set_policy: {name: n, pattern: ^q, definition: {ha-mode: all}}"])  # noqa: E501
def test_metadata_change_waits_until_a_silent_node_counts_as_down(change):
    before = story("power_off: c", change)
    assert "metadata_stalled" in {event["event"] for event in outcome(before)["events"]}
    done = {"queue_declared", "policy_set"}
    assert not [event for event in outcome(before)["events"][-3:] if event["event"] in done]
    found = after("power_off: c", change, "wait: 61")
    assert [event["t"] for event in found["events"] if event["event"] in done][-1] >= 60


@pytest.mark.parametrize(("steps", "waits", "change"), [
    (["stop: b", "power_off: c", "forget_cluster_node: {node: b}"], True, "node_forgotten"),
    (["power_off: c", "forget_cluster_node: {node: c}"], True, "node_forgotten"),
    (["stop: b", "power_off: c", "reset: b"], True, "node_reset"),
    (["power_off: c", "reset: c"], False, "node_reset"),
    (["stop: b", "cut: [[a, c]]", "reset: b"], True, "node_reset"),
    (["kill: c", "forget_cluster_node: {node: c}"], False, "node_forgotten"),
])  # fmt: skip
def test_membership_change_waits_for_each_node_seen_as_running(steps, waits, change):
    before = {event["event"] for event in outcome(story(*steps))["events"]}
    assert ("metadata_stalled" in before, change in before) == (waits, not waits)
    later = after(*steps, "wait: 62")
    assert change in {event["event"] for event in later["events"]}
    assert later["errors"] == []


@pytest.mark.parametrize(("steps", "master"), [
    (["kill: a"], "b"),
    (["power_off: c", "kill: a"], "a"),
    (["power_off: c", "kill: a", "wait: 61"], "b"),
    (["power_off: c", "kill: a", "wait: 5", "start: c"], "b"),
    (["cut: [[b, c]]", "kill: a", "wait: 30"], "a"),
    (["cut: [[b, c]]", "kill: a", "wait: 30", "heal: true"], "b"),
    (["power_off: c", "crash: {queue: q}"], "b"),
])  # fmt: skip
def test_promotion_waits_for_each_node_seen_as_running(steps, master):
    found = after("publish: {queue: q, count: 10, node: a}", *steps)
    state = "down" if master == "a" else "running"
    assert (found["queues"]["q"]["master"], found["queues"]["q"]["state"]) == (master, state)
    assert found["ledger"]["q"]["lost"] == []


def test_waiting_failover_is_reported_once_and_ends_when_a_node_starts():
    found = after("publish: {queue: q, count: 10, node: a}", "power_off: c", "kill: a", "wait: 5", "start: a")
    assert [event["event"] for event in found["events"]].count("metadata_stalled") == 1
    assert found["queues"]["q"]["master"] == "b" and found["queues"]["q"]["ids"] == [[1, 10]]


def test_waiting_forget_is_refused_if_the_node_runs_again():
    found = after("stop: b", "power_off: c", "forget_cluster_node: {node: b}", "start: b", "wait: 62")
    assert ["must be stopped" in error["text"] for error in found["errors"]] == [True]


def test_synchronisation_waits_for_an_unreachable_mirror():
    steps = ("publish: {queue: q, count: 10, node: a}", "stop: c", "start: c", "cut: [[a, c]]", "sync_queue: q")
    assert after(*steps)["queues"]["q"]["state"] == "syncing"
    healed = after(*steps, "wait: 30", "heal: true")["queues"]["q"]
    assert healed["state"] == "running" and healed["synchronised_mirrors"] == ["b", "c"]


def test_host_that_reboots_within_net_ticktime_is_seen_as_restarted():
    found = after("publish: {queue: q, count: 10, node: a}", "power_off: a", "wait: 5", "start: a")
    assert found["queues"]["q"]["master"] == "b" and found["queues"]["q"]["messages"] == 10
    assert found["time_s"] < 60


def test_net_ticktime_of_cut_links_does_not_affect_a_host_without_power():
    cuts = ("cut: [[a, b]]", "{partition: [[a], [b, c]], at: 1}")
    found = after(*cuts, "{power_off: a, at: 2}", "{partition: [[b], [c]], at: 2}", "{start: a, at: 2}", "wait: 70")
    assert found["nodes"] == {"a": "waiting", "b": "running", "c": "running"}, "a waits for b and c"
    assert found["partitions"] == [["b"], ["c"]]


# Sides


def test_messages_acknowledged_on_one_side_are_not_lost_with_the_other():
    found = after(
        "publish: {queue: q, count: 10, node: a}",
        "partition: [[a], [b, c]]",
        "wait: 75",
        "get: {queue: q, count: 4}",
        "publish: {queue: q, count: 2, node: b}",
        "heal: true",
        "stop: [b, c]",
        "start: [b, c]",
    )
    assert found["queues"]["q"]["master"] == "a" and found["queues"]["q"]["ids"] == [[5, 10]]
    assert found["ledger"]["q"]["lost"] == [[11, 12]]
    assert found["ledger"]["q"]["removed"]["acknowledged"] == [[1, 4]]


def test_consumer_stays_active_on_its_side_of_a_partition():
    found = after(
        "publish: {queue: q, count: 10, node: a}",
        "consume: {consumer: c, queue: q, node: b, prefetch: 2}",
        "partition: [[a], [b, c]]",
        "wait: 75",
    )
    assert found["queues"]["q"]["messages_unacknowledged"] == 0, "the master's side has taken them back"
    assert found["consumers"]["c"]["state"] == "active" and found["consumers"]["c"]["unacknowledged"] == [[1, 2]]


def test_exclusive_queue_stays_on_the_side_of_its_connection():
    found = after(
        "declare: {queue: mine, node: b, exclusive: true}",
        "partition: [[a], [b, c]]",
        "wait: 75",
    )
    assert "mine" not in found["queues"] and found["queues_elsewhere"]["mine"]["state"] == "running"


def test_queue_is_deleted_on_one_side_of_a_partition_only():
    parted = ("publish: {queue: q, count: 3, node: a}", "partition: [[a], [b, c]]", "wait: 75")
    steps = (*parted, "delete: {queue: q, node: a}")
    found = after(*steps)
    assert "q" not in found["queues"] and found["queues_elsewhere"]["q"]["ids"] == [[1, 3]]
    assert found["ledger"]["q"]["removed"]["deleted"] == []
    gone = after(*steps, "heal: true", "stop: [b, c]", "start: [b, c]")
    assert gone["queues"] == gone["queues_elsewhere"] == {}
    assert gone["ledger"]["q"]["removed"]["deleted"] == [[1, 3]] and gone["ledger"]["q"]["lost"] == []


def test_side_that_stopped_together_keeps_its_data_if_no_other_node_runs():
    found = after(
        "publish: {queue: q, count: 10, node: a}",
        "partition: [[a], [b, c]]",
        "wait: 75",
        "publish: {queue: q, count: 5, node: a}",
        "stop: [b, c]",
        "stop: a",
        "heal: true",
        "start: a",
        "start: [b, c]",
    )
    assert found["queues"]["q"]["master"] == "a" and found["queues"]["q"]["ids"] == [[1, 15]]


def test_force_boot_of_the_last_stopped_node_loses_nothing():
    steps = ("publish: {queue: q, count: 10, node: a}", "stop: [b, c]", "stop: a", "force_boot: a", "start: [b, c]")
    found = after(*steps)
    assert found["queues"]["q"]["ids"] == [[1, 10]] and found["losses"] == []


def test_queue_of_a_side_that_is_down_counts_as_deleted():
    parted = ("partition: [[a], [b, c]]", "wait: 75", "declare: {queue: theirs, node: b}")
    assert after(*parted)["deleted"] == []
    down = (*parted, "stop: [b, c]")
    assert after(*down)["deleted"] == ["theirs"]
    back = after(*down, "heal: true", "start: [b, c]")
    assert back["deleted"] == ["theirs"]
    reasons = [found["detail"]["reason"] for found in back["events"] if found["event"] == "queue_deleted"]
    assert reasons == ["side_given_up"]


def test_search_key_includes_cut_links():
    states = [story(*steps) for steps in ((), ("cut: [[a, b]]",), ("cut: [[b, c]]",), ("cut: [[a, b]]", "heal: true"))]
    keys = [key(run.moment().state, run.settings) for run in states]
    assert keys[0] == keys[3] and len(set(keys[:3])) == 3


# Partition handling


def test_pause_minority_counts_dead_nodes_as_unreachable():
    handling = ", cluster_partition_handling: pause_minority"
    nodes = after("kill: c", "kill: b", "wait: 1", more=handling)["nodes"]
    assert nodes == {"a": "paused", "b": "down", "c": "down"}
    nodes = after("kill: c", "kill: b", "wait: 1", "start: b", "wait: 10", more=handling)["nodes"]
    assert nodes == {"a": "running", "b": "running", "c": "down"}


def test_paused_node_can_be_stopped_and_killed():
    handling = ", cluster_partition_handling: pause_minority"
    for verb in ("stop", "kill"):
        found = after("partition: [[a], [b, c]]", "wait: 75", f"{verb}: a", "heal: true", "wait: 20", more=handling)
        assert found["nodes"]["a"] == "down" and found["errors"] == []


def test_autoheal_waits_until_each_member_runs():
    handling = ", cluster_partition_handling: autoheal"
    steps = ("partition: [[a], [b, c]]", "wait: 75", "kill: c", "heal: true", "wait: 60")
    assert after(*steps, more=handling)["partitions"] == [["a"], ["b"]]
    assert after(*steps, "start: c", "wait: 20", more=handling)["partitions"] == []


# The rules


@pytest.mark.parametrize(("seen", "members", "goes_on"), [(1, 1, True), (1, 2, False), (2, 3, True), (2, 4, False), (3, 4, True)])  # noqa: E501
def test_majority_is_more_than_half_of_all_members(seen, members, goes_on):
    assert partitions.has_majority(seen, members) is goes_on


@pytest.mark.parametrize(("seen", "preferred", "goes_on"), [(0b1, 0b11, True), (0b100, 0b11, False), (0b100, 0, True)])
def test_pause_if_all_down_runs_on_while_a_listed_node_is_seen(seen, preferred, goes_on):
    assert partitions.is_preferred(seen, preferred) is goes_on


@pytest.mark.parametrize(("side", "best", "wins"), [
    ((2, 1), (1, 2), True),
    ((2, 1), (2, 2), False),
    ((2, 2), (2, 1), True),
    ((0, 1), (0, 1), True),
    ((1, 5), (3, 1), False),
])  # fmt: skip
def test_autoheal_winner_has_most_connections_then_nodes_then_the_last_name(side, best, wins):
    assert partitions.wins(*side, *best) is wins


def test_batch_that_grew_on_one_side_is_merged_once():
    known, grown, theirs = Batch(11, 13, 10, True), Batch(11, 16, 10, True), Batch(17, 20, 10, True)
    assert united((known, theirs), (grown,)) == united((grown,), (known, theirs)) == (grown, theirs)


def test_crashed_master_without_reachable_mirrors_restarts_itself():
    found = after(
        "publish: {queue: q, count: 10, node: a}",
        "partition: [[a], [b, c]]",
        "publish: {queue: q, count: 5, node: a}",
        "crash: {queue: q}",
        "heal: true",
    )
    queue = found["queues"]["q"]
    assert queue["master"] == "a" and queue["ids"] == [[1, 15]] and sorted(queue["mirrors"]) == ["b", "c"]
    assert found["ledger"]["q"]["lost"] == []
