"""Flows between two events to and from a quorum queue: the differences from `flows`."""

from __future__ import annotations

from hawb.study.compiled import inner, with_parts
from hawb.study.kernel import closing, publishing, steady, steady_ports, windows
from hawb.study.kernel.channels import settle_each
from hawb.study.kernel.fifo import come_back, deliver, settle, waits
from hawb.study.kernel.hosting import commit_at_once, takes_flows
from hawb.study.kernel.quorum import ask_for, come, credit, do_committed
from hawb.study.kernel.quorum_state import SETTLED, SETTLES
from hawb.study.kernel.state import NONE
from hawb.study.kernel.steady import ticks_heard
from hawb.study.kernel.steady_ports import is_heard

leave = with_parts(steady.leave, {publishing.arrive: come, closing.credit: credit})


@inner
def flow(t, until_us):
    """Apply what flows until `until_us`, and set the time to it; the queue also commits what the logs had before."""
    t.moment.now_us = max(t.moment.now_us, until_us)
    answers, busy = is_heard(t, t.consumer), not t.queue.up
    ticks = ticks_heard(t, t.queue, t.consumer) if answers else 0
    useful = useful_ticks(t, t.queue, t.consumer, ticks)
    arrived = leave(t, t.queue, t.publisher, 0)
    t.consumer.ticks += ticks
    if answers and busy:
        answer_later(t, useful)
    elif arrived or useful:
        come_back(t, useful)
        deliver(t, True, useful)
        if useful and t.held[0, 0]:
            if takes_flows(t, t.queue):
                commit_at_once(t, t.queue, SETTLED, min(useful, windows.total(t.held)), 0)
            settle(t, useful, True)
    settle_each(t)
    do_committed(t)


@inner
def within_reach(t, q, c):
    """Return how many messages the consumer has to answer for, or will get from the queue."""
    return windows.total(t.held) + waits(t)


useful_ticks = with_parts(steady.useful_ticks, {steady_ports.within_reach: within_reach})


@inner
def answer_later(t, ticks):
    """Let answers to a queue that cannot commit wait at the client, at most as many as it holds messages."""
    if not ticks:
        return
    has = windows.total(t.held)
    for row in range(t.queue.waiting):
        if t.waiting[row].asks == SETTLES:
            has -= t.waiting[row].count
    if min(ticks, has) > 0:
        ask_for(t, SETTLES, t.consumer.node, NONE, 0, min(ticks, has))


blocked_us = with_parts(steady.blocked_us, {closing.credit: credit})


@inner
def next_change_us(t):
    """Return when a flow next changes more than the number of messages; NEVER if it does not.

    That is when the publisher is blocked.
    """
    return blocked_us(t, t.publisher)
