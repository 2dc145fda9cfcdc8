"""Nodes while stories are searched: what they remember as they go down, and what becomes of it as they come up among
others: what is otherwise than in `departure`, `boot_order`, `sides` and `links`."""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel import boot_order, links
from hawb.study.kernel.cut_state import NO_SIDE, focus_on, place_of
from hawb.study.kernel.search_books import give_up, lose, reclaim
from hawb.study.kernel.search_state import (
    REMEMBERED,
    content,
    delete_copies,
    is_side,
    put_copy,
    remember_at,
)
from hawb.study.kernel.sides import is_held
from hawb.study.kernel.state import look_from

comes_up = boot_order.come_up
heals, times_out = links.heal, links.time_out


# Down


@inner
def remember(t, node):
    """A node that goes down keeps the records as they are now."""
    look_from(t, node)
    remember_at(t, REMEMBERED + node)
    t.notes.remembers |= 1 << node


@inner
def wipe(t, node):
    """The disk of a node that is down is lost. Of a queue that waits for that node nothing is left."""
    look_from(t, node)
    t.moment.virgin |= 1 << node
    t.notes.remembers &= ~(1 << node)
    focus = t.net.focus
    for number in range(1, t.net.last_side + 1):
        if focus_on(t, number) and t.queue.copies >> node & 1:
            if t.queue.master != node:
                delete_copies(t, 1 << node)
            elif t.queue.abandoned:
                lose(t, content(t))
                put_copy(t, node, 0)
                t.queue.redelivered = 0
    focus_on(t, focus)
    drop_unheld(t)


# Up


@inner
def come_up(t, node):
    """A node joins its cluster, and what it remembered does not matter any more."""
    comes_up(t, node)
    t.notes.remembers &= ~(1 << node)
    t.suspected[node] = 0
    for other in range(t.setup.nodes):
        t.suspected[other] &= ~(1 << node)


@inner
def bring_back(t, place):
    """The master that a side waits for comes from the disk of a node that was on another."""
    queue, node, had = t.queue, t.queue.master, content(t)
    held = t.kept_contents[place, node]
    put_copy(t, node, held)
    queue.stored |= t.kept[place].stored
    queue.starts |= t.kept[place].starts
    queue.redelivered = held
    known = t.kept[REMEMBERED + node]
    if t.notes.remembers >> node & 1 and known.master == node and known.stopped and not known.up:
        queue.redelivered = held & known.redelivered
    give_up(t, had)
    reclaim(t, held)


@inner
def leave(t, place, node):
    """A node's copy is no part of a side any more that it has left."""
    side, held = t.kept[place], t.kept_contents[place, node]
    t.kept_contents[place, node] = 0
    if side.master == node:
        side.redelivered = 0
        side.copies |= 1 << node
        give_up(t, held)
    else:
        side.copies &= ~(1 << node)


@inner
def drop_unheld(t):
    """Records that are on nobody's disk any more are gone, and what only they knew of."""
    for number in range(1, t.net.last_side + 1):
        if t.net.sides > 1 and is_side(t, number) and not is_held(t, number):
            look_elsewhere(t, number)
            place = place_of(t, number)
            t.kept_side[place] = NO_SIDE
            t.net.sides -= 1
            for node in range(t.setup.nodes):
                if t.nodes[node].side == number:
                    t.nodes[node].side = t.net.focus
            give_up(t, t.kept_contents[place, t.kept[place].master])


@inner
def look_elsewhere(t, number):
    """Puts another side than one in focus."""
    for other in range(1, t.net.last_side + 1):
        if t.net.focus == number and other != number:
            focus_on(t, other)


# Links


@inner
def heal(t):
    """All links work again."""
    for node in range(t.setup.nodes):
        t.suspected[node] = 0
    heals(t)


@inner
def time_out(t, number):
    """Links have been silent for net_ticktime: those at their ends suspect each other."""
    for node in range(t.setup.nodes):
        t.lost_links[node] = 0
    times_out(t, number)
    for node in range(t.setup.nodes):
        t.suspected[node] |= t.lost_links[node]
