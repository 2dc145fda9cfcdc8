"""What is gone with the disks of nodes that are down, on all sides.

Source: `rabbit_mnesia`, `rabbit_amqqueue`; 3.10.8 clusters.
"""

from __future__ import annotations

from hawb.engine.classic.copies import delete_copies
from hawb.engine.cluster.network_ports import classic_names, has_copy, lose_content, own
from hawb.engine.cluster.node_ports import blame, focus_on, focused, sides
from hawb.engine.cluster.partitions import drop_unheld

SHARED = True  # the kernel of studies compiles this module


def lose_disks(t, nodes, why, entry):
    """What nodes that are down, given as bits, had on their disks is gone: `why`, and because of which entry of the
    trace. Where the others have not noticed that they are down, that is told when they do."""
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


def lose_copy(t, q, node, why):
    """A node has no copy of a queue any more. Of one that waits for that node nothing is left."""
    if q.master != node:
        delete_copies(t, q, 1 << node)
    elif q.awaits_master:
        lose_content(t, q, why)
