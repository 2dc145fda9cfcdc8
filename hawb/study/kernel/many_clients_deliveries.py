"""Deliveries to several consumers, and their answers: what differs from `deliveries`, which has one consumer.

A consumer holds some of the queue's messages, not all up to one: its turn came for them.
"""

from __future__ import annotations

from types import SimpleNamespace

from hawb.engine.clients import dealing, dealing_ports
from hawb.study.compiled import Binding, inner
from hawb.study.kernel import deliveries, windows
from hawb.study.kernel.deliveries import forget_stale, note_sent, receive, serves, take_out
from hawb.study.kernel.many_clients_state import (
    is_in_circle,
    join_circle,
    leave_circle,
    look_at,
    pick_up,
    put_down,
)
from hawb.study.kernel.state import (
    ACTIVE,
    CANCELLED,
    CLOSED,
    DELIVERY_ARRIVES,
    DEPTH_FELL,
    NEVER,
    NONE,
    RESUME,
    SETTLE,
    is_among,
    is_here,
    is_running,
    link_us,
    schedule,
)

consumes = deliveries.consume

# Sets of messages in an order of their own


@inner
def append(some, after, last):
    """Put the messages after `after` up to `last` last."""
    count = some[0, 0]
    if count and some[count, 1] == after:
        some[count, 1] = last
        return
    if count + 1 >= len(some):
        raise OverflowError("more windows than a trial has room for")
    some[0, 0] = count + 1
    some[count + 1, 0], some[count + 1, 1] = after, last


@inner
def copy_common(some, others, to, last):
    """Add those of a set up to `last` that are in another, too, to a third."""
    for k in range(1, some[0, 0] + 1):
        windows.copy(others, to, some[k, 0], min(some[k, 1], last))


@inner
def remove_all(some, others):
    """Remove messages from a set."""
    for k in range(1, others[0, 0] + 1):
        windows.remove(some, others[k, 0], others[k, 1])


# What consumers hold


@inner
def held(t):
    """Return how many messages of the present master the consumer holds."""
    return windows.total(t.held)


@inner
def unanswered(t):
    """Return for how many messages of the present master the consumer believes to have to answer."""
    return windows.total(t.sequence)


@inner
def still_holds(t):
    """Return True if the client believes that it holds messages."""
    return t.stale[0, 0] or t.sequence[0, 0]


@inner
def late_ones(t, last):
    """Return how many stale messages up to `last` the consumer was sent again."""
    windows.clear(t.late)
    copy_common(t.stale, t.held, t.late, last)
    return windows.total(t.late)


@inner
def find_ready(t):
    """Write into `ready` what may be sent to a consumer: what none on this side holds."""
    windows.clear(t.ready)
    windows.copy_all(t.content, t.ready)
    put_down(t)
    for client in range(t.setup.nodes):
        if t.consumers[client].node != NONE and is_here(t, t.consumers[client].node):
            remove_all(t.ready, t.helds[client])


# Dealing


@inner
def capacity(t, client):
    """Return how many more messages a consumer takes, as it was put down; UNLIMITED if any number."""
    if t.setup.automatic:
        return 0
    if t.setup.prefetch == NEVER:
        return dealing.UNLIMITED
    return max(0, t.setup.prefetch - windows.total(t.helds[client]))


@inner
def come_back(t, more_room):
    """Put a consumer that has credit again last into the circle; return True if it has."""
    consumer = t.consumer
    if not consumer.blocked:
        return False
    put_down(t)
    if capacity(t, consumer.client) == 0 and not more_room:
        return False
    consumer.blocked = 0
    leave_circle(t, consumer.client)
    join_circle(t, consumer.client)
    return True


@inner
def takers(t, h):
    """Return how many consumers are in the circle."""
    return t.all_clients.takers


@inner
def next_taker(t, h):
    """Take the consumer whose turn it is out of the circle, and return it."""
    client = t.taking[0]
    t.all_clients.takers -= 1
    for k in range(t.all_clients.takers):
        t.taking[k] = t.taking[k + 1]
    return client


@inner
def room_of(t, h, c):
    """Return how many more messages a consumer takes; UNLIMITED if any number."""
    return t.room[c]


@inner
def pass_over(t, h, c):
    """Note that a consumer without credit waits for some, outside the circle."""
    t.consumers[c].blocked = 1


@inner
def give(t, h, c, count):
    """Give a consumer the first messages that wait."""
    if not t.hands[c, 0, 0]:
        t.hand_order[t.all_clients.in_flow] = c
        t.all_clients.in_flow += 1
    if t.room[c] > 0:
        t.room[c] -= count
    while count > 0:
        after, last = windows.take_first(t.ready, count)
        append(t.hands[c], after, last)
        count -= last - after


@inner
def leaves_with_last_credit(t, h):
    """Return False: only a quorum queue takes a consumer out of the circle with the message of its last credit."""
    return False


@inner
def put_last(t, h, c):
    """Put a consumer last into the circle."""
    t.taking[t.all_clients.takers] = c
    t.all_clients.takers += 1


deal = Binding(dealing_ports.PORTS, SimpleNamespace(
    takers=takers, next_taker=next_taker, room_of=room_of, pass_over=pass_over, give=give,
    leaves_with_last_credit=leaves_with_last_credit, put_last=put_last,
)).of(dealing.deal)  # fmt: skip


@inner
def deliver(t, flowing, more_room):
    """Send what is ready to the consumers, up to their credit."""
    for client in range(t.setup.nodes):
        t.more_room[client] = 0
    hand_out(t, flowing)


@inner
def hand_out(t, flowing):
    """Send what is ready to the consumers, up to their credit and `more_room`. What flows arrives at once."""
    if not t.queue.up or t.queue.syncing or not t.all_clients.circle:
        return
    find_ready(t)
    current, waiting = t.all_clients.current, windows.total(t.ready)
    begin_circle(t)
    if not waiting or not t.all_clients.takers:
        return
    deal(t, 0, waiting, flowing)
    end_circle(t)
    pick_up(t, current)
    for k in range(t.all_clients.in_flow):
        look_at(t, t.hand_order[k])
        hand_over(t, t.hands[t.hand_order[k]], flowing)
    look_at(t, current)


@inner
def begin_circle(t):
    """Let the consumers that are not passed over take their turns, with empty hands."""
    t.all_clients.takers = t.all_clients.in_flow = 0
    for k in range(t.all_clients.circle):
        client = t.circle[k]
        if not t.consumers[client].blocked:
            put_last(t, 0, client)
            windows.clear(t.hands[client])
            room = capacity(t, client)
            t.room[client] = room if room == dealing.UNLIMITED else room + t.more_room[client]


@inner
def end_circle(t):
    """Put the consumers whose turn was last in the circle first, in their order, and behind them the others."""
    for k in range(t.all_clients.takers):
        leave_circle(t, t.taking[k])
    for k in range(t.all_clients.circle):
        put_last(t, 0, t.circle[k])
    t.all_clients.circle = 0
    for k in range(t.all_clients.takers):
        join_circle(t, t.taking[k])


@inner
def hand_over(t, hand, flowing):
    """Send messages to the consumer in their order."""
    windows.clear(t.has)
    windows.copy_all(hand, t.has)
    if t.setup.automatic:
        take_out_all(t, t.has)
    else:
        for k in range(1, hand[0, 0] + 1):
            append(t.sequence, hand[k, 0], hand[k, 1])
        windows.copy_all(t.has, t.held)
    t.net.held_now = 0
    delay_us = 0 if flowing else link_us(t, t.queue.master, t.consumer.node)
    under_way = delay_us > 0 and is_running(t, t.consumer.node)
    if under_way:
        schedule(t, delay_us, DELIVERY_ARRIVES, t.queue.master, t.consumer.client)
    number = t.moment.counter
    for k in range(1, t.has[0, 0] + 1):
        if under_way:
            note_sent(t, number, t.has[k, 0], t.has[k, 1])
        else:
            receive(t, t.queue.master, t.has[k, 0], t.has[k, 1])
    t.net.deliveries += t.net.held_now


@inner
def take_out_all(t, some):
    """Remove messages from the queue; a mirror may become synchronised by it."""
    for k in range(1, some[0, 0] + 1):
        take_out(t, some[k, 0], some[k, 1])
    if some[0, 0] and t.queue.synchronised < t.queue.mirrors:
        schedule(t, 0, DEPTH_FELL)


# Answers


@inner
def settle(t, count, unheard, flowing):
    """Acknowledge the consumer's oldest `count` messages.

    They are first those that it believes to hold from a master that is gone, then those that it was sent, in their
    order. From 3.9 on the first also count for messages that were sent again, unless the answers were sent to the old
    master (`unheard`).
    """
    stale = min(count, windows.total(t.stale))
    windows.clear(t.late)
    if t.setup.late_answers_count and not unheard and stale:
        copy_common(t.stale, t.held, t.late, windows.reach(t.stale, stale))
    own = count - stale
    for k in range(1, t.sequence[0, 0] + 1):
        if own > 0:
            last = min(t.sequence[k, 1], t.sequence[k, 0] + own)
            windows.copy(t.held, t.late, t.sequence[k, 0], last)
            own -= last - t.sequence[k, 0]
    if t.late[0, 0] and not serves(t, SETTLE, count, t.consumer.node, unheard, t.consumer.client):
        return
    forget_stale(t, stale)
    own = count - stale
    while own > 0 and t.sequence[0, 0]:
        after, last = windows.take_first(t.sequence, own)
        own -= last - after
    remove_all(t.held, t.late)
    take_out_all(t, t.late)
    if come_back(t, 0):
        deliver(t, flowing, 0)


# Subscriptions


@inner
def subscribe(t):
    """Subscribe the consumer, as the last in the circle."""
    join_circle(t, t.consumer.client)


@inner
def is_subscribed(t, consumer):
    """Return True if the queue has a consumer's subscription."""
    return is_in_circle(t, consumer.client)


@inner
def consume(t, node):
    """Run basic.consume of a client at a node."""
    subscription = t.consumer.subscription
    first = not subscription
    consumes(t, node)
    if first and t.consumer.subscription:
        t.by_subscription[t.all_clients.subscribed_once] = t.consumer.client
        t.all_clients.subscribed_once += 1


@inner
def detach(t, q):
    """Make what consumers held of the master stale; those of the circle are remembered until they follow (`taking`)."""
    t.all_clients.takers = 0
    for k in range(t.all_clients.circle):
        put_last(t, 0, t.circle[k])
    t.all_clients.circle = 0
    for k in range(t.all_clients.subscribed_once):
        look_at(t, t.by_subscription[k])
        consumer = t.consumer
        if consumer.state != CLOSED and is_here(t, consumer.node):
            windows.copy_all(t.sequence, t.stale)
            forget_held(t)
            consumer.blocked = 0


@inner
def forget_held(t):
    """Let the consumer hold nothing of the present master."""
    windows.clear(t.held)
    windows.clear(t.sequence)


@inner
def list_active(t):
    """Write into `hand_order` the consumers on this side that go on, and return their number.

    They are in the order of the circle that ended; those that were not in it come first.
    """
    count = 0
    for k in range(t.all_clients.subscribed_once):
        client = t.by_subscription[k]
        if not is_among(t.taking, t.all_clients.takers, client) and wants_to_go_on(t, client):
            t.hand_order[count] = client
            count += 1
    for k in range(t.all_clients.takers):
        if wants_to_go_on(t, t.taking[k]):
            t.hand_order[count] = t.taking[k]
            count += 1
    return count


@inner
def wants_to_go_on(t, client):
    """Return True if a consumer's channel is there, and its client wants messages."""
    look_at(t, client)
    return t.consumer.state == ACTIVE and is_running(t, t.consumer.node)


@inner
def follow_new_master(t, q, was):
    """Let the consumers' channels consume again without informing the clients."""
    for k in range(list_active(t)):
        join_circle(t, t.hand_order[k])


@inner
def wait_for_master(t, client):
    """Let a consumer's channel try to consume again."""
    look_at(t, client)
    schedule(t, 0, RESUME, t.consumer.subscription, t.consumer.node, 0, client)


@inner
def cancel(t, client):
    """Cancel a consumer."""
    look_at(t, client)
    t.consumer.state = CANCELLED


@inner
def close(t):
    """Close the consumer's channel; what it held is ready again, and goes to the others."""
    consumer = t.consumer
    if consumer.state == CLOSED:
        return
    consumer.state, consumer.blocked = CLOSED, 0
    leave_circle(t, consumer.client)
    windows.clear(t.stale)
    forget_held(t)
    deliver(t, False, 0)


@inner
def close_at(t, node):
    """Close the consumers at a node; those that another side has closed leave this side's circle."""
    for k in range(t.all_clients.subscribed_once):
        look_at(t, t.by_subscription[k])
        if t.consumer.node == node:
            if t.consumer.state == CLOSED:
                leave_circle(t, t.consumer.client)
            close(t)


@inner
def lose_sight(t, q):
    """Remove consumers on other sides, and send what they held to the others."""
    for k in range(t.all_clients.subscribed_once):
        look_at(t, t.by_subscription[k])
        if not is_here(t, t.consumer.node):
            leave_circle(t, t.consumer.client)
    deliver(t, False, 0)
