"""Nodes and sides in a network whose links may fail: the differences from `node_ports`."""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel import answers as publishers
from hawb.study.kernel.partitioned_state import first_running, look_from_outside, runs_anywhere
from hawb.study.kernel.state import NONE, SHUT_DOWN, schedule

publishers_gone = publishers.client_gone


@inner
def sides(t):
    """Return the numbers of the sides, among others."""
    return range(1, t.net.last_side + 1)


@inner
def focused(t):
    """Return the number of the current side."""
    return t.net.focus


@inner
def client_gone(t, node):
    """Close the connections of a node that is gone, or takes no clients any more."""
    t.net.connected &= ~(1 << node)
    publishers_gone(t, node)


@inner
def connections_at(t, node):
    """Return the number of client connections to a node: one, or none."""
    return t.net.connected >> node & 1


# Operators


@inner
def parted(t):
    """Return the running nodes that an operator restarts so that there is one side again, as bits."""
    first, bits = first_running(t), 0
    if t.net.sides == 1 or t.net.severed or t.setup.heals or first == NONE:
        return bits
    for node in range(t.setup.nodes):
        bits |= int(runs_anywhere(t, node) and t.nodes[node].side != t.nodes[first].side) << node
    return bits


@inner
def stop_parted(t):
    """Let an operator stop them."""
    bits = parted(t)
    if bits:
        look_from_outside(t)
    for node in range(t.setup.nodes):
        if bits >> node & 1:
            schedule(t, 0, SHUT_DOWN, node)
