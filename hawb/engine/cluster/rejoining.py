"""Sides of a cluster with Khepri rejoin; no node has to restart.

Metadata is one log, which only a majority extends. Once links are mended, a side without a majority takes over what the
other side did meanwhile. Its nodes keep running, with the processes of the queues that they host. A queue that the
majority has deleted meanwhile is deleted with its messages.

Source: `rabbit_khepri`, `rabbit_node_monitor` (4.3, without partition handling), `rabbit_amqqueue:on_node_up`.
"""

from __future__ import annotations

from hawb.engine.cluster.network_ports import say_rejoined, take_in
from hawb.engine.cluster.node_ports import focus_on, reaches_store, runs_anywhere, sides
from hawb.engine.core.state import NOWHERE
from hawb.engine.core.turn import Turn

SHARED = True  # the kernel of studies compiles this module


def rejoin(t: Turn) -> None:
    """Make all sides one after links are mended: all running nodes take each other for running."""
    running = 0
    for node in range(t.setup.nodes):
        running |= int(runs_anywhere(t, node)) << node
    for node in range(t.setup.nodes):
        if running >> node & 1:
            t.nodes[node].believes = running & ~(1 << node)
    best = best_side(t)
    say_rejoined(t, best)
    for side in sides(t):
        if side != best and focus_on(t, side):
            take_in(t, best, side)


def best_side(t: Turn) -> int:
    """Return the side that can write metadata; the first one if none can, since all then have the same metadata."""
    first = NOWHERE
    for side in sides(t):
        if focus_on(t, side):
            if reaches_store(t, NOWHERE):
                return side
            first = side if first == NOWHERE else first
    return first
