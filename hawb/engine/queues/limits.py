"""Length limits of a queue, and when its master applies new limits.

Source: `rabbit_amqqueue_process` (`will_overflow`, `maybe_drop_head`, `process_args_policy`). Lengths count ready
messages. Under drop-head a queue that is too long drops the message that would be delivered next, in a priority queue
the most urgent. Under reject-publish its master refuses a message that would make it too long, even if a consumer is
waiting; requeued messages may still make it longer.

A master that starts, or is promoted, begins with drop-head and checks lengths before it reads the overflow behaviour:
whatever that is, it drops messages over the limit.

A quorum queue (`rabbit_fifo:evaluate_limit`) compares lengths after each command, once consumers have been served. It
counts dead letters that wait for their targets, and messages that wait for a retry, which are never dropped. Under
reject-publish it rejects nothing itself: when it is too long it informs the channels that publish to it, which then
reject messages for it, and when it is down to SOFT_LIMIT of its limit it lets them go on. So it takes one message more
than its limit, and whatever is under way. (4.3.5 would search endlessly for a message to drop where all that is over
the limit waits for a retry. hawb drops what is ready, and stops.)
"""

from __future__ import annotations

from msgspec.structs import replace

from hawb.engine.core import runs
from hawb.engine.core.events import PolicyChanged, QueueExpires
from hawb.engine.core.runs import EMPTY, Runs
from hawb.engine.core.state import QUORUM, Queue
from hawb.engine.core.turn import Turn
from hawb.engine.queues import expiry
from hawb.engine.queues.access import defer
from hawb.engine.queues.contents import counted_bytes, first, in_order, pieces, ready, size_bytes
from hawb.engine.queues.dead_letters import MAXLEN, forget_letters, let_go
from hawb.engine.quorum import fifo
from hawb.engine.quorum.fifo import limits_of
from hawb.engine.quorum.fifo_state import Enqueuer
from hawb.rules import limits as rules
from hawb.rules.limits import DROP_HEAD
from hawb.rules.quorum_declaration import QuorumSettings


def room(queue: Queue, count: int, message_bytes: int) -> int:
    """Return how many of `count` messages of a size the queue accepts if no consumer takes any.

    With overflow drop-head, and in a quorum queue, it accepts all.
    """
    limits = limits_of(queue)
    if limits.overflow == DROP_HEAD or queue.has_group:
        return count
    waiting = ready(queue)
    waiting_bytes = 0 if limits.max_length_bytes is None else size_bytes(queue, waiting)
    return rules.room(limits, runs.size(waiting), waiting_bytes, count, message_bytes)


def excess(queue: Queue) -> Runs:
    """Return the messages at the head that have to be dropped so that the queue is no longer too long."""
    limits = limits_of(queue)
    if limits.max_length is None and limits.max_length_bytes is None:
        return EMPTY
    waiting, gone = ready(queue), EMPTY
    later = fifo.delayed(queue) if queue.type == QUORUM else EMPTY
    if limits.max_length is not None:
        gone = first(queue, waiting, runs.size(waiting) + runs.size(later) - limits.max_length)
    if limits.max_length_bytes is not None:
        gone = runs.union(gone, excess_bytes(queue, waiting, limits.max_length_bytes - size_bytes(queue, later)))
    return gone


def excess_bytes(queue: Queue, waiting: Runs, max_bytes: int) -> Runs:
    """Return the fewest messages from the head on without which the rest have at most `max_bytes`."""
    over_bytes = size_bytes(queue, waiting) - max_bytes
    gone = []
    for number, last, batch in pieces(queue.batches, in_order(queue, waiting)):
        if over_bytes <= 0:
            break
        each_bytes = counted_bytes(queue, batch)
        enough = -(-over_bytes // each_bytes) if each_bytes else last - number + 1
        last = min(last, number + enough - 1)
        gone.append((number, last))
        over_bytes -= (last - number + 1) * each_bytes
    return runs.normal(gone)


def drop_excess(turn: Turn, name: str) -> None:
    """Drop the head of a queue that is too long, under drop-head."""
    queue = turn.queues.get(name)
    if queue is not None and queue.up and queue.sync is None and limits_of(queue).overflow == DROP_HEAD:
        drop_head(turn, queue)


def drop_head(turn: Turn, queue: Queue) -> None:
    """Drop messages at the head that are over the limit."""
    gone = excess(queue)
    if gone:
        turn.emit("messages_dropped", queue=queue.name, ids=gone, reason=MAXLEN)
        let_go(turn, queue.name, gone, MAXLEN)


def policy_changed(turn: Turn, event: PolicyChanged) -> None:
    """Let a master apply the changed policy of its queue.

    It does so only after a synchronisation. Without a master nothing happens: the next master begins with the record as
    it is then.
    """
    queue = turn.queues.get(event.queue)
    if queue is None or not queue.up or queue.master != event.node:
        return
    if queue.sync is not None:
        defer(turn, queue, event)
    else:
        adopt(turn, queue.name)


def adopt(turn: Turn, name: str, *, starting: bool = False) -> None:
    """Let a queue's master apply the limits on its record. The queue's expiry restarts."""
    queue = turn.queues[name]
    had = queue.limits_in_effect
    if had.expires_ms is not None or queue.limits.expires_ms is not None:
        turn.unschedule(QueueExpires(name, queue.master))
    queue = turn.change_queue(name, limits_in_effect=queue.limits)
    if starting or DROP_HEAD in (had.overflow, queue.limits.overflow):
        drop_head(turn, queue)
    expiry.drop_expired(turn, name)
    expiry.touch(turn, name)


# Quorum queues


def adopt_settings(turn: Turn, name: str, settings: QuorumSettings) -> None:
    """Apply settings that a quorum queue has committed.

    Its expiry restarts. Waiting dead letters are dropped with the strategy that kept them
    (`rabbit_fifo_dlx:switch_from`). Consumers are served and lengths compared afterwards, as after any command.
    """
    kept = fifo.keeps_dead_letters(turn.queues[name])
    queue = turn.change_queue(name, quorum_settings=settings)
    if kept and not fifo.keeps_dead_letters(queue):
        forget_letters(turn, name)
    expiry.used(turn, name)


def length_and_bytes(queue: Queue) -> tuple[int, int]:
    """Return the length and the bytes that count for a quorum queue's limits.

    They count ready messages, those that wait for a retry, and waiting dead letters.
    """
    counted = runs.union(runs.union(ready(queue), fifo.delayed(queue)), fifo.discarded(queue))
    return runs.size(counted), size_bytes(queue, counted)


def notify_publishers(turn: Turn, name: str) -> None:
    """After a command, inform the channels of a quorum queue that it has become too long, or has room again.

    Channels reject publishes while the queue is too long (reject-publish). Each channel is informed once. Before 4.0
    channels are not informed if the limit is removed.
    """
    queue = turn.queues.get(name)
    if queue is None or not fifo.of(queue).enqueuers:
        return
    limits, known = limits_of(queue), fifo.of(queue)
    if limits.max_length is None and limits.max_length_bytes is None:
        unblocks = fifo.release(turn).unblocks_unlimited
        fifo.change(turn, name, roomy=False, enqueuers=go_on(turn, queue) if unblocks else known.enqueuers)
    elif limits.overflow == DROP_HEAD:
        fifo.change(turn, name, roomy=rules.is_roomy(limits, *length_and_bytes(queue)))
    elif rules.is_too_long(limits, *length_and_bytes(queue)):
        blocked = tuple(one if one.blocked else informed(turn, queue, one, rejecting=True) for one in known.enqueuers)
        fifo.change(turn, name, roomy=False, enqueuers=blocked)
    else:
        roomy = rules.is_roomy(limits, *length_and_bytes(queue))
        fifo.change(
            turn, name, roomy=roomy, enqueuers=go_on(turn, queue) if roomy and not known.roomy else known.enqueuers
        )


def go_on(turn: Turn, queue: Queue) -> tuple[Enqueuer, ...]:
    """Return the channels, each informed to go on."""
    return tuple(informed(turn, queue, one, rejecting=False) for one in fifo.of(queue).enqueuers)


def informed(turn: Turn, queue: Queue, enqueuer: Enqueuer, *, rejecting: bool) -> Enqueuer:
    """Return a channel that is informed, after a link's latency, whether to reject messages."""
    from_us = enqueuer.from_us
    if enqueuer.rejecting != rejecting:
        from_us = turn.now_us + turn.link_us(queue.master, enqueuer.channel[1])
    return replace(enqueuer, blocked=rejecting, rejecting=rejecting, from_us=from_us)


def register(turn: Turn, name: str, channel: tuple) -> bool:
    """Register a channel (its second field is the node) that is about to publish for the first time, from 3.10 on.

    Return True if it is informed to reject messages. A channel that is registered already learns the present state
    (`rabbit_fifo`, `register_enqueuer`).
    """
    queue = turn.queues[name]
    rejecting = limits_of(queue).overflow != DROP_HEAD and rules.is_too_long(limits_of(queue), *length_and_bytes(queue))
    others = tuple(one for one in fifo.of(queue).enqueuers if one.channel != channel)
    known = next((one for one in fifo.of(queue).enqueuers if one.channel == channel), Enqueuer(channel))
    fresh = replace(known, rejecting=rejecting, from_us=turn.now_us)
    fifo.change(turn, name, enqueuers=(*others, fresh))
    return rejecting


def unregister(turn: Turn, name: str, channel: tuple) -> None:
    """Remove a channel that published and is gone."""
    left = tuple(one for one in fifo.of(turn.queues[name]).enqueuers if one.channel != channel)
    fifo.change(turn, name, enqueuers=left)


def rejects(turn: Turn, queue: Queue, channel: tuple) -> bool:
    """Return True if a channel now rejects messages published to a quorum queue."""
    known = next((one for one in fifo.of(queue).enqueuers if one.channel == channel), None)
    return known is not None and known.rejecting == (turn.now_us >= known.from_us)
