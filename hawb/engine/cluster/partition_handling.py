"""cluster_partition_handling: pause_minority and pause_if_all_down pause nodes, autoheal restarts sides.

Source: `rabbit_node_monitor` (`handle_dead_node`, `await_cluster_recovery`, `partial_partition`), `rabbit_autoheal`.
The decision depends on the Erlang nodes that a node can reach, whether their broker runs or not. A node pauses by
stopping its broker as in a controlled shutdown, and checks every second whether it may start again. Its queues handle
the nodes that went down before it pauses, and this is not undone: a mirror promoted in those milliseconds is the master
in the records of its own side.

Under autoheal the losing sides' nodes restart as soon as every member is up and reachable. `hawb.rules.partitions.wins`
compares the sides; a connection counts if its client has opened and not closed it.
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
from hawb.engine.core.state import ALL_NODES, BOOTING, DOWN, MAJORITY, NOTHING, NOWHERE, PAUSED, PREFERRED, RESTART
from hawb.engine.core.turn import Turn
from hawb.raft.ports import bits_in
from hawb.rules.partitions import has_majority, is_preferred, wins

SHARED = True  # the kernel of studies compiles this module

POLL_US = 1_000_000
"""The interval of a paused node's checks, and the delay until nodes that see each other again act on it."""


def seen(t: Turn, node: int) -> int:
    """Return the members to which a node counts as connected by Erlang, itself included, as bits.

    A running node does not count nodes that it has seen go down. A paused node counts the nodes that it reaches.
    """
    bits, runs = 1 << node, runs_anywhere(t, node)
    for other in range(t.setup.nodes):
        gone = t.nodes[other].status == DOWN or (runs and runs_anywhere(t, other))
        if (runs and t.nodes[node].believes >> other & 1) or (not gone and linked(t, node, other)):
            bits |= 1 << other
    return bits & members(t)


def sees_enough(t: Turn, node: int) -> bool:
    """Return True if a node need not pause: it sees a majority, or one of the preferred nodes."""
    others = seen(t, node)
    if t.setup.handling == MAJORITY:
        return has_majority(bits_in(others), bits_in(members(t)))
    return is_preferred(others, t.setup.preferred & members(t))


def fulfilled(t: Turn, node: int) -> bool:
    """Return True if the condition that a paused node waits for holds."""
    awaits = t.nodes[node].awaits
    if awaits == ALL_NODES:
        return seen(t, node) == members(t)
    return awaits == RESTART or sees_enough(t, node)


def decide_who_pauses(t: Turn) -> None:
    """Mark the running nodes of the current side that see too few nodes as about to pause.

    A marked node sends no more confirms to publishers.
    """
    if t.setup.handling == NOTHING:
        return
    for node in range(t.setup.nodes):
        if is_running(t, node) and t.nodes[node].awaits == NOTHING and not sees_enough(t, node):
            t.nodes[node].awaits = t.setup.handling


def pause(t: Turn) -> None:
    """Start the shutdown of the nodes that are about to pause."""
    for node in range(t.setup.nodes):
        if is_running(t, node) and t.nodes[node].awaits != NOTHING and t.nodes[node].awaits != RESTART:
            begin_to_pause(t, node)


# Nodes that see both ends of a link that has failed


def part(t: Turn, a: int, b: int) -> None:
    """Record that each of two nodes sees the other as down."""
    t.nodes[a].believes &= ~(1 << b)
    t.nodes[b].believes &= ~(1 << a)


def see_between(t: Turn, a: int, b: int) -> None:
    """Handle a partial partition: the link between `a` and `b` has failed, but other nodes still see both of them.

    Under pause_minority `a` and `b` pause until they see all members. Otherwise make the partition a full one. If no
    node sees both, do nothing.
    """
    between = go_betweens(t, a, b)
    if between and t.setup.handling == MAJORITY:
        t.nodes[a].awaits = t.nodes[b].awaits = ALL_NODES
    elif between:
        make_full(t, a, b, between)


def go_betweens(t: Turn, a: int, b: int) -> int:
    """Return the nodes that see both `a` and `b`, and that answer when these two ask, as bits.

    A node that is down or unreachable does not answer, even if `a` and `b` have not detected this yet.
    """
    bits = 0
    for node in range(t.setup.nodes):
        if t.nodes[a].believes & t.nodes[b].believes & 1 << node and runs_anywhere(t, node):
            bits |= int(linked(t, node, a) and linked(t, node, b)) << node
    return bits


def make_full(t: Turn, a: int, b: int, between: int) -> None:
    """Make a partial partition a full one: disconnect `a` or `b` from the nodes `between`, which see both.

    In RabbitMQ a race decides between the two, in hawb a random draw. A node that is about to pause does not disconnect
    itself; if both are, neither does.
    """
    first = t.setup.handling != PREFERRED or sees_enough(t, a)
    second = t.setup.handling != PREFERRED or sees_enough(t, b)
    if not first and not second:
        return
    place = below(int(first) + int(second), t.setup.seed, CUT_OFF, next_number(t), 0)
    for node in range(t.setup.nodes):
        if between >> node & 1:
            part(t, a if first and place == 0 else b, node)


# Coming back


def boot_again(t: Turn, node: int) -> None:
    """Start a node's broker; its Erlang node may never have stopped."""
    t.nodes[node].status, t.nodes[node].awaits = BOOTING, NOTHING
    t.nodes[node].boots += 1
    begin_to_boot(t, node)


def look_again(t: Turn) -> None:
    """Schedule the next check (`look_around`) in a second, if a node is paused or autoheal has sides to heal."""
    waiting = t.setup.heals and are_parted(t)
    for node in range(t.setup.nodes):
        waiting = waiting or t.nodes[node].status == PAUSED
    if waiting:
        look_in(t, POLL_US)


def look_around(t: Turn) -> None:
    """Boot the paused nodes whose condition is fulfilled, and heal the partition if autoheal can."""
    for node in range(t.setup.nodes):
        if t.nodes[node].status == PAUSED and fulfilled(t, node):
            boot_again(t, node)
    if t.setup.heals and are_parted(t):
        heal_sides(t)


def are_parted(t: Turn) -> bool:
    """Return True if all members run and reach each other, but are still on several sides."""
    all_nodes, one, several = members(t), NOWHERE, False
    for node in range(t.setup.nodes):
        if all_nodes >> node & 1:
            if not runs_anywhere(t, node) or all_nodes & ~reached(t, node):
                return False
            one = node if one == NOWHERE else one
            several = several or t.nodes[node].side != t.nodes[one].side
    return several


def reached(t: Turn, node: int) -> int:
    """Return the nodes to which a node has a working link, as bits."""
    bits = 0
    for other in range(t.setup.nodes):
        bits |= int(linked(t, node, other)) << other
    return bits


def heal_sides(t: Turn) -> None:
    """Restart the nodes of all sides except the winning one; the side with the first node restarts first."""
    best = winning_side(t)
    say_healing(t, best)
    for first in range(t.setup.nodes):
        if is_first(t, first) and t.nodes[first].side != best:
            for node in range(first, t.setup.nodes):
                if members(t) >> node & 1 and t.nodes[node].side == t.nodes[first].side:
                    look_from(t, node)
                    t.nodes[node].awaits = RESTART
                    begin_to_stop(t, node)


def winning_side(t: Turn) -> int:
    """Return the number of the side that does not restart: it has the most connections, then the most nodes."""
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


def is_first(t: Turn, node: int) -> bool:
    """Return True if a node is the first member of its side."""
    for other in range(node):
        if members(t) >> other & 1 and t.nodes[other].side == t.nodes[node].side:
            return False
    return members(t) >> node & 1 == 1
