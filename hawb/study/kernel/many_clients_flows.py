"""Flows of clients on every node, and their ports: what differs from `flows` and `steady_ports`."""

from __future__ import annotations

from hawb.study.compiled import inner, with_arrays
from hawb.study.kernel import windows
from hawb.study.kernel.answers import settle_each
from hawb.study.kernel.deliveries import settle
from hawb.study.kernel.flows import answer_later
from hawb.study.kernel.mailbox import is_busy
from hawb.study.kernel.many_clients_deliveries import come_back, copy_common, find_ready, hand_out, unanswered
from hawb.study.kernel.many_clients_state import is_in_circle, look_at, put_down
from hawb.study.kernel.state import CLOSED, NONE, is_here, is_running
from hawb.study.kernel.steady import leave, room_made, ticks_heard, useful_ticks
from hawb.study.kernel.steady_ports import is_heard

# The ports


@with_arrays
def publishers(t):
    """Return the publishers, in the order of their connections."""
    return t.publishers[: t.setup.nodes]


@with_arrays
def publishers_to(t, q):
    """Return the publishers: all publish to the one queue."""
    return t.publishers[: t.setup.nodes]


@with_arrays
def rated_consumers(t, q):
    """Return the consumers, as they are now; those that never subscribed are closed."""
    put_down(t)
    return t.consumers[: t.setup.nodes]


@inner
def is_subscribed(t, q, c):
    """Return True if the queue has a consumer's subscription."""
    return is_in_circle(t, c.client)


@inner
def has_to_itself(t, q, c):
    """Return True if a consumer is the only one that is subscribed."""
    return t.all_clients.circle == 1 and t.circle[0] == c.client


@inner
def within_reach(t, q, c):
    """Return how many messages the consumer, the only one, has to answer for, or will get from the queue."""
    find_ready(t)
    return windows.total(t.stale) + windows.total(t.sequence) + windows.total(t.ready)


@inner
def stale_count(t, q, c):
    """Return how many messages the consumer has to answer for that the queue does not wait for any more."""
    return windows.total(t.stale) + windows.total(t.sequence) - windows.total(t.held)


@inner
def lacked_up_to(t, q, node):
    """Return the last of the messages that a mirror lacks; 0 if it lacks none.

    Return 0 also if no consumer that is heard will answer for one of them.
    """
    find_lacking(t, q, node)
    last = t.here[t.here[0, 0], 1] if t.here[0, 0] else 0
    if not last:
        return 0
    find_ready(t)
    serves = False
    for client in range(t.setup.nodes):
        consumer = t.consumers[client]
        if consumer.node == NONE or not is_here(t, consumer.node):
            continue
        if is_heard(t, consumer):
            serves |= is_subscribed(t, q, consumer)
        elif holds_some(t, t.helds[client]):
            return 0
    return last if serves or not holds_some(t, t.ready) else 0


@inner
def find_lacking(t, q, node):
    """Write into `here` the messages that a mirror lacks."""
    windows.clear(t.here)
    if not q.lagging >> node & 1:
        windows.copy(t.content, t.here, 0, t.since[node])
        return
    windows.copy_all(t.content, t.here)
    for k in range(1, t.behind[0, 0] + 1):
        windows.remove(t.here, max(t.behind[k, 0], t.since[node]), t.behind[k, 1])


@inner
def holds_some(t, some):
    """Return True if some messages are among those in `here`."""
    for k in range(1, some[0, 0] + 1):
        if windows.count_between(t.here, some[k, 0], some[k, 1]):
            return True
    return False


@inner
def answers_until(t, q, last):
    """Return after how many answers of the consumers that are heard no message up to `last` is in the queue."""
    put_down(t)
    lacked, again, late, twice = windows.count_between(t.content, 0, last), 0, 0, 0
    for client in range(t.setup.nodes):
        consumer = t.consumers[client]
        if consumer.state != CLOSED and is_running(t, consumer.node):
            windows.clear(t.late)
            copy_common(t.stales[client], t.helds[client], t.late, last)
            again += count_common(t, t.late, t.content)
            late += windows.count_between(t.stales[client], 0, last)
            twice += windows.total(t.stales[client]) + count_early(t, client, last)
    if t.setup.late_answers_count and again == lacked:
        return late
    return lacked + twice


@inner
def count_common(t, some, others):
    """Return how many messages are in both sets."""
    count = 0
    for k in range(1, some[0, 0] + 1):
        count += windows.count_between(others, some[k, 0], some[k, 1])
    return count


@inner
def count_early(t, client, last):
    """Return how many messages up to `last` were settled before the consumer answered for them."""
    count = 0
    some = t.sequences[client]
    for k in range(1, some[0, 0] + 1):
        count += max(0, min(some[k, 1], last) - some[k, 0])
        count -= windows.count_between(t.helds[client], some[k, 0], min(some[k, 1], last))
    return count


# Flows


@inner
def flow_through(t):
    """Apply what flowed to and from the queue since the last time.

    This is `hawb.engine.clients.steady.flows.flow_through`.
    """
    queue, arrived, answers, is_waiting = t.queue, 0, 0, False
    for k in range(t.all_clients.subscribed_once):
        client = t.by_subscription[k]
        look_at(t, client)
        consumer = t.consumer
        t.fresh[client] = t.useful[client] = t.more_room[client] = 0
        if is_heard(t, consumer):
            t.fresh[client] = ticks_heard(t, queue, consumer)
            t.useful[client] = useful_ticks(t, queue, consumer, t.fresh[client])
            t.more_room[client] = room_made(t, queue, consumer, t.useful[client])
            is_waiting |= is_busy(t, queue, consumer.node)
        answers += t.useful[client]
    for p in publishers(t):
        arrived += leave(t, queue, p, 0)
    for k in range(t.all_clients.subscribed_once):
        look_at(t, t.by_subscription[k])
        t.consumer.ticks += t.fresh[t.consumer.client]
    if is_waiting:
        for k in range(t.all_clients.subscribed_once):
            look_at(t, t.by_subscription[k])
            if is_heard(t, t.consumer):
                answer_later(t, t.useful[t.consumer.client])
    elif arrived or answers:
        serve(t)
    settle_each(t)


@inner
def serve(t):
    """Deliver to consumers as far as they have credit, and apply their answers."""
    for k in range(t.all_clients.subscribed_once):
        look_at(t, t.by_subscription[k])
        if is_heard(t, t.consumer):
            come_back(t, t.more_room[t.consumer.client])
    hand_out(t, True)
    for k in range(t.all_clients.subscribed_once):
        look_at(t, t.by_subscription[k])
        ticks = t.useful[t.consumer.client]
        if ticks and (t.stale[0, 0] or unanswered(t)):
            settle(t, ticks, 0, True)
