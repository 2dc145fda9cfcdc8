"""Publishes that wait in a channel's mailbox while the channel registers as an enqueuer of a quorum queue.

A channel publishes to classic queues before quorum queues (`rabbit_queue_type:deliver` goes by the names of the types).
Left out: in hawb several quorum queues of one message are asked at the same time, confirms of other queues reach the
client meanwhile, and the messages of a transaction are not distinguished.

Source: `rabbit_fifo_client` (`enqueue`, `register_enqueuer`); since 3.8.10.
"""

from __future__ import annotations

from msgspec.structs import replace

from hawb.engine.core.naming import split_queue
from hawb.engine.core.operations import Publish
from hawb.engine.core.state import WaitingOperation
from hawb.engine.core.turn import Turn
from hawb.engine.raft_groups import registration
from hawb.engine.raft_groups.enqueuers import channel_over
from hawb.engine.raft_groups.registration import is_registered, registration_us


def is_waiting(turn: Turn, operation: Publish) -> bool:
    """Return True if the channel of a publish waits for its registration with a quorum queue."""
    vhosts, channel = {split_queue(name)[0] for name in operation.queues}, channel_over(turn, operation)
    groups = (group for name, group in turn.groups.items() if name in turn.queues and turn.queues[name].vhost in vhosts)
    return any(registration.is_waiting(turn, group, channel) for group in groups)


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
    focus, waiting, turn.awaiting_registration = turn.focus, turn.awaiting_registration, ()
    for one in waiting:
        turn.look_from(one.operation.node)
        if is_waiting(turn, one.operation):
            turn.awaiting_registration = (*turn.awaiting_registration, one)
        else:
            turn.schedule(0, one.operation, step=one.step)
    turn.focus = focus
