"""The ports through which the rules of consumers with a rate use a turn. `publisher_ports` has those of publishers."""

from __future__ import annotations

from hawb.engine.clients import connections
from hawb.engine.clients.client_state import Consumer, rated
from hawb.engine.core import runs
from hawb.engine.core.runs import EMPTY
from hawb.engine.core.state import Queue
from hawb.engine.core.turn import Turn
from hawb.engine.queues.contents import ready


def rated_consumers(t: Turn, q: Queue) -> list[Consumer]:
    """Return the consumers of a queue that have a rate and are connected to the current side."""
    return [c for c in t.consumers_of(q.name) if c.clock is not None]


def is_heard(t: Turn, c: Consumer) -> bool:
    """Return True if a consumer's answers leave its node."""
    if c.state == "closed" or not t.is_running(c.node):
        return False
    return not (t.unread and connections.is_blocked(t, connections.connection_of(t, c)))


def is_subscribed(_: Turn, q: Queue, c: Consumer) -> bool:
    """Return True if a queue has a consumer's subscription."""
    return c.name in q.consumers


def has_to_itself(_: Turn, q: Queue, c: Consumer) -> bool:
    """Return True if a consumer is the only one that is subscribed to a queue."""
    return q.consumers == (c.name,)


def within_reach(_: Turn, q: Queue, c: Consumer) -> int:
    """Return how many messages a queue's only consumer has to answer for or will get from the queue."""
    return runs.size(c.stale) + runs.size(c.in_sequence) + runs.size(ready(q))


def stale_count(_t: Turn, _q: Queue | None, c: Consumer) -> int:
    """Return how many messages a consumer has to answer for that no queue waits for any more."""
    return runs.size(c.stale) + runs.size(c.settled_early)


def late_answers(t: Turn, _q: Queue | None, c: Consumer, count: int) -> int:
    """Return how many of a consumer's next `count` answers are for messages that were redelivered, and settle these."""
    if not t.settings.profile.late_answers_count:
        return 0
    return runs.size(runs.common(runs.head(c.stale, count), c.held))


def flowing_queues(t: Turn) -> list[Queue]:
    """Return the queues of the current side from which messages flow to consumers."""
    names = {c.queue for c in rated(t.consumers) if t.is_here(c.node)}
    return [t.queues[name] for name in sorted(names) if name in t.queues]


def lacked_up_to(t: Turn, q: Queue, node: int) -> int:
    """Return the last of the messages that a mirror lacks; 0 if it lacks none.

    Return 0 also if no consumer with a rate will answer for one of them: another client holds it, or no such consumer
    is subscribed.
    """
    missing = runs.minus(q.content, q.contents[node] or EMPTY)
    heard = [c for c in rated_consumers(t, q) if is_heard(t, c)]
    theirs = runs.normal(pair for c in heard for pair in c.held)
    if any(c.name in q.consumers for c in heard):
        theirs = runs.union(theirs, ready(q))
    if not missing or runs.minus(missing, theirs):
        return 0
    return missing[-1][1]


def answers_until(t: Turn, q: Queue, last: int) -> int:
    """Return after how many answers of its consumers no message up to `last` is in a queue.

    Consumers first answer for messages that a former master delivered. From 3.9 on these answers settle other messages
    (`hawb.engine.clients.settling`), for which the consumers answer once more later.
    """
    until, consumers = ((1, last),), [c for c in rated_consumers(t, q) if is_heard(t, c)]
    before = runs.common(q.content, until)
    if t.settings.profile.late_answers_count:
        again = runs.normal(pair for c in consumers for pair in runs.common(c.stale, c.held))
        if not runs.minus(before, again):
            return sum(runs.size(runs.common(c.stale, until)) for c in consumers)
    twice = sum(runs.size(c.stale) + runs.size(runs.common(c.settled_early, until)) for c in consumers)
    return runs.size(before) + twice


PORTS = (
    "rated_consumers", "is_heard", "is_subscribed", "has_to_itself", "within_reach", "flowing_queues", "lacked_up_to",
    "answers_until", "stale_count", "late_answers",
)  # fmt: skip
"""The ports that engine and kernel both implement."""
