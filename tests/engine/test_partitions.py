"""Links that fail, sides that part and find together again, hosts that lose power, nodes that boot without waiting."""

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


def test_mirrors_that_were_cut_off_for_a_while_get_what_was_published_and_drop_what_was_acknowledged():
    told = after(
        "publish: {queue: q, count: 10, node: a}",
        "partition: [[a], [b, c]]",
        "publish: {queue: q, count: 5, node: a}",
        "get: {queue: q, count: 3}",
        "wait: 30",
        "heal: true",
        "kill: a",
    )
    assert told["queues"]["q"]["master"] == "b" and told["queues"]["q"]["ids"] == [[4, 15]]
    assert told["ledger"]["q"]["removed"]["acknowledged"] == [[1, 3]] and told["ledger"]["q"]["lost"] == []


def test_an_unsynchronised_mirror_catches_up_with_what_it_missed_and_no_more():
    told = after(
        "publish: {queue: q, count: 10, node: a}",
        "stop: c",
        "start: c",
        "cut: [[a, c]]",
        "publish: {queue: q, count: 5, node: a}",
        "heal: true",
        "publish: {queue: q, count: 1, node: a}",
    )
    assert told["queues"]["q"]["replicas"]["c"] == {
        "role": "mirror", "online": True, "synchronised": False, "syncing": False, "messages": 6,
    }  # fmt: skip


@pytest.mark.parametrize(("steps", "received", "lost"), [
    (["wait: 30", "heal: true"], [[1, 4]], []),
    (["wait: 75"], [], [[1, 4]]),
])  # fmt: skip
def test_a_delivery_over_a_silent_link_arrives_when_it_heals_and_is_lost_when_it_is_given_up(steps, received, lost):
    told = after(
        "consume: {consumer: c, queue: q, node: b, ack: auto}",
        "partition: [[a], [b, c]]",
        "publish: {queue: q, count: 4, node: a}",
        *steps,
        policies="policies: []",
    )
    assert told["consumers"]["c"]["received"] == received
    assert told["ledger"]["q"]["lost"] == lost
    assert [loss["cause"] for loss in told["losses"]] == ["auto_ack_in_flight"] * len(lost)


@pytest.mark.parametrize("change", ["declare: {queue: new, node: b}", "set_policy: {name: n, pattern: ^q, definition: {ha-mode: all}}"])  # noqa: E501
def test_a_change_of_metadata_waits_until_a_silent_node_is_missed(change):
    before = story("power_off: c", change)
    assert "metadata_stalled" in {event["event"] for event in outcome(before)["events"]}
    done = {"queue_declared", "policy_set"}
    assert not [event for event in outcome(before)["events"][-3:] if event["event"] in done]
    told = after("power_off: c", change, "wait: 61")
    assert [event["t"] for event in told["events"] if event["event"] in done][-1] >= 60


@pytest.mark.parametrize(("steps", "waits", "told_of"), [
    (["stop: b", "power_off: c", "forget_cluster_node: {node: b}"], True, "node_forgotten"),
    (["power_off: c", "forget_cluster_node: {node: c}"], True, "node_forgotten"),
    (["stop: b", "power_off: c", "reset: b"], True, "node_reset"),
    (["power_off: c", "reset: c"], False, "node_reset"),
    (["stop: b", "cut: [[a, c]]", "reset: b"], True, "node_reset"),
    (["kill: c", "forget_cluster_node: {node: c}"], False, "node_forgotten"),
])  # fmt: skip
def test_a_member_goes_when_every_node_that_counts_as_running_answers(steps, waits, told_of):
    before = {event["event"] for event in outcome(story(*steps))["events"]}
    assert ("metadata_stalled" in before, told_of in before) == (waits, not waits)
    later = after(*steps, "wait: 62")
    assert told_of in {event["event"] for event in later["events"]}
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
def test_a_mirror_takes_over_when_every_node_that_counts_as_running_answers(steps, master):
    told = after("publish: {queue: q, count: 10, node: a}", *steps)
    state = "down" if master == "a" else "running"
    assert (told["queues"]["q"]["master"], told["queues"]["q"]["state"]) == (master, state)
    assert told["ledger"]["q"]["lost"] == []


def test_a_failover_that_waits_is_told_of_once_and_settled_by_a_node_that_comes_up():
    told = after("publish: {queue: q, count: 10, node: a}", "power_off: c", "kill: a", "wait: 5", "start: a")
    assert [event["event"] for event in told["events"]].count("metadata_stalled") == 1
    assert told["queues"]["q"]["master"] == "b" and told["queues"]["q"]["ids"] == [[1, 10]]


def test_what_has_waited_to_be_forgotten_and_runs_again_is_refused():
    told = after("stop: b", "power_off: c", "forget_cluster_node: {node: b}", "start: b", "wait: 62")
    assert ["must be stopped" in error["text"] for error in told["errors"]] == [True]


def test_a_synchronisation_waits_for_a_mirror_that_does_not_answer():
    steps = ("publish: {queue: q, count: 10, node: a}", "stop: c", "start: c", "cut: [[a, c]]", "sync_queue: q")
    assert after(*steps)["queues"]["q"]["state"] == "syncing"
    healed = after(*steps, "wait: 30", "heal: true")["queues"]["q"]
    assert healed["state"] == "running" and healed["synchronised_mirrors"] == ["b", "c"]


def test_a_host_that_boots_again_in_time_is_missed_when_it_comes():
    told = after("publish: {queue: q, count: 10, node: a}", "power_off: a", "wait: 5", "start: a")
    assert told["queues"]["q"]["master"] == "b" and told["queues"]["q"]["messages"] == 10
    assert told["time_s"] < 60


def test_links_that_time_out_say_nothing_of_a_host_without_power():
    cuts = ("cut: [[a, b]]", "{partition: [[a], [b, c]], at: 1}")
    told = after(*cuts, "{power_off: a, at: 2}", "{partition: [[b], [c]], at: 2}", "{start: a, at: 2}", "wait: 70")
    assert told["nodes"] == {"a": "waiting", "b": "running", "c": "running"}, "a still knows whom it saw last"
    assert told["partitions"] == [["b"], ["c"]]


# Sides


def test_what_one_side_has_acknowledged_is_not_lost_when_the_other_gives_it_up():
    told = after(
        "publish: {queue: q, count: 10, node: a}",
        "partition: [[a], [b, c]]",
        "wait: 75",
        "get: {queue: q, count: 4}",
        "publish: {queue: q, count: 2, node: b}",
        "heal: true",
        "stop: [b, c]",
        "start: [b, c]",
    )
    assert told["queues"]["q"]["master"] == "a" and told["queues"]["q"]["ids"] == [[5, 10]]
    assert told["ledger"]["q"]["lost"] == [[11, 12]]
    assert told["ledger"]["q"]["removed"]["acknowledged"] == [[1, 4]]


def test_a_consumer_goes_on_with_its_own_side_and_its_other_answers_say_nothing():
    told = after(
        "publish: {queue: q, count: 10, node: a}",
        "consume: {consumer: c, queue: q, node: b, prefetch: 2}",
        "partition: [[a], [b, c]]",
        "wait: 75",
    )
    assert told["queues"]["q"]["messages_unacknowledged"] == 0, "the master's side has taken them back"
    assert told["consumers"]["c"]["state"] == "active" and told["consumers"]["c"]["unacknowledged"] == [[1, 2]]


def test_an_exclusive_queue_stays_with_its_connection():
    told = after(
        "declare: {queue: mine, node: b, exclusive: true}",
        "partition: [[a], [b, c]]",
        "wait: 75",
    )
    assert "mine" not in told["queues"] and told["queues_elsewhere"]["mine"]["state"] == "running"


def test_a_queue_is_deleted_on_one_side_alone():
    parted = ("publish: {queue: q, count: 3, node: a}", "partition: [[a], [b, c]]", "wait: 75")
    steps = (*parted, "delete: {queue: q, node: a}")
    told = after(*steps)
    assert "q" not in told["queues"] and told["queues_elsewhere"]["q"]["ids"] == [[1, 3]]
    assert told["ledger"]["q"]["removed"]["deleted"] == []
    gone = after(*steps, "heal: true", "stop: [b, c]", "start: [b, c]")
    assert gone["queues"] == gone["queues_elsewhere"] == {}
    assert gone["ledger"]["q"]["removed"]["deleted"] == [[1, 3]] and gone["ledger"]["q"]["lost"] == []


def test_nodes_of_a_side_that_went_down_together_come_back_with_what_they_had_if_nobody_else_runs():
    told = after(
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
    assert told["queues"]["q"]["master"] == "a" and told["queues"]["q"]["ids"] == [[1, 15]]


def test_force_boot_of_the_node_that_went_last_gives_up_nothing():
    told = after("publish: {queue: q, count: 10, node: a}", "stop: [b, c]", "stop: a", "force_boot: a", "start: [b, c]")
    assert told["queues"]["q"]["ids"] == [[1, 10]] and told["losses"] == []


def test_a_queue_of_a_side_that_is_down_or_given_up_is_deleted_for_those_who_run():
    parted = ("partition: [[a], [b, c]]", "wait: 75", "declare: {queue: theirs, node: b}")
    assert after(*parted)["deleted"] == []
    down = (*parted, "stop: [b, c]")
    assert after(*down)["deleted"] == ["theirs"]
    back = after(*down, "heal: true", "start: [b, c]")
    assert back["deleted"] == ["theirs"]
    reasons = [told["detail"]["reason"] for told in back["events"] if told["event"] == "queue_deleted"]
    assert reasons == ["side_given_up"]


def test_cut_and_healed_are_told_apart_by_the_key():
    states = [story(*steps) for steps in ((), ("cut: [[a, b]]",), ("cut: [[b, c]]",), ("cut: [[a, b]]", "heal: true"))]
    keys = [key(run.moment().state, run.settings) for run in states]
    assert keys[0] == keys[3] and len(set(keys[:3])) == 3


# Partition handling


def test_nodes_that_die_count_as_those_that_cannot_be_reached():
    handling = ", cluster_partition_handling: pause_minority"
    nodes = after("kill: c", "kill: b", "wait: 1", more=handling)["nodes"]
    assert nodes == {"a": "paused", "b": "down", "c": "down"}
    nodes = after("kill: c", "kill: b", "wait: 1", "start: b", "wait: 10", more=handling)["nodes"]
    assert nodes == {"a": "running", "b": "running", "c": "down"}


def test_a_paused_node_can_be_stopped_and_killed():
    handling = ", cluster_partition_handling: pause_minority"
    for verb in ("stop", "kill"):
        told = after("partition: [[a], [b, c]]", "wait: 75", f"{verb}: a", "heal: true", "wait: 20", more=handling)
        assert told["nodes"]["a"] == "down" and told["errors"] == []


def test_autoheal_waits_until_every_member_is_up():
    handling = ", cluster_partition_handling: autoheal"
    steps = ("partition: [[a], [b, c]]", "wait: 75", "kill: c", "heal: true", "wait: 60")
    assert after(*steps, more=handling)["partitions"] == [["a"], ["b"]]
    assert after(*steps, "start: c", "wait: 20", more=handling)["partitions"] == []


# The rules


@pytest.mark.parametrize(("seen", "members", "goes_on"), [(1, 1, True), (1, 2, False), (2, 3, True), (2, 4, False), (3, 4, True)])  # noqa: E501
def test_a_majority_is_more_than_half_of_all_members(seen, members, goes_on):
    assert partitions.has_majority(seen, members) is goes_on


@pytest.mark.parametrize(("seen", "preferred", "goes_on"), [(0b1, 0b11, True), (0b100, 0b11, False), (0b100, 0, True)])
def test_a_node_goes_on_while_it_sees_a_preferred_one(seen, preferred, goes_on):
    assert partitions.is_preferred(seen, preferred) is goes_on


@pytest.mark.parametrize(("side", "best", "wins"), [
    ((2, 1), (1, 2), True),
    ((2, 1), (2, 2), False),
    ((2, 2), (2, 1), True),
    ((0, 1), (0, 1), True),
    ((1, 5), (3, 1), False),
])  # fmt: skip
def test_the_winner_has_most_connections_then_most_nodes_then_the_last_name(side, best, wins):
    assert partitions.wins(*side, *best) is wins


def test_a_batch_that_grew_on_one_side_is_counted_once():
    known, grown, theirs = Batch(11, 13, 10, True), Batch(11, 16, 10, True), Batch(17, 20, 10, True)
    assert united((known, theirs), (grown,)) == united((grown,), (known, theirs)) == (grown, theirs)


def test_a_master_that_crashes_out_of_reach_of_its_mirrors_comes_back_by_itself():
    told = after(
        "publish: {queue: q, count: 10, node: a}",
        "partition: [[a], [b, c]]",
        "publish: {queue: q, count: 5, node: a}",
        "crash: {queue: q}",
        "heal: true",
    )
    queue = told["queues"]["q"]
    assert queue["master"] == "a" and queue["ids"] == [[1, 15]] and sorted(queue["mirrors"]) == ["b", "c"]
    assert told["ledger"]["q"]["lost"] == []
