"""Operations on a queue: which it serves, which wait, and which it refuses.

Source: `rabbit_amqqueue:with`, `retry_wait`, `absent` and `check_exclusive_access`. An operation on a replicated queue
without a master is retried for about 60 s and then fails; on a durable queue without replicas it fails at once. While a
queue synchronises it serves no operation, and all operations wait for as long as that takes.

A quorum queue's operations are committed before they get here, or need no majority (`hawb.engine.quorum.requests`).
"""

from __future__ import annotations

from collections.abc import Callable

from hawb.engine.classic.mailbox import is_stopped
from hawb.engine.classic.record_ports import is_replicated
from hawb.engine.core.events import GiveUp
from hawb.engine.core.naming import described, split_queue
from hawb.engine.core.operations import (
    ConnectionFails,
    ConsumerCancels,
    DeadLetters,
    Delete,
    Operation,
    Publish,
    Resume,
)
from hawb.engine.core.state import Queue, WaitingOperation
from hawb.engine.core.turn import REACTION, TIMER, Turn

PATIENCE_US = 60_000_000


def served(turn: Turn, operation: Operation) -> Queue | None:
    """Return the queue if it serves an operation now; None if the operation waits or its step was refused."""
    queue = turn.queues.get(operation.queue)
    if queue is None:
        turn.refuse(404, f"NOT_FOUND - no {described(operation.queue)}")
    elif is_locked(queue, operation):
        refuse_locked(turn, queue)
    elif is_absent(queue):
        refuse_home_node_down(turn, queue, operation)
    elif queue.has_group or (queue.up and queue.sync is None and turn.linked(operation.node, queue.master)):
        return queue
    elif queue.failed:
        turn.refuse(404, f"NOT_FOUND - {described(queue.name)} has crashed and failed to restart")
    elif is_stopped(turn, queue):
        turn.refuse(404, f"NOT_FOUND - {described(queue.name)} process is stopped by supervisor")
    else:
        defer(turn, queue, operation)
    return None


LOCKED_HINT = (
    ". It could be originally declared on another connection or the exclusive property value does not match "
    "that of the original declaration."
)


def is_locked(queue: Queue, operation: Operation) -> bool:
    """Return True if the queue is exclusive to another connection than that of the operation."""
    asking = (operation.connection, operation.node)
    return queue.owner is not None and operation.connection is not None and queue.owner != asking


def refuse_reserved(turn: Turn, kind: str, name: str) -> bool:
    """Refuse the step if only the broker itself may give a name; return True if so (`rabbit_channel:check_name`)."""
    if not name.startswith("amq."):
        return False
    turn.refuse(403, f"ACCESS_REFUSED - {kind} name '{name}' contains reserved prefix 'amq.*'")
    return True


def refuse_locked(turn: Turn, queue: Queue) -> None:
    """Refuse a queue that is exclusive to another connection, or asked for as exclusive although it is not (405)."""
    turn.refuse(
        405, f"RESOURCE_LOCKED - cannot obtain exclusive access to locked {described(queue.name)}" + LOCKED_HINT
    )


def refuse_home_node_down(turn: Turn, queue: Queue, operation: Operation) -> None:
    """Refuse an operation on a queue whose record is on disks only: 404, with the node of its master or last leader.

    In 3.8.9 the channel crashes over the name of a quorum queue's leader (`rabbit_amqqueue:priv_absent`).
    """
    if queue.has_group and turn.settings.profile.version == "3.8":
        fail(turn, operation, 541, "INTERNAL_ERROR")
        return
    home = turn.settings.names[queue.holder if queue.has_group else queue.master]
    turn.refuse(404, f"NOT_FOUND - home node '{home}' of durable {described(queue.name)} is down or inaccessible")


def is_absent(queue: Queue) -> bool:
    """Return True if no running node has the queue's record in memory (rabbit_queue), but only on disk.

    Source: rabbit_durable_queue, `rabbit_amqqueue:not_found_or_absent`. A classic queue without replicas leaves memory
    when its node goes down. Any queue does when all nodes are down; the node of its master, or of any of its members,
    reads it into memory again. A queue whose policy no longer asks for replicas stays in memory, and clients retry as
    long as for any other.
    """
    return queue.absent and not queue.failed and (queue.awaits_master or queue.has_group)


def has_record(turn: Turn, operation: Operation, queue: Queue) -> bool:
    """Return True if an operation finds a queue's record and the record lets it ask the queue."""
    return not (is_locked(queue, operation) or is_absent(queue) or queue.failed or is_stopped(turn, queue))


def leaves_memory(turn: Turn, queue: Queue) -> bool:
    """Return True if a queue's record is on disks only once its node is down.

    Before 3.11.0 that holds for every queue without replicas (`rabbit_amqqueue:queues_to_delete_when_node_down`), later
    for one that is not durable. Khepri keeps every record until the node is back (`rabbit_amqqueue:on_node_down`).
    """
    keeps = turn.setup.khepri or (queue.durable and turn.settings.profile.keeps_records)
    return not is_replicated(queue) and not keeps


def ends_with_crash(queue: Queue) -> bool:
    """Return True if no operation waits for a queue whose process crashed.

    Operations do not wait for a queue without replicas, nor for one that crashed for good.
    """
    return queue.failed or (not is_replicated(queue) and bool(queue.crashed >> queue.master & 1))


def defer(turn: Turn, queue: Queue, operation: Operation) -> None:
    """Make an operation wait until the queue serves again.

    Where no replica may serve it, the operation is refused after 60 s, with two exceptions. Messages that mirrors have
    wait for a master. A deletion waits for as long as a mirror's process lives
    (`rabbit_classic_queue:wait_for_promoted_or_stopped`).
    """
    number = turn.next_number()
    turn.change_queue(queue.name, waiting=(*queue.waiting, WaitingOperation(number, operation, turn.step)))
    if queue.awaits_master and not isinstance(operation, Publish | DeadLetters | Delete):
        # A step lasts until it has succeeded or failed; a consumer's channel retries without its client.
        priority = TIMER if isinstance(operation, Resume) else REACTION
        turn.schedule(PATIENCE_US, GiveUp(queue.name, number), priority=priority)


def release(turn: Turn, name: str, kind: type = object) -> None:
    """Let the operations of a kind that wait for a queue try again, in their order."""
    waiting = turn.queues[name].waiting
    released = [one for one in waiting if isinstance(one.operation, kind)]
    for one in released:
        turn.unschedule(GiveUp(name, one.number))
        turn.schedule(0, one.operation, step=one.step)
    if released:
        turn.change_queue(name, waiting=tuple(one for one in waiting if one not in released))


def withdraw(turn: Turn, event: GiveUp) -> Operation:
    """Remove an operation that has waited long enough from its queue's waiting ones, and return it."""
    waiting = turn.queues[event.queue].waiting
    turn.change_queue(event.queue, waiting=tuple(one for one in waiting if one.number != event.number))
    return next(one.operation for one in waiting if one.number == event.number)


def keep_own(turn: Turn, name: str) -> None:
    """Drop the waiting operations of clients on other sides. They wait, and time out, in the records of those sides."""
    drop(turn, name, lambda operation: not turn.is_here(operation.node))


def drop(turn: Turn, name: str, chosen: Callable[[Operation], bool]) -> None:
    """Drop the chosen ones of the operations that wait for a queue."""
    waiting = turn.queues[name].waiting
    dropped = [one for one in waiting if chosen(one.operation)]
    for one in dropped:
        turn.unschedule(GiveUp(name, one.number))
    if dropped:
        turn.change_queue(name, waiting=tuple(one for one in waiting if one not in dropped))


def fail(turn: Turn, operation: Operation | ConsumerCancels, code: int, text: str) -> None:
    """Refuse an operation with a hard error of AMQP, which ends the whole connection.

    Source: `rabbit_binary_generator:map_exception`, `rabbit_reader:handle_exception`.
    """
    turn.refuse(code, text)
    asked = turn.consumers[operation.consumer] if isinstance(operation, ConsumerCancels) else operation
    turn.schedule(0, ConnectionFails(asked.connection, asked.node, split_queue(asked.queue)[0]))


def refuse_timeout(turn: Turn, operation: Operation) -> None:
    """Refuse an operation that was not served in time (404)."""
    turn.refuse(404, f"NOT_FOUND - failed to perform operation on {described(operation.queue)} due to timeout")
