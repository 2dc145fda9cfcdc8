"""Nodes while stories are searched: what they remember as they go down, and what becomes of it as they come up among
others: what is otherwise than in `departure`, `arrival` and `network_ports`."""

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


# Down


@inner
def remember(t, node):
    """A node that goes down keeps the records as they are now."""
    look_from(t, node)
    remember_at(t, REMEMBERED + node)
    t.notes.remembers |= 1 << node


@inner
def lose_disk_of(t, node):
    """The disk of a node that is down is lost."""
    t.moment.virgin |= 1 << node
    t.notes.remembers &= ~(1 << node)
    lose_disks(t, 1 << node, 0, 0)


@inner
def has_copy(t, q, node):
    """Whether a node has a copy of the queue, be it on its disk."""
    return q.copies >> node & 1 == 1


@inner
def lose_content(t, q, why):
    """Nothing is left of what the queue holds, which waits for its master's node."""
    lose(t, content(t))
    put_copy(t, q.master, 0)
    q.redelivered = 0


# Up


@inner
def return_to_queues(t, node, others):
    """What the queue makes of a node that is back: what that remembered does not matter any more."""
    t.notes.remembers &= ~(1 << node)
    returns_to_queues(t, node, others)
    t.suspected[node] = 0
    for other in range(t.setup.nodes):
        t.suspected[other] &= ~(1 << node)


@inner
def bring_back(t, q, old):
    """The master that a side waits for comes from the disk of its node, which was on another."""
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
    """A node's copy is no part any more of the side that it has left."""
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
    """A side's records are gone, and what only they knew of."""
    place = place_of_side(t, side)
    t.kept_side[place] = NO_SIDE
    t.net.sides -= 1
    give_up(t, t.kept_contents[place, t.kept[place].master])


# Links


@inner
def in_reach(t):
    """Nobody suspects anybody any more."""
    for node in range(t.setup.nodes):
        t.suspected[node] = 0


@inner
def note_suspects(t, ends):
    """The nodes at the ends of links suspect each other."""
    for node in range(t.setup.nodes):
        t.suspected[node] |= ends[node]
