"""Nodes that go down and come back, and links, in a search with a quorum queue and, with Khepri, the metadata store.

These are the differences from `departure`, `arrival` and `network_ports`.
"""

from __future__ import annotations

from hawb.engine.raft_groups import inputs
from hawb.study.compiled import inner
from hawb.study.kernel.asking import drop_orphans, set_unsent_aside
from hawb.study.kernel.disks import keep_sides
from hawb.study.kernel.node_ports import focus_on, focused, sides
from hawb.study.kernel.quorum import ask_for
from hawb.study.kernel.quorum_disks import lose_members_at
from hawb.study.kernel.quorum_links import see_members
from hawb.study.kernel.quorum_nodes import refresh_groups, start_member
from hawb.study.kernel.quorum_search_ports import offer_what_is_in_sight
from hawb.study.kernel.quorum_search_state import (
    remember_at,
    without_node,
)
from hawb.study.kernel.quorum_state import (
    GONE,
    SUSPECTS,
)
from hawb.study.kernel.raft_log import is_member
from hawb.study.kernel.state import (
    NONE,
    is_here,
    look_from,
)

SUSPICION_US = inputs.SUSPICION_US

# Nodes and clients that are gone


@inner
def remember(t, node):
    """Keep the current records for a node that goes down."""
    look_from(t, node)
    remember_at(t, node)
    t.known_store[node], t.known_store_up[node] = t.store.master, t.store.up
    t.notes.remembers |= 1 << node


@inner
def channels_gone(t, node):
    """Drop the channels at a node: their proposals are not sent again."""
    t.queue.known = without_node(t.queue.known, node)
    for row in range(t.queue.waiting):
        if t.waiting[row].node == node:
            t.waiting[row].node = GONE
    drop_orphans(t, t.queue)


@inner
def clients_gone(t, gone, dead):
    """Close connections to nodes that are gone, with what waits in them.

    Leaders suspect clients of nodes on another side.
    """
    for node in range(t.setup.nodes):
        if dead >> node & 1:
            t.net.connected &= ~(1 << node)
            t.asks[node] = 0
            drop_awaiting_registration(t, node)
        elif gone >> node & 1 and t.queue.up and is_here(t, t.queue.master):
            ask_for(t, SUSPECTS, NONE, NONE, node, 0)


@inner
def drop_awaiting_registration(t, node):
    """Drop what waited in a node's channels."""
    left = 0
    for k in range(t.queue.awaiting_registration):
        if t.awaiting_registration[k] != node:
            t.awaiting_registration[left] = t.awaiting_registration[k]
            left += 1
    t.queue.awaiting_registration = left


@inner
def lose_disk_of(t, node):
    """Lose the disk of a node that is down."""
    look_from(t, node)
    t.moment.virgin |= 1 << node
    t.notes.remembers &= ~(1 << node)
    lose_members_at(t, node)
    keep_sides(t, 0)


@inner
def return_to_queues(t, node, others):
    """Start a node's member, and drop what the node remembered.

    Raise OverflowError if the first node to boot has none, so that the queue's record is on disks only, except with
    Khepri (`hawb.engine.cluster.booting_ports.load_group_record`).
    """
    if not others and not is_member(t, t.queue, node) and not t.setup.khepri:
        raise OverflowError("the queue's record is on disks alone")
    t.notes.remembers &= ~(1 << node)
    start_member(t, node)


# Links


@inner
def in_reach(t):
    """Let members reach each other again, and inform channels that had not lost sight of any node about leaders."""
    see_members(t)
    focus = focused(t)
    for side in sides(t):
        if focus_on(t, side) and t.queue.master != NONE and is_here(t, t.queue.master):
            offer_what_is_in_sight(t, t.queue.master, True)
    focus_on(t, focus)
    set_unsent_aside(t, t.queue)


@inner
def give_up_what_waited(t):
    """Update the leaders after links have been given up."""
    refresh_groups(t)


@inner
def drop_side(t, side, entry):
    """Drop a side's view."""
    for place in range(len(t.kept_side)):
        if t.kept_side[place] == side:
            t.kept_side[place] = 0
    t.net.sides -= 1
