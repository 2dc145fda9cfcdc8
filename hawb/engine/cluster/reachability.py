"""Reachability: the nodes that each node believes running, and those that answer it.

Source: `rabbit_node_monitor`; Mnesia, whose transactions need every node that counts as running.
"""

from __future__ import annotations

from hawb.engine.cluster.node_ports import is_running, linked, runs_anywhere
from hawb.engine.core.state import NOTHING, STOPPING
from hawb.engine.core.turn import Turn

SHARED = True  # the kernel of studies compiles this module


def is_up(t: Turn, node: int) -> bool:
    """Return True if a node's broker runs or is stopping."""
    return runs_anywhere(t, node) or t.nodes[node].status == STOPPING


def sees(t: Turn, node: int, other: int) -> bool:
    """Return True if two nodes are up and both believe that the other runs.

    A loss of power does not matter here until it is noticed.
    """
    believe = t.nodes[node].believes >> other & t.nodes[other].believes >> node & 1
    return believe == 1 and is_up(t, node) and is_up(t, other)


def receives_answers(t: Turn, node: int) -> bool:
    """Return True if clients at a node receive confirms and deliveries.

    A node that is about to pause confirms nothing (`rabbit_channel:noreply_coalesce`).
    """
    return is_running(t, node) and t.nodes[node].awaits == NOTHING


def seen_from(t: Turn, node: int, others: int) -> int:
    """Return the nodes of `others` that a node sees directly or through others of them, itself included.

    Both sets are bits.
    """
    near, before = 1 << node, 0
    while near != before:
        before = near
        for one in range(t.setup.nodes):
            for other in range(t.setup.nodes):
                if before >> one & 1 and others >> other & 1 and sees(t, one, other):
                    near |= 1 << other
    return near


def is_believed(t: Turn, node: int) -> bool:
    """Return True if any node of the current side takes a node for running."""
    believed = 0
    for watcher in range(t.setup.nodes):
        if is_running(t, watcher):
            believed |= t.nodes[watcher].believes
    return believed >> node & 1 == 1


def is_unnoticed_down(t: Turn, node: int) -> bool:
    """Return True if a node is down, but a node of the current side still sees it as running."""
    return not is_running(t, node) and is_believed(t, node)


def answers(t: Turn) -> bool:
    """Return True if every node of the current side that counts as running answers every other."""
    for node in range(t.setup.nodes):
        if is_running(t, node):
            for other in range(t.setup.nodes):
                mute = t.nodes[other].silent or not linked(t, node, other)
                if mute and t.nodes[node].believes >> other & 1:
                    return False
    return True
