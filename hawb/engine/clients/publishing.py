"""Publishing: a channel sends each message to the master and to every mirror in the queue's record.

Source: `rabbit_amqqueue:deliver`, `rabbit_mirror_queue_master:publish`, `rabbit_mirror_queue_slave`. Because mirrors
get a copy straight from the channel, messages published while the master went down are not lost with it. Each message
is numbered when it reaches the queue, or when it is certain that no queue takes it.

Messages published together reach all replicas at the same moment; the time that they cost shows in their confirms: a
link's latency each way, the transfer to the mirrors, and a disk write at each replica for persistent messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from msgspec.structs import replace

from hawb.engine import streams
from hawb.engine.classic import places
from hawb.engine.classic.confirming import answer_us, group_answer_us
from hawb.engine.classic.mailbox import keeps
from hawb.engine.classic.record_ports import is_replicated
from hawb.engine.clients import confirms, flow_control
from hawb.engine.clients.client_state import NEVER_US, ORPHANED_GM_US, Share
from hawb.engine.clients.consuming import deliver
from hawb.engine.clients.dealing_ports import circle
from hawb.engine.clients.flow_control import silent_mirrors
from hawb.engine.core import bookkeeping, runs
from hawb.engine.core.operations import DeadLetters, Enqueue, Messages, Publish
from hawb.engine.core.runs import EMPTY, Runs
from hawb.engine.core.state import STREAM, Batch, Queue, WaitingOperation
from hawb.engine.core.turn import Turn
from hawb.engine.queues import dead_letters, expiry, limits
from hawb.engine.queues.access import defer
from hawb.engine.queues.contents import ready, with_batch, without
from hawb.engine.queues.dead_letters import EXPIRED, MAXLEN
from hawb.engine.quorum import awaiting_registration, fifo, requests
from hawb.rules.limits import REJECT_PUBLISH_DLX


def publish(turn: Turn, operation: Publish) -> None:
    """Deliver messages to their queues.

    While a queue synchronises, or waits for the promotion of a mirror, they wait: the master's mailbox and the mirrors
    have them.
    """
    if operation.count == 0:
        return
    found = [turn.queues[name] for name in operation.queues if name in turn.queues]
    queues = [queue for queue in found if not queue.has_group]
    asked = (queue for queue in queues if queue.name != operation.lost_with_master)
    busy = next((queue for queue in asked if keeps(turn, queue, operation.node)), None)
    if busy is not None:
        defer(turn, busy, operation)
        return
    operation = within_credit(turn, operation, queues)
    operation = operation and awaiting_registration.let_through(turn, operation)
    if operation is None:
        return
    shares = tuple(route(turn, operation, name) for name in operation.queues)
    if operation.confirm and None not in shares:
        for part in answered_alike(turn, operation, shares):
            confirms.await_answers(
                turn, operation.node, part, transaction=operation.transaction, publisher=operation.publisher
            )
    note_published(turn, operation)
    for queue in queues:
        settle_down(turn, queue.name, latest(turn, queue.name, operation.count))


def within_credit(turn: Turn, operation: Publish, queues: list[Queue]) -> Publish | None:
    """Return the part of a batch that flow control lets through; None if it lets none.

    The rest waits at the client until a mirror that does not answer is noticed as down, or answers.
    """
    credits = {queue.name: flow_control.batch_credit(turn, queue, operation) for queue in queues}
    held_up = {name: credit for name, credit in credits.items() if credit is not None and credit < operation.count}
    if not held_up:
        return operation
    tightest = min(held_up, key=held_up.__getitem__)
    defer(turn, turn.queues[tightest], replace(operation, count=operation.count - held_up[tightest]))
    turn.emit("publisher_held_up", node=operation.node, queue=tightest, messages=operation.count - held_up[tightest])
    return replace(operation, count=held_up[tightest]) if held_up[tightest] else None


def dead_letters_arrive(turn: Turn, event: DeadLetters) -> None:
    """Deliver messages that another queue has given up. No publisher waits for an answer."""
    queue, turn.flowing = turn.queues.get(event.queue), event.flowing
    if queue is not None and queue.type == STREAM and not streams.profile_of(turn).takes_dead_letters:
        turn.emit("dead_letters_dropped", queue=event.queue, messages=event.count, reason="stream")
    elif queue is not None and queue.has_group and not queue.absent:
        if not event.at_least_once and not requests.takes_dead_letters(turn, queue):
            turn.emit("dead_letters_dropped", queue=event.queue, messages=event.count, reason="no_leader")
            return
        requests.take_dead_letters(turn, event, number(turn, queue.name, event.count))
    elif queue is not None and keeps(turn, queue, event.node):
        defer(turn, queue, event)
    elif queue is None or queue.absent or not queue.up:
        reason = "no_queue" if queue is None else "no_master"
        turn.emit("dead_letters_dropped", queue=event.queue, messages=event.count, reason=reason)
    else:
        numbers = number(turn, queue.name, event.count)
        take(turn, event, queue, numbers)
        settle_down(turn, queue.name, numbers)
    turn.flowing = False


def enqueue(turn: Turn, operation: Enqueue) -> None:
    """Add messages that a quorum queue has committed, as far as it has room, and answer their channel."""
    name = operation.queue
    queue = turn.change_queue(name, pending=runs.minus(turn.queues[name].pending, operation.numbers))
    fifo.with_late(turn, name, operation.numbers)
    share = take(turn, operation, turn.queues[name], operation.numbers)
    if operation.connection is not None:
        delay_us = turn.link_us(queue.master, operation.node)
        confirms.group_answers(turn, name, operation.node, share.numbers, share.rejected, delay_us)
    settle_down(turn, name, operation.numbers)


def note_published(turn: Turn, operation: Publish) -> None:
    """Count a steady publisher's messages."""
    name = operation.publisher
    if name is not None:
        turn.change_publisher(name, published=turn.publishers[name].published + operation.count)


def route(turn: Turn, operation: Publish, name: str) -> Share | None:
    """Publish messages to one queue; return its share, None if no replica will ever answer the publisher."""
    numbers = number(turn, name, operation.count)
    if operation.without_channel or not turn.is_running(operation.node):
        return route_without_client(turn, operation, name, numbers)
    if name == operation.lost_with_master:
        keep_for_orphaned_mirrors(turn, operation, name, numbers)
        bookkeeping.refuse(turn, name, numbers, "master_died")
        ended = operation.ended and turn.settings.profile.orphaned_mirrors_confirm
        due_us = [(node, NEVER_US) for node in operation.kept_by]
        due_us += [(node, ORPHANED_GM_US) for node in operation.orphaned_gm_at]
        return Share(name, numbers, tuple(due_us), answered=ended)
    queue = turn.queues.get(name)
    if queue is None:
        bookkeeping.refuse(turn, name, numbers, "no_queue")
        return Share(name, numbers, (), answered=True)
    if queue.failed:
        bookkeeping.refuse(turn, name, numbers, "crashed")
        return Share(name, numbers, ())
    if queue.absent:
        bookkeeping.refuse(turn, name, numbers, "no_record" if queue.has_group else "home_node_down")
        return Share(name, numbers, (), answered=True)
    if queue.has_group:
        share = requests.take(turn, operation, queue, numbers)
        return share or take(turn, operation, turn.queues[name], numbers)
    if queue.up:
        return take(turn, operation, queue, numbers)
    if queue.stopped:
        bookkeeping.refuse(turn, name, numbers, "master_stopped")
        return Share(name, numbers, ())
    bookkeeping.refuse(turn, name, numbers, "no_master")
    return Share(name, numbers, ())


def route_without_client(turn: Turn, operation: Publish, name: str, numbers: Runs) -> None:
    """Publish messages to one queue for a client whose channel is gone.

    A promoted mirror keeps messages that it received from that channel earlier (`rabbit_mirror_queue_slave:promote_me`;
    seen on a 3.10.8 cluster).
    """
    queue = turn.queues.get(name)
    if queue is not None and not queue.has_group and queue.up and name in operation.copied:
        take(turn, operation, queue, numbers)
    else:
        keep_for_orphaned_mirrors(turn, operation, name, numbers)
        bookkeeping.refuse(turn, name, numbers, "client_node_gone")


def keep_for_orphaned_mirrors(turn: Turn, operation: Publish, name: str, numbers: Runs) -> None:
    """Note that a queue's orphaned mirrors have messages from the channel, in case one of them becomes master.

    See `hawb.engine.classic.orphaned_mirrors`.
    """
    queue = turn.queues.get(name)
    if queue is not None and queue.orphaned_mirrors and (operation.kept_by or queue.up):
        turn.change_queue(name, orphaned_publishes=(*queue.orphaned_publishes, (operation, numbers, turn.step)))


def lost_with_master(
    one: WaitingOperation, name: str, kept_by: tuple[int, ...] = (), orphaned_gm_at: tuple[int, ...] = (),
    ended: bool = False,
) -> WaitingOperation:
    """Return a waiting publish after its queue's master is gone for good.

    Messages in the mailbox are lost with it. Their channels see the death and nack them, unless mirrors keep them. If
    the last such mirror ends by itself, 3.8's channels take that for a confirm, as for the deletion of a queue
    (`rabbit_channel:handle_publishing_queue_down`).
    """
    if not isinstance(one.operation, Publish):
        return one
    operation = replace(
        one.operation, lost_with_master=name, kept_by=kept_by, orphaned_gm_at=orphaned_gm_at, ended=ended, lacked_by=()
    )
    return replace(one, operation=operation)


def copied(turn: Turn, one: WaitingOperation, name: str) -> WaitingOperation:
    """Return a waiting publish after its queue's master is gone and a mirror is to be promoted.

    The mirrors have the messages from the channels, and keep them marked as delivered, since they cannot know what the
    master did with them (`rabbit_mirror_queue_slave`). Messages to several queues wait for the first of these, while
    the mirrors of the others have them as well.
    """
    if not isinstance(one.operation, Publish):
        return one
    waiting = (turn.queues[other] for other in one.operation.queues if other in turn.queues)
    others = (queue.name for queue in waiting if is_replicated(queue) and not (queue.up or queue.awaits_master))
    had = (*one.operation.copied, name, *others)
    return replace(one, operation=replace(one.operation, copied=tuple(dict.fromkeys(had)), lacked_by=()))


def number(turn: Turn, name: str, count: int) -> Runs:
    """Give out the next `count` numbers of the queue's name."""
    before = turn.numbers.get(name, 0)
    turn.numbers[name] = before + count
    turn.book(name, published=before + count)
    return runs.run(before + 1, count)


def latest(turn: Turn, name: str, count: int) -> Runs:
    """Return the last `count` numbers of the queue's name."""
    return runs.run(turn.numbers.get(name, 0) - count + 1, count)


def take(turn: Turn, operation: Messages, queue: Queue, numbers: Runs) -> Share:
    """Store the messages that the master does not reject in every replica.

    Return the share, with the time of each answer.
    """
    taken = runs.head(numbers, fitting(turn, operation, queue))
    rejected = runs.minus(numbers, taken)
    due_us = store(turn, operation, queue, taken) if taken else (rejection(turn, operation, queue),)
    reject(turn, operation, queue, rejected)
    return Share(queue.name, numbers, due_us, rejected=rejected)


def fitting(turn: Turn, operation: Messages, queue: Queue) -> int:
    """Return how many of an operation's messages the master accepts under its length limits; it rejects the rest.

    As long as no message has to wait in the queue, messages that a consumer takes or that expire at once use no room.
    """
    fit = min(operation.count, limits.room(queue, operation.count, operation.size_bytes) + operation.more_room)
    waiting, in_effect = ready(queue), queue.limits_in_effect
    if fit in (0, operation.count):
        return fit
    if in_effect.message_ttl_ms == 0 and (in_effect.dead_letter_exchange is None or not waiting):
        return operation.count
    rooms = [] if waiting else [turn.consumers[consumer].capacity for consumer in circle(turn, queue)]
    return operation.count if None in rooms else min(operation.count, fit + sum(rooms))


def reject(turn: Turn, operation: Messages, queue: Queue, numbers: Runs) -> None:
    """Reject messages for which the master has no room (`rabbit_amqqueue_process:send_reject_publish`)."""
    if not numbers:
        return
    if queue.limits_in_effect.overflow == REJECT_PUBLISH_DLX:
        dead_letters.send(turn, queue, numbers, (batch(turn, operation, queue, numbers),), MAXLEN)
    bookkeeping.refuse(turn, queue.name, numbers, "max_length")


def rejection(turn: Turn, operation: Messages, queue: Queue) -> tuple[int, int]:
    """Return the master, and when its rejection reaches the publisher's channel."""
    return queue.master, turn.now_us + turn.link_us(queue.master, operation.node)


def batch(turn: Turn, operation: Messages, queue: Queue, numbers: Runs) -> Batch:
    """Return the batch by which the queue knows the messages."""
    return Batch(
        numbers[0][0], numbers[-1][1], operation.size_bytes, operation.persistent, operation.priority,
        expiry.expires_us(turn, queue), operation.deaths, operation.routing_keys,
    )  # fmt: skip


def store(turn: Turn, operation: Messages, queue: Queue, numbers: Runs) -> tuple[tuple[int, int], ...]:
    """Store the messages in every replica; return the replicas, each with when it will have answered.

    For a quorum queue the leader answers for all members, since its log has taken the time for sending; it may have
    left the group with the same commit.
    """
    replicas = (queue.master, *queue.mirrors)
    hosts = sorted({queue.holder, *queue.members}) if queue.has_group else replicas
    takers = [node for node in hosts if turn.follows(queue, node) and node not in queue.orphaned_mirrors]
    sent_bytes = 0 if queue.has_group else (len(takers) - 1) * runs.size(numbers) * operation.size_bytes
    turn.book(queue.name, bytes_replicated=turn.account(queue.name).bytes_replicated + sent_bytes)
    turn.change_queue(
        queue.name,
        contents=tuple(
            runs.union(content or EMPTY, numbers) if node in takers else content
            for node, content in enumerate(queue.contents)
        ),
        batches=with_batch(without(queue.batches, numbers), batch(turn, operation, queue, numbers)),
        redelivered=runs.union(queue.redelivered, numbers) if queue.name in operation.copied else queue.redelivered,
    )
    if isinstance(operation, Publish):
        keep_for_orphaned_mirrors(turn, operation, queue.name, numbers)
    detail = {"replicas": turn.settings.named(takers), "bytes_replicated": sent_bytes}
    if queue.has_group:
        group = turn.groups[queue.name]
        holders = [node for node in sorted(group.members) if not group.behind(node)]
        term = max(member.log.last_term for member in group.members.values())
        detail |= {"replicas": turn.settings.named(holders), "term": term}
    turn.emit("messages_published", queue=queue.name, ids=numbers, **detail)
    due_us = [
        (node, NEVER_US if never_answers(turn, operation, queue, node) else heard_us(turn, operation, queue, node))
        for node in replicas
        if node in takers or node in queue.orphaned_mirrors
    ]
    return (*due_us, *((node, NEVER_US) for node in silent_mirrors(turn, queue)))


def never_answers(turn: Turn, operation: Messages, queue: Queue, node: int) -> bool:
    """Return True if a mirror will never answer for a channel's messages.

    It takes a channel's messages in order. If no master will ever inform it about one of them, it waits for that one
    forever (`rabbit_mirror_queue_slave:publish_or_discard`). An orphaned mirror of a queue that policy no longer
    mirrors receives no messages at all.
    """
    if node not in queue.mirrors or not isinstance(operation, Publish):
        return False
    if node in queue.orphaned_mirrors and not is_replicated(queue):
        return True
    channel, behind = (operation.node, operation.publisher), (node, NEVER_US)
    own = (waiting.shares for waiting in turn.unconfirmed if (waiting.node, waiting.publisher) == channel)
    return any(share.queue == queue.name and behind in share.due_us for shares in own for share in shares)


def settle_down(turn: Turn, name: str, numbers: Runs, more_room: Mapping[str, int] | None = None) -> None:
    """Send messages that have just arrived to consumers that have credit.

    A queue with a TTL of 0 discards new messages that are left, and a queue that is too long drops its head.
    """
    deliver(turn, name, numbers, more_room)
    queue = turn.queues.get(name)
    if queue is None or not queue.up:
        return
    left = runs.common(ready(queue), numbers)
    if left and queue.limits_in_effect.message_ttl_ms == 0 and queue.limits_in_effect.dead_letter_exchange is None:
        turn.emit("messages_expired", queue=name, ids=left)
        places.skip(turn, name, left)
        dead_letters.let_go(turn, name, left, EXPIRED)
    limits.drop_excess(turn, name)
    expiry.drop_expired(turn, name)


def answered_alike(turn: Turn, operation: Publish, shares: tuple[Share, ...]) -> list[tuple[Share, ...]]:
    """Return the shares of the messages, divided into parts with equal answers.

    A channel nacks messages that one queue rejects without waiting for the other queues (`rabbit_channel`,
    reject_publish); a transaction has one answer.
    """
    if operation.transaction or not any(share.rejected for share in shares):
        return [shares]
    kept = {operation.count - runs.size(share.rejected) for share in shares}
    cuts = sorted({0, *kept, operation.count})
    return [part_of(turn, operation, shares, start, end) for start, end in pairwise(cuts)]


def part_of(turn: Turn, operation: Publish, shares: tuple[Share, ...], start: int, end: int) -> tuple[Share, ...]:
    """Return the shares of the messages from the `start`-th up to the `end`-th, counted from 0."""
    parts = []
    for share in shares:
        numbers = runs.run(share.numbers[0][0] + start, end - start)
        parts.append(replace(share, numbers=numbers, rejected=runs.common(share.rejected, numbers)))
    if not any(part.rejected for part in parts):
        return tuple(parts)
    return tuple(
        replace(part, due_us=(rejection(turn, operation, turn.queues[part.queue]),) if part.rejected else ())
        for part in parts
    )


def heard_us(turn: Turn, operation: Messages, queue: Queue, node: int) -> int:
    """Return when the publisher's channel has the answer of the replica at `node`."""
    written = operation.persistent and queue.durable
    if queue.has_group:
        return turn.now_us + group_answer_us(turn, queue, operation.node, len(queue.members) - 1, written)
    about = operation.count, operation.size_bytes, written
    return turn.now_us + answer_us(turn, queue, node, operation.node, *about)
