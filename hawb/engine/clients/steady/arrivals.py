"""Messages of steady publishers arrive at their queue one by one, computed at once for all since the last event."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from hawb.engine.classic.mailbox import keeps
from hawb.engine.clients import publishing
from hawb.engine.clients.client_state import NEVER_US, Publisher, Share, Unanswered
from hawb.engine.clients.steady import steady_confirms
from hawb.engine.clients.steady.closing import lag_us
from hawb.engine.clients.steady.publisher_ports import operation
from hawb.engine.clients.steady.ticks import due_us
from hawb.engine.core import runs
from hawb.engine.core.operations import Publish, Settle
from hawb.engine.core.state import Queue
from hawb.engine.core.turn import Turn
from hawb.engine.queues import expiry
from hawb.engine.queues.access import defer


def arrive(turn: Turn, queue: Queue | None, publisher: Publisher, count: int, more_room: int) -> None:
    """Deliver messages that have just left a publisher to their queue, one by one, while consumers make `more_room`.

    They wait in the queue's mailbox if it does not read.
    """
    turn.step, sent = publisher.step, operation(publisher, count)
    if queue is not None and not queue.has_group and keeps(turn, queue, publisher.node):
        wait_in_mailbox(turn, turn.queues[queue.name], sent)  # another publisher's flow may have come into it
    else:
        come(turn, publisher, replace(sent, more_room=more_room))


def come(turn: Turn, publisher: Publisher, sent: Publish) -> None:
    """Deliver messages to their queue, and let their publisher wait for confirms."""
    share = publishing.route(turn, sent, publisher.queue)
    publishing.note_published(turn, sent)
    if share is None:
        return
    if not share.due_us:
        steady_confirms.answer(turn, publisher, share.numbers, confirmed=share.answered)
        return
    taken = runs.size(share.numbers) - runs.size(share.rejected)
    if taken:
        clock, tick, number = publisher.clock, publisher.ticks - sent.count + 1, share.numbers[0][0]
        if not runs.common(share.numbers, turn.queues[publisher.queue].pending):
            first_us = due_us(clock, tick) + lag_us(turn, publisher)
            expiry.spread(turn, publisher.queue, first_us, (clock.per_ticks, clock.per_us))
        run = Unanswered(clock, tick, number, taken, delays_of(turn, publisher, share))
        steady_confirms.wait_for(turn, publisher.name, run)
    if share.rejected:
        steady_confirms.answer(turn, publisher, share.rejected, confirmed=False)


def delays_of(turn: Turn, publisher: Publisher, share: Share) -> tuple[tuple[int, int], ...]:
    """Return, for each replica asked, the microseconds from a message's tick to the replica's answer."""
    queue, single = turn.queues[publisher.queue], operation(publisher, 1)
    later_us = lag_us(turn, publisher) - turn.now_us
    return tuple(
        (node, NEVER_US if answers_us == NEVER_US else later_us + publishing.heard_us(turn, single, queue, node))
        for node, answers_us in share.due_us
    )


def wait_in_mailbox(turn: Turn, queue: Queue, operation: Publish | Settle) -> None:
    """Put further messages or answers of a flow into the mailbox of a queue that is blocked.

    Add them to an operation of the same flow that waits there, unless anything else came after it: messages of another
    publisher, or an operation that is no flow.
    """
    for one in reversed(queue.waiting):
        if is_more_of(operation, one.operation):
            longer = replace(one, operation=replace(operation, count=one.operation.count + operation.count))
            turn.change_queue(queue.name, waiting=tuple(longer if other is one else other for other in queue.waiting))
            return
        if not flows_beside(turn, operation, one.operation):
            break
    defer(turn, queue, operation)


def is_more_of(operation: Publish | Settle, other: Any) -> bool:
    """Return True if two operations differ only in the number of messages."""
    alike = type(operation) is type(other) and other.count is not None
    return alike and replace(operation, count=other.count) == other


def flows_beside(turn: Turn, operation: Publish | Settle, other: object) -> bool:
    """Return True if a waiting operation has flowed to the queue in the same time as `operation`.

    It then does not matter which of them is read first.
    """
    if isinstance(other, Settle):
        return other.verdict == "ack" and other.count is not None and turn.consumers[other.consumer].clock is not None
    return isinstance(other, Publish) and other.publisher is not None and isinstance(operation, Settle)
