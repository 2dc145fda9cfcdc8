"""How a steady publisher goes: with all that has left it on its way, and without what waited at the client. That no
queue ever saw."""

from __future__ import annotations

from hawb.engine.clients.steady.beats import beyond
from hawb.engine.clients.steady.publisher_ports import NODE_DOWN, depart, end, now_us, publishers, queue_of
from hawb.engine.cluster.node_ports import runs_anywhere

SHARED = True  # the kernel of studies compiles this module


def lag_us(t, p):
    """How long a publisher's messages take to the queue's master. Without one there is nothing to reach."""
    q = queue_of(t, p)
    return 0 if q is None or not q.up or q.master == p.node else t.setup.link_us


def send(t, p, count):
    """Messages leave a publisher together."""
    if count > 0:
        p.beats += count
        depart(t, p, count, lag_us(t, p))


def close(t, p, reason):
    """A publisher goes. What has left it is on its way to the queue; closing it again changes nothing."""
    if p.closed:
        return
    if not p.blocked:
        send(t, p, beyond(p.clock, now_us(t), p.beats))
    end(t, p, reason)


def close_with_nodes(t):
    """Publishers whose node is gone go, and so do those of a node that takes no clients any more."""
    for p in publishers(t):
        if not runs_anywhere(t, p.node) or t.nodes[p.node].drained:
            close(t, p, NODE_DOWN)
