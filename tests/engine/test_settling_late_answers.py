"""What clients answer for masters that are gone: what that settles, and whom it crashes."""

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
    """The outcome of steps on nodes a, b and c, where q stands on b and is mirrored."""
    given = {
        "scenario": "t",
        "cluster": {"nodes": ["a", "b", "c"], "version": version},
        "policies": [{"name": "ha", "pattern": "^q", "definition": {"ha-mode": "all"}}],
        "steps": [{"declare": {"queue": "q", "node": "b", "arguments": arguments}}, *yaml.safe_load(steps)],
    }
    return outcome(Run.of(read_scenario(given)))


def ids(told: dict) -> list:
    return told["queues"]["q"]["ids"]


def crashed(told: dict) -> list:
    return [event["node"] for event in told["events"] if event["event"] == "process_crashed"]


# Places


def test_replicas_that_were_there_from_the_first_message_count_alike():
    told = played("""
- publish: {queue: q, count: 3}
- purge: q
- publish: {queue: q, count: 3}
- consume: {consumer: c, queue: q, node: a, prefetch: 2}
- kill: b
- ack: {consumer: c, count: 1}
""")
    assert told["ledger"]["q"]["removed"]["acknowledged"] == [[4, 4]]


def test_a_mirror_that_joins_an_empty_queue_counts_from_nothing():
    told = played("""
- publish: {queue: q, count: 2}
- get: {queue: q, count: 2}
- stop: [a, c]
- start: a
- publish: {queue: q, count: 3}
- consume: {consumer: c, queue: q, node: a, prefetch: 3}
- kill: b
- ack: {consumer: c, count: 1}
""")
    assert ids(told) == [[3, 4]]  # 3 had the third place on b; on a that is 5's.
    assert [event["detail"]["meant"] for event in told["events"] if event["event"] == "answers_misplaced"] == [[[3, 3]]]


def test_what_no_replica_takes_in_has_no_place():
    told = played("""
- publish: {queue: q, count: 6}
- get: {queue: q, count: 2}
- stop: [a, c]
- start: a
- consume: {consumer: c, queue: q, node: a}
- publish: {queue: q, count: 3}
- kill: b
- ack: {consumer: c, count: 1}
""", **{"x-max-length": 2, "x-overflow": "reject-publish"})
    assert ids(told) == [[8, 8]]  # a drops 7 when it takes over. On b that had the third place, which on a 9 has.


def test_a_mirror_that_was_synchronised_goes_on_counting():
    told = played("""
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
    assert ids(told) == [[7, 7]]  # 4 and 5 had its first two places, 2 to 7 have the third to the eighth.


def test_an_answer_may_be_for_a_message_that_comes_later():
    told = played("""
- publish: {queue: q, count: 2}
- stop: [a, c]
- start: a
- consume: {consumer: c, queue: q, node: a}
- kill: b
- publish: {queue: q, count: 2, node: a}
- ack: {consumer: c, count: 2}
""")
    assert told["ledger"]["q"]["lost"] == [[1, 2]] and ids(told) == []


def test_places_of_a_replica_in_pieces():
    queue = SimpleNamespace(unplaced=((4, 5),), places=((1, ((2, 3, 0), (7, 8, 2), (9, places.OPEN, 3))),))
    assert places.places_of(queue, 0, ((6, 8), (1, 3))) == ((4, 6), (1, 3))
    assert places.places_of(queue, 1, ((2, 3), (7, 9))) == ((2, 3), (3, 4), (4, 4))
    assert places.meant(queue, 0, ((3, 4), (-2, -1))) == ((3, 3), (6, 6), (-2, -1))
    gap = SimpleNamespace(unplaced=(), places=((1, ((2, 3, -1), (7, places.OPEN, 2))),))
    assert places.meant(gap, 1, ((1, 6),)) == ((-2, -1), (2, 3), (7, 8))


# In their order


def test_each_delivery_is_answered_for_by_itself():
    told = played("""
- publish: {queue: q, count: 2}
- consume: {consumer: c, queue: q, node: c, prefetch: 1}
- kill: b
- kill: a
- ack: {consumer: c, count: 3}
""")
    assert ids(told) == [[2, 2]] and told["consumers"]["c"]["unacknowledged"] == [[2, 2]]


def test_answers_are_told_apart_by_what_they_settle():
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


def test_what_follows_the_reject_that_crashes_a_queue_reaches_nobody():
    told = played(TWICE, **LETTERS)
    assert crashed(told) == ["a"] and told["queues"]["dead"]["ids"] == [[1, 1]]
    assert ids(told) == [[2, 3]] and told["consumers"]["c"]["state"] == "cancelled"


@pytest.mark.parametrize(
    ("version", "arguments"), [("3.8", LETTERS), ("3.10", {}), ("3.10", LETTERS | {"x-dead-letter-exchange": "none"})]
)
def test_without_a_dead_letter_exchange_or_before_late_answers_count_nothing_crashes(version: str, arguments: dict):
    assert crashed(played(TWICE, version, **arguments)) == []


def test_a_channel_that_a_master_does_not_know_crashes_nothing():
    told = played("""
- declare: {queue: dead, node: c}
- publish: {queue: q, count: 3}
- consume: {consumer: c, queue: q, node: c, prefetch: 1}
- cancel: c
- kill: b
- nack: {consumer: c, count: 1, requeue: false}
""", **LETTERS)
    assert crashed(told) == [] and ids(told) == [[1, 3]]
