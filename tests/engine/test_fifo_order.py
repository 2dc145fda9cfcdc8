"""Order of deliveries of a quorum queue: requeued, returned and high-priority messages."""

from __future__ import annotations

import pytest
from fifo_bench import VERSIONS, Bench
from hypothesis import given
from hypothesis import strategies as st

from hawb.engine.core import runs
from hawb.engine.core.runs import EMPTY
from hawb.engine.queues.contents import drop, in_order, ready, take_out
from hawb.engine.quorum import fifo
from hawb.engine.quorum.fifo import RELEASES
from hawb.rules.profiles import PROFILES
from hawb.rules.quorum_profiles import QUORUM_PROFILES


def test_each_release_has_a_profile():
    assert RELEASES.keys() == PROFILES.keys() == QUORUM_PROFILES.keys()


# Order


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("limit", [{}, {"delivery_limit": 5}])
def test_requeued_messages_come_first_or_last_without_a_delivery_limit(version: str, limit: dict):
    bench = Bench(version, **limit)
    bench.publish(6)
    bench.consume("c", prefetch=3)
    bench.cancel("c")
    bench.requeue("c", 2)
    at_the_end = version in ("3.10", "3.13") and not limit
    assert bench.order == (((4, 6), (1, 2)) if at_the_end else ((1, 2), (4, 6)))


def test_4_0_requeues_at_the_end_if_the_delivery_limit_is_disabled():
    bench = Bench("4.0", delivery_limit=-1)
    bench.publish(3)
    bench.get(1, holder="h")
    bench.requeue("h")
    assert bench.order == ((2, 3), (1, 1))


@pytest.mark.parametrize("version", VERSIONS)
def test_messages_of_a_lost_consumer_come_first_in_order_of_delivery(version: str):
    bench = Bench(version)
    bench.publish(4)
    bench.get(4, holder="first")
    bench.get(1, holder="none")
    bench.close("first")
    bench.get(2, holder="second")
    bench.publish(2)
    bench.close("second")
    assert bench.order == ((3, 4), (1, 2), (5, 6))
    bench.get(4, holder="third")
    assert bench.held("third") == ((3, 4), (1, 2))
    bench.close("third")
    assert bench.order == ((3, 4), (1, 2), (5, 6))


def test_requeued_message_stands_before_later_publishes():
    bench = Bench("3.10")
    bench.publish(3)
    bench.get(1, holder="h")
    bench.requeue("h")
    bench.publish(2)
    bench.get(1, holder="h")
    bench.requeue("h")
    assert bench.order == ((3, 3), (1, 1), (4, 5), (2, 2))


def test_requeued_messages_keep_their_order_after_others_between_them_are_acked():
    bench = Bench("3.10")
    bench.publish(9)
    bench.get(5, holder="h")
    bench.requeue("h", 1)
    bench.get(4, holder="other")
    bench.settle("other")
    bench.requeue("h", 1)
    assert bench.order == ((1, 2),)
    assert bench.queue.fifo.moved == ((9, ((1, 2),)),)


def test_messages_are_ordered_by_commit_not_by_number():
    bench = Bench()
    bench.enqueue(((4, 6),))
    bench.enqueue(((1, 3),))
    bench.publish(1)
    assert bench.order == ((4, 6), (1, 3), (7, 7))


@pytest.mark.parametrize("version", VERSIONS)
def test_content_lists_returned_then_ready_and_unacknowledged_messages(version: str):
    bench = Bench(version)
    bench.enqueue(((4, 6),))
    bench.enqueue(((1, 3),))
    bench.get(1, holder="lost")
    bench.get(3, holder="kept")
    bench.close("lost")
    assert in_order(bench.queue, bench.queue.content) == ((4, 4), (1, 1), (5, 6), (2, 3))


def test_uncommitted_messages_are_last_and_not_ready():
    bench = Bench()
    bench.enqueue(((3, 4),))
    bench.turn.change_queue("q", pending=((1, 2),))
    assert in_order(bench.queue, bench.queue.content) == ((3, 4), (1, 2))
    assert ready(bench.queue) == ((3, 4),)


def test_4_0_delivers_two_high_priority_messages_per_normal_one():
    bench = Bench("4.0")
    bench.publish(3, priority=4)
    bench.publish(5, priority=5)
    assert bench.order == ((4, 5), (1, 1), (6, 7), (2, 2), (8, 8), (3, 3))
    bench.get(1, holder="h")
    assert bench.order == ((5, 5), (1, 1), (6, 7), (2, 2), (8, 8), (3, 3))
    bench.close("h")
    assert bench.order[0] == (4, 5)


def test_4_3_delivers_strictly_by_priority():
    bench = Bench("4.3", delivery_limit=-1)
    bench.publish(2)
    bench.publish(2, priority=0)
    bench.publish(2, priority=4)
    bench.publish(2, priority=31)
    bench.publish(2, priority=255)
    bench.publish(2, priority=30)
    assert bench.order == ((7, 12), (1, 2), (5, 6), (3, 4))
    bench.get(1, holder="h")
    bench.requeue("h")
    assert bench.order == ((7, 12), (1, 2), (5, 6), (3, 4))


def test_4_0_redelivery_does_not_count_for_the_ratio_of_priorities():
    bench = Bench("4.0")
    bench.publish(3, priority=4)
    bench.publish(3, priority=5)
    for _ in range(2):
        bench.get(1, holder="h")
        bench.close("h")
    bench.get(1)
    assert bench.order == ((5, 5), (1, 1), (6, 6), (2, 3))


def test_4_0_lists_unacknowledged_messages_first_whatever_their_priority():
    bench = Bench("4.0")
    bench.publish(3, priority=4)
    bench.publish(4, priority=5)
    bench.get(3, holder="h")
    assert in_order(bench.queue, bench.queue.content) == ((1, 1), (4, 7), (2, 3))


def test_4_0_requeue_at_the_end_loses_the_high_priority():
    bench = Bench("4.0", delivery_limit=-1)
    bench.publish(1, priority=9)
    bench.publish(2)
    bench.get(1, holder="h")
    bench.requeue("h")
    assert bench.order == ((2, 3), (1, 1))


def test_4_0_older_high_priority_messages_are_delivered_first():
    bench = Bench("4.0")
    bench.publish(4, priority=9)
    bench.publish(2)
    assert bench.order == ((1, 6),)


@pytest.mark.parametrize("version", ["3.8", "3.10", "3.13"])
def test_priorities_are_ignored_before_4_0(version: str):
    bench = Bench(version)
    bench.publish(2)
    bench.publish(2, priority=9)
    assert bench.order == ((1, 4),)


# What is taken out


@pytest.mark.parametrize("version", VERSIONS)
def test_purge_removes_returned_messages(version: str):
    bench = Bench(version)
    bench.publish(4)
    bench.get(1, holder="lost")
    bench.get(1, holder="kept")
    bench.close("lost")
    take_out(bench.turn, "q", ready(bench.queue), "purged")
    assert bench.order == EMPTY and bench.queue.fifo.returns == EMPTY and bench.queue.fifo.counts == ()
    bench.close("kept")
    assert bench.order == ((2, 2),)


@given(st.permutations(range(1, 10)), st.sets(st.integers(1, 9)))
def test_removing_messages_keeps_the_order_of_the_rest(order, gone):
    bench = Bench("3.8")
    bench.publish(9)
    for one in order:
        bench.turn.change_queue("q", unacknowledged=((one, one),))
        fifo.give_back(bench.turn, "q", ((one, one),), asked=False)
    drop(bench.turn, "q", runs.normal((one, one) for one in gone))
    served = [one for first, last in bench.order for one in range(first, last + 1)]
    assert served == [one for one in order if one not in gone]
