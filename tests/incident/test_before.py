"""Reconstruction of the cluster before the events of the logs."""

from __future__ import annotations

import pytest
from made_up_story import event, occurred, us

from hawb.incident.before import Exports, listed_after, older, stood
from hawb.incident.cluster_event import ClusterEvent
from hawb.incident.node_runs import NodeRun
from hawb.incident.replicas import replicas_at


def replicas(found: list[ClusterEvent], at_s: float) -> dict[str, tuple]:
    return {queue: (one.first, sorted(one.others)) for queue, one in replicas_at(found, us(at_s)).items()}


PROMOTED = [
    occurred(5, "mirrors_missed", "b", "q", name="mirror", nodes=("a",)),
    occurred(5, "node_killed", "a"),
    occurred(5, "mirror_promoted", "b", "q"),
]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        # declared with two mirrors
        ([occurred(-9, "mirror_added", "b", "q", by="a"), occurred(-9, "mirror_added", "c", "q", by="a")],
         ("a", ["b", "c"])),
        # who missed its master as it took over tells who that was
        (PROMOTED, ("a", ["b"])),
        # one that came since was not there
        ([*PROMOTED, occurred(9, "mirror_added", "a", "q"), occurred(20, "mirror_dropped", "a", "q")], ("a", ["b"])),
        # a master tells of itself
        ([occurred(4, "synchronisation", "c", "q", nodes=("a",), count=7)], ("c", ["a"])),
        # mirrors end with their node
        ([occurred(-9, "mirror_added", "b", "q", by="a"), occurred(-4, "node_stopped", "b")], ("a", [])),
        # a group's leader and members
        ([occurred(-9, "leader_elected", "a", "q"), occurred(-5, "member_added", "b", "q", by="a"),
          occurred(-3, "leader_elected", "b", "q")], ("b", ["a"])),
        ([occurred(4, "member_removed", "c", "q", by="a"), occurred(6, "leader_elected", "b", "q")],
         (None, ["b", "c"])),
    ],
)  # fmt: skip
def test_initial_replicas_follow_from_later_events(found, expected):
    assert replicas(found, 0) == {"q": expected}


@pytest.mark.parametrize(("master", "after"), [("a", False), ("b", True), ("c", False)])
def test_listing_is_dated_by_the_events_that_it_fits(master, after):
    begun, ended = replicas_at(PROMOTED, us(0)), replicas_at(PROMOTED, us(9))
    assert listed_after([{"queue": "q", "master": master, "mirrors": []}], begun, ended) is after


CLUSTER = {"nodes": [], "version": "3.10"}


def document(**parts) -> Exports:
    return Exports({"cluster": CLUSTER, "policies": [], "operator_policies": [], "queues": []} | parts, True)


def test_listing_from_before_is_used():
    entry = {"queue": "q", "master": "a", "mirrors": ["b"], "messages": 9}
    before = stood(PROMOTED, [], document(queues=[entry]), us(0), None)
    assert before.queues == [entry]
    assert [doubt.kind for doubt in before.doubts] == ["listed_before"]


def test_listing_from_after_adds_what_logs_lack():
    entry = {"queue": "q", "master": "b", "mirrors": [], "messages": 9, "durable": False}
    other = {"queue": "other", "master": "c", "messages": 4}
    (one, two) = stood(PROMOTED, [], document(queues=[entry, other]), us(0), None).queues
    assert (one["master"], one["mirrors"], one["durable"]) == ("a", ["b"], False)
    assert two == other


def test_invalid_policy_is_left_out():
    policy = {"name": "ha", "pattern": "", "definition": {"ha-mode": "some"}, "priority": 0, "apply_to": "all"}
    before = stood([], [], document(policies=[policy]), us(0), None)
    assert not before.policies
    assert ("policy_refused", "ha") in {(doubt.kind, doubt.name) for doubt in before.doubts}


def test_queues_without_definitions_have_the_mirrors_of_the_logs():
    exports = document()
    exports.defined = False
    (policy,) = stood(PROMOTED, [], exports, us(0), None).policies
    assert (policy["pattern"], policy["definition"]) == ("^q$", {"ha-mode": "exactly", "ha-params": 2})


@pytest.mark.parametrize(
    ("found", "handling"),
    [
        ([occurred(5, "node_paused", "a", name="pause")], "pause_minority"),
        ([occurred(5, "node_paused", "a", name="autoheal"), occurred(5, "autoheal", "b")], "autoheal"),
        ([occurred(5, "partition_begun")], "ignore"),
        ([occurred(5, "partition_begun", nodes=("a", "b", "c")), occurred(6, "node_paused", "b", name="pause"),
          occurred(6, "node_paused", "c", name="pause")], {"pause_if_all_down": ["a"], "recover": "ignore"}),
    ],
)
def test_partition_handling_is_inferred_from_the_logs(found, handling):
    boots = [event(-50, node, "node_starting") for node in "abc"]
    lives = [NodeRun(boot.node, boot.at_us, None, None, boot, boot, us(9)) for boot in boots]
    assert stood(found, lives, document(), us(0), None).cluster["cluster_partition_handling"] == handling


def test_listing_is_older_than_events_that_it_does_not_show():
    """No log records that leaders were transferred on request."""
    elected = [occurred(at_s, "leader_elected", node, "q") for at_s, node in ((-30, "a"), (-9, "b"), (-5, "c"))]
    assert older([{"queue": "q", "leader": "a", "members": ["a"]}], elected, us(0)) == us(-9)
    assert older([{"queue": "q", "leader": "c", "members": ["c"]}], elected, us(0)) == us(0)


def test_mirrors_are_in_the_order_in_which_they_joined():
    """The first mirror is the candidate for promotion."""
    found = [occurred(-9, "mirror_added", node, "q", by="a") for node in ("c", "b")]
    (queue,) = stood(found, [], document(), us(0), True).queues
    assert (queue["master"], queue["mirrors"]) == ("a", ["c", "b"])


def test_changed_master_dates_a_listing_better_than_mirrors():
    """No log records that a returned as a mirror."""
    begun, ended = replicas_at(PROMOTED, us(0)), replicas_at(PROMOTED, us(9))
    assert listed_after([{"queue": "q", "master": "b", "mirrors": ["a"]}], begun, ended)


def test_unacknowledged_messages_at_the_end_are_not_assumed_before():
    listed = {"queue": "q", "master": "b", "messages": 9, "unacknowledged": 6}
    found = [occurred(-9, "mirror_added", "b", "q", by="a"), occurred(4, "synchronisation", "a", "q", count=0)]
    (queue,) = stood(found, [], document(queues=[listed]), us(0), True).queues
    assert (queue["messages"], "unacknowledged" in queue) == (0, False)


@pytest.mark.parametrize(("came", "behind"), [("b", True), ("c", False)])
def test_master_that_stops_its_mirrors_had_no_synchronised_ones(came, behind):
    """c was there before. That a mirror came since, which holds little, tells nothing of it; of one that came itself
    neither."""
    found = [occurred(-9, "mirror_added", "c", "q", by="a"), occurred(5, "mirror_added", came, "q", by="a"),
             occurred(9, "mirrors_stopped", "a", "q")]  # fmt: skip
    assert replicas_at(found, us(0))["q"].behind is behind
