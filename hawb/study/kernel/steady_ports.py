"""What steady clients need of the kernel: `hawb.engine.clients.steady.publisher_ports` and `consumer_ports`, for a
trial, which has one publisher at a time and one consumer."""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel import answers, windows
from hawb.study.kernel.deliveries import late_ones
from hawb.study.kernel.node_rules import is_believed
from hawb.study.kernel.state import CLOSED, KIND, PUBLISH, A, D, follows, is_running, schedule

NODE_DOWN = 0
"""Why a publisher goes nobody asks."""


@inner
def now_us(t):
    """The time."""
    return t.moment.now_us


# The publisher


@inner
def publishers(t):
    """The publisher."""
    return (t.publisher,)


@inner
def publishers_to(t, q):
    """The same: all publish to the one queue."""
    return (t.publisher,)


@inner
def queue_of(t, p):
    """The queue to which it publishes."""
    return t.queue


@inner
def depart(t, p, count, lag_us):
    """Messages are on their way to the queue."""
    schedule(t, lag_us, PUBLISH, count, p.node, 0, p.number)


@inner
def block(t, p, since_us):
    """The publisher's next message waits."""
    p.blocked = 1


@inner
def unblock(t, p):
    """Nothing holds the publisher up any more."""
    p.blocked = 0


@inner
def end(t, p, reason):
    """The publisher is gone."""
    p.closed, p.blocked = 1, 0


# Flow control


@inner
def in_mailbox(t, q, p):
    """How many of the publisher's messages the queue has not read."""
    count = 0
    for k in range(q.waiting):
        if t.waiting[k, KIND] == PUBLISH and t.waiting[k, D] == p.number:
            count += t.waiting[k, A]
    return count


@inner
def unheard(t, p, node):
    """For how many of the publisher's messages a replica will not answer."""
    return answers.unheard(t, node)


@inner
def is_silent(t, q, node):
    """Whether nothing reaches a mirror, though its death is not known."""
    return not follows(t, node) and is_believed(t, node)


# The consumer


@inner
def rated_consumers(t, q):
    """The consumer."""
    return (t.consumer,)


@inner
def flowing_queues(t):
    """The queue."""
    return (t.queue,)


@inner
def is_heard(t, c):
    """Whether the consumer's answers leave its node."""
    return c.state != CLOSED and is_running(t, c.node)


@inner
def has_to_itself(t, q, c):
    """Whether the consumer is subscribed: there is no other."""
    return c.subscribed


@inner
def within_reach(t, q, c):
    """How many messages the consumer has to answer for, or will get of what is in the queue."""
    return windows.total(t.stale) + windows.total(t.early) + windows.total(t.content)


@inner
def lacked_up_to(t, q, node):
    """The last of the messages that a mirror lacks; 0 if it lacks none."""
    return windows.last_by(t.content, t.since[node])


@inner
def answers_until(t, q, last):
    """How many answers it takes until all up to message `last` have left the queue."""
    lacked = windows.count_between(t.content, 0, last)
    if t.setup.late_answers_count and late_ones(t, last) == lacked:
        return windows.count_between(t.stale, 0, last)
    return windows.total(t.stale) + windows.count_between(t.early, 0, last) + lacked
