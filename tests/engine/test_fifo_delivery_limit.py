"""Delivery limit of quorum queues: what counts, and what happens to a message beyond it."""

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
def test_message_is_dropped_beyond_the_delivery_limit(how: str, version: str):
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


def test_4_3_does_not_count_requeues_by_the_client():
    bench = Bench("4.3", delivery_limit=0)
    bench.publish(1)
    for _ in range(3):
        bench.get(1, holder="h")
        bench.requeue("h")
    assert (bench.order, bench.queue.redelivered, bench.queue.fifo.counts) == (((1, 1),), ((1, 1),), ())
    bench.get(1, holder="h")
    bench.close("h")
    assert bench.removed("dropped") == ((1, 1),)


def test_delivery_limit_0_drops_at_the_first_return():
    bench = Bench(delivery_limit=0)
    bench.publish(1)
    bench.get(1, holder="h")
    bench.requeue("h")
    assert bench.removed("dropped") == ((1, 1),)


@pytest.mark.parametrize("version, times", [("3.8", 30), ("3.10", 30), ("3.13", 30), ("4.0", 20), ("4.3", 20)])
def test_default_delivery_limit_is_20_since_4_0(version: str, times: int):
    bench = Bench(version)
    bench.publish(1)
    for _ in range(30):
        bench.get(1, holder="h")
        bench.close("h")
    assert ready(bench.queue) == (((1, 1),) if times == 30 else EMPTY)
    assert bench.removed("dropped") == (EMPTY if times == 30 else ((1, 1),))


@pytest.mark.parametrize("version", VERSIONS)
def test_requeued_message_is_flagged_redelivered(version: str):
    bench = Bench(version)
    bench.publish(3)
    bench.get(1, holder="h")
    bench.requeue("h")
    assert bench.queue.redelivered == ((1, 1),)


def test_message_beyond_the_delivery_limit_is_dead_lettered():
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
def test_3_8_and_3_10_return_an_extra_credit_for_a_dropped_message(version: str, then: int):
    bench = Bench(version, delivery_limit=0)
    bench.consume("c", prefetch=1)
    bench.publish(5)
    bench.requeue("c")
    assert runs.size(bench.held("c")) == then


@given(st.lists(st.sets(st.integers(1, 9), min_size=1), max_size=6))
def test_counts_of_returns_per_message(given_back):
    counts = ()
    for some in given_back:
        counts = fifo.counted(counts, runs.normal((one, one) for one in some))
    found = {one: count for count, these in counts for one in range(1, 10) if runs.contains(these, one)}
    assert found == {
        one: times for one in range(1, 10) if (times := sum(one in some for some in given_back))
    }
    assert [count for count, _ in counts] == sorted({count for count, _ in counts})
