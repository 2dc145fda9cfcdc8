"""Who takes whom for running, and who answers.

Source: `rabbit_node_monitor`; Mnesia, whose transactions need every node that counts as running.
"""

from __future__ import annotations

from hawb.engine.cluster.node_ports import is_running, linked, runs_anywhere
from hawb.engine.core.state import NOTHING, STOPPING

SHARED = True  # the kernel of studies compiles this module


def is_up(t, node):
    """Whether a node's broker still does something."""
    return runs_anywhere(t, node) or t.nodes[node].status == STOPPING


def sees(t, node, other):
    """Whether two nodes are up and both believe that the other runs. That one has lost power is no matter of links."""
    believe = t.nodes[node].believes >> other & t.nodes[other].believes >> node & 1
    return believe == 1 and is_up(t, node) and is_up(t, other)


def can_tell(t, node):
    """Whether clients at a node hear: nobody listens on one that is gone, and one that is about to pause promises
    nothing (`rabbit_channel:noreply_coalesce`)."""
    return is_running(t, node) and t.nodes[node].awaits == NOTHING


def seen_from(t, node, others):
    """Those of `others` that a node sees, by way of others of them if need be, itself among them. Both are bits."""
    near, before = 1 << node, 0
    while near != before:
        before = near
        for one in range(t.setup.nodes):
            for other in range(t.setup.nodes):
                if before >> one & 1 and others >> other & 1 and sees(t, one, other):
                    near |= 1 << other
    return near


def is_believed(t, node):
    """Whether anybody on the side in focus takes a node for running."""
    believed = 0
    for watcher in range(t.setup.nodes):
        if is_running(t, watcher):
            believed |= t.nodes[watcher].believes
    return believed >> node & 1 == 1


def is_unmissed(t, node):
    """Whether a node has gone, and somebody of the side in focus still takes it for running."""
    return not is_running(t, node) and is_believed(t, node)


def answers(t):
    """Whether every node of the side in focus that counts as running answers every other."""
    for node in range(t.setup.nodes):
        if is_running(t, node):
            for other in range(t.setup.nodes):
                mute = t.nodes[other].silent or not linked(t, node, other)
                if mute and t.nodes[node].believes >> other & 1:
                    return False
    return True
