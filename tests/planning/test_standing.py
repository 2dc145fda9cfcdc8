"""A cluster at a later release of its upgrade path: the same queues under other rules, mirrored ones moved."""

from __future__ import annotations

import pytest
from migrations import MATRIX
from upgrade_clusters import ALL, cluster, mirrored, quorum

from hawb.planning.inventory import of_run
from hawb.planning.standing import standing_at
from hawb.rules.profiles import PROFILES
from hawb.scenario.run import Run


def entries(scenario) -> dict:
    return {entry.queue: entry for entry in scenario.queues}


def test_run_is_unchanged_if_nothing_changes():
    run = cluster(mirrored("ha"), quorum("qq"), ha=ALL)
    assert standing_at(run, "3.10", False, MATRIX) == run.scenario
    alone = cluster(quorum("qq"), version="4.0")
    assert standing_at(alone, "4.0", True, MATRIX) == alone.scenario


def test_queues_keep_their_placement_under_other_rules():
    run = cluster(mirrored("ha"), quorum("qq"), ha=ALL, steps=({"publish": {"queue": "ha", "count": 5}}, {"stop": "a"}))
    found = standing_at(run, "3.13", False, MATRIX)
    assert (found.cluster.version, found.cluster.down, found.steps) == ("3.13", {"a": "stopped"}, ())
    ha = entries(found)["ha"]
    assert (ha.master, set(ha.mirrors), ha.messages) == ("b", {"c"}, 1005)
    again = Run.of(found).moment().state
    assert {name: queue.mirrored for name, queue in again.queues.items()} == {"ha": True, "qq": False}


def test_mirrored_queues_become_quorum_queues_of_the_size_that_the_move_gives_them():
    run = cluster(mirrored("ha", "ab"), mirrored("alone", "a"), quorum("qq", "bc"), nodes="abcd", version="3.13",
                  ha={"ha-mode": "exactly", "ha-params": 2})  # fmt: skip
    found = entries(standing_at(run, "3.13", True, MATRIX))
    assert (found["ha"].type, found["ha"].leader, found["ha"].members) == ("quorum", "a", ("a", "b", "c"))
    assert (found["alone"].type, found["alone"].master) == ("classic", "a")
    assert (found["qq"].type, found["qq"].members) == ("quorum", ("b", "c"))
    assert standing_at(run, "3.13", True, MATRIX).policies == ()


def test_queue_that_cannot_be_moved_has_one_replica():
    entry = mirrored("ha") | {"durable": False}
    found = standing_at(cluster(entry, version="3.13", ha=ALL | {"max-length": 9}), "3.13", True, MATRIX)
    assert (entries(found)["ha"].master, entries(found)["ha"].mirrors) == ("a", ())
    assert [dict(policy.definition) for policy in found.policies] == [{"max-length": 9}]


def test_stopped_member_stays_stopped():
    run = cluster(quorum("qq") | {"stopped_members": ["c"]}, version="3.13")
    for moved in (False, True):
        found = standing_at(run, "4.0", moved, MATRIX)
        assert entries(found)["qq"].stopped_members == ("c",)
        assert of_run(Run.of(found)).queues[0].facts.online == ["a", "b"]


def test_stream_stays_a_stream():
    run = cluster({"queue": "events", "type": "stream", "members": ["b", "c"], "leader": "b"}, version="3.13")
    for moved in (False, True):
        events = entries(standing_at(run, "4.0", moved, MATRIX))["events"]
        assert (events.type, events.leader, events.members) == ("stream", "b", ("b", "c"))


@pytest.mark.parametrize("version", PROFILES)
def test_every_release_accepts_the_cluster(version: str):
    moved = not PROFILES[version].mirroring
    run = cluster(mirrored("ha"), quorum("qq"), {"queue": "plain", "master": "b"}, version="3.8", ha=ALL)
    assert sorted(Run.of(standing_at(run, version, moved, MATRIX)).moment().state.queues) == ["ha", "plain", "qq"]
