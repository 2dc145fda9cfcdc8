"""Acks and nacks for deliveries of former masters: what they settle, and which queue process they crash."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import yaml

from hawb.engine.classic import places
from hawb.engine.clients.settling import lead
from hawb.scenario.load import read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run


def played(steps: str, version: str = "3.10", **arguments) -> dict:
    """Return the outcome of steps on nodes a, b and c. The mirrored queue q has its master on b."""
    given = {
        "scenario": "t",
        "cluster": {"nodes": ["a", "b", "c"], "version": version},
        "policies": [{"name": "ha", "pattern": "^q", "definition": {"ha-mode": "all"}}],
        "steps": [{"declare": {"queue": "q", "node": "b", "arguments": arguments}}, *yaml.safe_load(steps)],
    }
    return outcome(Run.of(read_scenario(given)))


def ids(found: dict) -> list:
    return found["queues"]["q"]["ids"]


def crashed(found: dict) -> list:
    return [event["node"] for event in found["events"] if event["event"] == "process_crashed"]


# Places


def test_replicas_present_from_the_first_message_count_alike():
    found = played("""
- publish: {queue: q, count: 3}
- purge: q
- publish: {queue: q, count: 3}
- consume: {consumer: c, queue: q, node: a, prefetch: 2}
- kill: b
- ack: {consumer: c, count: 1}
""")
    assert found["ledger"]["q"]["removed"]["acknowledged"] == [[4, 4]]


def test_mirror_that_joins_an_empty_queue_counts_from_0():
    found = played("""
- publish: {queue: q, count: 2}
- get: {queue: q, count: 2}
- stop: [a, c]
- start: a
- publish: {queue: q, count: 3}
- consume: {consumer: c, queue: q, node: a, prefetch: 3}
- kill: b
- ack: {consumer: c, count: 1}
""")
    assert ids(found) == [[3, 4]]  # 3 had the third place on b; on a that is 5's.
    misplaced = [event["detail"]["meant"] for event in found["events"] if event["event"] == "answers_misplaced"]
    assert misplaced == [[[3, 3]]]


def test_rejected_messages_are_not_counted():
    found = played("""
- publish: {queue: q, count: 6}
- get: {queue: q, count: 2}
- stop: [a, c]
- start: a
- consume: {consumer: c, queue: q, node: a}
- publish: {queue: q, count: 3}
- kill: b
- ack: {consumer: c, count: 1}
""", **{"x-max-length": 2, "x-overflow": "reject-publish"})
    assert ids(found) == [[8, 8]]  # a drops 7 when it takes over. On b that had the third place, which on a 9 has.


def test_synchronised_mirror_continues_the_masters_count():
    found = played("""
- publish: {queue: q, count: 3}
- stop: [a, c]
- start: a
- publish: {queue: q, count: 2}
- get: {queue: q, count: 1}
- sync_queue: q
- publish: {queue: q, count: 2}
- consume: {consumer: c, queue: q, node: a}
- kill: b
- ack: {consumer: c, count: 6}
""")
    assert ids(found) == [[7, 7]]  # 4 and 5 had its first two places, 2 to 7 have the third to the eighth.


def test_late_ack_may_settle_a_later_message():
    found = played("""
- publish: {queue: q, count: 2}
- stop: [a, c]
- start: a
- consume: {consumer: c, queue: q, node: a}
- kill: b
- publish: {queue: q, count: 2, node: a}
- ack: {consumer: c, count: 2}
""")
    assert found["ledger"]["q"]["lost"] == [[1, 2]] and ids(found) == []


def test_places_of_a_replica_with_several_offsets():
    queue = SimpleNamespace(unplaced=((4, 5),), places=((1, ((2, 3, 0), (7, 8, 2), (9, places.OPEN, 3))),))
    assert places.places_of(queue, 0, ((6, 8), (1, 3))) == ((4, 6), (1, 3))
    assert places.places_of(queue, 1, ((2, 3), (7, 9))) == ((2, 3), (3, 4), (4, 4))
    assert places.meant(queue, 0, ((3, 4), (-2, -1))) == ((3, 3), (6, 6), (-2, -1))
    gap = SimpleNamespace(unplaced=(), places=((1, ((2, 3, -1), (7, places.OPEN, 2))),))
    assert places.meant(gap, 1, ((1, 6),)) == ((-2, -1), (2, 3), (7, 8))


# In their order


def test_each_delivery_is_acked_by_itself():
    found = played("""
- publish: {queue: q, count: 2}
- consume: {consumer: c, queue: q, node: c, prefetch: 1}
- kill: b
- kill: a
- ack: {consumer: c, count: 3}
""")
    assert ids(found) == [[2, 2]] and found["consumers"]["c"]["unacknowledged"] == [[2, 2]]


def test_answers_are_split_by_what_they_settle():
    assert lead(((3, 5), (1, 2)), ((1, 4),)) == (2, ((3, 4),))
    assert lead(((3, 4), (1, 2)), ((1, 4),)) == (4, ((1, 4),))
    assert lead(((3, 4), (4, 5)), ((1, 9),)) == (2, ((3, 4),))
    assert lead(((-2, -1), (5, 9)), ((7, 7),)) == (4, ())


# Rejects

TWICE = """
- declare: {queue: dead, node: c}
- publish: {queue: q, count: 3}
- consume: {consumer: c, queue: q, node: c, prefetch: 1}
- kill: b
- nack: {consumer: c, count: 3, requeue: false}
"""
LETTERS = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}


def test_acks_after_a_reject_that_crashes_the_queue_are_lost():
    found = played(TWICE, **LETTERS)
    assert crashed(found) == ["a"] and found["queues"]["dead"]["ids"] == [[1, 1]]
    assert ids(found) == [[2, 3]] and found["consumers"]["c"]["state"] == "cancelled"


@pytest.mark.parametrize(
    ("version", "arguments"), [("3.8", LETTERS), ("3.10", {}), ("3.10", LETTERS | {"x-dead-letter-exchange": "none"})]
)
def test_late_reject_crashes_only_with_a_dead_letter_exchange_since_3_9(version: str, arguments: dict):
    assert crashed(played(TWICE, version, **arguments)) == []


def test_late_reject_of_a_channel_unknown_to_the_master_crashes_nothing():
    found = played("""
- declare: {queue: dead, node: c}
- publish: {queue: q, count: 3}
- consume: {consumer: c, queue: q, node: c, prefetch: 1}
- cancel: c
- kill: b
- nack: {consumer: c, count: 1, requeue: false}
""", **LETTERS)
    assert crashed(found) == [] and ids(found) == [[1, 3]]
