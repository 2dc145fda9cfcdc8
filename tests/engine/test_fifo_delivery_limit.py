"""How often a quorum queue's messages were given back, and what becomes of them when that is too often."""

from __future__ import annotations

import pytest
from fifo_bench import LATENCY_US, VERSIONS, Bench
from hypothesis import given
from hypothesis import strategies as st

from hawb.engine.core import runs
from hawb.engine.core.operations import DeadLetters
from hawb.engine.core.runs import EMPTY
from hawb.engine.queues.contents import ready
from hawb.engine.quorum import fifo


@pytest.mark.parametrize(
    ("how", "version"),
    [(how, version) for how in ("nack", "close") for version in VERSIONS if (how, version) != ("nack", "4.3")],
)
def test_a_message_is_given_up_when_it_was_given_back_more_often_than_the_limit(how: str, version: str):
    bench = Bench(version, delivery_limit=2)
    bench.publish(2)
    for _ in range(2):
        bench.get(1, holder="h")
        bench.requeue("h") if how == "nack" else bench.close("h")
    assert bench.queue.fifo.counts == ((2, ((1, 1),)),)
    assert bench.order == ((1, 2),)
    bench.get(1, holder="h")
    bench.requeue("h") if how == "nack" else bench.close("h")
    assert bench.order == ((2, 2),)
    assert bench.removed("dropped") == ((1, 1),)
    assert bench.queue.fifo.counts == ()


def test_in_4_3_what_a_client_gives_back_does_not_count():
    bench = Bench("4.3", delivery_limit=0)
    bench.publish(1)
    for _ in range(3):
        bench.get(1, holder="h")
        bench.requeue("h")
    assert (bench.order, bench.queue.redelivered, bench.queue.fifo.counts) == (((1, 1),), ((1, 1),), ())
    bench.get(1, holder="h")
    bench.close("h")
    assert bench.removed("dropped") == ((1, 1),)


def test_a_limit_of_0_is_reached_with_the_first_return():
    bench = Bench(delivery_limit=0)
    bench.publish(1)
    bench.get(1, holder="h")
    bench.requeue("h")
    assert bench.removed("dropped") == ((1, 1),)


@pytest.mark.parametrize("version, times", [("3.8", 30), ("3.10", 30), ("3.13", 30), ("4.0", 20), ("4.3", 20)])
def test_since_4_0_there_is_a_limit_by_itself(version: str, times: int):
    bench = Bench(version)
    bench.publish(1)
    for _ in range(30):
        bench.get(1, holder="h")
        bench.close("h")
    assert ready(bench.queue) == (((1, 1),) if times == 30 else EMPTY)
    assert bench.removed("dropped") == (EMPTY if times == 30 else ((1, 1),))


@pytest.mark.parametrize("version", VERSIONS)
def test_what_was_given_back_is_redelivered(version: str):
    bench = Bench(version)
    bench.publish(3)
    bench.get(1, holder="h")
    bench.requeue("h")
    assert bench.queue.redelivered == ((1, 1),)


def test_what_is_given_up_for_its_returns_goes_to_the_dead_letter_exchange():
    bench = Bench(delivery_limit=0, dead_letter_exchange="", dead_letter_routing_key="dead")
    bench.add("dead", "classic")
    bench.publish(1)
    bench.get(1, holder="h")
    bench.requeue("h")
    assert bench.removed("dead_lettered") == ((1, 1),)
    letters = [event for event in bench.pass_time(LATENCY_US) if isinstance(event, DeadLetters)]
    assert [(letter.queue, letter.count, letter.deaths) for letter in letters] == [
        ("dead", 1, (("q", "delivery_limit"),))
    ]


@pytest.mark.parametrize("version, then", [("3.8", 2), ("3.10", 2), ("3.13", 1), ("4.0", 1)])
def test_old_releases_give_a_credit_too_many_for_a_message_that_is_given_up(version: str, then: int):
    bench = Bench(version, delivery_limit=0)
    bench.consume("c", prefetch=1)
    bench.publish(5)
    bench.requeue("c")
    assert runs.size(bench.held("c")) == then


@given(st.lists(st.sets(st.integers(1, 9), min_size=1), max_size=6))
def test_counts_say_how_often_each_message_was_given_back(given_back):
    counts = ()
    for some in given_back:
        counts = fifo.counted(counts, runs.normal((one, one) for one in some))
    found = {one: count for count, these in counts for one in range(1, 10) if runs.contains(these, one)}
    assert found == {
        one: times for one in range(1, 10) if (times := sum(one in some for some in given_back))
    }
    assert [count for count, _ in counts] == sorted({count for count, _ in counts})
