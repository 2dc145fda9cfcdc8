"""The loss of the disks of nodes that are down, on all sides of a partition.

Source: `rabbit_mnesia`, `rabbit_amqqueue`; 3.10.8 clusters.
"""

from __future__ import annotations

from hawb.engine.classic.copies import delete_copies
from hawb.engine.cluster.network_ports import classic_names, has_copy, lose_content, own
from hawb.engine.cluster.node_ports import blame, focus_on, focused, sides
from hawb.engine.cluster.partitions import drop_unheld
from hawb.engine.core.state import Queue
from hawb.engine.core.turn import Turn

SHARED = True  # the kernel of studies compiles this module


def lose_disks(t: Turn, nodes: int, why: str, entry: int | None) -> None:
    """Delete all data on the disks of nodes that are down, given as bits.

    `why` is the reason of the loss and `entry` the trace entry that causes it. Nodes that have not noticed yet that
    these nodes are down learn of the loss when they do.
    """
    focus = focused(t)
    for side in sides(t):
        if focus_on(t, side):
            blame(t, entry)
            for name in classic_names(t):
                for node in range(t.setup.nodes):
                    if nodes >> node & 1 and has_copy(t, own(t, name), node):
                        lose_copy(t, own(t, name), node, why)
    focus_on(t, focus)
    drop_unheld(t, entry)


def lose_copy(t: Turn, q: Queue, node: int, why: str) -> None:
    """Remove a node's copy of a queue. If the queue waits for that node as its master's, its messages are lost."""
    if q.master != node:
        delete_copies(t, q, 1 << node)
    elif q.awaits_master:
        lose_content(t, q, why)
