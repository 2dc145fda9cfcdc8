"""Members of quorum queues that no log says were added."""

from __future__ import annotations

import pytest
from made_up_story import event, us

from hawb.incident.before import Before
from hawb.incident.teller import Told
from hawb.incident.unsaid_members import told_by_members
from hawb.scenario import verbs

ORDERS = {"queue": "orders", "vhost": "/"}


def added(*steps: Told, seen_s=(20.0,), version: str = "3.10") -> list[tuple[int, object]]:
    """What is told where a listing has the queue on a alone, and c sees its leader at these moments."""
    queues = [{"queue": "orders", "leader": "a", "members": ["a"]}, {"queue": "plain", "master": "a"}]
    before = Before({"version": version, "nodes": ["a", "b", "c"]}, [], [], queues, [])
    seen = [(us(at_s), event(at_s, "c", "leader_seen", peer="a", **ORDERS)) for at_s in seen_s]
    return [(step.at_us, step.verb) for step in told_by_members(before, steps, seen, us(10))]


def test_who_is_no_member_by_a_listing_and_finds_a_leader_was_added():
    assert added(seen_s=(20, 30)) == [(us(20), verbs.AddMember("orders", "c"))]


def test_what_was_before_the_story_begins_is_in_the_listing():
    assert added(seen_s=(5,)) == []


@pytest.mark.parametrize(
    "verb",
    [
        verbs.AddMember("orders", "c"),
        verbs.Delete("orders"),
        verbs.Declare("orders", "a", arguments={"x-queue-type": "quorum"}),
    ],
)
def test_what_a_log_tells_of_is_not_told_again(verb):
    assert added(Told(us(15), verb, ())) == []


@pytest.mark.parametrize(("version", "times"), [("3.8", 1), ("3.10", 2)])
def test_who_was_forgotten_and_finds_a_leader_later_was_added_again_where_groups_shrink(version, times):
    steps = Told(us(30), verbs.ForgetClusterNode("c", "a"), ())
    assert len(added(steps, seen_s=(20, 40), version=version)) == times


def test_who_was_removed_may_write_a_while_longer():
    removed = Told(us(30), verbs.DeleteMember("orders", "c"), ())
    assert [at_us for at_us, _ in added(removed, seen_s=(20, 30.5, 40))] == [us(20), us(40)]
