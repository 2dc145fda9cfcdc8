"""In which order a quorum queue's messages are served: what was given back, what is urgent, and what is gone."""

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


def test_every_release_has_its_rules():
    assert RELEASES.keys() == PROFILES.keys() == QUORUM_PROFILES.keys()


# Order


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("limit", [{}, {"delivery_limit": 5}])
def test_what_a_client_gives_back_is_served_first_or_with_no_limit_since_3_10_last(version: str, limit: dict):
    bench = Bench(version, **limit)
    bench.publish(6)
    bench.consume("c", prefetch=3)
    bench.cancel("c")
    bench.requeue("c", 2)
    at_the_end = version in ("3.10", "3.13") and not limit
    assert bench.order == (((4, 6), (1, 2)) if at_the_end else ((1, 2), (4, 6)))


def test_without_a_delivery_limit_4_0_requeues_at_the_end_too():
    bench = Bench("4.0", delivery_limit=-1)
    bench.publish(3)
    bench.get(1, holder="h")
    bench.requeue("h")
    assert bench.order == ((2, 3), (1, 1))


@pytest.mark.parametrize("version", VERSIONS)
def test_what_a_lost_consumer_held_is_served_first_in_the_order_in_which_it_had_it(version: str):
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


def test_what_is_requeued_stands_before_what_is_published_later():
    bench = Bench("3.10")
    bench.publish(3)
    bench.get(1, holder="h")
    bench.requeue("h")
    bench.publish(2)
    bench.get(1, holder="h")
    bench.requeue("h")
    assert bench.order == ((3, 3), (1, 1), (4, 5), (2, 2))


def test_what_is_requeued_stands_behind_all_that_was_requeued_before_though_those_are_gone_that_stood_between():
    bench = Bench("3.10")
    bench.publish(9)
    bench.get(5, holder="h")
    bench.requeue("h", 1)
    bench.get(4, holder="other")
    bench.settle("other")
    bench.requeue("h", 1)
    assert bench.order == ((1, 2),)
    assert bench.queue.fifo.moved == ((9, ((1, 2),)),)


def test_what_is_committed_after_a_higher_number_stands_behind_it():
    bench = Bench()
    bench.enqueue(((4, 6),))
    bench.enqueue(((1, 3),))
    bench.publish(1)
    assert bench.order == ((4, 6), (1, 3), (7, 7))


@pytest.mark.parametrize("version", VERSIONS)
def test_what_was_returned_is_next_then_what_consumers_hold(version: str):
    bench = Bench(version)
    bench.enqueue(((4, 6),))
    bench.enqueue(((1, 3),))
    bench.get(1, holder="lost")
    bench.get(3, holder="kept")
    bench.close("lost")
    assert in_order(bench.queue, bench.queue.content) == ((4, 4), (1, 1), (5, 6), (2, 3))


def test_what_is_not_committed_is_last_and_not_ready():
    bench = Bench()
    bench.enqueue(((3, 4),))
    bench.turn.change_queue("q", pending=((1, 2),))
    assert in_order(bench.queue, bench.queue.content) == ((3, 4), (1, 2))
    assert ready(bench.queue) == ((3, 4),)


def test_4_0_serves_two_urgent_messages_before_another_unless_the_next_urgent_one_is_older():
    bench = Bench("4.0")
    bench.publish(3, priority=4)
    bench.publish(5, priority=5)
    assert bench.order == ((4, 5), (1, 1), (6, 7), (2, 2), (8, 8), (3, 3))
    bench.get(1, holder="h")
    assert bench.order == ((5, 5), (1, 1), (6, 7), (2, 2), (8, 8), (3, 3))
    bench.close("h")
    assert bench.order[0] == (4, 5)


def test_4_3_serves_a_higher_priority_first_whatever_waits():
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


def test_4_0_what_is_served_again_is_nobodys_turn():
    bench = Bench("4.0")
    bench.publish(3, priority=4)
    bench.publish(3, priority=5)
    for _ in range(2):
        bench.get(1, holder="h")
        bench.close("h")
    bench.get(1)
    assert bench.order == ((5, 5), (1, 1), (6, 6), (2, 3))


def test_4_0_what_consumers_hold_is_next_whatever_its_level():
    bench = Bench("4.0")
    bench.publish(3, priority=4)
    bench.publish(4, priority=5)
    bench.get(3, holder="h")
    assert in_order(bench.queue, bench.queue.content) == ((1, 1), (4, 7), (2, 3))


def test_4_0_an_urgent_message_that_was_requeued_is_urgent_no_more():
    bench = Bench("4.0", delivery_limit=-1)
    bench.publish(1, priority=9)
    bench.publish(2)
    bench.get(1, holder="h")
    bench.requeue("h")
    assert bench.order == ((2, 3), (1, 1))


def test_4_0_an_urgent_message_that_is_older_takes_the_others_turn():
    bench = Bench("4.0")
    bench.publish(4, priority=9)
    bench.publish(2)
    assert bench.order == ((1, 6),)


@pytest.mark.parametrize("version", ["3.8", "3.10", "3.13"])
def test_before_4_0_messages_are_all_the_same(version: str):
    bench = Bench(version)
    bench.publish(2)
    bench.publish(2, priority=9)
    assert bench.order == ((1, 4),)


# What is taken out


@pytest.mark.parametrize("version", VERSIONS)
def test_a_purge_leaves_nothing_of_what_was_returned(version: str):
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
def test_taking_messages_out_keeps_the_order_of_the_others(order, gone):
    bench = Bench("3.8")
    bench.publish(9)
    for one in order:
        bench.turn.change_queue("q", unacknowledged=((one, one),))
        fifo.give_back(bench.turn, "q", ((one, one),), asked=False)
    drop(bench.turn, "q", runs.normal((one, one) for one in gone))
    served = [one for first, last in bench.order for one in range(first, last + 1)]
    assert served == [one for one in order if one not in gone]
