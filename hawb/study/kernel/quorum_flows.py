"""Flows between two events to and from a quorum queue: the differences from `flows`."""

from __future__ import annotations

from hawb.study.compiled import inner, with_parts
from hawb.study.kernel import closing, publishing, steady, steady_ports, windows
from hawb.study.kernel.channels import settle_each
from hawb.study.kernel.fifo import come_back, deliver, settle, waits
from hawb.study.kernel.hosting import commit_at_once, takes_flows
from hawb.study.kernel.node_ports import focus_on, focused, sides
from hawb.study.kernel.out_of_reach import late_answers, stale_count
from hawb.study.kernel.quorum import ask_for, come, credit, do_committed, is_in_reach
from hawb.study.kernel.quorum_state import SETTLED, SETTLES
from hawb.study.kernel.state import NONE, look_from
from hawb.study.kernel.steady import ticks_heard
from hawb.study.kernel.steady_ports import is_heard


@inner
def stale_of(t, q, c):
    """Return how many messages the consumer has to answer for that the queue does not wait for any more."""
    return stale_count(t)


@inner
def late_answers_of(t, q, c, count):
    """Return how many of the consumer's next `count` answers settle messages that were delivered to it again."""
    return late_answers(t, count)


room_made = with_parts(
    steady.room_made, {steady_ports.stale_count: stale_of, steady_ports.late_answers: late_answers_of}
)
leave = with_parts(steady.leave, {publishing.arrive: come, closing.credit: credit})


@inner
def flow(t, until_us):
    """Apply what flows until `until_us` on each side, and set the time to it.

    The queue also commits what the logs had before.
    """
    t.moment.now_us = max(t.moment.now_us, until_us)
    focus = focused(t)
    for side in sides(t):
        if focus_on(t, side):
            flow_through(t)
    focus_on(t, focus)
    do_committed(t)


@inner
def flow_through(t):
    """Apply what flowed to and from the queue on the current side since the last time."""
    consumer = t.consumer
    answers, busy = is_heard(t, consumer), not is_in_reach(t, consumer.node)
    ticks = ticks_heard(t, t.queue, consumer) if answers else 0
    useful = useful_ticks(t, t.queue, consumer, ticks)
    room = room_made(t, t.queue, consumer, useful)
    arrived = leave(t, t.queue, t.publisher, 0)
    consumer.ticks += ticks
    if answers and busy:
        answer_later(t, useful)
    elif arrived or useful:
        come_back(t, room)
        deliver(t, True, room)
        answer(t, useful)
    settle_each(t)


@inner
def answer(t, ticks):
    """Let the consumer answer for its oldest messages."""
    if ticks and (t.held[0, 0] or stale_count(t)):
        if t.held[0, 0] and is_in_reach(t, t.consumer.node) and takes_flows(t, t.queue):
            commit_at_once(t, t.queue, SETTLED, min(ticks, windows.total(t.held)), 0)
        settle(t, ticks, True)


@inner
def within_reach(t, q, c):
    """Return how many messages the consumer has to answer for, or will get from the queue."""
    return stale_count(t) + windows.total(t.held) + waits(t)


useful_ticks = with_parts(steady.useful_ticks, {steady_ports.within_reach: within_reach})


@inner
def answer_later(t, ticks):
    """Let answers to a queue that cannot commit wait at the client, at most as many as it holds messages.

    Answers for messages that were returned are dropped, unless these were delivered again and late answers count.
    """
    if not ticks:
        return
    counts = late_answers(t, stale_count(t)) > 0
    unheard = 0 if counts else min(ticks, stale_count(t))
    answer(t, unheard)
    has = windows.total(t.held) + (stale_count(t) if counts else 0)
    for row in range(t.queue.waiting):
        if t.waiting[row].asks == SETTLES:
            has -= t.waiting[row].count
    count = min(ticks - unheard, has)
    if count > 0:
        ask_for(t, SETTLES, t.consumer.node, NONE, 0, count)


blocked_us = with_parts(steady.blocked_us, {closing.credit: credit})


@inner
def next_change_us(t):
    """Return when a flow next changes more than the number of messages; NEVER if it does not.

    That is when the publisher is blocked.
    """
    focus = focused(t)
    if not t.publisher.closed:
        look_from(t, t.publisher.node)
    soonest_us = blocked_us(t, t.publisher)
    focus_on(t, focus)
    return soonest_us
