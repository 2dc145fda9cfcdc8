"""Cluster events from logs: real stories, and messages that combine into one event."""

from __future__ import annotations

from functools import cache

import pytest
from kept_logs import DATA, STORIES, reading_of, story_of, title
from samples import each_third

from hawb.incident.cluster_event import KINDS, ClusterEvent
from hawb.incident.cluster_events import cluster_events
from hawb.incident.events import Event

SECOND_US = 1_000_000
LOGS = DATA / "logs"


@cache
def found(story) -> list[ClusterEvent]:
    reading = reading_of(story)
    return cluster_events(reading.events, reading.clocks)


def short(story, *kinds: str) -> list[tuple]:
    """Return (kind, node, queue) of each event from the first step on."""
    facts = story_of(story)
    names = facts["names"]
    return [(one.kind, names.get(one.node or ""), one.queue) for one in found(story)
            if one.at_us / 1e6 >= facts["begun"][0][0] and (not kinds or one.kind in kinds)]  # fmt: skip


@pytest.mark.parametrize("story", each_third(STORIES), ids=title)
def test_events_of_a_story_are_recognised_in_order(story, subtests):
    with subtests.test(msg="each has a known kind and the events that it comes from"):
        assert all(one.kind in KINDS and one.events for one in found(story))
    with subtests.test(msg="they are in the order of time"):
        assert [one.at_us for one in found(story)] == sorted(one.at_us for one in found(story))


def test_a_partition_that_autoheal_ends():
    shown = short(LOGS / "3.10" / "partition-autoheal")
    assert [one for one in shown if not one[0].startswith("mirrors_")] == [
        ("mirror_added", "b", "orders"), ("mirror_added", "c", "orders"),
        ("partition_begun", None, None), ("mirror_promoted", "b", "orders"), ("partition_healed", None, None),
        ("autoheal", "c", None), ("node_paused", "b", None), ("mirror_promoted", "c", "orders"),
        ("node_started", "b", None), ("mirror_added", "b", "orders"), ("autoheal", "a", None),
        ("autoheal_refused", "a", None),
    ]  # fmt: skip


def test_a_node_that_pauses_may_be_stopped_then():
    events = [event(at_s, "a", kind) for at_s, kind in
              ((1, "node_starting"), (9, "pause_begun"), (9, "node_stopping"), (15, "node_halting"))]  # fmt: skip
    result = [(one.kind, one.at_us // SECOND_US) for one in cluster_events(events, {})]
    assert result == [("node_started", 1), ("node_paused", 9), ("node_stopped", 15)]


def test_members_that_come_and_go():
    shown = short(LOGS / "4.3" / "quorum-grown-and-shrunk", "member_added", "member_removed", "queue_declared")
    assert shown[:2] == [("queue_declared", "a", "orders"), ("queue_declared", "a", "other")]
    assert shown[2:6] == [("member_added", "d", "orders"), ("member_removed", "b", "orders"),
                         ("member_added", "c", "other"), ("member_added", "d", "other")]  # fmt: skip
    assert {*shown[6:]} == {("member_removed", "c", "orders"), ("member_removed", "c", "other")}


def test_a_member_is_forgotten_with_its_queues():
    shown = short(LOGS / "4.3" / "khepri-forgotten-gives-a-majority")
    assert shown == [("node_killed", "d", None), ("node_killed", "c", None), ("node_forgotten", "c", None),
                    ("member_removed", "c", "log")]  # fmt: skip


def test_a_synchronisation_has_its_beginning_and_its_end():
    result = [one for one in found(LOGS / "3.10" / "sync-cancelled") if one.kind == "synchronisation"]
    assert [(one.count, one.reason, len(one.nodes), len(one.events)) for one in result] == [
        (30010, "done", 1, 3), (0, "done", 1, 3),
    ]  # fmt: skip
    assert all(one.until_us for one in result)


def event(at_s: float, node: str, kind: str, **fields) -> Event:
    return Event(at_us=round(at_s * SECOND_US), node=node, kind=kind, **fields)


ORDERS = {"queue": "orders", "vhost": "/"}


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        # several nodes tell of one alarm
        ([event(1, "a", "alarm_set", peer="b", name="memory"), event(1.2, "b", "alarm_set", peer="b", name="memory"),
          event(9, "a", "alarm_cleared", peer="b", name="memory"), event(9, "a", "alarm_cleared", name="memory")],
         [("alarm_set", "b", None, 2), ("alarm_cleared", "b", None, 1)]),
        # a queue is deleted, with the files of its members
        ([event(1, "a", "member_deleted", **ORDERS), event(1, "b", "member_deleted", **ORDERS),
          event(1.1, "a", "data_deleted", name="%2F_orders"), event(1.2, "b", "data_deleted", name="%2F_orders")],
         [("queue_deleted", None, "orders", 2)]),
        # one member is removed, of which only its files tell
        ([event(1, "a", "leader_elected", term=1, **ORDERS), event(5, "b", "data_deleted", name="%2F_orders")],
         [("leader_elected", "a", "orders", 1), ("member_removed", "b", "orders", 1)]),
        # a node was shrunk away before Mnesia forgets it; with Khepri that is how it is forgotten
        ([event(1, "a", "member_removing", peer="b", **ORDERS), event(40, "a", "member_forgotten", peer="b")],
         [("member_removed", "b", "orders", 1), ("node_forgotten", "b", None, 1)]),
        ([event(1, "a", "member_removing", peer="b", **ORDERS), event(2, "a", "queues_forgotten", peer="b")],
         [("member_removed", "b", "orders", 1), ("node_forgotten", "b", None, 2)]),
        # a member that was removed finds a leader: it was added again, as another of a new queue is not
        ([event(1, "a", "member_removing", peer="b", **ORDERS), event(1.1, "b", "leader_seen", peer="a", **ORDERS),
          event(5, "b", "leader_seen", peer="a", **ORDERS), event(9, "b", "leader_seen", peer="a", **ORDERS)],
         [("member_removed", "b", "orders", 1), ("member_added", "b", "orders", 1)]),
        ([event(1, "a", "member_removing", peer="b", **ORDERS), event(4, "a", "member_adding", peer="b", **ORDERS),
          event(5, "b", "leader_seen", peer="a", **ORDERS)],
         [("member_removed", "b", "orders", 1), ("member_added", "b", "orders", 1)]),
        ([event(1, "a", "member_removing", peer="b", **ORDERS), event(4, "a", "member_deleted", **ORDERS),
          event(9, "b", "leader_seen", peer="a", **ORDERS)],
         [("member_removed", "b", "orders", 1), ("queue_deleted", None, "orders", 1)]),
        # a node waits from the second try on
        ([event(1, "a", "node_waiting", count=9), event(31, "a", "node_waiting", count=8)],
         [("node_waiting", "a", None, 1)]),
        # what was a member boots without its disk
        ([event(1, "a", "node_starting"), event(2, "a", "disk_empty"), event(3, "a", "node_started"),
          event(9, "b", "alarm_set", peer="b", name="disk"), event(20, "a", "node_starting"),
          event(21, "a", "disk_empty")],
         [("node_started", "a", None, 1), ("node_killed", "a", None, 1), ("alarm_set", "b", None, 1),
          ("node_started", "a", None, 1), ("disk_lost", "a", None, 1)]),
    ],
)  # fmt: skip
def test_messages_are_combined_into_events(events, expected):
    assert [(one.kind, one.node, one.queue, len(one.events)) for one in cluster_events(events, {})] == expected
