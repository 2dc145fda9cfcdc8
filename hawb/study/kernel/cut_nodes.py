"""Nodes and sides in a network that may be cut: what is otherwise than in `node_ports`, `arrival` and `metadata`."""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel import answers as publishers
from hawb.study.kernel.cut_state import first_running, focus_on, look_from_outside, runs_anywhere
from hawb.study.kernel.metadata import unstall_deaths
from hawb.study.kernel.node_rules import answers
from hawb.study.kernel.replicas import bury
from hawb.study.kernel.state import MIRROR_JOINS, NOBODY, SHUT_DOWN, schedule

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


# What waits for nodes that do not answer


@inner
def release_stalled_of_sides(t):
    """Somebody answers again or was missed: what has waited is tried again on the sides on which everybody answers."""
    focus, left = t.net.focus, 0
    for k in range(t.queue.stalled):
        kind, node, waits = t.stalled[k, 0], t.stalled[k, 1], False
        for number in range(1, t.net.last_side + 1):
            if focus_on(t, number) and (kind != MIRROR_JOINS or t.nodes[node].side == number):
                if answers(t):
                    schedule(t, 0, kind, node, int(kind == MIRROR_JOINS))
                else:
                    waits = True
        if waits:
            t.stalled[left, 0], t.stalled[left, 1] = kind, node
            left += 1
    t.queue.stalled = left
    focus_on(t, focus)


@inner
def settle_stalled(t):
    """What others had still to settle as a node comes up is settled, on each side."""
    focus = t.net.focus
    if unstall_deaths(t):
        for number in range(1, t.net.last_side + 1):
            if focus_on(t, number):
                bury(t, t.queue, True)
        focus_on(t, focus)


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
