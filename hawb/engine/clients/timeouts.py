"""Consumers that do not answer in time.

Up to 4.2 they lose their channel, whatever the type of their queue. In 4.3 a quorum queue gives their messages to other
consumers, and they get nothing more.

Source: `rabbit_fifo:apply` of `{timeout, evaluate_consumer_timeout}`, `handle_waiting_timedout_consumers`,
`rabbit_queue_type:get_consumer_timeout`, `rabbit_channel` (`handle_queue_actions`, `handle_consumer_timed_out`,
`evaluate_consumer_timeout`).

A channel that finds its oldest delivery too old (`hawb.engine.clients.deadlines`) is closed with an error (406,
PRECONDITION_FAILED): its consumer is gone, and all that it held is requeued, as when a client closes it.

In 4.3, when the end of a delivery is over, the message is returned, which does not count towards a delivery limit. Its
consumer is served again when it has answered for all that it lost so; these answers change nothing else. Meanwhile the
next one is the single active consumer. A client that supports basic.cancel is sent one, though channel and queue keep
the consumer until it cancels, too; any other client loses its channel (406, PRECONDITION_FAILED), and so does one that
has fetched the message or has cancelled. A classic queue of 4.3 has no timeout.

Not simulated: the consumer's own argument x-consumer-timeout (4.3); the order in which consumers that time out together
are handled (in hawb: as they subscribed); and a single active consumer that loses some of its messages and holds
others: it does not become active with its answers while another one is, though in the source of 4.3.5 both would be
served.
"""

from __future__ import annotations

from hawb.engine.clients import connections, deadlines
from hawb.engine.clients.client_state import Consumer
from hawb.engine.clients.consuming import deliver, put_back
from hawb.engine.clients.single_active import activate_next, is_single_active
from hawb.engine.core import runs
from hawb.engine.core.events import AnswersDue, ChannelTicks
from hawb.engine.core.operations import TIMED_OUT, TimeOut
from hawb.engine.core.runs import EMPTY, Runs
from hawb.engine.core.state import NOWHERE
from hawb.engine.core.turn import Turn
from hawb.engine.quorum import fifo, requests
from hawb.rules import consumer_timeouts


def channel_ticks(turn: Turn, event: ChannelTicks) -> None:
    """Close a channel whose oldest delivery is too old; otherwise schedule its next check."""
    consumer = turn.consumers.get(event.consumer)
    if consumer is None or consumer.state == "closed" or consumer.node != event.node:
        return
    due_us = deadlines.looks_us(turn, consumer)
    if due_us is None or due_us > turn.now_us:
        deadlines.plan(turn, consumer)
        return
    timeout_ms = deadlines.channel_timeout_ms(turn.settings, turn, turn.queues.get(consumer.queue))
    turn.because = turn.emit(
        "channel_timed_out", node=consumer.node, queue=consumer.queue, consumer=consumer.name,
        timeout_s=timeout_ms / 1_000, code=406, text=consumer_timeouts.error(timeout_ms, turn.settings.profile),
    )  # fmt: skip
    connections.close_consumers(turn, [consumer], TIMED_OUT)


def answers_due(turn: Turn, event: AnswersDue) -> None:
    """Handle a leader's timer: let the queue check for late consumers, or set the next timer."""
    queue = turn.queues.get(event.queue)
    if queue is None or not event.node == queue.master != NOWHERE:
        return
    ends = deadlines.held_until(queue)
    if ends and ends[0][0] <= turn.now_us:
        requests.put(turn, event.queue, TimeOut(event.queue), NOWHERE)
    else:
        deadlines.set_timer(turn, event.queue)


def follow_leader(turn: Turn, name: str) -> None:
    """Set the timer of a new leader."""
    deadlines.set_timer(turn, name)


def time_out(turn: Turn, operation: TimeOut) -> None:
    """Apply the committed command that the time of deliveries is over."""
    name = operation.queue
    ended = [these for us, these in deadlines.held_until(turn.queues[name]) if us <= turn.now_us]
    over = runs.normal(pair for these in ended for pair in these)
    for consumer in sorted(turn.consumers_of(name), key=lambda one: (one.subscription, one.name)):
        numbers = runs.common(consumer.held, over)
        if numbers:
            lose(turn, consumer, numbers)
    active = turn.queues[name].active_consumer
    if active in dict(fifo.of(turn.queues[name]).timed_out) and is_single_active(turn.queues[name]):
        fifo.change(turn, name, quiescing=False)
        turn.change_queue(name, active_consumer=None)
        activate_next(turn, name)
    deliver(turn, name)
    deadlines.set_timer(turn, name)


def lose(turn: Turn, consumer: Consumer, numbers: Runs) -> None:
    """Take messages from a consumer. The consumer gets no messages until it has answered for all of these."""
    name = consumer.queue
    ordered = runs.within(consumer.in_sequence, numbers)
    known = runs.minus(numbers, fifo.missing(turn, consumer)) if consumer.state != "closed" else EMPTY
    stale = runs.chain(consumer.stale, runs.within(ordered, known))
    turn.change_consumer(consumer.name, held=runs.minus(consumer.held, numbers), stale=stale, blocked=False)
    if consumer.name in turn.queues[name].consumers or runs.minus(consumer.held, numbers):
        owed = dict(fifo.of(turn.queues[name]).timed_out).get(consumer.name, EMPTY)
        deadlines.owe(turn, name, consumer.name, runs.union(owed, numbers))
    cancels = consumer.state == "active" and bool(consumer.subscription) and consumer.cancel_notify
    reached = consumer.state != "closed" and turn.linked(turn.queues[name].master, consumer.node)
    turn.because = turn.emit(
        "consumer_timed_out", node=consumer.node, queue=name, consumer=consumer.name, ids=numbers,
        notified=cancels and reached,
    )  # fmt: skip
    put_back(turn, name, ordered, "timed_out")
    if reached and cancels:
        turn.change_consumer(consumer.name, cancel_notified=True)
    elif reached:
        requests.channel_down(turn, consumer.name, TIMED_OUT)
