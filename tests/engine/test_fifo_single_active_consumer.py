"""A quorum queue that serves one consumer alone: who that is, who follows, and who takes over."""

from __future__ import annotations

import pytest
from fifo_bench import SINGLE, VERSIONS, Bench


@pytest.mark.parametrize("version", VERSIONS)
def test_basic_get_is_refused_beside_a_single_active_consumer(version: str):
    bench = Bench(version, **SINGLE)
    bench.publish(1)
    bench.get(1)
    [refusal] = bench.turn.refusals
    kind = '<<"quorum">>' if version == "4.3" else "quorum"
    assert (refusal.code, refusal.text) == (
        405, "RESOURCE_LOCKED - cannot obtain access to locked queue 'q' in vhost '/'. basic.get operations are not "
        f"supported by {kind} queues with single active consumer",
    )  # fmt: skip


@pytest.mark.parametrize("version, heir", [("3.8", "b"), ("3.10", "b"), ("3.13", "b"), ("4.0", "c")])
def test_the_next_active_consumer_is_the_first_that_came_and_in_4_0_the_most_urgent(version: str, heir: str):
    bench = Bench(version, **SINGLE)
    bench.consume("a", prefetch=1, priority=9)
    bench.consume("b", prefetch=1)
    bench.consume("c", prefetch=1, priority=1)
    bench.publish(3)
    bench.cancel("a")
    assert bench.queue.active_consumer == heir
    assert bench.held("a") == ((1, 1),) and bench.held(heir) == ((2, 2),)


def test_of_equally_urgent_ones_in_4_0_that_with_the_most_credit_follows():
    bench = Bench("4.0", **SINGLE)
    for name, prefetch in (("a", 1), ("b", 1), ("c", 7), ("d", 7)):
        bench.consume(name, prefetch=prefetch)
    bench.cancel("a")
    assert bench.queue.active_consumer == "c"


@pytest.mark.parametrize("version, active", [("3.8", "a"), ("3.13", "a"), ("4.0", "b")])
def test_in_4_0_a_more_urgent_consumer_takes_over_at_once_from_one_that_holds_nothing(version: str, active: str):
    bench = Bench(version, **SINGLE)
    bench.consume("a")
    bench.consume("b", priority=1)
    bench.consume("c", priority=1)
    assert bench.queue.active_consumer == active


def test_in_4_0_a_consumer_settles_what_it_holds_before_it_steps_back():
    bench = Bench("4.0", **SINGLE)
    bench.consume("a", prefetch=2)
    bench.publish(5)
    bench.consume("b", prefetch=2, priority=1)
    assert bench.queue.active_consumer == "a"
    bench.settle("a", 1)
    assert bench.held("a") == ((2, 2),) and bench.queue.active_consumer == "a"
    bench.settle("a", 1)
    assert bench.queue.active_consumer == "b" and bench.held("b") == ((3, 4),)
    bench.cancel("b")
    assert bench.queue.active_consumer == "a" and bench.held("a") == ((5, 5),)


def test_in_4_0_nobody_is_active_after_the_last_message_was_given_back_until_something_moves_the_queue():
    bench = Bench("4.0", **SINGLE)
    bench.consume("a", prefetch=1)
    bench.publish(2)
    bench.consume("b", prefetch=1, priority=1)
    bench.requeue("a")
    assert bench.queue.active_consumer is None and bench.order == ((1, 2),)
    bench.consume("c", prefetch=1)
    assert bench.queue.active_consumer == "b" and bench.held("b") == ((1, 1),)


@pytest.mark.parametrize("verdict", ["ack", "requeue", "reject"])
def test_in_4_3_the_next_one_is_active_at_once_however_the_last_message_went(verdict: str):
    bench = Bench("4.3", **SINGLE)
    bench.consume("a", prefetch=1)
    bench.publish(2)
    bench.consume("b", prefetch=1, priority=1)
    bench.settle("a", verdict=verdict)
    assert bench.queue.active_consumer == "b" and bench.held("b") == (((1, 1),) if verdict == "requeue" else ((2, 2),))


@pytest.mark.parametrize("version, active", [("3.8", None), ("3.10", "b")])
def test_in_3_8_one_that_comes_while_a_cancelled_one_holds_messages_waits(version: str, active: str | None):
    bench = Bench(version, **SINGLE)
    bench.publish(2)
    bench.consume("a", prefetch=1)
    bench.cancel("a")
    bench.consume("b")
    assert bench.queue.active_consumer == active
