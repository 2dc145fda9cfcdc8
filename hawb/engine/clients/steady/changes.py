"""What flows between two events, as far as it has a closed form, and when a flow changes something by itself."""

from __future__ import annotations

from math import gcd

from hawb.engine.classic.record_ports import mirrors, synchronised
from hawb.engine.clients.client_state import NEVER_US
from hawb.engine.clients.flow_control import credit
from hawb.engine.clients.steady.beats import beats_by_beat, beyond, due_us
from hawb.engine.clients.steady.closing import lag_us
from hawb.engine.clients.steady.consumer_ports import (
    answers_until,
    flowing_queues,
    has_to_itself,
    is_heard,
    lacked_up_to,
    rated_consumers,
    within_reach,
)
from hawb.engine.clients.steady.credit import UNHINDERED
from hawb.engine.clients.steady.publisher_ports import now_us, publishers, publishers_to, queue_of
from hawb.engine.clients.steady.publishing import publishes
from hawb.engine.cluster.node_ports import focus_on, focused, is_running, sides

SHARED = True  # the kernel of studies compiles this module


def beats_heard(t, q, c):
    """How many beats of a consumer that is heard have reached its queue since the last time."""
    return beyond(c.clock, now_us(t) - answer_lag_us(t, q, c), c.beats)


def answer_lag_us(t, q, c):
    """How long a consumer's answers take to the queue's master."""
    return 0 if q is None or c.node == q.master else t.setup.link_us


def useful_beats(t, q, c, count):
    """At how many of its next `count` beats a consumer that is alone finds something to answer for.

    Where messages come faster than beats only the first beats find nothing, and where they come more slowly it answers
    for all that have come by the last one.
    """
    if count == 0 or q is None or not q.up or q.syncing or not has_to_itself(t, q, c):
        return count
    first, last = there_by(t, q, c, c.beats + 1), there_by(t, q, c, c.beats + count)
    return max(0, min(count, first + count - 1, last))


def there_by(t, q, c, beat):
    """How many messages a consumer that is alone finds by a beat of its clock, or has found."""
    there = within_reach(t, q, c)
    for p in publishers_to(t, q):
        if publishes(t, p):
            later_us = answer_lag_us(t, q, c) - lag_us(t, p)
            there += max(0, beats_by_beat(p.clock, c.clock, beat, later_us) - p.beats)
    return there


def flows_us(t, q):
    """When something flows next to or from a queue: a message that is published or an answer of a consumer, whether it
    finds something to answer for or not. NEVER_US if nothing does."""
    soonest_us = NEVER_US
    for p in publishers_to(t, q):
        if publishes(t, p):
            soonest_us = min(soonest_us, due_us(p.clock, p.beats + 1) + lag_us(t, p))
    for c in rated_consumers(t, q):
        if is_heard(t, c):
            soonest_us = min(soonest_us, due_us(c.clock, c.beats + 1) + answer_lag_us(t, q, c))
    return soonest_us


def next_change_us(t):
    """When next a flow changes more than how many messages there are: a publisher is blocked, or a mirror is
    synchronised because all that it lacks has left the queue. NEVER_US if it does not."""
    side, soonest_us = focused(t), NEVER_US
    for number in sides(t):
        if focus_on(t, number):
            for p in publishers(t):
                soonest_us = min(soonest_us, blocked_us(t, p))
            for q in flowing_queues(t):
                soonest_us = min(soonest_us, drained_us(t, q))
    focus_on(t, side)
    return soonest_us


def blocked_us(t, p):
    """When a publisher that has little credit left is to be blocked."""
    free = credit(t, queue_of(t, p), p) if publishes(t, p) else UNHINDERED
    if free == UNHINDERED:
        return NEVER_US
    over_us = due_us(p.clock, p.beats + free + 1) + lag_us(t, p)
    return over_us if over_us > now_us(t) else NEVER_US


def drained_us(t, q):
    """When the first mirror that runs and is not synchronised, or lags, will have all that is left of what it lacks, as
    far as that is for consumers that have a rate: never, where others keep some of it."""
    soonest_us = NEVER_US
    if not q.up or q.syncing or (len(synchronised(t, q)) == len(mirrors(t, q)) and not q.lagging):
        return soonest_us
    for node in mirrors(t, q):
        lacked = lacked_up_to(t, q, node)
        if lacked and is_running(t, node) and not q.depth_unknown >> node & 1:
            over_us = answered_us(t, q, answers_until(t, q, lacked))
            soonest_us = min(soonest_us, over_us) if over_us > now_us(t) else soonest_us
    return soonest_us


def answered_us(t, q, answers):
    """When consumers, each going on with its beats, have answered so often; NEVER_US where none has a rate. Where they
    are several it may be a beat of each later."""
    us, rate, begun_us, ahead, answers = 1, 0, NEVER_US, 0, answers - 1
    for c in rated_consumers(t, q):
        if is_heard(t, c):
            us = us // gcd(us, c.clock.per_us) * c.clock.per_us
    for c in rated_consumers(t, q):
        if is_heard(t, c):
            start_us, beats = c.clock.start_us + answer_lag_us(t, q, c), c.clock.per_beats * (us // c.clock.per_us)
            begun_us = start_us if begun_us == NEVER_US else begun_us
            ahead, rate, answers = ahead + (start_us - begun_us) * beats, rate + beats, answers + 1 + c.beats
    return begun_us - (-(us * answers + ahead) // rate) if rate else NEVER_US
