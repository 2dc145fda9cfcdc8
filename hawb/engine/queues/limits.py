"""How long a queue may get, and when its master keeps to new limits.

Source: `rabbit_amqqueue_process` (`will_overflow`, `maybe_drop_head`, `process_args_policy`). Lengths count ready
messages. Under drop-head a queue that is too long drops what would be delivered next, in a priority queue so the most
urgent; under reject-publish its master refuses a message that would make it too long, though a consumer may be waiting
for it, and what is given back may still make it longer.

A master that starts, or takes over, begins with drop-head and looks at lengths before it learns the overflow behaviour:
whatever that is, it drops messages over the limit.

A quorum queue (`rabbit_fifo:evaluate_limit`) compares lengths after each command, when consumers have been served, and
counts dead letters that wait for their targets, and messages that wait to be tried again, which are never dropped.
Under reject-publish it rejects nothing itself: when it is too long it tells the channels that publish to it, which from
then on reject messages for it, and when it is down to SOFT_LIMIT of its limit it tells them to go on. So it takes one
message more than it may hold, and whatever is on its way. (4.3.5 would look for ever for something to drop where all
that is over the limit waits to be tried again. Here it drops what is ready, and stops.)
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
    """How many of `count` messages of a size the queue takes if no consumer takes any: under drop-head all, and a
    quorum queue all that gets there."""
    limits = limits_of(queue)
    if limits.overflow == DROP_HEAD or queue.has_group:
        return count
    waiting = ready(queue)
    waiting_bytes = 0 if limits.max_length_bytes is None else size_bytes(queue, waiting)
    return rules.room(limits, runs.size(waiting), waiting_bytes, count, message_bytes)


def excess(queue: Queue) -> Runs:
    """The messages at the head that have to be dropped so that the queue is no longer too long."""
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
    """The fewest messages from the head on without which the others have at most so many bytes."""
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
    """Under drop-head a queue that is too long drops its head."""
    queue = turn.queues.get(name)
    if queue is not None and queue.up and queue.sync is None and limits_of(queue).overflow == DROP_HEAD:
        drop_head(turn, queue)


def drop_head(turn: Turn, queue: Queue) -> None:
    """Drops messages at the head that are over the limit."""
    gone = excess(queue)
    if gone:
        turn.emit("messages_dropped", queue=queue.name, ids=gone, reason=MAXLEN)
        let_go(turn, queue.name, gone, MAXLEN)


def policy_changed(turn: Turn, event: PolicyChanged) -> None:
    """The master hears that its queue's policy has changed. While it synchronises it hears nothing, and without a
    master nobody hears: the next master begins with the record as it is then."""
    queue = turn.queues.get(event.queue)
    if queue is None or not queue.up or queue.master != event.node:
        return
    if queue.sync is not None:
        defer(turn, queue, event)
    else:
        adopt(turn, queue.name)


def adopt(turn: Turn, name: str, *, starting: bool = False) -> None:
    """A queue's master keeps to the limits on its record from now on. The time for which the queue has been unused
    counts anew."""
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
    """A quorum queue has committed that it keeps to other settings from now on. The time for which it has been unused
    counts anew. Dead letters that still wait go with the strategy that kept them (`rabbit_fifo_dlx:switch_from`).
    Consumers are served and lengths compared after that, as after any command."""
    kept = fifo.keeps_dead_letters(turn.queues[name])
    queue = turn.change_queue(name, quorum_settings=settings)
    if kept and not fifo.keeps_dead_letters(queue):
        forget_letters(turn, name)
    expiry.used(turn, name)


def length_and_bytes(queue: Queue) -> tuple[int, int]:
    """The length and the bytes that count for a quorum queue's limits: ready messages, those that wait to be tried
    again, and dead letters that wait."""
    counted = runs.union(runs.union(ready(queue), fifo.delayed(queue)), fifo.discarded(queue))
    return runs.size(counted), size_bytes(queue, counted)


def tell_publishers(turn: Turn, name: str) -> None:
    """After a command a quorum queue tells channels to reject what is published, once each, or to go on. Before 4.0
    nobody tells them when the limit that made them reject is gone."""
    queue = turn.queues.get(name)
    if queue is None or not fifo.of(queue).enqueuers:
        return
    limits, known = limits_of(queue), fifo.of(queue)
    if limits.max_length is None and limits.max_length_bytes is None:
        told = fifo.release(turn).unblocks_unlimited
        fifo.change(turn, name, roomy=False, enqueuers=go_on(turn, queue) if told else known.enqueuers)
    elif limits.overflow == DROP_HEAD:
        fifo.change(turn, name, roomy=rules.is_roomy(limits, *length_and_bytes(queue)))
    elif rules.is_too_long(limits, *length_and_bytes(queue)):
        blocked = tuple(one if one.blocked else hears(turn, queue, one, rejecting=True) for one in known.enqueuers)
        fifo.change(turn, name, roomy=False, enqueuers=blocked)
    else:
        roomy = rules.is_roomy(limits, *length_and_bytes(queue))
        fifo.change(
            turn, name, roomy=roomy, enqueuers=go_on(turn, queue) if roomy and not known.roomy else known.enqueuers
        )


def go_on(turn: Turn, queue: Queue) -> tuple[Enqueuer, ...]:
    """Tells every channel to go on."""
    return tuple(hears(turn, queue, one, rejecting=False) for one in fifo.of(queue).enqueuers)


def hears(turn: Turn, queue: Queue, enqueuer: Enqueuer, *, rejecting: bool) -> Enqueuer:
    """A channel that will hear, a link's latency from now, whether to reject messages."""
    from_us = enqueuer.from_us
    if enqueuer.rejecting != rejecting:
        from_us = turn.now_us + turn.link_us(queue.master, enqueuer.channel[1])
    return replace(enqueuer, blocked=rejecting, rejecting=rejecting, from_us=from_us)


def register(turn: Turn, name: str, channel: tuple) -> bool:
    """Registers a channel (its second field is the node) that is about to publish for the first time, from 3.10 on.
    Returns whether it is told to reject messages. A channel that the queue knows already hears what holds now
    (`rabbit_fifo`, `register_enqueuer`)."""
    queue = turn.queues[name]
    rejecting = limits_of(queue).overflow != DROP_HEAD and rules.is_too_long(limits_of(queue), *length_and_bytes(queue))
    others = tuple(one for one in fifo.of(queue).enqueuers if one.channel != channel)
    known = next((one for one in fifo.of(queue).enqueuers if one.channel == channel), Enqueuer(channel))
    fresh = replace(known, rejecting=rejecting, from_us=turn.now_us)
    fifo.change(turn, name, enqueuers=(*others, fresh))
    return rejecting


def unregister(turn: Turn, name: str, channel: tuple) -> None:
    """A channel that published is gone."""
    left = tuple(one for one in fifo.of(turn.queues[name]).enqueuers if one.channel != channel)
    fifo.change(turn, name, enqueuers=left)


def rejects(turn: Turn, queue: Queue, channel: tuple) -> bool:
    """Whether a channel rejects now what is published to a quorum queue."""
    known = next((one for one in fifo.of(queue).enqueuers if one.channel == channel), None)
    return known is not None and known.rejecting == (turn.now_us >= known.from_us)
