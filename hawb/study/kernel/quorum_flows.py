"""What flows between two events to and from a quorum queue: what is otherwise than in `flows`."""

from __future__ import annotations

from hawb.study.compiled import inner, with_parts
from hawb.study.kernel import flows, publishing, windows
from hawb.study.kernel.channels import settle_each
from hawb.study.kernel.fifo import come_back, consumer_beats, deliver, is_rated, settle, waits
from hawb.study.kernel.hosting import commit_at_once
from hawb.study.kernel.publishing import lag_us, publishes
from hawb.study.kernel.quorum import ask_for, come, credit, do_committed
from hawb.study.kernel.quorum_state import SETTLED, SETTLES
from hawb.study.kernel.state import NEVER, NOBODY, link_us

leave = with_parts(publishing.leave, {publishing.come: come, publishing.credit: credit})


@inner
def flow(t, until_us):
    """Takes in what flows until then, and time stands there; with it the queue commits what the logs had before."""
    t.moment.now_us = max(t.moment.now_us, until_us)
    answers, busy = is_rated(t), not t.queue.up
    beats = consumer_beats(t) if answers else 0
    useful = useful_beats(t, beats)
    arrived = leave(t)
    t.consumer.beats += beats
    if answers and busy:
        answer_later(t, useful)
    elif arrived or useful:
        come_back(t, useful)
        deliver(t, True, useful)
        if useful and t.held[0, 0]:
            commit_at_once(t, t.queue, SETTLED, min(useful, windows.size(t.held)), 0)
            settle(t, useful, True)
    settle_each(t)
    do_committed(t)


@inner
def useful_beats(t, count):
    """At how many of its next `count` beats the consumer finds something to answer for."""
    consumer = t.consumer
    if count == 0 or not t.queue.up or not consumer.subscribed:
        return count
    has = windows.size(t.held) + waits(t)
    first, last = has + coming_by(t, consumer.beats + 1), has + coming_by(t, consumer.beats + count)
    return max(0, min(count, first + count - 1, last))


@inner
def coming_by(t, beat):
    """How many messages more will have come by a beat of the consumer."""
    consumer, publisher, setup = t.consumer, t.publisher, t.setup
    if not publishes(t):
        return 0
    since_us = consumer.start_us + link_us(t, consumer.node, t.queue.master) - lag_us(t) - publisher.start_us
    above, below_ = since_us * setup.consume_beats + beat * setup.consume_us, setup.consume_beats * publisher.per_us
    come_ = above // below_ * publisher.per_beats + above % below_ * publisher.per_beats // below_
    return max(0, come_ - publisher.beats)


@inner
def answer_later(t, beats):
    """Answers to a queue that cannot commit wait at the client, for no more than it has."""
    if not beats:
        return
    has = windows.size(t.held)
    for row in range(t.queue.waiting):
        if t.waiting[row].asks == SETTLES:
            has -= t.waiting[row].count
    if min(beats, has) > 0:
        ask_for(t, SETTLES, t.consumer.node, NOBODY, 0, min(beats, has))


blocks_us = with_parts(flows.blocks_us, {publishing.credit: credit})


@inner
def flows_us(t):
    """When something flows next: a message that is published or an answer of the consumer, whether it finds something
    to answer for or not. NEVER if nothing does."""
    publisher, consumer, soonest_us = t.publisher, t.consumer, NEVER
    if publishes(t):
        lasts_us = beat_us(publisher.beats + 1, publisher.per_beats, publisher.per_us)
        soonest_us = publisher.start_us + lag_us(t) + lasts_us
    if is_rated(t):
        lasts_us = beat_us(consumer.beats + 1, t.setup.consume_beats, t.setup.consume_us)
        soonest_us = min(soonest_us, consumer.start_us + link_us(t, consumer.node, t.queue.master) + lasts_us)
    return soonest_us


@inner
def beat_us(beat, beats, us):
    """How long a clock with so many `beats` in so many microseconds takes to one of them."""
    return -(-beat * us // beats)


@inner
def next_change_us(t):
    """When next a flow changes more than how many messages there are: the publisher is blocked. NEVER if it is not."""
    return blocks_us(t)
