"""Sides of a cluster: how one becomes several, and how their nodes find together again.

Nodes that no longer see each other go on each with the records that all had. Nothing ever merges what they do from then
on: a node that comes up among nodes of another side takes over their records (`rabbit_mnesia`), wipes its replicas, and
what only its own side had is gone when the last node leaves that. Only a queue whose master the others are still
waiting for is taken from the disk that comes back.

The same holds for a node that is made to boot from records that others have outlived (`go_back`).

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
from hawb.engine.core.state import NOWHERE

SHARED = True  # the kernel of studies compiles this module

# One side becomes several


def up_here(t):
    """The nodes of the side in focus that still do something, as bits."""
    bits = 0
    for node in range(t.setup.nodes):
        bits |= int(is_here(t, node) and is_up(t, node)) << node
    return bits


def split(t, up):
    """Gives each group of the nodes `up` of the side in focus, as bits, that see each other records of its own. The
    first one keeps the side and what is down. How many groups there are."""
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


def keep_own(t, q):
    """Of what waits for a queue, a side keeps what its own clients asked for. Consumers on another side are gone from
    here, and a master there is none."""
    keep_own_waiting(t, q)
    if not q.up or is_here(t, q.master):
        lose_sight(t, q)
    else:
        say_out_of_reach(t, q)
        end_master(t, q, False)


# Several sides become one


def find_records(t, node, found):
    """A node that comes up has the records of the node that it has found, or else its own, and its side is in focus."""
    old = t.nodes[node].side
    if found == NOWHERE:
        if t.nodes[node].may_boot_alone:
            go_back(t, node)
    elif t.nodes[found].side != old:
        take_over_records(t, node, old, t.nodes[found].side)
    look_from(t, node)


def take_over_records(t, node, old, side):
    """A node that is coming up forgets what it knew on its old side and takes over the records of another."""
    t.nodes[node].side = side
    look_from(t, node)
    entry = say_taken_over(t, node)
    for name in classic_names(t):
        if own(t, name).master == node and not own(t, name).up:
            bring_back(t, own(t, name), old)
    leave_side(t, old, node, entry)
    drop_unheld(t, entry)


def go_back(t, node):
    """A node that is down is to boot from the records that were on its disk when it went, as a side of its own. Others
    may have gone on with newer ones; they keep those until they come up and find this node running."""
    if not remembers(t, node):
        return
    old = t.nodes[node].side
    entry = restore_records(t, node)
    leave_side(t, old, node, entry)
    drop_unheld(t, entry)
    look_from(t, node)
    reclaim_records(t)


def drop_unheld(t, entry):
    """Records that are on nobody's disk any more are gone, and what only they knew of, because of an entry of the
    trace."""
    for side in sides(t):
        if not is_on_disk(t, side) and can_go(t, side):
            look_elsewhere(t, side)
            for node in range(t.setup.nodes):
                if t.nodes[node].side == side:
                    t.nodes[node].side = focused(t)
            drop_side(t, side, entry)


def is_on_disk(t, side):
    """Whether a side's records are on any disk."""
    held = False
    for node in range(t.setup.nodes):
        held = held or (t.nodes[node].side == side and has_records(t, node))
    return held
