"""Added members of quorum queues whose addition was not logged."""

from __future__ import annotations

import pytest
from made_up_story import event, occurred, us

from hawb.incident.before import Before
from hawb.incident.unlogged_members import with_unlogged_members
from hawb.scenario import verbs

ORDERS = {"queue": "orders", "vhost": "/"}
BEGINS_S = 10


def added(*found, seen_s=(20.0,), version: str = "3.10") -> tuple[list[str], list[tuple[int, object]]]:
    """The members as the story begins, and what is told, where a listing has the queue on a alone, and c sees its
    leader at these moments."""
    queues = [{"queue": "orders", "leader": "a", "members": ["a"]}, {"queue": "plain", "master": "a"}]
    before = Before({"version": version, "nodes": ["a", "b", "c"]}, [], [], queues, [])
    seen = [(us(at_s), event(at_s, "c", "leader_seen", peer="a", **ORDERS)) for at_s in seen_s]
    stood, steps = with_unlogged_members(before, found, seen, us(BEGINS_S))
    return stood.queues[0]["members"], [(step.at_us, step.verb) for step in steps]


def test_node_outside_the_listing_that_finds_a_leader_was_added():
    assert added(seen_s=(20, 30)) == (["a"], [(us(20), verbs.AddMember("orders", "c"))])


def test_node_with_a_leader_at_the_start_was_a_member():
    assert added(seen_s=(5, 20)) == (["a", "c"], [])


def test_listing_belongs_to_the_last_declared_queue():
    declared = occurred(4, "queue_declared", "a", "orders")
    assert added(declared, seen_s=(2, 20)) == (["a"], [(us(20), verbs.AddMember("orders", "c"))])
    assert added(declared, seen_s=(2, 8)) == (["a", "c"], [])


@pytest.mark.parametrize(
    "expected", [("member_added", "c"), ("queue_deleted", None), ("queue_declared", "a"), ("member_change_failed", "c")]
)
def test_logged_additions_are_not_repeated(expected):
    kind, node = expected
    assert added(occurred(15, kind, node, "orders")) == (["a"], [])


@pytest.mark.parametrize(("version", "times"), [("3.8", 1), ("3.10", 2)])
def test_forgotten_node_that_finds_a_leader_was_added_again(version, times):
    assert len(added(occurred(30, "node_forgotten", "c"), seen_s=(20, 40), version=version)[1]) == times


def test_removed_member_may_log_a_while_longer():
    removed = occurred(30, "member_removed", "c", "orders")
    assert [at_us for at_us, _ in added(removed, seen_s=(20, 30.5, 40))[1]] == [us(20), us(40)]
