"""Publishes that wait in a channel's mailbox while the channel registers as an enqueuer of a quorum queue.

A channel publishes to classic queues before quorum queues (`rabbit_queue_type:deliver` goes by the names of the types).
Left out: in hawb several quorum queues of one message are asked at the same time, confirms of other queues reach the
client meanwhile, and the messages of a transaction are not distinguished.

Source: `rabbit_fifo_client` (`enqueue`, `register_enqueuer`); since 3.8.10.
"""

from __future__ import annotations

from operator import attrgetter

from msgspec.structs import replace

from hawb.engine.core.naming import split_queue
from hawb.engine.core.operations import Publish
from hawb.engine.core.state import WaitingOperation
from hawb.engine.core.turn import Turn
from hawb.engine.raft_groups.enqueuers import NO_CHANNEL, channel_of, channel_over
from hawb.engine.raft_groups.group import GONE, Channel
from hawb.engine.raft_groups.registration import is_registered, registration_us

ASKS = attrgetter(*(f"operation.{name}" for name in ("node", "connection", "mode", "queues")))
"""The channel of a waiting operation and its queues, which decide together whether it waits still."""
Waiting = set[tuple[str, Channel | None]]
"""Channels, each with a virtual host."""


def is_waiting(turn: Turn, operation: Publish, waiting: Waiting | None = None) -> bool:
    """Return True if the channel of a publish waits for its registration with a quorum queue.

    `waiting` are the channels that do (`waiting_channels`), if they are known.
    """
    channel = channel_over(turn, operation)
    if channel is NO_CHANNEL:
        return False
    waiting = waiting_channels(turn) if waiting is None else waiting
    return any((split_queue(name)[0], channel) in waiting for name in operation.queues)


def waiting_channels(turn: Turn) -> Waiting:
    """Return the channels, each with a virtual host, that wait for their registration with a quorum queue of it."""
    return {
        (turn.queues[name].vhost, channel)
        for name, group in turn.groups.items() if group.waiting and name in turn.queues
        for channel in {channel_of(turn, one) for one in group.waiting if one.node != GONE}
        if not is_registered(turn, group, channel)
    }  # fmt: skip


def has_to_wait(turn: Turn, name: str, operation: Publish) -> bool:
    """Return True if a channel will wait for its registration with a queue when it publishes to it now."""
    queue, channel = turn.queues.get(name), channel_over(turn, operation)
    if queue is None or not queue.has_group or is_registered(turn, turn.groups[name], channel):
        return False
    reachable = queue.up and turn.linked(operation.node, queue.master)
    return not reachable and registration_us(turn, turn.groups[name], channel) > 0


def let_through(turn: Turn, operation: Publish) -> Publish | None:
    """Return what a channel publishes before it waits; None if nothing. The rest waits.

    Of several messages for several queues, that is the first message.
    """
    if operation.publisher is not None:
        return operation
    if is_waiting(turn, operation):
        await_registration(turn, operation)
        return None
    several = operation.count > 1 and len(operation.queues) > 1 and not operation.transaction
    if several and any(has_to_wait(turn, name, operation) for name in operation.queues):
        await_registration(turn, replace(operation, count=operation.count - 1))
        return replace(operation, count=1)
    return operation


def await_registration(turn: Turn, operation: Publish) -> None:
    """Let messages wait in a channel's mailbox."""
    waiting = WaitingOperation(turn.next_number(), operation, turn.step)
    turn.awaiting_registration = (*turn.awaiting_registration, waiting)
    turn.emit("messages_held_back", node=operation.node, queue=operation.queue, messages=operation.count)


def go_on(turn: Turn) -> None:
    """Schedule the waiting messages of channels that no longer wait, in their order."""
    if not turn.awaiting_registration:
        return
    focus, free = turn.focus, set()
    waiting: dict[int, Waiting] = {}
    for asks, one in {ASKS(one): one for one in turn.awaiting_registration}.items():
        turn.look_from(one.operation.node)
        if turn.focus.number not in waiting:
            waiting[turn.focus.number] = waiting_channels(turn)
        if not is_waiting(turn, one.operation, waiting[turn.focus.number]):
            free.add(asks)
    if free:
        going = [one for one in turn.awaiting_registration if ASKS(one) in free]
        turn.awaiting_registration = tuple(one for one in turn.awaiting_registration if ASKS(one) not in free)
        for one in going:
            turn.look_from(one.operation.node)
            turn.schedule(0, one.operation, step=one.step)
    turn.focus = focus
