"""The consumer's deliveries and answers, for one consumer.

This is `hawb.engine.clients.consuming`, `settling` and `subscriptions`. With automatic acknowledgement the consumer
takes a message at each tick, and holds none. Otherwise it holds all that was delivered to it and not answered: of the
queue's content what was taken up to `handed`. It is `blocked` if more was ready for it than its prefetch leaves room
for. `stale` is what it still believes to hold from a master that is gone; `early` are those that have left the queue
because an answer meant for a master that was gone has settled them, and for which it will answer once more.
"""

from __future__ import annotations

from hawb.engine.queues import access
from hawb.study.compiled import inner
from hawb.study.kernel import windows
from hawb.study.kernel.mailbox import is_stopped
from hawb.study.kernel.node_rules import is_up
from hawb.study.kernel.state import (
    ACTIVE,
    CANCELLED,
    CLOSED,
    CONSUME,
    DELIVERY_ARRIVES,
    DEPTH_FELL,
    GIVE_UP,
    KIND,
    NEVER,
    NUMBER,
    PUBLISH,
    REACTION,
    RESUME,
    SETTLE,
    TIMER,
    A,
    B,
    C,
    D,
    is_here,
    is_running,
    link_us,
    linked,
    look_at,
    move_row,
    next_number,
    put_on_agenda,
    runs_anywhere,
    schedule,
    unschedule,
)

ALL = 1 << 62
"""Beyond the last message."""

PATIENCE_US = access.PATIENCE_US


# The mailbox


@inner
def defer(t, kind, a, b, c, d):
    """Make an operation wait until the queue serves again; for 60 s at most while there is no master to await."""
    row = t.queue.waiting
    if row == len(t.waiting):
        raise OverflowError("more waits for the queue than a trial has room for")
    number = next_number(t)
    t.waiting[row, NUMBER], t.waiting[row, KIND] = number, kind
    t.waiting[row, A], t.waiting[row, B], t.waiting[row, C], t.waiting[row, D] = a, b, c, d
    t.queue.waiting += 1
    if t.queue.awaits_master and kind != PUBLISH:
        put_on_agenda(t, PATIENCE_US, TIMER if kind == RESUME else REACTION, GIVE_UP, number, 0, 0, 0)


@inner
def release(t):
    """Let everything that waited try again, in its order."""
    for k in range(t.queue.waiting):
        row = t.waiting[k]
        unschedule(t, GIVE_UP, row[NUMBER])
        schedule(t, 0, row[KIND], row[A], row[B], row[C], row[D])
    t.queue.waiting = 0


@inner
def serves(t, kind, a, node, c, d):
    """Return True if the queue serves an operation of a client at a node now.

    Otherwise the operation waits, or is dropped if the queue is not known.
    """
    queue = t.queue
    if queue.up and not queue.syncing and linked(t, node, queue.master):
        return True
    if not (queue.awaits_master and (queue.absent or is_stopped(t, queue))):
        defer(t, kind, a, node, c, d)
    return False


# Deliveries


@inner
def come_back(t, more_room):
    """Unblock a consumer that has credit again; return True if it has."""
    consumer = t.consumer
    if not consumer.blocked or (held(t) >= t.setup.prefetch and not more_room):
        return False
    consumer.blocked = 0
    return True


@inner
def deliver(t, flowing, more_room):
    """Send what is ready to the consumer, if it is subscribed, up to its credit and `more_room`.

    What flows arrives at once.
    """
    queue, consumer = t.queue, t.consumer
    if not takes(t) or t.setup.automatic:
        return
    waiting = windows.count_between(t.content, consumer.handed, ALL)
    if not waiting:
        return
    after, last = consumer.handed, queue.taken
    if t.setup.prefetch != NEVER:
        had = held(t)
        room = max(0, t.setup.prefetch - had) + more_room
        if room < waiting:
            consumer.blocked = 1
            last = max(after, windows.reach(t.content, had + room))
    consumer.handed = last
    if last == after:
        return
    delay_us = 0 if flowing else link_us(t, queue.master, consumer.node)
    number = 0
    if delay_us and is_running(t, consumer.node):
        schedule(t, delay_us, DELIVERY_ARRIVES, queue.master, consumer.client)
        number = t.moment.counter
    for k in range(1, t.content[0, 0] + 1):
        first = max(after, t.content[k, 0])
        end = min(t.content[k, 1], last)
        if first < end and number:
            note_sent(t, number, first, end)
        elif first < end:
            receive(t, queue.master, first, end)


@inner
def takes(t):
    """Return True if the queue sends to the consumer."""
    return t.queue.up and not t.queue.syncing and t.consumer.subscribed


@inner
def fetch(t, count):
    """Let a consumer with automatic acknowledgement take messages."""
    last = windows.reach(t.content, count)
    if not takes(t) or not last:
        return
    for k in range(1, t.content[0, 0] + 1):
        if t.content[k, 0] < last:
            receive(t, t.queue.master, t.content[k, 0], min(t.content[k, 1], last))
    take_out(t, 0, last)
    if t.queue.synchronised < t.queue.mirrors:
        schedule(t, 0, DEPTH_FELL)


@inner
def note_sent(t, number, after, last):
    """Note that messages are under way with a delivery of that number."""
    row = t.moment.sent
    if row == len(t.sent):
        raise OverflowError("more is on its way than a trial has room for")
    t.sent[row, 0], t.sent[row, 1], t.sent[row, 2] = number, after, last
    t.moment.sent += 1


@inner
def arrive(t, number, sender):
    """Deliver the messages of a delivery to the client."""
    left = 0
    for k in range(t.moment.sent):
        if t.sent[k, 0] == number:
            receive(t, sender, t.sent[k, 1], t.sent[k, 2])
        else:
            move_row(t.sent, k, left)
            left += 1
    t.moment.sent = left


@inner
def receive(t, sender, after, last):
    """Let the client receive messages, unless its node or the sending node has gone down."""
    if not is_sent(t, sender, t.consumer.node):
        return
    windows.copy(t.delivered, t.delivered_twice, after, last)
    windows.add(t.delivered, after, last)


@inner
def is_sent(t, sender, client):
    """Return True if the node that sends messages and the one that they are for are up."""
    return is_up(t, sender) and runs_anywhere(t, client)


@inner
def held(t):
    """Return how many messages of the present master the consumer holds."""
    return windows.count_between(t.content, 0, t.consumer.handed)


@inner
def unanswered(t):
    """Return for how many messages of the present master the consumer believes to have to answer."""
    return windows.total(t.early) + held(t)


@inner
def late_ones(t, last):
    """Return how many stale messages up to `last` the consumer was sent again."""
    count = 0
    for k in range(1, t.stale[0, 0] + 1):
        count += windows.count_between(t.content, t.stale[k, 0], min(t.stale[k, 1], last, t.consumer.handed))
    return count


# Answers


@inner
def settle(t, count, unheard, flowing):
    """Acknowledge the consumer's oldest `count` messages.

    They are first those that it believes to hold from a master that is gone, then those that it holds. From 3.9 on the
    first also count for messages that were sent again, unless the answers were sent to the old master (`unheard`).
    """
    stale = min(count, windows.total(t.stale))
    windows.clear(t.late)
    if t.setup.late_answers_count and not unheard:
        last = windows.reach(t.stale, stale)
        for k in range(1, t.stale[0, 0] + 1):
            windows.copy(t.content, t.late, t.stale[k, 0], min(t.stale[k, 1], last, t.consumer.handed))
    bound = answered_up_to(t, count - stale)
    leaving = windows.total(t.late) + windows.count_between(t.content, 0, min(bound, t.consumer.handed))
    leaving -= windows.count_between(t.late, 0, bound)
    if leaving and not serves(t, SETTLE, count, t.consumer.node, unheard, t.consumer.client):
        return
    forget_stale(t, stale)
    windows.copy(t.late, t.early, 0, ALL)
    windows.remove(t.early, 0, bound)
    take_out(t, 0, min(bound, t.consumer.handed))
    for k in range(1, t.late[0, 0] + 1):
        take_out(t, t.late[k, 0], t.late[k, 1])
    if leaving and t.queue.synchronised < t.queue.mirrors:
        schedule(t, 0, DEPTH_FELL)
    if come_back(t, 0):
        deliver(t, flowing, 0)


@inner
def take_out(t, after, last):
    """Remove messages from the queue."""
    windows.remove(t.content, after, last)


@inner
def answered_up_to(t, count):
    """Return the message up to which the consumer answers with `count` answers beyond those for stale messages."""
    if count <= 0:
        return 0
    if not t.early[0, 0]:
        return min(windows.reach(t.content, count), t.consumer.handed)
    windows.clear(t.has)
    windows.copy(t.content, t.has, 0, t.consumer.handed)
    windows.copy(t.early, t.has, 0, ALL)
    return windows.reach(t.has, count)


@inner
def forget_stale(t, count):
    """Drop the first of the stale messages, which are answered."""
    while count > 0 and t.stale[0, 0]:
        after, last = windows.take_first(t.stale, count)
        count -= last - after


# Subscriptions


@inner
def subscribe(t):
    """Subscribe the consumer."""
    t.consumer.subscribed = 1


@inner
def is_subscribed(t, consumer):
    """Return True if the queue has the consumer's subscription."""
    return consumer.subscribed


@inner
def detach(t):
    """Make what the consumer held stale, since the master is gone; return True if the consumer wants to go on."""
    consumer = t.consumer
    if consumer.state != CLOSED and is_here(t, consumer.node):
        windows.copy(t.content, t.stale, 0, consumer.handed)
        windows.copy(t.early, t.stale, 0, ALL)
        windows.clear(t.early)
    consumer.subscribed = consumer.handed = consumer.blocked = 0
    return consumer.state == ACTIVE and is_running(t, consumer.node)


@inner
def follow_new_master(t):
    """Let the consumer's channel consume again at a promoted mirror, without informing the client."""
    if detach(t):
        subscribe(t)


@inner
def wants_to_resume(t, subscription):
    """Return True if the client still wants what its channel tries to resume."""
    consumer = t.consumer
    return consumer.state == ACTIVE and consumer.subscription == subscription and not is_subscribed(t, consumer)


@inner
def resume(t, subscription, node):
    """Let the channel consume again."""
    if wants_to_resume(t, subscription) and serves(t, RESUME, subscription, node, 0, t.consumer.client):
        subscribe(t)
        deliver(t, False, 0)


@inner
def consume(t, node):
    """Run basic.consume of a client at a node."""
    consumer = t.consumer
    if not is_running(t, node) or not serves(t, CONSUME, 0, node, 0, consumer.client) or consumer.state == ACTIVE:
        return
    if consumer.state == CANCELLED and not is_here(t, consumer.node) and still_holds(t):
        return
    consumer.state, consumer.subscription, consumer.node = ACTIVE, next_number(t), node
    consumer.ticks, consumer.blocked, consumer.clock.start_us = 0, 0, t.moment.now_us
    consumer.clock.per_ticks, consumer.clock.per_us = t.setup.consume_ticks, t.setup.consume_us
    subscribe(t)
    deliver(t, False, 0)


@inner
def still_holds(t):
    """Return True if the client believes that it holds messages that the queue no longer counts as delivered to it."""
    return t.stale[0, 0] or t.early[0, 0]


@inner
def close(t):
    """Close the consumer's channel; what it held is ready again."""
    consumer = t.consumer
    if consumer.state == CLOSED:
        return
    consumer.state, consumer.subscribed, consumer.handed, consumer.blocked = CLOSED, 0, 0, 0
    windows.clear(t.stale)
    windows.clear(t.early)


@inner
def give_up(t, number):
    """Give up an operation that has waited as long as it may."""
    for k in range(t.queue.waiting):
        if t.waiting[k, NUMBER] == number:
            kind, subscription, client = t.waiting[k, KIND], t.waiting[k, A], t.waiting[k, D]
            for other in range(k, t.queue.waiting - 1):
                move_row(t.waiting, other + 1, other)
            t.queue.waiting -= 1
            if kind == RESUME:
                look_at(t, client)
                if wants_to_resume(t, subscription):
                    t.consumer.state = CANCELLED
            return
