"""In which order messages go: priorities, what is given back, and what a consumer answers first."""

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


def ids(told: dict) -> list:
    return told["queues"]["q"]["ids"]


def deliveries(told: dict) -> list:
    return [event["detail"]["ids"] for event in told["events"] if event["event"] == "messages_delivered"]


def test_the_highest_priority_goes_first_and_the_oldest_of_it():
    told = played(declare(), publish(2), publish(2, 3), publish(2), publish(1, 9), publish(1, 3))
    assert ids(told) == [[7, 7], [3, 4], [8, 8], [1, 2], [5, 6]]


def test_none_counts_as_the_lowest_and_more_than_there_are_as_the_highest():
    assert ids(played(declare(2), publish(1), publish(1, 0), publish(1, 2), publish(1, 255))) == [[3, 4], [1, 2]]
    assert ids(played(declare(0), publish(1), publish(1, 5))) == [[1, 2]]


def test_without_priorities_a_queue_ignores_them():
    assert ids(played(declare(None), publish(1), publish(1, 5), get(1))) == [[1, 2]]


def test_a_waiting_consumer_gets_what_comes_and_a_new_one_the_highest_first():
    early = {"consume": {"consumer": "c", "queue": "q", "node": "a", "prefetch": 2}}
    assert deliveries(played(declare(), early, publish(1), publish(1, 5), publish(1, 9))) == [[[1, 1]], [[2, 2]]]
    assert deliveries(played(declare(), publish(1), publish(1, 5), publish(1, 9), early)) == [[[2, 3]]]


def test_what_is_given_back_returns_to_its_place_within_its_priority():
    told = played(declare(), publish(2), publish(3, 5), get(4), {"nack": {"consumer": "h"}})
    assert ids(told) == [[3, 5], [1, 2]]
    assert told["queues"]["q"]["redelivered"] == [[1, 1], [3, 5]]


@pytest.mark.parametrize(("verb", "left"), [("ack", [[2, 2], [4, 4]]), ("nack", [[2, 2], [4, 4]])])
def test_the_oldest_delivery_is_answered_first_whatever_its_number(verb: str, left: list):
    told = played(declare(), publish(2), publish(2, 5), get(1), get(3), {verb: {"consumer": "h", "count": 2}})
    assert deliveries(told) == [[[3, 3]], [[1, 2], [4, 4]]]
    assert told["consumers"]["h"]["unacknowledged"] == [[1, 2]]
    told = played(declare(), publish(1), get(1), publish(2, 5), get(2), {verb: {"consumer": "h", "count": 1}})
    assert told["consumers"]["h"]["unacknowledged"] == [[2, 3]]


def test_what_was_given_back_and_delivered_again_is_the_latest():
    """Without priorities too: number 1 comes last, and is answered last."""
    told = played(
        declare(None), publish(3), get(1), get(2, "other"), {"nack": {"consumer": "h"}}, get(1, "other"),
        {"ack": {"consumer": "other", "count": 2}},
    )  # fmt: skip
    assert told["consumers"]["other"]["unacknowledged"] == [[1, 1]]


def test_a_mirror_that_takes_over_keeps_the_order():
    ha = [{"name": "ha", "pattern": "^q", "definition": {"ha-mode": "all"}}]
    told = played(declare(), publish(2), publish(2, 5), {"kill": "a"}, publish(1, 7), policies=ha)
    assert ids(told) == [[5, 5], [3, 4], [1, 2]]


PAIRS = st.lists(st.tuples(st.integers(1, 60), st.integers(0, 4)), max_size=8).map(
    lambda given: runs.normal((first, first + more) for first, more in given)
)


def numbers(pairs: runs.Runs) -> list[int]:
    return [number for first, last in pairs for number in range(first, last + 1)]


@given(PAIRS, st.randoms(use_true_random=False), st.integers(0, 30))
def test_what_is_split_is_all_there_in_its_order(pairs: runs.Runs, random, count: int):
    shuffled = tuple(random.sample(pairs, len(pairs)))
    head, rest = runs.split(shuffled, count)
    assert numbers(head) + numbers(rest) == numbers(shuffled)
    assert len(numbers(head)) == min(count, len(numbers(shuffled)))


@given(PAIRS, PAIRS, st.randoms(use_true_random=False))
def test_what_is_within_keeps_its_order(pairs: runs.Runs, others: runs.Runs, random):
    shuffled = tuple(random.sample(pairs, len(pairs)))
    inside = set(numbers(others))
    assert numbers(runs.within(shuffled, others)) == [number for number in numbers(shuffled) if number in inside]


@given(PAIRS, PAIRS)
def test_a_chain_is_one_after_the_other(pairs: runs.Runs, others: runs.Runs):
    assert numbers(runs.chain(pairs, others)) == numbers(pairs) + numbers(others)
