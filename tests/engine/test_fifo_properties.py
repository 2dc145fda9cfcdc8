"""Properties of a quorum queue under random operations: each message is in one place, and consumers with credit are
served."""

from __future__ import annotations

from unittest import mock

from fifo_bench import SINGLE, VERSIONS, Bench
from hypothesis import given
from hypothesis import strategies as st

from hawb.engine.clients import consuming, deadlines, settling, subscriptions, timeouts
from hawb.engine.core import events, runs
from hawb.engine.core.events import MessagesExpire
from hawb.engine.core.operations import Settle
from hawb.engine.core.runs import EMPTY
from hawb.engine.queues import dead_letters
from hawb.engine.queues.contents import ready
from hawb.engine.quorum import delayed_retry, fifo, out_of_reach, requests, retries

NAMES = st.sampled_from(["c1", "c2", "c3"])
COUNTS = st.integers(1, 4)
NODES_OF_CLIENTS = st.sampled_from([0, 1, 3])
LIMITS = st.fixed_dictionaries(
    {},
    optional={
        "delivery_limit": st.integers(0, 2), "max_length": st.integers(0, 5), "message_ttl": st.integers(0, 3),
        "overflow": st.just("reject-publish"), "dead_letter_exchange": st.just(""),
        "dead_letter_routing_key": st.sampled_from(["dead", "nowhere"]),
        "dead_letter_strategy": st.just("at-least-once"), "consumer_timeout": st.integers(0, 3),
        "consumer_disconnected_timeout": st.integers(0, 3), "delayed_retry_min": st.integers(1, 3),
        "delayed_retry_type": st.sampled_from(["all", "failed", "returned"]),
    },
)  # fmt: skip
OPERATIONS = st.one_of(
    st.tuples(st.just("publish"), COUNTS, st.just(1), st.sampled_from([None, 4, 5])),
    st.tuples(st.just("get"), COUNTS, st.sampled_from([None, "h1", "h2"])),
    st.tuples(st.just("consume"), NAMES, st.integers(0, 3), NODES_OF_CLIENTS, st.booleans(), st.integers(0, 1)),
    st.tuples(st.just("settle"), NAMES, COUNTS | st.none(), st.sampled_from(["ack", "requeue", "reject"])),
    st.tuples(st.just("cancel"), NAMES),
    st.tuples(st.just("close"), NAMES),
    st.tuples(st.sampled_from(["suspect", "unsuspect"]), NODES_OF_CLIENTS),
    st.tuples(st.just("keep_to"), LIMITS),
    st.tuples(st.just("pass_time"), st.sampled_from([100, 500, 3_000, 200_000_000])),
    st.tuples(st.just("lead"), st.integers(0, 2)),
)


def perform(bench: Bench, operation: tuple) -> None:
    """Perform one operation if it is possible."""
    what, *given = operation
    known = bench.turn.consumers.get(given[0]) if given and isinstance(given[0], str) else None
    if what == "consume":
        name, prefetch, node, automatic, priority = given
        bench.consume(name, prefetch, node, automatic=automatic, priority=priority)
    elif what in ("settle", "cancel", "close"):
        if known is not None and known.state != "closed":
            getattr(bench, what)(*given)
    elif what in ("suspect", "unsuspect"):
        getattr(out_of_reach, what)(bench.turn, "q", *given)
    elif what == "keep_to":
        bench.keep_to(**given[0])
    elif what == "lead":
        bench.turn.change_queue("q", master=given[0], holder=given[0])
        for follow in (consuming.follow_leader, out_of_reach.follow_leader, timeouts.follow_leader, retries.set_timer):
            follow(bench.turn, "q")
    elif what == "pass_time":
        for event in bench.pass_time(*given):
            handle = {
                events.HoldEnds: lambda turn, event: out_of_reach.hold_ended(turn, event.queue, event.consumer),
                Settle: settling.settle, MessagesExpire: consuming.messages_expire,
                events.LettersConfirmed: consuming.letters_confirmed,
                events.LettersRetried: dead_letters.retry, events.RetriesDue: delayed_retry.retry,
                events.AnswersDue: timeouts.time_out,
            }.get(type(event))  # fmt: skip
            if handle is not None:
                handle(bench.turn, event)
    else:
        getattr(bench, what)(*given)


def check(bench: Bench) -> None:
    """Check the invariants."""
    turn, queue = bench.turn, bench.queue
    known, waiting = queue.fifo, ready(queue)
    where = [queue.content, *dict(turn.account("q").removed).values()]
    assert sum(map(runs.size, where)) == turn.account("q").published
    assert runs.size(runs.normal(pair for part in where for pair in part)) == turn.account("q").published
    held = [one.held for one in turn.consumers.values()]
    assert runs.normal(pair for part in held for pair in part) == queue.unacknowledged
    assert sum(map(runs.size, held)) == runs.size(queue.unacknowledged)
    parts = (waiting, queue.unacknowledged, fifo.discarded(queue), fifo.delayed(queue))
    assert sum(map(runs.size, parts)) == runs.size(queue.content)
    assert runs.normal(bench.order) == waiting and runs.size(bench.order) == runs.size(waiting)
    for these in (known.returns, *(these for _, these in known.moved)):
        assert runs.minus(runs.normal(these), waiting) == EMPTY
    counted = [these for _, these in known.counts]
    assert runs.minus(runs.normal(pair for these in counted for pair in these), queue.content) == EMPTY
    wanted = queue.quorum_settings
    if wanted.max_length is not None and wanted.overflow == "drop-head":
        assert runs.size(waiting) <= wanted.max_length
    for one in queue.consumers:
        takes = fifo.is_served(queue, one) and fifo.capacity(turn, turn.consumers[one])
        active = queue.active_consumer == one or not dict(queue.arguments).get("x-single-active-consumer")
        assert not (takes and active and waiting)
    assert all(refusal.code is not None for refusal in turn.refusals)
    owing = dict(known.timed_out)
    assert not any(one in owing and owing[one] == EMPTY for one in owing)
    assert bool(deadlines.held_until(queue)) <= bool(turn.planned("q", events.AnswersDue))
    assert bool(known.delayed) <= bool(turn.planned("q", events.RetriesDue))


@given(st.sampled_from(VERSIONS), st.booleans(), LIMITS, st.lists(OPERATIONS, max_size=25))
def test_each_message_is_in_one_place_and_consumers_with_credit_are_served(version, single, first, operations):
    bench = Bench(version, **first, **(SINGLE if single else {}))
    bench.add("dead", "classic")
    ends_channel = mock.patch.object(requests, "channel_down", subscriptions.close)
    for operation in operations:
        if single and operation[0] == "keep_to":
            operation = ("keep_to", operation[1] | SINGLE)
        with ends_channel:
            perform(bench, operation)
        check(bench)
