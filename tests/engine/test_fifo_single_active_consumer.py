"""Single active consumer of a quorum queue: which consumer is active, and which is next."""

from __future__ import annotations

import pytest
from fifo_bench import SINGLE, VERSIONS, Bench


@pytest.mark.parametrize("version", VERSIONS)
def test_basic_get_is_refused_with_single_active_consumer(version: str):
    bench = Bench(version, **SINGLE)
    bench.publish(1)
    bench.get(1)
    [refusal] = bench.turn.refusals
    kind = '<<"quorum">>' if version == "4.3" else "quorum"
    assert (refusal.code, refusal.text) == (
        405, "RESOURCE_LOCKED - cannot obtain access to locked queue 'q' in vhost '/'. basic.get operations are not "
        f"supported by {kind} queues with single active consumer",
    )  # fmt: skip


@pytest.mark.parametrize("version, next_active", [("3.8", "b"), ("3.10", "b"), ("3.13", "b"), ("4.0", "c")])
def test_next_active_consumer_is_the_oldest_and_in_4_0_the_highest_priority(version: str, next_active: str):
    bench = Bench(version, **SINGLE)
    bench.consume("a", prefetch=1, priority=9)
    bench.consume("b", prefetch=1)
    bench.consume("c", prefetch=1, priority=1)
    bench.publish(3)
    bench.cancel("a")
    assert bench.queue.active_consumer == next_active
    assert bench.held("a") == ((1, 1),) and bench.held(next_active) == ((2, 2),)


def test_4_0_picks_the_consumer_with_most_credit_at_equal_priority():
    bench = Bench("4.0", **SINGLE)
    for name, prefetch in (("a", 1), ("b", 1), ("c", 7), ("d", 7)):
        bench.consume(name, prefetch=prefetch)
    bench.cancel("a")
    assert bench.queue.active_consumer == "c"


@pytest.mark.parametrize("version, active", [("3.8", "a"), ("3.13", "a"), ("4.0", "b")])
def test_4_0_higher_priority_takes_over_if_the_active_consumer_holds_nothing(version: str, active: str):
    bench = Bench(version, **SINGLE)
    bench.consume("a")
    bench.consume("b", priority=1)
    bench.consume("c", priority=1)
    assert bench.queue.active_consumer == active


def test_4_0_active_consumer_settles_its_messages_before_it_is_replaced():
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


def test_4_0_no_consumer_is_active_after_the_last_requeue_until_the_next_command():
    bench = Bench("4.0", **SINGLE)
    bench.consume("a", prefetch=1)
    bench.publish(2)
    bench.consume("b", prefetch=1, priority=1)
    bench.requeue("a")
    assert bench.queue.active_consumer is None and bench.order == ((1, 2),)
    bench.consume("c", prefetch=1)
    assert bench.queue.active_consumer == "b" and bench.held("b") == ((1, 1),)


@pytest.mark.parametrize("verdict", ["ack", "requeue", "reject"])
def test_4_3_next_consumer_is_active_at_once_after_the_last_settlement(verdict: str):
    bench = Bench("4.3", **SINGLE)
    bench.consume("a", prefetch=1)
    bench.publish(2)
    bench.consume("b", prefetch=1, priority=1)
    bench.settle("a", verdict=verdict)
    assert bench.queue.active_consumer == "b" and bench.held("b") == (((1, 1),) if verdict == "requeue" else ((2, 2),))


@pytest.mark.parametrize("version, active", [("3.8", None), ("3.10", "b")])
def test_3_8_new_consumer_waits_while_a_cancelled_one_holds_messages(version: str, active: str | None):
    bench = Bench(version, **SINGLE)
    bench.publish(2)
    bench.consume("a", prefetch=1)
    bench.cancel("a")
    bench.consume("b")
    assert bench.queue.active_consumer == active
