"""The ports of clients with a rate (`publisher_ports` and `consumer_ports` of the engine), for the kernel.

A trial has one publisher at a time and one consumer.
"""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel import answers, windows
from hawb.study.kernel.deliveries import late_ones
from hawb.study.kernel.node_rules import is_believed
from hawb.study.kernel.state import CLOSED, KIND, PUBLISH, A, D, follows, is_running, schedule

NODE_DOWN = 0
"""The reason for which a publisher closes, which no trial reads."""


@inner
def now_us(t):
    """Return the time."""
    return t.moment.now_us


# The publisher


@inner
def publishers(t):
    """Return the publisher."""
    return (t.publisher,)


@inner
def publishers_to(t, q):
    """Return the publisher: all publish to the one queue."""
    return (t.publisher,)


@inner
def queue_of(t, p):
    """Return the queue."""
    return t.queue


@inner
def awaits_confirms(t, p):
    """Return True if the publisher's messages are confirmed."""
    return t.setup.confirms


@inner
def depart(t, p, count, lag_us):
    """Send messages to the queue."""
    schedule(t, lag_us, PUBLISH, count, p.node, 0, p.number)


@inner
def block(t, p, since_us):
    """Block the publisher."""
    p.blocked = 1


@inner
def unblock(t, p):
    """Unblock the publisher."""
    p.blocked = 0


@inner
def end(t, p, reason):
    """Close the publisher."""
    p.closed, p.blocked = 1, 0


# Flow control


@inner
def in_mailbox(t, q, p):
    """Return how many of a publisher's messages the queue has not read."""
    count = 0
    for k in range(q.waiting):
        if t.waiting[k, KIND] == PUBLISH and t.waiting[k, D] == p.number:
            count += t.waiting[k, A]
    return count


@inner
def unheard(t, p, node):
    """Return for how many of a publisher's messages a replica will not answer."""
    return answers.unheard(t, p, node)


@inner
def is_silent(t, q, node):
    """Return True if a mirror receives nothing although it is not known to be down."""
    return not follows(t, node) and is_believed(t, node)


# The consumer


@inner
def rated_consumers(t, q):
    """Return the consumer."""
    return (t.consumer,)


@inner
def flowing_queues(t):
    """Return the queue."""
    return (t.queue,)


@inner
def is_heard(t, c):
    """Return True if the consumer's answers leave its node."""
    return c.state != CLOSED and is_running(t, c.node)


@inner
def is_subscribed(t, q, c):
    """Return True if the queue has the consumer's subscription."""
    return c.subscribed


@inner
def has_to_itself(t, q, c):
    """Return True if the consumer is subscribed: there is no other."""
    return is_subscribed(t, q, c)


@inner
def within_reach(t, q, c):
    """Return how many messages the consumer has to answer for, or will get from the queue."""
    return windows.total(t.stale) + windows.total(t.early) + windows.total(t.content)


@inner
def stale_count(t, q, c):
    """Return how many messages the consumer has to answer for that the queue does not wait for any more."""
    return windows.total(t.stale) + windows.total(t.early)


@inner
def late_answers(t, q, c, count):
    """Return how many of the consumer's next `count` answers settle messages that were sent to it again."""
    return late_ones(t, windows.reach(t.stale, count)) if t.setup.late_answers_count else 0


@inner
def lacked_up_to(t, q, node):
    """Return the last of the messages that a mirror lacks; 0 if it lacks none."""
    return windows.last_by(t.content, t.since[node])


@inner
def answers_until(t, q, last):
    """Return how many answers it takes until all messages up to `last` have left the queue."""
    lacked = windows.count_between(t.content, 0, last)
    if t.setup.late_answers_count and late_ones(t, last) == lacked:
        return windows.count_between(t.stale, 0, last)
    return windows.total(t.stale) + windows.count_between(t.early, 0, last) + lacked
