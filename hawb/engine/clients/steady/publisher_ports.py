"""The ports through which the rules of publishers with a rate use a turn.

This module is the engine's implementation; the kernel's is in `hawb.study.kernel.steady_ports`. The docstrings here
describe both. `publishing` names two more.
"""

from __future__ import annotations

from hawb.engine.clients.client_state import NEVER_US, Consumer, Publisher
from hawb.engine.cluster.reachability import is_believed
from hawb.engine.core import runs
from hawb.engine.core.operations import NODE_DOWN, Publish
from hawb.engine.core.state import Queue
from hawb.engine.core.turn import Turn

__all__ = ["NODE_DOWN"]


def now_us(t: Turn) -> int:
    """Return the time."""
    return t.now_us


# Publishers


def publishers(t: Turn) -> list[Publisher]:
    """Return all open publishers, whichever side they are connected to, in the order in which they began."""
    return [p for p in t.publishers.values() if not p.closed]


def publishers_to(t: Turn, q: Queue) -> list[Publisher]:
    """Return the open publishers to a queue."""
    return [p for p in t.publishers.values() if p.queue == q.name and not p.closed]


def queue_of(t: Turn, p: Publisher | Consumer) -> Queue | None:
    """Return the queue of a publisher or consumer, as the current side knows it; None if it knows none."""
    return t.queues.get(p.queue)


def awaits_confirms(_: Turn, p: Publisher) -> bool:
    """Return True if a publisher's messages are confirmed, alone or as a transaction."""
    return p.mode != "plain"


def operation(p: Publisher, count: int) -> Publish:
    """Return the publish of so many of its messages."""
    return Publish(
        p.queue, p.node, publisher=p.name, queues=(p.queue,), count=count, size_bytes=p.size_bytes,
        persistent=p.persistent, confirm=p.mode != "plain", transaction=p.mode == "tx",
    )  # fmt: skip


def depart(t: Turn, p: Publisher, count: int, lag_us: int) -> None:
    """Send messages to the queue."""
    t.schedule(lag_us, operation(p, count), step=p.step)


def block(t: Turn, p: Publisher, since_us: int) -> None:
    """Block a publisher, whose next message waits since `since_us`, or from now on."""
    p.blocked_since_us = min(since_us, t.now_us)
    t.emit("publisher_blocked", node=p.node, queue=p.queue, publisher=p.name)


def unblock(t: Turn, p: Publisher) -> None:
    """Unblock a publisher."""
    p.blocked_us, p.blocked_since_us = blocked_for_us(p, t.now_us), None
    t.emit("publisher_unblocked", node=p.node, queue=p.queue, publisher=p.name)


def blocked_for_us(p: Publisher, now_us: int) -> int:
    """Return how long a publisher's messages have had to wait, in microseconds."""
    return p.blocked_us + (0 if p.blocked_since_us is None else now_us - p.blocked_since_us)


def end(t: Turn, p: Publisher, reason: str) -> None:
    """Close a publisher."""
    p.blocked_us, p.blocked_since_us, p.closed = blocked_for_us(p, t.now_us), None, True
    t.emit("publisher_closed", node=p.node, queue=p.queue, publisher=p.name, reason=reason)


# Flow control


def in_mailbox(_: Turn, q: Queue, p: Publisher) -> int:
    """Return how many of a publisher's messages a queue has not read."""
    operations = (one.operation for one in q.waiting)
    return sum(one.count for one in operations if isinstance(one, Publish) and one.publisher == p.name)


def unheard(t: Turn, p: Publisher, node: int) -> int:
    """Return for how many of a publisher's messages a replica will not answer."""
    flowing = sum(run.count for run in p.unanswered if (node, NEVER_US) in run.delays_us)
    shares = (share for waiting in t.unconfirmed if waiting.publisher == p.name for share in waiting.shares)
    return flowing + sum(runs.size(share.numbers) for share in shares if (node, NEVER_US) in share.due_us)


def is_silent(t: Turn, q: Queue, node: int) -> bool:
    """Return True if a mirror receives nothing although it is not known to be down."""
    return not t.follows(q, node) and not q.crashed >> node & 1 and is_believed(t, node)


PORTS = (
    "NODE_DOWN", "now_us", "publishers", "publishers_to", "queue_of", "awaits_confirms", "depart", "block", "unblock",
    "end", "in_mailbox", "unheard", "is_silent",
)  # fmt: skip
"""The ports that engine and kernel both implement."""
