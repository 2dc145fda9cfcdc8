"""cluster_partition_handling: nodes that pause until they see enough of the others, and sides that give in.

Source: `rabbit_node_monitor` (`handle_dead_node`, `await_cluster_recovery`, `partial_partition`), `rabbit_autoheal`.
What decides is which other Erlang nodes a node can reach, whether their broker runs or not. A node pauses by stopping
its broker as a controlled shutdown does, and looks every second whether it may come back. What its queues made of the
deaths before it paused stands: a mirror that took over in those milliseconds has taken over on its own side's records.

Under autoheal the losing sides' nodes restart as soon as every member is up and reachable. The sides are compared by
`hawb.rules.partitions.wins`; a connection is one that a client has opened and not closed.
"""

from __future__ import annotations

from hawb.engine.cluster.node_ports import (
    begin_to_boot,
    begin_to_pause,
    begin_to_stop,
    connections_at,
    is_running,
    linked,
    look_from,
    look_in,
    members,
    next_number,
    runs_anywhere,
    say_healing,
)
from hawb.engine.core.randomness import CUT_OFF, below
from hawb.engine.core.state import BOOTING, DOWN, EVERYBODY, MAJORITY, NOTHING, NOWHERE, PAUSED, PREFERRED, RESTART
from hawb.raft.ports import bits_in
from hawb.rules.partitions import has_majority, is_preferred, wins

SHARED = True  # the kernel of studies compiles this module

POLL_US = 1_000_000
"""How often a paused node looks, and how long it takes until nodes that see each other again act on it."""


def seen(t, node):
    """The members whose Erlang node a node takes for connected, itself among them, as bits. A running node has just
    given up those that it no longer believes running; one that is paused has them back as soon as it reaches them."""
    bits, runs = 1 << node, runs_anywhere(t, node)
    for other in range(t.setup.nodes):
        gone = t.nodes[other].status == DOWN or (runs and runs_anywhere(t, other))
        if (runs and t.nodes[node].believes >> other & 1) or (not gone and linked(t, node, other)):
            bits |= 1 << other
    return bits & members(t)


def sees_enough(t, node):
    """Whether a node goes on with what it sees of the others."""
    others = seen(t, node)
    if t.setup.handling == MAJORITY:
        return has_majority(bits_in(others), bits_in(members(t)))
    return is_preferred(others, t.setup.preferred & members(t))


def fulfilled(t, node):
    """Whether what a node waits for is so."""
    awaits = t.nodes[node].awaits
    if awaits == EVERYBODY:
        return seen(t, node) == members(t)
    return awaits == RESTART or sees_enough(t, node)


def decide_who_pauses(t):
    """Something was noticed: running nodes of the side in focus that see too few of the others are to pause. From now
    on they promise nothing to publishers."""
    if t.setup.handling == NOTHING:
        return
    for node in range(t.setup.nodes):
        if is_running(t, node) and t.nodes[node].awaits == NOTHING and not sees_enough(t, node):
            t.nodes[node].awaits = t.setup.handling


def pause(t):
    """Those that are to pause begin to stop."""
    for node in range(t.setup.nodes):
        if is_running(t, node) and t.nodes[node].awaits != NOTHING and t.nodes[node].awaits != RESTART:
            begin_to_pause(t, node)


# Nodes that see both ends of a link that has failed


def part(t, a, b):
    """Two nodes no longer believe each other running."""
    t.nodes[a].believes &= ~(1 << b)
    t.nodes[b].believes &= ~(1 << a)


def see_between(t, a, b):
    """A link has failed. If nodes still see both its ends, these pause under pause_minority until everybody is back;
    otherwise the partition becomes a full one."""
    between = go_betweens(t, a, b)
    if between and t.setup.handling == MAJORITY:
        t.nodes[a].awaits = t.nodes[b].awaits = EVERYBODY
    elif between:
        make_full(t, a, b, between)


def go_betweens(t, a, b):
    """The nodes that see both ends of a link, and can be asked whether they do, as bits: those that have died or fallen
    silent without anybody having missed them say nothing."""
    bits = 0
    for node in range(t.setup.nodes):
        if t.nodes[a].believes & t.nodes[b].believes & 1 << node and runs_anywhere(t, node):
            bits |= int(linked(t, node, a) and linked(t, node, b)) << node
    return bits


def make_full(t, a, b, between):
    """One end of a link that has failed and the nodes that see both cut themselves off from each other. Which end is a
    race in RabbitMQ, and a random draw here; one that pauses itself leaves it to the other."""
    first = t.setup.handling != PREFERRED or sees_enough(t, a)
    second = t.setup.handling != PREFERRED or sees_enough(t, b)
    if not first and not second:
        return
    place = below(int(first) + int(second), t.setup.seed, CUT_OFF, next_number(t), 0)
    for node in range(t.setup.nodes):
        if between >> node & 1:
            part(t, a if first and place == 0 else b, node)


# Coming back


def boot_again(t, node):
    """A node's broker starts; its Erlang node may never have gone."""
    t.nodes[node].status, t.nodes[node].awaits = BOOTING, NOTHING
    t.nodes[node].boots += 1
    begin_to_boot(t, node)


def look_again(t):
    """Something has come back, or gone: in a second paused nodes look whether they may go on, and sides whether they
    can heal."""
    waiting = t.setup.heals and are_parted(t)
    for node in range(t.setup.nodes):
        waiting = waiting or t.nodes[node].status == PAUSED
    if waiting:
        look_in(t, POLL_US)


def look_around(t):
    """That second is over."""
    for node in range(t.setup.nodes):
        if t.nodes[node].status == PAUSED and fulfilled(t, node):
            boot_again(t, node)
    if t.setup.heals and are_parted(t):
        heal_sides(t)


def are_parted(t):
    """Whether all members run and reach each other, and are on several sides."""
    everybody, one, several = members(t), NOWHERE, False
    for node in range(t.setup.nodes):
        if everybody >> node & 1:
            if not runs_anywhere(t, node) or everybody & ~reached(t, node):
                return False
            one = node if one == NOWHERE else one
            several = several or t.nodes[node].side != t.nodes[one].side
    return several


def reached(t, node):
    """The nodes that a node reaches, as bits."""
    bits = 0
    for other in range(t.setup.nodes):
        bits |= int(linked(t, node, other)) << other
    return bits


def heal_sides(t):
    """All sides but one restart, in the order of their first nodes."""
    best = winning_side(t)
    say_healing(t, best)
    for first in range(t.setup.nodes):
        if is_first(t, first) and t.nodes[first].side != best:
            for node in range(first, t.setup.nodes):
                if members(t) >> node & 1 and t.nodes[node].side == t.nodes[first].side:
                    look_from(t, node)
                    t.nodes[node].awaits = RESTART
                    begin_to_stop(t, node)


def winning_side(t):
    """The number of the side that the others join."""
    best, most, largest = NOWHERE, 0, 0
    for first in range(t.setup.nodes):
        if is_first(t, first):
            connections = size = 0
            for node in range(first, t.setup.nodes):
                if members(t) >> node & 1 and t.nodes[node].side == t.nodes[first].side:
                    connections, size = connections + connections_at(t, node), size + 1
            if best == NOWHERE or wins(connections, size, most, largest):
                best, most, largest = t.nodes[first].side, connections, size
    return best


def is_first(t, node):
    """Whether a node is the first member of its side."""
    for other in range(node):
        if members(t) >> other & 1 and t.nodes[other].side == t.nodes[node].side:
            return False
    return members(t) >> node & 1 == 1
