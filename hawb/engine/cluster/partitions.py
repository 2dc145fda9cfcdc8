"""Sides of a partition: how one side becomes several, and how their nodes rejoin.

Nodes that no longer see each other continue with the records that all of them had. What they do from then on is never
merged. A node that comes up among nodes of another side takes over their records (`rabbit_mnesia`) and wipes its
replicas; what only its own side had is lost when the last node leaves that side. Only a queue whose master the other
side still waits for is taken from the disk of the returning node.

The same holds for a node that is forced to boot from records that other nodes have outlived (`go_back`).

Source: `rabbit_mnesia`, `rabbit_node_monitor`; partitions of 3.10.8 clusters.
"""

from __future__ import annotations

from hawb.engine.classic.mirrors import end_master
from hawb.engine.cluster.network_ports import (
    bring_back,
    can_go,
    classic_names,
    drop_side,
    is_here,
    keep_own_waiting,
    leave_side,
    look_elsewhere,
    lose_sight,
    own,
    reclaim_records,
    remembers,
    restore_records,
    say_out_of_reach,
    say_taken_over,
    split_off,
)
from hawb.engine.cluster.node_ports import focused, has_records, look_from, ranked, sides
from hawb.engine.cluster.reachability import is_up, seen_from
from hawb.engine.core.state import NOWHERE, Queue
from hawb.engine.core.turn import Turn

SHARED = True  # the kernel of studies compiles this module

# One side becomes several


def up_here(t: Turn) -> int:
    """Return the nodes of the current side whose broker runs or stops, as bits."""
    bits = 0
    for node in range(t.setup.nodes):
        bits |= int(is_here(t, node) and is_up(t, node)) << node
    return bits


def split(t: Turn, up: int) -> int:
    """Split the current side: each group of running nodes (`up`, as bits) that see each other gets its own records.

    The first group keeps the side and the nodes that are down. Return the number of groups.
    """
    old, left, groups = focused(t), up, 0
    for k in range(t.setup.nodes):
        if left >> ranked(t, k) & 1:
            group = seen_from(t, ranked(t, k), up)
            if groups:
                split_off(t, group, old)
            left &= ~group
            groups += 1
    left = up
    for k in range(t.setup.nodes):
        if left >> ranked(t, k) & 1:
            left &= ~seen_from(t, ranked(t, k), up)
            look_from(t, ranked(t, k))
            for name in classic_names(t):
                keep_own(t, own(t, name))
    return groups


def keep_own(t: Turn, q: Queue) -> None:
    """Remove what clients on other sides have in a queue's record: operations that wait for it, and consumers.

    If the master is on another side, the queue has no master on this side.
    """
    keep_own_waiting(t, q)
    if not q.up or is_here(t, q.master):
        lose_sight(t, q)
    else:
        say_out_of_reach(t, q)
        end_master(t, q, False)


# Several sides become one


def find_records(t: Turn, node: int, found: int) -> None:
    """Give a booting node the records of the node `found`, or those on its own disk if `found` is NOWHERE.

    Make the booting node's side the current one.
    """
    old = t.nodes[node].side
    if found == NOWHERE:
        if t.nodes[node].may_boot_alone:
            go_back(t, node)
    elif t.nodes[found].side != old:
        take_over_records(t, node, old, t.nodes[found].side)
    look_from(t, node)


def take_over_records(t: Turn, node: int, old: int, side: int) -> None:
    """Replace a booting node's records of side `old` by those of another side."""
    t.nodes[node].side = side
    look_from(t, node)
    entry = say_taken_over(t, node)
    for name in classic_names(t):
        if own(t, name).master == node and not own(t, name).up:
            bring_back(t, own(t, name), old)
    leave_side(t, old, node, entry)
    drop_unheld(t, entry)


def go_back(t: Turn, node: int) -> None:
    """Let a node boot from the records on its own disk, as a side of its own.

    Other nodes may have newer records. They keep these until they boot and find this node running.
    """
    if not remembers(t, node):
        return
    old = t.nodes[node].side
    entry = restore_records(t, node)
    leave_side(t, old, node, entry)
    drop_unheld(t, entry)
    look_from(t, node)
    reclaim_records(t)


def drop_unheld(t: Turn, entry: int | None) -> None:
    """Drop the sides whose records are on no disk any more, because of an entry of the trace."""
    for side in sides(t):
        if not is_on_disk(t, side) and can_go(t, side):
            look_elsewhere(t, side)
            for node in range(t.setup.nodes):
                if t.nodes[node].side == side:
                    t.nodes[node].side = focused(t)
            drop_side(t, side, entry)


def is_on_disk(t: Turn, side: int) -> bool:
    """Return True if a side's records are on any disk."""
    held = False
    for node in range(t.setup.nodes):
        held = held or (t.nodes[node].side == side and has_records(t, node))
    return held
