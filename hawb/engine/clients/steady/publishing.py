"""Steady publishers: a message leaves at each tick of a publisher's clock until it is closed.

Message k exists at its tick, whether the broker is ready for it or not. What the channel may not send (`credit`) waits
at the client, and is sent all at once when the publisher is unblocked. A publisher does not wait for confirms.
"""

from __future__ import annotations

from hawb.engine.clients.client_state import Publisher
from hawb.engine.clients.flow_control import credit
from hawb.engine.clients.steady.arrivals import arrive
from hawb.engine.clients.steady.closing import close_with_nodes, lag_us, send
from hawb.engine.clients.steady.credit_flow import UNHINDERED
from hawb.engine.clients.steady.publisher_ports import block, now_us, publishers, queue_of, unblock
from hawb.engine.clients.steady.ticks import beyond, due_us
from hawb.engine.cluster.node_ports import focus_on, focused, is_running, look_from
from hawb.engine.core.state import Queue
from hawb.engine.core.turn import Turn

SHARED = True  # the kernel of studies compiles this module


def publishes(t: Turn, p: Publisher) -> bool:
    """Return True if a publisher is connected to the current side and not blocked."""
    return not p.closed and not p.blocked and is_running(t, p.node)


def leave(t: Turn, q: Queue, p: Publisher, more_room: int) -> int:
    """Deliver the messages that a publisher has sent by now to its queue, and return their number.

    `more_room` is the number of messages that consumers take meanwhile. If the publisher has no credit for a message,
    it is blocked from then on.
    """
    if not publishes(t, p):
        return 0
    count = beyond(p.clock, now_us(t) - lag_us(t, p), p.ticks)
    if count == 0:
        return 0
    free = credit(t, q, p)
    sent = count if free == UNHINDERED else min(count, free)
    if sent:
        p.ticks += sent
        arrive(t, q, p, sent, more_room)
    if sent < count:
        block(t, p, due_us(p.clock, p.ticks + 1) + lag_us(t, p))
    return sent


def react(t: Turn) -> None:
    """Close the publishers whose node has stopped, and unblock those that have credit again, after each event."""
    close_with_nodes(t)
    for p in publishers(t):
        if p.blocked and is_unhindered(t, p):
            unblock(t, p)
            send(t, p, beyond(p.clock, now_us(t), p.ticks))


def is_unhindered(t: Turn, p: Publisher) -> bool:
    """Return True if a publisher's credit is not limited on its own side of a partition."""
    side = focused(t)
    look_from(t, p.node)
    unhindered = credit(t, queue_of(t, p), p) == UNHINDERED
    focus_on(t, side)
    return unhindered


PORTS = ("credit", "arrive")
"""The ports that engine and kernel both implement, beside those of `publisher_ports`."""
