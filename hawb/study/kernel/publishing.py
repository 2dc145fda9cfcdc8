"""Publishes: `hawb.engine.clients.publishing` and `arrivals`, for one publisher at a time."""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel import windows
from hawb.study.kernel.answers import NOT_TAKEN, answer_refused, await_batch, await_each
from hawb.study.kernel.closing import lag_us
from hawb.study.kernel.deliveries import defer, deliver
from hawb.study.kernel.mailbox import keeps
from hawb.study.kernel.state import (
    COPIED,
    ENDED,
    HOW,
    KIND,
    LOST_WITH_MASTER,
    PUBLISH,
    SETTLE,
    WITHOUT_CHANNEL,
    A,
    B,
    C,
    D,
    follows,
    is_running,
)


@inner
def arrive(t, q, p, count, more_room):
    """Deliver messages that have just left the publisher to the queue, one by one, or let them wait for it."""
    if keeps(t, q, p.node):
        wait_in_mailbox(t, PUBLISH, count, p.node, 0, p.number)
    elif q.up:
        store(t, count)
        await_each(t, p, count, lag_us(t, p))
    else:
        refuse(t, count)
        answer_refused(t, p.node, count, is_unknown(t))


@inner
def store(t, count):
    """Store messages in every replica that they reach."""
    windows.add(t.content, t.queue.taken, t.queue.taken + count)
    t.queue.taken += count
    t.book.published += count
    mirrors = 0
    for k in range(t.queue.mirrors):
        mirrors += int(follows(t, t.mirrors[k]))
    t.book.bytes_replicated += mirrors * count * t.setup.size_bytes


@inner
def refuse(t, count):
    """Count messages that no queue takes."""
    t.book.published += count
    t.book.refused += count


@inner
def is_unknown(t):
    """Return True if no running node knows the queue's node: its messages are then confirmed, and lost."""
    return bool(t.queue.absent)


@inner
def wait_in_mailbox(t, kind, count, node, how, number):
    """Put more of a flow into the mailbox of a queue that reads nothing.

    It joins what waits of the same flow already, but does not overtake what came in between.
    """
    for k in range(t.queue.waiting - 1, -1, -1):
        row = t.waiting[k]
        if row[KIND] == kind and row[B] == node and row[C] == how and row[D] == number:
            row[A] += count
            return
        if row[KIND] != SETTLE and not (row[KIND] == PUBLISH and kind == SETTLE):
            break
    defer(t, kind, count, node, how, number)


@inner
def publish(t, count, node, how, number):
    """Deliver a batch to the queue, or let it wait for it.

    The queue then sends what is ready, even if it has taken nothing of the batch.
    """
    if keeps(t, t.queue, node) and not how & LOST_WITH_MASTER:
        defer(t, PUBLISH, count, node, how, number)
        return
    if how & WITHOUT_CHANNEL or not is_running(t, node):
        publish_without_channel(t, count, how)
    elif how & LOST_WITH_MASTER or not t.queue.up:
        refuse(t, count)
        if t.setup.confirms:
            await_batch(t, node, number, NOT_TAKEN, count, answer_to_untaken(t, how))
    else:
        store(t, count)
        if t.setup.confirms:
            await_batch(t, node, number, t.queue.taken - count, count, 0)
    deliver(t, False, 0)


@inner
def answer_to_untaken(t, how):
    """Return 1 if messages that no queue took are confirmed to their client, 0 if they are nacked."""
    return int(is_unknown(t) if not how & LOST_WITH_MASTER else how & ENDED != 0)


@inner
def publish_without_channel(t, count, how):
    """Store a batch whose client's channel is gone if a promoted mirror has it from that channel, or else refuse it."""
    if how & COPIED and not how & LOST_WITH_MASTER and t.queue.up:
        store(t, count)
    else:
        refuse(t, count)


@inner
def open_publisher(t, p, node):
    """Connect a publisher to a node, if there is something to publish."""
    rate = t.rates[t.moment.bursts, t.moment.hour]
    if rate[0] == 0:
        return
    clock = p.clock
    clock.start_us, clock.per_ticks, clock.per_us = t.moment.now_us, rate[0], rate[1]
    p.closed, p.node, p.blocked, p.ticks = 0, node, 0, 0
    number_connection(t, p)


@inner
def number_connection(t, p):
    """Give a publisher's new connection the next number."""
    p.number += 1


@inner
def note_master_gone(t, how):
    """Update what waits for a queue whose master is gone: answers are lost.

    Messages are copied to the mirrors, or lost.
    """
    for k in range(t.queue.waiting):
        row = t.waiting[k]
        if row[KIND] == SETTLE:
            row[C] = 1
        elif row[KIND] == PUBLISH and how:
            row[C] = row[C] & HOW | how
