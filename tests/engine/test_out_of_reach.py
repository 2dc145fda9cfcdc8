"""Unreachable consumers of a quorum queue in 4.3: they keep their messages until a timeout."""

from __future__ import annotations

from unittest import mock

import pytest
from fifo_bench import LATENCY_US, SINGLE, Bench

from hawb.engine.advance import hold_ends
from hawb.engine.core.events import HoldEnds
from hawb.engine.core.runs import EMPTY
from hawb.engine.queues import expiry
from hawb.engine.quorum import out_of_reach, requests

FAR = 3
MINUTE_US = 60_000_000


def bench_43(**arguments: object) -> Bench:
    bench = Bench("4.3", **arguments)
    bench.publish(4)
    bench.consume("far", prefetch=2, node=FAR)
    bench.pass_time(LATENCY_US)
    return bench


def time_out(bench: Bench, us: int) -> list[str]:
    """Let time pass and commit each timeout at once. Return the consumers that timed out."""
    due = [event for event in bench.pass_time(us) if isinstance(event, HoldEnds)]
    for event in due:
        out_of_reach.hold_ended(bench.turn, event.queue, event.consumer)
    return [event.consumer for event in due]


def test_messages_of_an_unreachable_consumer_are_returned_after_a_minute():
    bench = bench_43(delivery_limit=0)
    out_of_reach.suspect(bench.turn, "q", FAR)
    assert bench.held("far") == ((1, 2),) and bench.order == ((3, 4),)
    assert time_out(bench, MINUTE_US - 1) == []
    assert time_out(bench, 1) == ["far"]
    assert bench.order == ((1, 4),) and bench.queue.redelivered == ((1, 2),) and bench.queue.fifo.counts == ()
    bench.settle("far")
    assert bench.order == ((1, 4),) and bench.queue.fifo.suspected == {"far"}


def test_consumer_reachable_again_in_time_can_ack():
    bench = bench_43()
    out_of_reach.suspect(bench.turn, "q", FAR)
    bench.publish(1)
    out_of_reach.unsuspect(bench.turn, "q", FAR)
    assert bench.held("far") == ((1, 2),) and bench.queue.redelivered == EMPTY
    bench.settle("far")
    assert bench.removed("acknowledged") == ((1, 2),) and bench.held("far") == ((3, 4),)
    assert time_out(bench, MINUTE_US) == []


@pytest.mark.parametrize("arguments, after_us", [
    ({"consumer_disconnected_timeout": 0}, 0), ({"consumer_disconnected_timeout": 5}, 5_000),
])  # fmt: skip
def test_argument_of_the_queue_sets_the_timeout(arguments: dict, after_us: int):
    bench = bench_43(**arguments)
    out_of_reach.suspect(bench.turn, "q", FAR)
    assert bench.order == ((3, 4),)
    assert time_out(bench, after_us) == ["far"] and bench.order == ((1, 4),)


def test_cancelled_consumers_and_basic_gets_time_out_too():
    bench = bench_43()
    bench.cancel("far")
    bench.get(1, holder="here")
    out_of_reach.suspect(bench.turn, "q", FAR)
    out_of_reach.suspect(bench.turn, "q", 0)
    assert bench.queue.fifo.suspected == {"far", "here"} and bench.order == ((4, 4),)
    assert time_out(bench, MINUTE_US) == ["far", "here"]
    assert bench.order == ((1, 4),) and bench.queue.fifo.suspected == frozenset()


def test_unreachable_single_active_consumer_stays_active_until_the_timeout():
    bench = bench_43(**SINGLE)
    bench.consume("near", prefetch=1)
    out_of_reach.suspect(bench.turn, "q", FAR)
    assert bench.queue.active_consumer == "far" and bench.held("near") == EMPTY
    assert time_out(bench, MINUTE_US) == ["far"]
    assert bench.queue.active_consumer == "near" and bench.held("near") == ((1, 1),)
    assert bench.queue.consumers == ("near", "far")
    out_of_reach.unsuspect(bench.turn, "q", FAR)
    bench.close("near")
    assert bench.queue.active_consumer == "far" and bench.held("far") == ((2, 2), (1, 1))


def test_unreachable_waiting_consumer_has_no_timer():
    bench = Bench("4.3", **SINGLE)
    bench.consume("near", prefetch=1)
    bench.consume("far", prefetch=1, node=FAR)
    out_of_reach.suspect(bench.turn, "q", FAR)
    assert bench.queue.fifo.suspected == {"far"} and time_out(bench, MINUTE_US) == []


def test_new_leader_restarts_the_timeout():
    bench = bench_43()
    out_of_reach.suspect(bench.turn, "q", FAR)
    bench.pass_time(MINUTE_US // 2)
    bench.turn.change_queue("q", master=1, holder=1)
    out_of_reach.follow_leader(bench.turn, "q")
    assert time_out(bench, MINUTE_US - 1) == []
    assert time_out(bench, 1) == ["far"]


def test_timer_of_a_former_leader_does_nothing():
    bench = bench_43()
    bench.turn.change_queue("q", master=1, holder=1)
    with mock.patch.object(requests, "put") as put:
        hold_ends(bench.turn, HoldEnds("q", "far", 0))
        assert not put.called
        hold_ends(bench.turn, HoldEnds("q", "far", 1))
        assert put.called


def test_queue_may_expire_while_an_unreachable_consumer_holds_messages():
    bench = bench_43(expires=1_000)
    out_of_reach.suspect(bench.turn, "q", FAR)
    assert expiry.is_unused(bench.turn, bench.queue)


def test_new_consumer_with_the_name_of_an_unreachable_one_is_not_suspected():
    bench = Bench("4.3")
    bench.publish(2)
    bench.get(1, holder="h")
    bench.turn.change_consumer("h", state="closed")
    out_of_reach.suspect(bench.turn, "q", 0)
    bench.consume("h", prefetch=1)
    assert bench.queue.fifo.suspected == frozenset() and bench.held("h") == ((1, 1),)
