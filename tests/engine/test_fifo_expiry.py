"""Expiry of the messages of a quorum queue, and of the queue itself."""

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


def test_expired_message_behind_a_live_one_stays():
    bench = Bench()
    bench.publish(1)
    bench.keep_to(message_ttl=10)
    bench.publish(1)
    bench.pass_time(20_000)
    consuming.deliver(bench.turn, "q")
    assert bench.order == ((1, 2),)
    bench.get(1)
    assert bench.removed("expired") == ((2, 2),)


def test_4_3_expires_at_the_head_of_returns_and_of_each_priority():
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


def test_4_3_sets_the_timer_for_the_first_head_to_expire():
    bench = Bench("4.3", message_ttl=20)
    bench.publish(1, priority=9)
    bench.keep_to(message_ttl=10)
    bench.publish(1, priority=1)
    assert [due_us for due_us, _ in bench.turn.planned("q", MessagesExpire)] == [10_000]


def test_requeued_message_keeps_its_expiry_time():
    bench = Bench(message_ttl=10)
    bench.publish(2)
    bench.get(1, holder="h")
    bench.pass_time(9_000)
    bench.requeue("h")
    bench.pass_time(1_000)
    consuming.deliver(bench.turn, "q")
    assert bench.removed("expired") == ((1, 2),)


def test_ttl_0_is_one_millisecond():
    bench = Bench(message_ttl=0)
    bench.publish(1)
    assert bench.order == ((1, 1),)
    bench.pass_time(1_000)
    consuming.deliver(bench.turn, "q")
    assert bench.removed("expired") == ((1, 1),)


def expiries(bench: Bench, us: int) -> list[int]:
    """Return the times within `us` at which the leader checks whether the queue has expired."""
    due = [(time_us, event) for time_us, *_, event in bench.turn.agenda if isinstance(event, QueueExpires)]
    return [time_us for time_us, _ in due if time_us <= bench.turn.now_us + us]


def test_queue_expires_at_the_first_tick_after_its_time():
    bench = Bench(expires=7_000)
    expiry.used(bench.turn, "q")
    assert expiries(bench, 100_000_000) == [10_000_000]
    bench.pass_time(7_000_000)
    assert not expiry.has_expired(bench.turn, bench.queue)
    bench.pass_time(1)
    assert expiry.has_expired(bench.turn, bench.queue)


def test_expiry_that_ends_at_a_tick_waits_for_the_next_tick():
    bench = Bench(expires=5_000)
    expiry.used(bench.turn, "q")
    assert expiries(bench, 100_000_000) == [10_000_000]
    bench.pass_time(5_000_000)
    assert not expiry.has_expired(bench.turn, bench.queue)


def test_ticks_count_from_the_election_of_the_leader():
    bench = Bench(expires=7_000)
    bench.pass_time(3_000_000)
    bench.turn.change_queue("q", master=1)
    consuming.follow_leader(bench.turn, "q")
    assert expiries(bench, 100_000_000) == [8_000_000]


@pytest.mark.parametrize(("version", "ticks"), [("4.0", 15_000_000), ("4.3", 10_000_000)])
def test_4_3_leader_checks_the_expiry_when_elected(version: str, ticks: int):
    bench = Bench(version, expires=7_000)
    bench.pass_time(10_000_000)
    bench.turn.change_queue("q", master=1)
    consuming.follow_leader(bench.turn, "q")
    assert expiries(bench, 100_000_000) == [ticks]


def test_4_3_queue_that_has_not_expired_waits_for_a_tick():
    bench = Bench("4.3", expires=7_000)
    bench.pass_time(7_000_000)
    bench.turn.change_queue("q", master=1)
    consuming.follow_leader(bench.turn, "q")
    assert expiries(bench, 100_000_000) == [12_000_000]


def test_get_and_lost_consumers_restart_the_expiry_and_declare_does_not():
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


def test_unacknowledged_messages_prevent_expiry_unless_the_consumer_is_unreachable():
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
