"""A steady publisher closes: what has left it is still under way; what waited at the client never reaches a queue."""

from __future__ import annotations

from hawb.engine.clients.client_state import Publisher
from hawb.engine.clients.steady.publisher_ports import NODE_DOWN, depart, end, now_us, publishers, queue_of
from hawb.engine.clients.steady.ticks import beyond
from hawb.engine.cluster.node_ports import runs_anywhere
from hawb.engine.core.turn import Turn

SHARED = True  # the kernel of studies compiles this module


def lag_us(t: Turn, p: Publisher) -> int:
    """Return how long a publisher's messages take to the queue's master, in microseconds; 0 without a master."""
    q = queue_of(t, p)
    return 0 if q is None or not q.up or q.master == p.node else t.setup.link_us


def send(t: Turn, p: Publisher, count: int) -> None:
    """Send messages of a publisher together."""
    if count > 0:
        p.ticks += count
        depart(t, p, count, lag_us(t, p))


def close(t: Turn, p: Publisher, reason: str) -> None:
    """Close a publisher. The messages that it has sent are still under way. Closing it again has no effect."""
    if p.closed:
        return
    if not p.blocked:
        send(t, p, beyond(p.clock, now_us(t), p.ticks))
    end(t, p, reason)


def close_with_nodes(t: Turn) -> None:
    """Close publishers whose node is gone, or is drained."""
    for p in publishers(t):
        if not runs_anywhere(t, p.node) or t.nodes[p.node].drained:
            close(t, p, NODE_DOWN)
