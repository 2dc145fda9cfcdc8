"""How long a quorum queue's messages live, and how long the queue itself does."""

from __future__ import annotations

import pytest
from fifo_bench import SINCE_3_10, Bench

from hawb.engine.clients import consuming
from hawb.engine.core.events import MessagesExpire, QueueExpires
from hawb.engine.queues import expiry
from hawb.engine.quorum import out_of_reach


@pytest.mark.parametrize("version", SINCE_3_10)
def test_messages_expire_at_the_head(version: str):
    bench = Bench(version, message_ttl=10)
    bench.publish(2)
    [due] = bench.pass_time(10_000)
    assert isinstance(due, MessagesExpire)
    consuming.messages_expire(bench.turn, due)
    assert bench.removed("expired") == ((1, 2),)


def test_an_expired_message_behind_one_that_lives_waits():
    bench = Bench()
    bench.publish(1)
    bench.keep_to(message_ttl=10)
    bench.publish(1)
    bench.pass_time(20_000)
    consuming.deliver(bench.turn, "q")
    assert bench.order == ((1, 2),)
    bench.get(1)
    assert bench.removed("expired") == ((2, 2),)


def test_in_4_3_returned_messages_and_those_of_each_priority_have_heads_of_their_own():
    bench = Bench("4.3")
    bench.publish(1, priority=9)
    bench.keep_to(message_ttl=10)
    bench.publish(1, priority=1)
    bench.keep_to()
    bench.publish(1, priority=2)
    bench.keep_to(message_ttl=10)
    bench.publish(1, priority=2)
    bench.publish(2, priority=12)
    bench.get(1, holder="h")
    bench.requeue("h")
    assert bench.queue.fifo.returns == ((5, 5),) and bench.order == ((5, 6), (1, 1), (3, 4), (2, 2))
    bench.pass_time(10_000)
    consuming.deliver(bench.turn, "q")
    assert bench.removed("expired") == ((2, 2), (5, 6)) and bench.order == ((1, 1), (3, 4))


def test_in_4_3_the_timer_is_set_for_the_first_head_to_expire():
    bench = Bench("4.3", message_ttl=20)
    bench.publish(1, priority=9)
    bench.keep_to(message_ttl=10)
    bench.publish(1, priority=1)
    assert [due_us for due_us, _ in bench.turn.planned("q", MessagesExpire)] == [10_000]


def test_a_message_that_was_given_back_expires_when_it_would_have():
    bench = Bench(message_ttl=10)
    bench.publish(2)
    bench.get(1, holder="h")
    bench.pass_time(9_000)
    bench.requeue("h")
    bench.pass_time(1_000)
    consuming.deliver(bench.turn, "q")
    assert bench.removed("expired") == ((1, 2),)


def test_with_no_time_a_message_has_a_millisecond():
    bench = Bench(message_ttl=0)
    bench.publish(1)
    assert bench.order == ((1, 1),)
    bench.pass_time(1_000)
    consuming.deliver(bench.turn, "q")
    assert bench.removed("expired") == ((1, 1),)


def expiries(bench: Bench, us: int) -> list[int]:
    """When the leader is to look whether the queue has expired, from now on."""
    due = [(time_us, event) for time_us, *_, event in bench.turn.agenda if isinstance(event, QueueExpires)]
    return [time_us for time_us, _ in due if time_us <= bench.turn.now_us + us]


def test_a_queue_expires_at_the_first_tick_after_its_time():
    bench = Bench(expires=7_000)
    expiry.used(bench.turn, "q")
    assert expiries(bench, 100_000_000) == [10_000_000]
    bench.pass_time(7_000_000)
    assert not expiry.has_expired(bench.turn, bench.queue)
    bench.pass_time(1)
    assert expiry.has_expired(bench.turn, bench.queue)


def test_a_time_that_ends_with_a_tick_lasts_until_the_next():
    bench = Bench(expires=5_000)
    expiry.used(bench.turn, "q")
    assert expiries(bench, 100_000_000) == [10_000_000]
    bench.pass_time(5_000_000)
    assert not expiry.has_expired(bench.turn, bench.queue)


def test_ticks_count_from_the_leaders_election():
    bench = Bench(expires=7_000)
    bench.pass_time(3_000_000)
    bench.turn.change_queue("q", master=1)
    consuming.follow_leader(bench.turn, "q")
    assert expiries(bench, 100_000_000) == [8_000_000]


@pytest.mark.parametrize(("version", "ticks"), [("4.0", 15_000_000), ("4.3", 10_000_000)])
def test_in_4_3_a_new_leader_finds_at_once_that_a_queues_time_is_over(version: str, ticks: int):
    bench = Bench(version, expires=7_000)
    bench.pass_time(10_000_000)
    bench.turn.change_queue("q", master=1)
    consuming.follow_leader(bench.turn, "q")
    assert expiries(bench, 100_000_000) == [ticks]


def test_in_4_3_a_queue_whose_time_is_not_over_waits_for_a_tick():
    bench = Bench("4.3", expires=7_000)
    bench.pass_time(7_000_000)
    bench.turn.change_queue("q", master=1)
    consuming.follow_leader(bench.turn, "q")
    assert expiries(bench, 100_000_000) == [12_000_000]


def test_get_and_lost_consumers_use_a_queue_and_declaring_does_not():
    bench = Bench(expires=7_000)
    bench.pass_time(1_000_000)
    expiry.touch(bench.turn, "q")
    assert bench.queue.fifo.used_us == 0
    bench.get(1)
    assert bench.queue.fifo.used_us == 1_000_000
    bench.pass_time(1_000_000)
    bench.consume("c")
    assert bench.queue.fifo.used_us == 1_000_000
    bench.close("c")
    assert bench.queue.fifo.used_us == 2_000_000


def test_a_queue_lives_while_somebody_holds_messages_but_not_for_consumers_out_of_reach():
    bench = Bench(expires=1_000)
    bench.publish(1)
    bench.consume("c", node=3)
    bench.cancel("c")
    bench.pass_time(60_000_000)
    assert not expiry.has_expired(bench.turn, bench.queue)
    bench.settle("c")
    bench.consume("d", node=3)
    bench.pass_time(60_000_000)
    assert not expiry.has_expired(bench.turn, bench.queue)
    out_of_reach.suspect(bench.turn, "q", 3)
    bench.pass_time(60_000_000)
    assert expiry.has_expired(bench.turn, bench.queue)
