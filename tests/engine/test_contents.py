"""Order of messages: priorities, requeued messages, and the order of acknowledgements."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hawb.engine.core import runs
from hawb.scenario.load import read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run


def played(*steps: dict, **more: object) -> dict:
    given = {"scenario": "t", "cluster": {"nodes": ["a", "b"], "version": "3.10"}, "steps": list(steps)}
    return outcome(Run.of(read_scenario(given | more)))


def declare(most: int | None = 10) -> dict:
    return {"declare": {"queue": "q", "node": "a", "arguments": {} if most is None else {"x-max-priority": most}}}


def publish(count: int, priority: int | None = None, queue: str = "q") -> dict:
    return {"publish": {"queue": queue, "count": count, "priority": priority}}


def get(count: int, holder: str = "h") -> dict:
    return {"get": {"queue": "q", "count": count, "ack": False, "consumer": holder}}


def ids(found: dict) -> list:
    return found["queues"]["q"]["ids"]


def deliveries(found: dict) -> list:
    return [event["detail"]["ids"] for event in found["events"] if event["event"] == "messages_delivered"]


def test_highest_priority_is_delivered_first_and_oldest_first_within_it():
    found = played(declare(), publish(2), publish(2, 3), publish(2), publish(1, 9), publish(1, 3))
    assert ids(found) == [[7, 7], [3, 4], [8, 8], [1, 2], [5, 6]]


def test_missing_priority_is_0_and_too_high_is_the_maximum():
    assert ids(played(declare(2), publish(1), publish(1, 0), publish(1, 2), publish(1, 255))) == [[3, 4], [1, 2]]
    assert ids(played(declare(0), publish(1), publish(1, 5))) == [[1, 2]]


def test_queue_without_max_priority_ignores_priorities():
    assert ids(played(declare(None), publish(1), publish(1, 5), get(1))) == [[1, 2]]


def test_waiting_consumer_gets_messages_as_they_come_and_a_new_one_by_priority():
    early = {"consume": {"consumer": "c", "queue": "q", "node": "a", "prefetch": 2}}
    assert deliveries(played(declare(), early, publish(1), publish(1, 5), publish(1, 9))) == [[[1, 1]], [[2, 2]]]
    assert deliveries(played(declare(), publish(1), publish(1, 5), publish(1, 9), early)) == [[[2, 3]]]


def test_requeued_message_returns_to_its_place_within_its_priority():
    found = played(declare(), publish(2), publish(3, 5), get(4), {"nack": {"consumer": "h"}})
    assert ids(found) == [[3, 5], [1, 2]]
    assert found["queues"]["q"]["redelivered"] == [[1, 1], [3, 5]]


@pytest.mark.parametrize(("verb", "left"), [("ack", [[2, 2], [4, 4]]), ("nack", [[2, 2], [4, 4]])])
def test_oldest_delivery_is_settled_first_whatever_its_message_number(verb: str, left: list):
    found = played(declare(), publish(2), publish(2, 5), get(1), get(3), {verb: {"consumer": "h", "count": 2}})
    assert deliveries(found) == [[[3, 3]], [[1, 2], [4, 4]]]
    assert found["consumers"]["h"]["unacknowledged"] == [[1, 2]]
    found = played(declare(), publish(1), get(1), publish(2, 5), get(2), {verb: {"consumer": "h", "count": 1}})
    assert found["consumers"]["h"]["unacknowledged"] == [[2, 3]]


def test_requeued_and_redelivered_message_is_settled_last():
    """Without priorities too: message 1 is redelivered last and settled last."""
    found = played(
        declare(None), publish(3), get(1), get(2, "other"), {"nack": {"consumer": "h"}}, get(1, "other"),
        {"ack": {"consumer": "other", "count": 2}},
    )  # fmt: skip
    assert found["consumers"]["other"]["unacknowledged"] == [[1, 1]]


def test_promoted_mirror_keeps_the_order_by_priority():
    ha = [{"name": "ha", "pattern": "^q", "definition": {"ha-mode": "all"}}]
    found = played(declare(), publish(2), publish(2, 5), {"kill": "a"}, publish(1, 7), policies=ha)
    assert ids(found) == [[5, 5], [3, 4], [1, 2]]


PAIRS = st.lists(st.tuples(st.integers(1, 60), st.integers(0, 4)), max_size=8).map(
    lambda given: runs.normal((first, first + more) for first, more in given)
)


def numbers(pairs: runs.Runs) -> list[int]:
    return [number for first, last in pairs for number in range(first, last + 1)]


@given(PAIRS, st.randoms(use_true_random=False), st.integers(0, 30))
def test_split_keeps_all_numbers_in_order(pairs: runs.Runs, random, count: int):
    shuffled = tuple(random.sample(pairs, len(pairs)))
    head, rest = runs.split(shuffled, count)
    assert numbers(head) + numbers(rest) == numbers(shuffled)
    assert len(numbers(head)) == min(count, len(numbers(shuffled)))


@given(PAIRS, PAIRS, st.randoms(use_true_random=False))
def test_within_keeps_the_order(pairs: runs.Runs, others: runs.Runs, random):
    shuffled = tuple(random.sample(pairs, len(pairs)))
    inside = set(numbers(others))
    assert numbers(runs.within(shuffled, others)) == [number for number in numbers(shuffled) if number in inside]


@given(PAIRS, PAIRS)
def test_chain_concatenates(pairs: runs.Runs, others: runs.Runs):
    assert numbers(runs.chain(pairs, others)) == numbers(pairs) + numbers(others)
