"""Nodes and sides in a network that may be cut: what is otherwise than in `node_ports`."""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel import answers as publishers
from hawb.study.kernel.partitioned_state import first_running, look_from_outside, runs_anywhere
from hawb.study.kernel.state import NOBODY, SHUT_DOWN, schedule

publishers_gone = publishers.client_gone


@inner
def sides(t):
    """The numbers of the sides that there are, among others."""
    return range(1, t.net.last_side + 1)


@inner
def focused(t):
    """The side in focus."""
    return t.net.focus


@inner
def client_gone(t, node):
    """The node of publishers is gone, or takes no clients any more: its connections are closed."""
    t.net.connected &= ~(1 << node)
    publishers_gone(t, node)


@inner
def connections_at(t, node):
    """How many connections clients have to a node: one, or none."""
    return t.net.connected >> node & 1


# By hand


@inner
def parted(t):
    """The running nodes that a person restarts so that there is one side again, as bits."""
    first, bits = first_running(t), 0
    if t.net.sides == 1 or t.net.severed or t.setup.heals or first == NOBODY:
        return bits
    for node in range(t.setup.nodes):
        bits |= int(runs_anywhere(t, node) and t.nodes[node].side != t.nodes[first].side) << node
    return bits


@inner
def stop_parted(t):
    """A person stops them."""
    bits = parted(t)
    if bits:
        look_from_outside(t)
    for node in range(t.setup.nodes):
        if bits >> node & 1:
            schedule(t, 0, SHUT_DOWN, node)
