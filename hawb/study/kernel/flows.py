"""What flows between two events: `hawb.engine.flows` for one publisher and one consumer.

Between two events nothing changes, so what a clock has beaten says what was published and answered for. All is whole
numbers: a clock has so many beats in so many microseconds.
"""

from __future__ import annotations

from hawb.engine import beats
from hawb.study.compiled import inner, rule
from hawb.study.kernel import windows
from hawb.study.kernel.answers import beats_beyond, settle_each
from hawb.study.kernel.deliveries import ALL, deliver, fetch, held, late_ones, settle
from hawb.study.kernel.publishing import UNHINDERED, credit, is_busy, lag_us, leave, publishes, wait_in_mailbox
from hawb.study.kernel.state import (
    CLOSED,
    KIND,
    NEVER,
    SETTLE,
    A,
    is_running,
    link_us,
)

beat_us, beats_by_beat = map(rule, (beats.beat_us, beats.beats_by_beat))


@inner
def flow(t, until_us):
    """Takes in what flows until then, and time stands there."""
    t.moment.now_us = max(t.moment.now_us, until_us)
    flow_through(t)


@inner
def flow_through(t):
    """What flowed to and from the queue since the last time."""
    answers = is_rated(t)
    beats = consumer_beats(t) if answers else 0
    useful = useful_beats(t, beats)
    arrived = leave(t)
    t.consumer.beats += beats
    if answers and is_busy(t, t.consumer.node):
        answer_later(t, useful)
    elif t.setup.automatic:
        fetch(t, useful)
    elif arrived or useful:
        deliver(t, True)
        if useful and (t.stale[0, 0] or t.early[0, 0] or held(t)):
            settle(t, useful, 0)
    settle_each(t)


# The consumer


@inner
def is_rated(t):
    """Whether the consumer answers at its beats."""
    return t.consumer.state != CLOSED and is_running(t, t.consumer.node)


@inner
def consumer_beats(t):
    """How many beats of the consumer have reached the queue since the last time."""
    consumer, setup = t.consumer, t.setup
    time_us = t.moment.now_us - link_us(t, consumer.node, t.queue.master)
    return beats_beyond(consumer.start_us, setup.consume_beats, setup.consume_us, time_us, consumer.beats)


@inner
def useful_beats(t, count):
    """At how many of its next `count` beats the consumer finds something to answer for."""
    queue, consumer = t.queue, t.consumer
    if count == 0 or not queue.up or queue.syncing or not consumer.subscribed:
        return count
    first, last = there_by(t, consumer.beats + 1), there_by(t, consumer.beats + count)
    return max(0, min(count, first + count - 1, last))


@inner
def there_by(t, beat):
    """How many messages there are, and will have come by a beat, for which the consumer answers."""
    consumer, publisher, setup = t.consumer, t.publisher, t.setup
    has = windows.size(t.stale) + windows.size(t.early) + windows.size(t.content)
    if not publishes(t):
        return has
    since_us = consumer.start_us + link_us(t, consumer.node, t.queue.master) - lag_us(t) - publisher.start_us
    come = beats_by_beat(
        since_us, beat, setup.consume_beats, setup.consume_us, publisher.per_beats, publisher.per_us
    )
    return has + max(0, come - publisher.beats)


@inner
def answer_later(t, beats):
    """Answers to a queue that reads nothing wait, for no more than the consumer has of it. Answers to a master that is
    gone reach nobody anyway, unless what they are for was sent again and they count."""
    stale = windows.size(t.stale)
    counts = t.setup.late_answers_count and late_ones(t, ALL) > 0
    nowhere = 0 if counts else min(beats, stale)
    if nowhere:
        settle(t, nowhere, 0)
    has = windows.size(t.early) + held(t) + (stale if counts else 0)
    for k in range(t.queue.parked):
        if t.parked[k, KIND] == SETTLE:
            has -= t.parked[k, A]
    count = min(beats - nowhere, has)
    if count > 0:
        wait_in_mailbox(t, SETTLE, count, t.consumer.node, 0, 0)


# When a flow changes something by itself


@inner
def next_change_us(t):
    """When next a flow changes more than how many messages there are: the publisher is blocked, or a mirror is
    synchronised because all that it lacks has left the queue. NEVER if it does not."""
    change_us = blocks_us(t)
    if t.queue.synchronised < t.queue.mirrors:
        change_us = min(change_us, drains_us(t))
    return change_us


@inner
def blocks_us(t):
    """When the publisher is to be blocked."""
    if not publishes(t):
        return NEVER
    free = credit(t)
    if free == UNHINDERED:
        return NEVER
    beat = t.publisher.beats + free + 1
    due_us = t.publisher.start_us + lag_us(t) + beat_us(beat, t.publisher.per_beats, t.publisher.per_us)
    return due_us if due_us > t.moment.now_us else NEVER


@inner
def drains_us(t):
    """When the first mirror will have all that is left of what it lacks."""
    queue, consumer, setup = t.queue, t.consumer, t.setup
    soonest_us = NEVER
    if not queue.up or queue.syncing or not is_rated(t):
        return soonest_us
    begun_us = consumer.start_us + link_us(t, consumer.node, queue.master)
    for k in range(queue.mirrors):
        node = t.mirrors[k]
        lacked = lacked_up_to(t, node)
        if lacked and is_running(t, node) and not queue.depth_unknown >> node & 1:
            beats_left = consumer.beats + beats_until(t, lacked)
            due_us = begun_us + beat_us(beats_left, setup.consume_beats, setup.consume_us)
            if due_us > t.moment.now_us:
                soonest_us = min(soonest_us, due_us)
    return soonest_us


@inner
def lacked_up_to(t, node):
    """The last of the messages that a mirror lacks; 0 if it lacks none."""
    return windows.last_by(t.content, t.since[node])


@inner
def beats_until(t, last):
    """How many beats it takes until the consumer has answered for all up to `last`."""
    lacked = windows.common(t.content, 0, last)
    if t.setup.late_answers_count and late_ones(t, last) == lacked:
        return windows.common(t.stale, 0, last)
    return windows.size(t.stale) + windows.common(t.early, 0, last) + lacked
