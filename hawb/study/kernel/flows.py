"""Flows between two events: `hawb.engine.clients.steady.flows` for one publisher and one consumer."""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel import windows
from hawb.study.kernel.answers import settle_each
from hawb.study.kernel.deliveries import ALL, come_back, deliver, fetch, late_ones, settle, unanswered
from hawb.study.kernel.mailbox import is_busy
from hawb.study.kernel.node_ports import focus_on, focused, sides
from hawb.study.kernel.publishing import wait_in_mailbox
from hawb.study.kernel.state import KIND, NEVER, SETTLE, A, D
from hawb.study.kernel.steady import leave, room_made, ticks_heard, useful_ticks
from hawb.study.kernel.steady_ports import is_heard


@inner
def flow(t, until_us):
    """Apply what flows until `until_us` on each side, and set the time to it."""
    t.moment.now_us = max(t.moment.now_us, until_us)
    side = focused(t)
    for number in sides(t):
        if focus_on(t, number):
            flow_through(t)
    focus_on(t, side)


@inner
def flow_through(t):
    """Apply what flowed to and from the queue since the last time."""
    queue, consumer = t.queue, t.consumer
    answers = is_heard(t, consumer)
    ticks = ticks_heard(t, queue, consumer) if answers else 0
    useful = useful_ticks(t, queue, consumer, ticks)
    room = 0 if t.setup.prefetch == NEVER else room_made(t, queue, consumer, useful)
    arrived = leave(t, queue, t.publisher, 0)
    consumer.ticks += ticks
    if answers and is_busy(t, queue, consumer.node):
        answer_later(t, useful)
    elif t.setup.automatic:
        fetch(t, useful)
    elif arrived or useful:
        come_back(t, room)
        deliver(t, True, room)
        if useful and (t.stale[0, 0] or unanswered(t)):
            settle(t, useful, 0, True)
    settle_each(t)


@inner
def answer_later(t, ticks):
    """Let answers to a queue that reads nothing wait, at most as many as the consumer has messages of it.

    Answers to a master that is gone are dropped, unless their messages were sent again and the answers count.
    """
    stale = windows.total(t.stale)
    counts = t.setup.late_answers_count and late_ones(t, ALL) > 0
    nowhere = 0 if counts else min(ticks, stale)
    if nowhere:
        settle(t, nowhere, 0, True)
    has = unanswered(t) + (stale if counts else 0)
    for k in range(t.queue.waiting):
        if t.waiting[k, KIND] == SETTLE and t.waiting[k, D] == t.consumer.client:
            has -= t.waiting[k, A]
    count = min(ticks - nowhere, has)
    if count > 0:
        wait_in_mailbox(t, SETTLE, count, t.consumer.node, 0, t.consumer.client)
