"""What publishers send: `hawb.engine.publishers` and `publishing`, for one publisher at a time."""

from __future__ import annotations

from hawb.engine import flow_control
from hawb.study.compiled import inner, rule
from hawb.study.kernel import windows
from hawb.study.kernel.answers import NOT_TAKEN, await_batch, await_each, beats_beyond, tell_refused, unheard
from hawb.study.kernel.deliveries import deliver, park
from hawb.study.kernel.record_rules import waits_for_heir
from hawb.study.kernel.state import (
    COPIED,
    ENDED,
    HOW,
    KIND,
    ORPHANED,
    PUBLISH,
    SETTLE,
    STRUCK,
    A,
    B,
    C,
    D,
    follows,
    is_running,
    link_us,
    linked,
    runs_anywhere,
    schedule,
)

left = rule(flow_control.left)
TO_MASTER, TO_MIRROR = flow_control.TO_MASTER, flow_control.TO_MIRROR
UNHINDERED = -1


@inner
def is_busy(t, node):
    """Whether what clients at a node send waits on its way to the queue."""
    if t.queue.up:
        return t.queue.syncing == 1 or not linked(t, node, t.queue.master)
    return t.queue.abandoned == 0


@inner
def keeps(t, node):
    """Whether what clients at a node publish waits at the queue's replicas."""
    return is_busy(t, node) or waits_for_heir(t, t.queue)


@inner
def lag_us(t):
    """How long the publisher's messages take to the queue's master."""
    return link_us(t, t.publisher.node, t.queue.master) if t.queue.up else 0


@inner
def published_by(t, time_us):
    """How many messages more than so far have left the publisher by then."""
    publisher = t.publisher
    return beats_beyond(publisher.start_us, publisher.per_beats, publisher.per_us, time_us, publisher.beats)


@inner
def publishes(t):
    """Whether the publisher is connected and nothing holds it up."""
    publisher = t.publisher
    return publisher.open and not publisher.blocked and is_running(t, publisher.node)


@inner
def leave(t):
    """What the publisher may send reaches the queue; with the first message that it may not, it is blocked. Returns how
    many came."""
    if not publishes(t):
        return 0
    publisher = t.publisher
    count = published_by(t, t.moment.now_us - lag_us(t))
    if count == 0:
        return 0
    free = credit(t)
    sent = count if free == UNHINDERED else min(count, free)
    if sent:
        come(t, sent)
        publisher.beats += sent
    if sent < count:
        publisher.blocked = 1
    return sent


@inner
def come(t, count):
    """Messages reach the queue one after the other, or wait for it."""
    if keeps(t, t.publisher.node):
        wait_in_mailbox(t, PUBLISH, count, t.publisher.node, 0, t.publisher.number)
    elif t.queue.up:
        store(t, count)
        await_each(t, count, lag_us(t))
    else:
        refuse(t, count)
        tell_refused(t, t.publisher.node, count, is_unknown(t))


@inner
def store(t, count):
    """Every replica that they reach takes messages."""
    windows.add(t.content, t.queue.taken, t.queue.taken + count)
    t.queue.taken += count
    t.book.published += count
    mirrors = 0
    for k in range(t.queue.mirrors):
        mirrors += int(follows(t, t.mirrors[k]))
    t.book.bytes_replicated += mirrors * count * t.setup.size_bytes


@inner
def refuse(t, count):
    """No queue takes messages."""
    t.book.published += count
    t.book.refused += count


@inner
def is_unknown(t):
    """Whether nobody who runs knows where the queue might be: then its messages are confirmed, and gone."""
    return bool(t.queue.absent)


@inner
def credit(t):
    """How many messages more the publisher's channel may send; UNHINDERED where nothing holds it up."""
    if is_busy(t, t.publisher.node):
        return left(t.publisher.beats, in_mailbox(t), TO_MASTER)
    least = UNHINDERED
    if t.queue.up:
        for k in range(t.queue.mirrors):
            if not follows(t, t.mirrors[k]):
                free = left(t.publisher.beats, unheard(t, t.mirrors[k]), TO_MIRROR)
                least = free if least == UNHINDERED else min(least, free)
    return least


@inner
def in_mailbox(t):
    """How many of the publisher's messages the queue has not read."""
    count = 0
    for k in range(t.queue.parked):
        if t.parked[k, KIND] == PUBLISH and t.parked[k, D] == t.publisher.number:
            count += t.parked[k, A]
    return count


@inner
def wait_in_mailbox(t, kind, count, node, how, number):
    """A queue that reads nothing gets more of what flows to it. That joins what waits of the same already, but not over
    what came in between."""
    for k in range(t.queue.parked - 1, -1, -1):
        row = t.parked[k]
        if row[KIND] == kind and row[B] == node and row[C] == how and row[D] == number:
            row[A] += count
            return
        if row[KIND] != SETTLE and not (row[KIND] == PUBLISH and kind == SETTLE):
            break
    park(t, kind, count, node, how, number)


@inner
def publish(t, count, node, how, number):
    """A batch reaches the queue, or waits for it."""
    if keeps(t, node) and not how & STRUCK:
        park(t, PUBLISH, count, node, how, number)
        return
    if how & ORPHANED or not is_running(t, node):
        publish_for_nobody(t, count, how)
        return
    if how & STRUCK or not t.queue.up:
        refuse(t, count)
        if t.setup.confirms:
            await_batch(t, node, number, NOT_TAKEN, count, answered(t, how))
        return
    store(t, count)
    if t.setup.confirms:
        await_batch(t, node, number, t.queue.taken - count, count, 0)
    deliver(t, False)


@inner
def answered(t, how):
    """What the client of a message is told that no queue took."""
    return int(is_unknown(t) if not how & STRUCK else how & ENDED != 0)


@inner
def publish_for_nobody(t, count, how):
    """The same where the client's channel is gone. What the heir of the master has from that it keeps."""
    if how & COPIED and not how & STRUCK and t.queue.up:
        store(t, count)
        deliver(t, False)
    else:
        refuse(t, count)


@inner
def send(t, count):
    """Messages leave the publisher together."""
    if count > 0:
        publisher = t.publisher
        publisher.beats += count
        schedule(t, lag_us(t), PUBLISH, count, publisher.node, 0, publisher.number)


@inner
def open_publisher(t, node):
    """A publisher connects to a node and begins, if there is something to publish."""
    publisher, rate = t.publisher, t.rates[t.moment.bursts, t.moment.hour]
    if rate[0] == 0:
        return
    publisher.per_beats, publisher.per_us = rate[0], rate[1]
    publisher.open, publisher.node, publisher.blocked, publisher.beats = 1, node, 0, 0
    publisher.start_us, publisher.number = t.moment.now_us, publisher.number + 1


@inner
def close_publisher(t):
    """The publisher goes. What has left it is on its way; what it was held up with no queue ever saw."""
    publisher = t.publisher
    if not publisher.open:
        return
    if not publisher.blocked:
        send(t, published_by(t, t.moment.now_us))
    publisher.open, publisher.blocked = 0, 0


@inner
def close_with_node(t):
    """A publisher whose node is gone goes, and so does that of a node that takes no clients any more."""
    publisher = t.publisher
    if publisher.open and (not runs_anywhere(t, publisher.node) or t.nodes[publisher.node].drained):
        close_publisher(t)


@inner
def react(t):
    """The publisher follows what has just happened."""
    close_with_node(t)
    publisher = t.publisher
    if publisher.blocked and is_unhindered(t):
        publisher.blocked = 0
        send(t, published_by(t, t.moment.now_us))


@inner
def is_unhindered(t):
    """Whether nothing holds the publisher up."""
    return credit(t) == UNHINDERED


@inner
def keep(t, how):
    """What waits for a queue whose master is gone: answers reach nobody; messages its heir has, or nobody."""
    for k in range(t.queue.parked):
        row = t.parked[k]
        if row[KIND] == SETTLE:
            row[C] = 1
        elif row[KIND] == PUBLISH and how:
            row[C] = row[C] & HOW | how
