"""Nodes in a search: what they remember as they go down, and its use as they boot among others.

These are the differences from `departure`, `arrival` and `network_ports`.
"""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel import arrival
from hawb.study.kernel.disks import lose_disks
from hawb.study.kernel.partitioned_state import NO_SIDE, place_of_side
from hawb.study.kernel.search_books import give_up, lose, reclaim
from hawb.study.kernel.search_state import (
    REMEMBERED,
    content,
    put_copy,
    remember_at,
)
from hawb.study.kernel.state import look_from

returns_to_queues = arrival.return_to_queues


# Nodes go down


@inner
def remember(t, node):
    """Keep the current records for a node that goes down."""
    look_from(t, node)
    remember_at(t, REMEMBERED + node)
    t.notes.remembers |= 1 << node


@inner
def lose_disk_of(t, node):
    """Lose the disk of a node that is down."""
    t.moment.virgin |= 1 << node
    t.notes.remembers &= ~(1 << node)
    lose_disks(t, 1 << node, 0, 0)


@inner
def has_copy(t, q, node):
    """Return True if a node has a copy of the queue, in memory or on disk."""
    return q.copies >> node & 1 == 1


@inner
def lose_content(t, q, why):
    """Lose all messages of the queue, which waits for its master's node."""
    lose(t, content(t))
    put_copy(t, q.master, 0)
    q.redelivered = 0


# Nodes boot


@inner
def return_to_queues(t, node, others):
    """Let the queue react to a node that is back, and drop what that remembered."""
    t.notes.remembers &= ~(1 << node)
    returns_to_queues(t, node, others)
    t.suspected[node] = 0
    for other in range(t.setup.nodes):
        t.suspected[other] &= ~(1 << node)


@inner
def bring_back(t, q, old):
    """Take a master for which this side waits from the disk of its node, which was on another side."""
    place, node, had = place_of_side(t, old), q.master, content(t)
    held = t.kept_contents[place, node]
    put_copy(t, node, held)
    q.stored |= t.kept[place].stored
    q.starts |= t.kept[place].starts
    q.redelivered = held
    known = t.kept[REMEMBERED + node]
    if t.notes.remembers >> node & 1 and known.master == node and known.stopped and not known.up:
        q.redelivered = held & known.redelivered
    give_up(t, had)
    reclaim(t, held)


@inner
def leave_side(t, old, node, entry):
    """Remove a node's copy from the side that it has left."""
    place = place_of_side(t, old)
    side, held = t.kept[place], t.kept_contents[place, node]
    t.kept_contents[place, node] = 0
    if side.master == node:
        side.redelivered = 0
        side.copies |= 1 << node
        give_up(t, held)
    else:
        side.copies &= ~(1 << node)


@inner
def drop_side(t, side, entry):
    """Drop a side's records, and the messages that only they have."""
    place = place_of_side(t, side)
    t.kept_side[place] = NO_SIDE
    t.net.sides -= 1
    give_up(t, t.kept_contents[place, t.kept[place].master])


# Links


@inner
def in_reach(t):
    """Drop all suspicions."""
    for node in range(t.setup.nodes):
        t.suspected[node] = 0


@inner
def note_suspects(t, ends):
    """Let the nodes at the ends of links suspect each other."""
    for node in range(t.setup.nodes):
        t.suspected[node] |= ends[node]
