"""Consumer timeouts of a quorum queue in 4.3."""

from __future__ import annotations

import pytest
from fifo_bench import SINGLE, Bench

from hawb.engine.clients import timeouts
from hawb.engine.core.events import AnswersDue
from hawb.engine.core.operations import TimeOut
from hawb.engine.core.runs import EMPTY

SHORT = {"consumer_timeout": 10}
SHORT_US = 10_000


def bench_43(**arguments: object) -> Bench:
    bench = Bench("4.3", **(SHORT | arguments))
    bench.publish(4)
    return bench


def time_out(bench: Bench, us: int) -> int:
    """Let time pass and commit each timeout at once. Return how often the leader checked."""
    until_us, looked = bench.turn.now_us + us, 0
    while due := [at for at, _ in bench.turn.planned("q", AnswersDue) if at <= until_us]:
        bench.pass_time(min(due) - bench.turn.now_us)
        timeouts.time_out(bench.turn, TimeOut("q"))
        looked += 1
    bench.pass_time(until_us - bench.turn.now_us)
    return looked


def test_unacknowledged_messages_are_returned_at_the_timeout():
    bench = bench_43(delivery_limit=0)
    bench.consume("c", prefetch=2)
    assert time_out(bench, SHORT_US - 1) == 0 and bench.held("c") == ((1, 2),)
    assert time_out(bench, 1) == 1
    assert bench.held("c") == EMPTY and bench.order == ((1, 4),) and bench.queue.fifo.counts == ()
    assert bench.turn.consumers["c"].cancel_notified and bench.turn.consumers["c"].state == "active"


@pytest.mark.parametrize("verdict", ["ack", "requeue", "reject"])
def test_timed_out_consumer_is_served_after_it_settled_all_its_messages(verdict: str):
    bench = bench_43()
    bench.consume("c", prefetch=2)
    time_out(bench, SHORT_US)
    bench.settle("c", 1, verdict)
    assert bench.held("c") == EMPTY and bench.queue.fifo.timed_out == (("c", ((2, 2),)),)
    bench.settle("c", 1, verdict)
    assert bench.held("c") == ((1, 2),) and bench.queue.fifo.timed_out == ()
    assert bench.removed("acknowledged") == bench.removed("rejected") == EMPTY


def test_each_delivery_has_its_own_timeout():
    bench = bench_43()
    bench.consume("c", prefetch=1)
    bench.pass_time(4_000)
    bench.requeue("c")
    assert bench.held("c") == ((1, 1),)
    bench.pass_time(4_000)
    bench.consume("d", prefetch=1)
    assert time_out(bench, 2_000) == 1 and bench.held("c") == ((1, 1),)
    assert time_out(bench, 4_000) == 1 and bench.held("c") == EMPTY and bench.held("d") == ((2, 2),)


def test_timeout_is_fixed_when_the_consumer_subscribes():
    bench = bench_43()
    bench.consume("c", prefetch=1)
    bench.keep_to(consumer_timeout=1)
    bench.consume("d", prefetch=1)
    time_out(bench, 1_000)
    assert bench.held("c") == ((1, 1),) and bench.held("d") == EMPTY


def test_default_timeout_is_30_minutes_and_the_queue_checks_since_4_3():
    bench = Bench("4.3")
    bench.publish(1)
    bench.consume("c", prefetch=1)
    [(due_us, _)] = bench.turn.planned("q", AnswersDue)
    assert due_us == 1_800_000_000
    bench = Bench("4.0", **SHORT)
    bench.publish(1)
    bench.consume("c", prefetch=1)
    assert bench.turn.planned("q", AnswersDue) == [] and bench.turn.consumers["c"].timeout_ms is None


def test_next_consumer_is_active_while_the_single_active_one_is_timed_out():
    bench = bench_43(**SINGLE)
    bench.consume("a", prefetch=2)
    bench.consume("b", prefetch=1)
    time_out(bench, SHORT_US)
    assert bench.queue.active_consumer == "b" and bench.held("b") == ((1, 1),)
    bench.cancel("b")
    assert bench.queue.active_consumer is None
    bench.settle("a")
    assert bench.queue.active_consumer == "a" and bench.held("a") == ((2, 3),)


def test_resubscribed_consumer_is_not_timed_out():
    bench = bench_43()
    bench.consume("c", prefetch=1)
    time_out(bench, SHORT_US)
    bench.cancel("c")
    bench.consume("c", prefetch=1)
    assert bench.held("c") == ((1, 1),) and bench.queue.fifo.timed_out == ()


def test_new_leader_sets_its_timer_and_the_former_one_does_nothing():
    bench = bench_43()
    bench.consume("c", prefetch=1)
    bench.pass_time(SHORT_US // 2)
    bench.turn.change_queue("q", master=1, holder=1)
    timeouts.follow_leader(bench.turn, "q")
    timeouts.answers_due(bench.turn, AnswersDue("q", 0))
    assert bench.turn.planned("q", AnswersDue) == [(SHORT_US, AnswersDue("q", 1))]


def test_timer_without_overdue_deliveries_is_set_again():
    bench = bench_43()
    bench.consume("c", prefetch=1)
    bench.pass_time(4_000)
    bench.settle("c")
    [event] = bench.pass_time(6_000)
    timeouts.answers_due(bench.turn, event)
    assert bench.turn.planned("q", AnswersDue) == [(14_000, AnswersDue("q", 0))] and bench.held("c") == ((2, 2),)
