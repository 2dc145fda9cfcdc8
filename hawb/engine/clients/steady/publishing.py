"""Steady publishers: a message leaves at each beat of a publisher's clock until it is closed.

Message k exists at its beat, whether the broker is ready for it or not. What the channel may not send (`credit`) waits
at the client, and goes out all at once when nothing holds it up any more. A publisher waits for no answer before it
goes on.
"""

from __future__ import annotations

from hawb.engine.clients.flow_control import credit
from hawb.engine.clients.steady.arrivals import arrive
from hawb.engine.clients.steady.beats import beyond, due_us
from hawb.engine.clients.steady.closing import close_with_nodes, lag_us, send
from hawb.engine.clients.steady.credit import UNHINDERED
from hawb.engine.clients.steady.publisher_ports import block, now_us, publishers, queue_of, unblock
from hawb.engine.cluster.node_ports import focus_on, focused, is_running, look_from

SHARED = True  # the kernel of studies compiles this module


def publishes(t, p):
    """Whether a publisher is connected to the side in focus, and nothing holds it up."""
    return not p.closed and not p.blocked and is_running(t, p.node)


def leave(t, q, p, more_room):
    """What a publisher may send reaches its queue, or where that is gone nobody, while consumers make `more_room`; with
    the first message that it may not, it is blocked. Returns how many came."""
    if not publishes(t, p):
        return 0
    count = beyond(p.clock, now_us(t) - lag_us(t, p), p.beats)
    if count == 0:
        return 0
    free = credit(t, q, p)
    sent = count if free == UNHINDERED else min(count, free)
    if sent:
        p.beats += sent
        arrive(t, q, p, sent, more_room)
    if sent < count:
        block(t, p, due_us(p.clock, p.beats + 1) + lag_us(t, p))
    return sent


def react(t):
    """Publishers follow what has just happened: those whose node is gone go, those that nothing holds up go on."""
    close_with_nodes(t)
    for p in publishers(t):
        if p.blocked and is_unhindered(t, p):
            unblock(t, p)
            send(t, p, beyond(p.clock, now_us(t), p.beats))


def is_unhindered(t, p):
    """Whether nothing holds a publisher up, as its own side of a partition sees it."""
    side = focused(t)
    look_from(t, p.node)
    unhindered = credit(t, queue_of(t, p), p) == UNHINDERED
    focus_on(t, side)
    return unhindered


PORTS = ("credit", "arrive")
"""The names of what others have to have beside those of `publisher_ports`."""
