"""A group's leader, its ability to commit, and the progress of its members.

The group is one, whatever sides the cluster splits into; each side has its own view of the leader. There is one queue,
in the state of all that is committed: by Raft's state-machine safety it is the same at every member that has come so
far. A member that has not come so far holds what the queue held at its index.

Source: `rabbit_quorum_queue` (`become_leader`, `is_minority`, `i`).
"""

from __future__ import annotations

from hawb.engine.cluster.node_ports import focus_on, focused, sides
from hawb.engine.core.state import Queue, StoreView
from hawb.engine.core.turn import Turn
from hawb.engine.raft_groups.group import Group
from hawb.engine.raft_groups.ports import (
    MAJORITY_REACHED,
    count_times,
    has_record,
    hosted,
    in_sight,
    is_member,
    member_of,
    note_abreast,
    plan,
    reached,
    record,
    say_available,
)
from hawb.raft.member import LEADER, NOWHERE
from hawb.raft.ports import bits_in, members_of
from hawb.rules.quorum import majority

SHARED = True  # the kernel of studies compiles this module

ALL_NODES = -1
"""All nodes, as a set."""


def hosts(t: Turn, g: Group, node: int) -> bool:
    """Return True if the group's member on a node runs."""
    return hosted(t, g) >> node & 1 == 1


def latest_leader(t: Turn, g: Group, among: int) -> int:
    """Return the leader of the latest term among a set of nodes; NOWHERE if there is none."""
    found, term = NOWHERE, 0
    for node in range(t.setup.nodes):
        if among >> node & 1 and is_member(t, g, node):
            member = member_of(t, g, node)
            if member.role == LEADER and (found == NOWHERE or member.term > term):
                found, term = node, member.term
    return found


def is_led(t: Turn, g: Group) -> bool:
    """Return True if a member leads a group, with a majority or without."""
    return latest_leader(t, g, hosted(t, g)) != NOWHERE


def can_commit(t: Turn, g: Group, leader: int) -> bool:
    """Return True if a running leader reaches a majority."""
    group = members_of(t, member_of(t, g, leader))
    return bits_in(group & (reached(t, g, leader) | 1 << leader)) >= majority(bits_in(group))


def refresh(t: Turn, g: Group) -> None:
    """Update, in each side's record, the leader and whether it can commit."""
    focus = focused(t)
    for side in sides(t):
        if focus_on(t, side) and has_record(t, g):
            look_who_leads(t, g, record(t, g))
    focus_on(t, focus)
    count_times(t, g)


def look_who_leads(t: Turn, g: Group, q: Queue | StoreView) -> None:
    """Set the leader in the current side's record `q`.

    It is the latest running leader that a running node of this side reaches.
    """
    master = latest_leader(t, g, in_sight(t, g))
    up = master != NOWHERE and can_commit(t, g, master)
    if q.master != master or q.up != up:
        was_up = q.up
        q.master, q.up = master, up
        if was_up != up:
            say_available(t, g, master, up)
        if up and g.waiting:
            plan(t, g, t.setup.link_us, MAJORITY_REACHED, master)


def level(t: Turn, g: Group) -> bool:
    """Record which members have caught up with the queue.

    Return True if there are new ones and messages that the last leader could not deliver.
    """
    here, abreast = hosted(t, g), 0
    for node in range(t.setup.nodes):
        if here >> node & 1 and member_of(t, g, node).commit_index >= g.applied:
            abreast |= 1 << node
    return note_abreast(t, g, abreast)
