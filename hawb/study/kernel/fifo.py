"""The queue's messages and its consumer, for a quorum queue with one consumer.

This is `hawb.engine.clients.consuming`, `settling`, `subscriptions` and `hawb.engine.quorum.fifo`. A line is a table of
windows (`windows`) that need not be sorted: messages in delivery order.
"""

from __future__ import annotations

from hawb.rules import limits
from hawb.study.compiled import inner, rule
from hawb.study.kernel import windows
from hawb.study.kernel.node_rules import is_up
from hawb.study.kernel.out_of_reach import answer_stale, carry_stale, forget_stale, hold_up, note_stale
from hawb.study.kernel.quorum_state import HOLD_ENDS
from hawb.study.kernel.state import (
    ACTIVE,
    CLOSED,
    DELIVERY_ARRIVES,
    NEVER,
    TIMER,
    is_running,
    link_us,
    linked,
    move_row,
    next_number,
    put_on_agenda,
    runs_anywhere,
    schedule,
    unschedule,
)

is_given_up = rule(limits.is_given_up)
NOT_LATE = -1
"""In place of the number of the message behind which late messages go."""


# Lines


@inner
def put_behind(line, after, last):
    """Put messages at the end of a line."""
    count = line[0, 0]
    if last <= after:
        return
    if count and line[count, 1] == after:
        line[count, 1] = last
        return
    if count + 1 == len(line):
        raise OverflowError("more windows than a trial has room for")
    line[count + 1, 0], line[count + 1, 1] = after, last
    line[0, 0] = count + 1


@inner
def pass_to(line, to, most):
    """Move up to `most` messages from the head of a line to the end of another; return their number."""
    moved = 0
    while moved < most and line[0, 0]:
        after, last = windows.take_first(line, most - moved)
        put_behind(to, after, last)
        moved += last - after
    return moved


@inner
def has_of(t, after, last):
    """Return how many of the messages the queue holds."""
    waiting = windows.count_between(t.ready, after, last) + windows.count_between(t.returns, after, last)
    return waiting + windows.count_between(t.held, after, last)


# Deliveries


@inner
def waits(t):
    """Return how many messages are ready."""
    return windows.total(t.ready) + windows.total(t.returns)


@inner
def capacity(t):
    """Return the consumer's credit."""
    return 0 if t.setup.automatic else max(0, t.setup.prefetch - windows.total(t.held))


@inner
def come_back(t, more_room):
    """Unblock a consumer that has credit again."""
    consumer = t.consumer
    if consumer.blocked and (more_room or capacity(t)):
        consumer.blocked = 0


@inner
def deliver(t, flowing, more_room):
    """Send what is ready to the consumer, up to its credit and `more_room`."""
    consumer = t.consumer
    if not t.queue.up or not consumer.subscribed or consumer.suspected or consumer.blocked:
        return
    waiting = waits(t)
    if not waiting:
        return
    room = capacity(t) + more_room
    if room:
        windows.clear(t.hand)
        room -= pass_to(t.returns, t.hand, room)
        room -= pass_to(t.ready, t.hand, room)
        hand_over(t, flowing)
    if not room:
        consumer.blocked = 1


@inner
def hand_over(t, flowing):
    """Send messages to the client; what flows to a client that acknowledges automatically has left the queue."""
    consumer, sender = t.consumer, t.queue.master
    if t.queue.moved:
        check_out(t)
    if not t.setup.automatic:
        for k in range(1, t.hand[0, 0] + 1):
            put_behind(t.held, t.hand[k, 0], t.hand[k, 1])
    delay_us = 0 if flowing else link_us(t, sender, consumer.node)
    if not delay_us or not is_running(t, consumer.node):
        reach_client(t, sender)
        return
    schedule(t, delay_us, DELIVERY_ARRIVES, sender)
    for k in range(1, t.hand[0, 0] + 1):
        row = t.moment.sent
        if row == len(t.sent):
            raise OverflowError("more is on its way than a trial has room for")
        t.sent[row, 0], t.sent[row, 1], t.sent[row, 2] = t.moment.counter, t.hand[k, 0], t.hand[k, 1]
        t.moment.sent += 1


@inner
def take_late(t, after):
    """Return the last message in the queue before messages that are committed late; NOT_LATE if they are not late.

    Messages from `after` on are late if messages with higher numbers were committed before them.
    """
    end = t.moved[t.queue.moved - 1, 0] if t.queue.moved else 0
    for k in range(1, t.ready[0, 0] + 1):
        end = max(end, t.ready[k, 1])
    for k in range(1, t.returns[0, 0] + 1):
        end = max(end, t.returns[k, 1])
    for k in range(1, t.held[0, 0] + 1):
        end = max(end, t.held[k, 1])
    return end if after < end else NOT_LATE


@inner
def note_row(rows, count, first, after, last):
    """Write a row behind `count` others, or extend the last one if it continues that; return the number of rows."""
    if count and rows[count - 1, 0] == first and rows[count - 1, 2] == after:
        rows[count - 1, 2] = last
        return count
    if count == len(rows):
        raise OverflowError("more messages are late than a trial has room for")
    rows[count, 0], rows[count, 1], rows[count, 2] = first, after, last
    return count + 1


@inner
def check_out(t):
    """Take the messages in `hand` off the ready ones, late or not."""
    count = 0
    for k in range(t.queue.moved):
        windows.clear(t.fresh)
        windows.add(t.fresh, t.moved[k, 1], t.moved[k, 2])
        for j in range(1, t.hand[0, 0] + 1):
            windows.remove(t.fresh, t.hand[j, 0], t.hand[j, 1])
        for j in range(1, t.fresh[0, 0] + 1):
            count = note_row(t.staying, count, t.moved[k, 0], t.fresh[j, 0], t.fresh[j, 1])
    for k in range(count):
        move_row_to(t.staying[k], t.moved[k])
    t.queue.moved = count


@inner
def move_row_to(row, to):
    """Copy a row over one of another table."""
    for column in range(len(row)):
        to[column] = row[column]


@inner
def note_staying(t, rows, count, index, after, last):
    """Write rows of those messages that are still in the queue behind others; return the number of rows."""
    for k in range(1, t.ready[0, 0] + 1):
        count = overlap(rows, count, index, after, last, t.ready[k])
    for k in range(1, t.returns[0, 0] + 1):
        count = overlap(rows, count, index, after, last, t.returns[k])
    for k in range(1, t.held[0, 0] + 1):
        count = overlap(rows, count, index, after, last, t.held[k])
    return count


@inner
def overlap(rows, count, index, after, last, window):
    """Write a row of the messages that are in a window; return the number of rows."""
    first, end = max(after, window[0]), min(last, window[1])
    return note_row(rows, count, index, first, end) if first < end else count


@inner
def is_heard(t, sender):
    """Return True if what a node sends reaches the consumer, or waits for the link between them."""
    return is_up(t, sender) and runs_anywhere(t, t.consumer.node)


@inner
def arrive_at_client(t, number, sender):
    """Deliver the messages of a delivery to the client, or lose them."""
    take_delivery(t, number)
    reach_client(t, sender)


@inner
def take_delivery(t, number):
    """Move the messages of a delivery under way to `hand`."""
    left = 0
    windows.clear(t.hand)
    for k in range(t.moment.sent):
        if t.sent[k, 0] == number:
            windows.add(t.hand, t.sent[k, 1], t.sent[k, 2])
        else:
            move_row(t.sent, k, left)
            left += 1
    t.moment.sent = left


@inner
def reach_client(t, sender):
    """Deliver the messages in `hand` to the client, or lose them; behind a cut link they stay under way."""
    if not is_heard(t, sender):
        lose_hand(t)
    elif linked(t, sender, t.consumer.node):
        fetch_missing(t)
        receive_hand(t)
    else:
        hold_up(t, sender)


@inner
def lose_hand(t):
    """Note that the messages in `hand` do not arrive."""
    for k in range(1, t.hand[0, 0] + 1):
        lose(t, t.hand[k, 0], t.hand[k, 1])


@inner
def receive_hand(t):
    """Let the client receive the messages in `hand`, unless its channel is gone."""
    if t.consumer.state != CLOSED:
        for k in range(1, t.hand[0, 0] + 1):
            windows.copy(t.delivered, t.delivered_twice, t.hand[k, 0], t.hand[k, 1])
        for k in range(1, t.hand[0, 0] + 1):
            windows.add(t.delivered, t.hand[k, 0], t.hand[k, 1])


@inner
def receive_missing(t):
    """Let the client receive what did not arrive."""
    if t.missing[0, 0]:
        windows.clear(t.hand)
        fetch_missing(t)
        receive_hand(t)


@inner
def fetch_missing(t):
    """Put what the client fetches when it notices a gap behind the messages in `hand`, some of which may be the same.

    These are the messages that did not arrive, and that the queue still counts as held by the client.
    """
    for k in range(1, t.missing[0, 0] + 1):
        for j in range(1, t.held[0, 0] + 1):
            put_behind(t.hand, max(t.missing[k, 0], t.held[j, 0]), min(t.missing[k, 1], t.held[j, 1]))
    windows.clear(t.missing)


@inner
def lose(t, after, last):
    """Note messages that do not arrive, which the queue still has."""
    for k in range(1, t.held[0, 0] + 1):
        windows.add(t.missing, max(after, t.held[k, 0]), min(last, t.held[k, 1]))


@inner
def deliver_missing(t):
    """Deliver what the last leader could not deliver from the member on the consumer's own node."""
    node = t.consumer.node
    if t.missing[0, 0] and t.queue.abreast >> node & 1 and runs_anywhere(t, node):
        receive_missing(t)


# Answers


@inner
def arrived_count(t):
    """Return how many messages the consumer believes it holds."""
    return windows.total(t.held) - windows.total(t.missing)


@inner
def settle(t, count, flowing):
    """Acknowledge the consumer's oldest `count` messages."""
    count = answer_stale(t, count)
    if not t.missing[0, 0]:
        while count > 0 and t.held[0, 0]:
            after, last = windows.take_first(t.held, count)
            count -= last - after
    elif count > 0:
        settle_beside_gap(t, count)
    come_back(t, 0)
    deliver(t, flowing, 0)


@inner
def settle_beside_gap(t, count):
    """Acknowledge messages, without those that have not arrived, which the consumer does not know."""
    windows.clear(t.hand)
    for k in range(1, t.held[0, 0] + 1):
        after, end = t.held[k, 0], t.held[k, 1]
        while after < end:
            last, known = stretch(t, after, end)
            if known and count > 0:
                taken = min(count, last - after)
                count -= taken
                put_behind(t.hand, after + taken, last)
            else:
                put_behind(t.hand, after, last)
            after = last
    windows.clear(t.held)
    for k in range(1, t.hand[0, 0] + 1):
        put_behind(t.held, t.hand[k, 0], t.hand[k, 1])


@inner
def stretch(t, after, end):
    """Return the message up to which those behind `after` have all arrived, or all not.

    And True if they have arrived.
    """
    for k in range(1, t.missing[0, 0] + 1):
        first, last = t.missing[k, 0], t.missing[k, 1]
        if first <= after < last:
            return min(last, end), False
        if after < first < end:
            return first, True
    return end, True


# Returned messages


@inner
def return_held(t):
    """Return what the consumer held, in the order in which it was delivered."""
    windows.clear(t.hand)
    pass_to(t.held, t.hand, windows.total(t.held))
    give_back(t)


@inner
def give_back(t):
    """Return what is in `hand`, but for messages that the queue gives up because they were returned too often."""
    if t.setup.delivery_limit != NEVER:
        count_returns(t)
        for k in range(t.queue.counted):
            if is_given_up(t.counted[k, 0], t.setup.delivery_limit):
                windows.remove(t.hand, t.counted[k, 1], t.counted[k, 2])
    pass_to(t.hand, t.returns, windows.total(t.hand))


@inner
def count_returns(t):
    """Count one more return of each message in `hand`: `hawb.engine.quorum.fifo.counted`.

    Forget those that have left the queue.
    """
    rows = 0
    windows.clear(t.fresh)
    for j in range(1, t.hand[0, 0] + 1):
        windows.add(t.fresh, t.hand[j, 0], t.hand[j, 1])
    for k in range(t.queue.counted):
        times, after, last = t.counted[k, 0], t.counted[k, 1], t.counted[k, 2]
        rows = note_staying(t, t.staying, rows, times, after, last)
        for j in range(1, t.hand[0, 0] + 1):
            rows = overlap(t.staying, rows, times + 1, after, last, t.hand[j])
        windows.remove(t.fresh, after, last)
    for j in range(1, t.fresh[0, 0] + 1):
        rows = note_row(t.staying, rows, 1, t.fresh[j, 0], t.fresh[j, 1])
    for k in range(rows):
        move_row_to(t.staying[k], t.counted[k])
    t.queue.counted = rows


# Subscriptions


@inner
def subscribe(t, node):
    """Apply the committed command that a client consumes, and begin to send."""
    consumer = t.consumer
    if not is_running(t, node) or consumer.state == ACTIVE:
        return
    if consumer.state == CLOSED:
        give_up_name(t)
    consumer.state, consumer.subscription, consumer.node, consumer.subscribed = ACTIVE, next_number(t), node, 1
    consumer.ticks, consumer.blocked, consumer.clock.start_us = 0, 0, t.moment.now_us
    consumer.clock.per_ticks, consumer.clock.per_us = t.setup.consume_ticks, t.setup.consume_us
    deliver(t, False, 0)


@inner
def give_up_name(t):
    """End the old channel of the consumer's name: what it held is returned.

    The new channel starts with nothing of it.
    """
    t.consumer.subscribed = t.consumer.suspected = 0
    windows.clear(t.missing)
    if t.held[0, 0]:
        forget_stale(t)
    return_held(t)
    carry_stale(t)


@inner
def suspect_consumer(t, node):
    """Apply the command that the leader no longer sees a node: a consumer there is not served.

    What it held is ready again, in 4.3 after a while (`hawb.engine.quorum.out_of_reach`).
    """
    consumer = t.consumer
    known = consumer.subscribed or t.held[0, 0]
    if consumer.node != node or not known or consumer.suspected:
        return
    consumer.blocked = 0
    if t.setup.hold_us:
        consumer.suspected = 1
        watch(t)
    else:
        consumer.suspected = consumer.subscribed
        note_stale(t)
        return_held(t)


@inner
def take_back(t, node):
    """Apply the command that the leader sees a node again: a consumer there is served."""
    consumer = t.consumer
    if consumer.node == node and consumer.suspected and (consumer.subscribed or t.setup.hold_us):
        consumer.suspected = 0
        unschedule(t, HOLD_ENDS, 0)
        deliver(t, False, 0)


@inner
def watch(t):
    """Set the leader's timer for a consumer out of reach, in place of any before."""
    unschedule(t, HOLD_ENDS, 0)
    put_on_agenda(t, t.setup.hold_us, TIMER, HOLD_ENDS, 0, t.queue.master, 0, 0)


@inner
def follow_leader(t):
    """Set the timer of a new leader for a consumer out of reach."""
    if t.setup.hold_us and t.consumer.suspected:
        watch(t)


@inner
def hold_ended(t):
    """Apply the command that a consumer was out of reach for too long: what it held is ready again.

    That does not count as a return.
    """
    if t.consumer.suspected:
        note_stale(t)
        pass_to(t.held, t.returns, windows.total(t.held))
        t.consumer.suspected = t.consumer.subscribed
        deliver(t, False, 0)


@inner
def unsubscribe(t):
    """Apply the command that the consumer's channel is gone: what it held is ready again."""
    consumer = t.consumer
    consumer.state, consumer.subscribed, consumer.suspected, consumer.blocked = CLOSED, 0, 0, 0
    windows.clear(t.missing)
    forget_stale(t)
    return_held(t)


@inner
def serve_gone_client(t):
    """Deliver to a client that is gone, and return the messages."""
    windows.clear(t.hand)
    left = t.setup.prefetch - pass_to(t.returns, t.hand, t.setup.prefetch)
    pass_to(t.ready, t.hand, left)
    check_out(t)
    give_back(t)
    deliver(t, False, 0)
