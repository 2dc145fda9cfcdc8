"""Delayed retries of a quorum queue in 4.3: returned messages wait before redelivery."""

from __future__ import annotations

import pytest
from fifo_bench import Bench

from hawb.engine.core.events import RetriesDue
from hawb.engine.core.operations import Purge, Retry
from hawb.engine.core.runs import EMPTY
from hawb.engine.queues import lifecycle
from hawb.engine.quorum import delayed_retry, fifo, retries
from hawb.rules.delayed_retry import DelayedRetry
from hawb.rules.delayed_retry import delayed_retry as kept_to

ALL = {"delayed_retry_type": "all", "delayed_retry_min": 10, "delayed_retry_max": 25}


def bench_43(**arguments: object) -> Bench:
    bench = Bench("4.3", **(ALL | arguments))
    bench.publish(4)
    return bench


def pass_time(bench: Bench, us: int) -> None:
    """Let time pass and commit each due retry at once."""
    until_us = bench.turn.now_us + us
    while due := [at for at, _ in bench.turn.planned("q", RetriesDue) if at <= until_us]:
        bench.pass_time(min(due) - bench.turn.now_us)
        delayed_retry.retry(bench.turn, Retry("q"))
    bench.pass_time(until_us - bench.turn.now_us)


def test_requeued_messages_wait_then_join_the_returned_ones():
    bench = bench_43()
    bench.get(2, holder="h")
    bench.requeue("h")
    assert bench.order == ((3, 4),) and bench.queue.redelivered == ((1, 2),) and bench.queue.unacknowledged == EMPTY
    pass_time(bench, 9_999)
    assert bench.order == ((3, 4),)
    pass_time(bench, 1)
    assert bench.order == ((1, 4),) and bench.queue.fifo.returns == ((1, 2),) and bench.queue.fifo.delayed == ()


def test_delay_grows_with_failed_deliveries_up_to_the_maximum():
    bench = bench_43()
    for wait_us in (10_000, 20_000, 25_000, 25_000):
        bench.get(1, holder="h")
        assert bench.held("h") == ((1, 1),)
        bench.close("h")
        pass_time(bench, wait_us - 1)
        assert bench.order == ((2, 4),)
        pass_time(bench, 1)
        assert bench.order == ((1, 4),)


@pytest.mark.parametrize("kind, nacked_waits, failed_waits", [
    ("all", True, True), ("failed", False, True), ("returned", True, False), ("disabled", False, False),
])  # fmt: skip
def test_delayed_retry_type_selects_which_returns_wait(kind: str, nacked_waits: bool, failed_waits: bool):
    bench = bench_43(delayed_retry_type=kind)
    bench.get(1, holder="h")
    bench.requeue("h")
    assert bool(fifo.delayed(bench.queue)) is nacked_waits
    bench = bench_43(delayed_retry_type=kind)
    bench.get(1, holder="h")
    bench.close("h")
    assert bool(fifo.delayed(bench.queue)) is failed_waits


def test_retries_are_delayed_without_a_delivery_limit_too():
    bench = bench_43(delivery_limit=-1)
    bench.get(1, holder="h")
    bench.requeue("h")
    assert bench.order == ((2, 4),) and fifo.delayed(bench.queue) == ((1, 1),)


def test_delayed_messages_count_towards_max_length_and_are_not_dropped():
    bench = bench_43(max_length=4)
    bench.get(2, holder="h")
    bench.requeue("h")
    bench.publish(1)
    assert bench.order == ((4, 5),)
    bench.keep_to(max_length=1, **ALL)
    assert bench.order == EMPTY and fifo.delayed(bench.queue) == ((1, 2),)


def test_purge_removes_delayed_messages():
    bench = bench_43()
    bench.get(2, holder="h")
    bench.requeue("h", 1)
    lifecycle.purge(bench.turn, Purge("q", 0))
    assert bench.queue.content == ((2, 2),) and bench.queue.fifo.delayed == ()
    [event] = bench.pass_time(10_000)
    delayed_retry.retries_due(bench.turn, event)
    assert bench.turn.planned("q", RetriesDue) == []


def test_new_leader_sets_the_retry_timer():
    bench = bench_43()
    bench.get(1, holder="h")
    bench.requeue("h")
    bench.turn.change_queue("q", master=1, holder=1)
    retries.set_timer(bench.turn, "q")
    assert bench.turn.planned("q", RetriesDue) == [(10_000, RetriesDue("q", 1))]


@pytest.mark.parametrize("given, expected", [
    (("all", 5, 9), DelayedRetry("all", 5, 9)), (("failed", 5, None), DelayedRetry("failed", 5, 5)),
    (("failed", 5, "9"), DelayedRetry("failed", 5, 5)), (("returned", 0, 9), None), (("all", None, 9), None),
    (("all", "5", 9), None), (("disabled", 5, 9), None), ((None, 5, 9), None), (("other", 5, 9), None),
])  # fmt: skip
def test_invalid_arguments_delay_nothing(given: tuple, expected: DelayedRetry | None):
    assert kept_to(*given) == expected
