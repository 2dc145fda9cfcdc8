"""Flows between two events, as far as they have a closed form, and when a flow changes something by itself.

A consumer `c` is one with a rate here, which has a clock.
"""

from __future__ import annotations

from math import gcd

from hawb.engine.classic.record_ports import mirrors, synchronised
from hawb.engine.clients.client_state import NEVER_US, Consumer, Publisher
from hawb.engine.clients.flow_control import credit
from hawb.engine.clients.steady.closing import lag_us
from hawb.engine.clients.steady.consumer_ports import (
    answers_until,
    flowing_queues,
    has_to_itself,
    is_heard,
    lacked_up_to,
    late_answers,
    rated_consumers,
    stale_count,
    within_reach,
)
from hawb.engine.clients.steady.credit_flow import UNHINDERED
from hawb.engine.clients.steady.publisher_ports import now_us, publishers, publishers_to, queue_of
from hawb.engine.clients.steady.publishing import publishes
from hawb.engine.clients.steady.ticks import beyond, due_us, ticks_by_tick
from hawb.engine.cluster.node_ports import focus_on, focused, is_running, sides
from hawb.engine.core.state import Queue
from hawb.engine.core.turn import Turn

SHARED = True  # the kernel of studies compiles this module


def ticks_heard(t: Turn, q: Queue | None, c: Consumer) -> int:
    """Return how many further ticks of a consumer, each with an answer, have reached its queue by now."""
    return beyond(c.clock, now_us(t) - answer_lag_us(t, q, c), c.ticks)  # ty: ignore[invalid-argument-type]


def answer_lag_us(t: Turn, q: Queue | None, c: Consumer) -> int:
    """Return how long a consumer's answers take to the queue's master, in microseconds."""
    return 0 if q is None or c.node == q.master else t.setup.link_us


def useful_ticks(t: Turn, q: Queue | None, c: Consumer, count: int) -> int:
    """Return at how many of its next `count` ticks a queue's only consumer has a message to acknowledge.

    If messages arrive faster than it ticks, only the first ticks may have none. If they arrive more slowly, it
    acknowledges all messages that have arrived by the last tick.
    """
    if count == 0 or q is None or not q.up or q.syncing or not has_to_itself(t, q, c):
        return count
    first, last = there_by(t, q, c, c.ticks + 1), there_by(t, q, c, c.ticks + count)
    return max(0, min(count, first + count - 1, last))


def there_by(t: Turn, q: Queue, c: Consumer, tick: int) -> int:
    """Return how many messages a queue's only consumer has, or has acknowledged, by a tick of its clock."""
    there = within_reach(t, q, c)
    for p in publishers_to(t, q):
        if publishes(t, p):
            later_us = answer_lag_us(t, q, c) - lag_us(t, p)
            ticks = ticks_by_tick(p.clock, c.clock, tick, later_us)  # ty: ignore[invalid-argument-type]
            there += max(0, ticks - p.ticks)
    return there


def room_made(t: Turn, q: Queue | None, c: Consumer, count: int) -> int:
    """Return how many more messages a consumer can receive because of its next `count` acknowledgements.

    Acknowledgements of deliveries from a former master free credit only if they settle messages that were redelivered.
    Then later acknowledgements of the same messages free none.
    """
    if not count:
        return 0
    stale = stale_count(t, q, c)
    return late_answers(t, q, c, count) + max(0, count - stale - late_answers(t, q, c, stale))


def flows_us(t: Turn, q: Queue) -> int:
    """Return when the next message of a publisher, or the next tick of a consumer, reaches a queue; else NEVER_US.

    A tick counts even if the consumer has no message to acknowledge.
    """
    soonest_us = NEVER_US
    for p in publishers_to(t, q):
        if publishes(t, p):
            soonest_us = min(soonest_us, due_us(p.clock, p.ticks + 1) + lag_us(t, p))
    for c in rated_consumers(t, q):
        if is_heard(t, c):
            answer_us = due_us(c.clock, c.ticks + 1) + answer_lag_us(t, q, c)  # ty: ignore[invalid-argument-type]
            soonest_us = min(soonest_us, answer_us)
    return soonest_us


def next_change_us(t: Turn) -> int:
    """Return when the flows next block a publisher, or leave a mirror synchronised; NEVER_US if they do neither.

    A mirror becomes synchronised once all messages that it lacks have left the queue.
    """
    side, soonest_us = focused(t), NEVER_US
    for number in sides(t):
        if focus_on(t, number):
            for p in publishers(t):
                soonest_us = min(soonest_us, blocked_us(t, p))
            for q in flowing_queues(t):
                soonest_us = min(soonest_us, drained_us(t, q))
    focus_on(t, side)
    return soonest_us


def blocked_us(t: Turn, p: Publisher) -> int:
    """Return when a publisher runs out of credit and is blocked; NEVER_US if its credit is not limited."""
    free = credit(t, queue_of(t, p), p) if publishes(t, p) else UNHINDERED
    if free == UNHINDERED:
        return NEVER_US
    over_us = due_us(p.clock, p.ticks + free + 1) + lag_us(t, p)
    return over_us if over_us > now_us(t) else NEVER_US


def drained_us(t: Turn, q: Queue) -> int:
    """Return when the first unsynchronised or lagging mirror will hold all messages of the queue.

    It does once consumers with a rate have acknowledged all messages that it lacks. NEVER_US if other consumers hold
    some of these.
    """
    soonest_us = NEVER_US
    if not q.up or q.syncing or (len(synchronised(t, q)) == len(mirrors(t, q)) and not q.lagging):
        return soonest_us
    for node in mirrors(t, q):
        lacked = lacked_up_to(t, q, node)
        if lacked and is_running(t, node) and not q.depth_unknown >> node & 1:
            over_us = answered_us(t, q, answers_until(t, q, lacked))
            soonest_us = min(soonest_us, over_us) if over_us > now_us(t) else soonest_us
    return soonest_us


def answered_us(t: Turn, q: Queue, answers: int) -> int:
    """Return when a queue's consumers with a rate have sent this number of answers; NEVER_US if there are none.

    With several consumers it may really be later, by one tick of each.
    """
    us, rate, begun_us, ahead, answers = 1, 0, NEVER_US, 0, answers - 1
    for c in rated_consumers(t, q):
        if is_heard(t, c):
            us = us // gcd(us, c.clock.per_us) * c.clock.per_us
    for c in rated_consumers(t, q):
        if is_heard(t, c):
            start_us, ticks = c.clock.start_us + answer_lag_us(t, q, c), c.clock.per_ticks * (us // c.clock.per_us)
            begun_us = start_us if begun_us == NEVER_US else begun_us
            ahead, rate, answers = ahead + (start_us - begun_us) * ticks, rate + ticks, answers + 1 + c.ticks
    return begun_us - (-(us * answers + ahead) // rate) if rate else NEVER_US
