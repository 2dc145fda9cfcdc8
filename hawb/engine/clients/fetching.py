"""Messages that a client fetches itself: basic.get.

Source: `rabbit_channel`, `rabbit_amqqueue_process`, `rabbit_fifo`.
"""

from __future__ import annotations

from hawb.engine.clients import deadlines
from hawb.engine.clients.client_state import Consumer
from hawb.engine.clients.consuming import (
    deliver,
    give_up_name,
    hand_over,
    holds_of_another,
    is_elsewhere,
    put_back,
    reached,
    refuse_tag,
    with_past,
)
from hawb.engine.clients.settling import acknowledge, note_acknowledged
from hawb.engine.clients.single_active import is_single_active
from hawb.engine.core import runs
from hawb.engine.core.naming import described
from hawb.engine.core.operations import AbandonedRequest, ConsumerCloses, Get
from hawb.engine.core.state import QUORUM
from hawb.engine.core.turn import Turn
from hawb.engine.queues import expiry, limits
from hawb.engine.queues.contents import in_order, ready
from hawb.engine.quorum import fifo

CHANNEL_ERRORS = (403, 404, 405, 406)
"""The errors of AMQP that end a channel, and not its connection."""


def get(turn: Turn, operation: Get) -> None:
    """Run basic.get. If it is refused, its channel closes, and the messages that were held over it are requeued.

    Source: `rabbit_channel:handle_exception`.
    """
    before = len(turn.refusals)
    answer_get(turn, operation)
    if any(refusal.code in CHANNEL_ERRORS for refusal in turn.refusals[before:]):
        close_holder(turn, operation)


def close_holder(turn: Turn, operation: Get) -> None:
    """Close the channel of a client whose basic.get was refused."""
    known = turn.consumers.get(operation.holder or "")
    if known is not None and known.state != "closed":
        turn.schedule(0, ConsumerCloses(known.name, "channel_failed"))


def answer_get(turn: Turn, operation: Get) -> None:
    """Give the oldest ready messages to a holder, or acknowledge them at once."""
    if not turn.is_running(operation.node) or (queue := reached(turn, operation)) is None:
        return
    if queue.type == QUORUM and is_single_active(queue):
        kind = f'<<"{QUORUM}">>' if turn.settings.profile.types_as_terms else QUORUM
        turn.refuse(
            405, f"RESOURCE_LOCKED - cannot obtain access to locked {described(queue.name)}. basic.get operations are "
            f"not supported by {kind} queues with single active consumer",
        )  # fmt: skip
        return
    expiry.used(turn, queue.name)
    give_up_name(turn, operation.holder or "")
    queue = turn.queues[queue.name]
    ordered = in_order(queue, runs.minus(ready(queue), expiry.expired(turn, queue)))
    numbers = runs.head(ordered, operation.count)
    known = turn.consumers.get(operation.holder or "")
    if not numbers or holds_of_another(turn, known, queue) or is_elsewhere(turn, known, queue):
        return
    if known is not None and known.state == "active" and known.subscription and known.queue != queue.name:
        refuse_tag(turn, known)
        return
    holder = Consumer(
        operation.holder or "", queue.name, operation.node, operation.connection,
        timeout_ms=deadlines.timeout_ms(turn, queue),
    )  # fmt: skip
    if known is None or known.state != "active" or known.queue != queue.name:
        turn.consumers[holder.name] = with_past(holder, known)
    hand_over(turn, queue.name, holder.name, numbers)
    if operation.holder is None:
        del turn.consumers[holder.name]
        note_acknowledged(turn, queue.name, runs.normal(numbers))
        acknowledge(turn, queue.name, holder.name, runs.normal(numbers))
    expiry.drop_expired(turn, queue.name)
    if queue.type == QUORUM:
        limits.notify_publishers(turn, queue.name)


def abandoned_request(turn: Turn, operation: AbandonedRequest) -> None:
    """Check messages out to the channel of a client that is gone, and return them to the queue.

    A quorum queue has committed the client's get or subscription, and its leader finds the channel dead (`rabbit_fifo`,
    `{down, Pid, noproc}`).
    """
    queue = turn.queues[operation.queue]
    ordered = in_order(queue, runs.minus(ready(queue), expiry.expired(turn, queue)))
    numbers = runs.head(ordered, operation.count)
    out = runs.union(queue.unacknowledged, runs.normal(numbers))
    turn.change_queue(queue.name, unacknowledged=out, fifo=fifo.checked_out(queue, runs.normal(numbers)))
    put_back(turn, queue.name, numbers, "consumer_gone")
    deliver(turn, queue.name)
