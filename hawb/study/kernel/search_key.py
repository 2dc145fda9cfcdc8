"""The key of a state, as whole numbers: two states have the same if `hawb.planning.explore.digest` has.

Words are written behind their count. `hawb.engine.keys.state_key` says what is left out, and which nodes are
interchangeable.
"""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel.partitioned_state import NO_SIDE, SIDE, place_of_side
from hawb.study.kernel.search_names import bit, place_in, rename, say, status
from hawb.study.kernel.search_sets import say_messages
from hawb.study.kernel.search_state import MOST_SIDES, REMEMBERED, order_sides, remember_at
from hawb.study.kernel.state import (
    ANSWERED,
    AT,
    BOOT,
    BOOT_GIVES_UP,
    CONFIRMS_DUE,
    FIRST_NODE,
    HOW,
    KIND,
    LACKED_BY,
    LINKS_TIME_OUT,
    MANUAL_SYNC,
    MIRROR_JOINS,
    NEVER,
    NODE_GONE,
    NONE,
    NUMBER,
    NUMBERED,
    POLICY_TAKES_EFFECT,
    PRIORITY,
    PUBLISH,
    SHUT_DOWN,
    STOPPED,
    SYNC_FINISHED,
    TIME,
    A,
    B,
    C,
)

LISTED = 1 << 52
"""An offset above all numbers of events and the marks of their priorities."""


@inner
def name(t, words):
    """Write the key of a state."""
    words[0] = 0
    sides = order_sides(t)
    here = place_of_side(t, NO_SIDE)
    remember_at(t, here)
    rename(t, here, sides)
    for k in range(t.setup.nodes):
        say_node(t, words, t.available[k], sides)
    for k in range(sides):
        say_record(t, words, place_in(t, t.order[k], here))
    for k in range(t.setup.nodes):
        if t.notes.remembers >> t.available[k] & 1:
            say_record(t, words, REMEMBERED + t.available[k])
    say_rest(t, words, sides)
    say_messages(t, words, here, sides)


# Parts of the key


@inner
def renamed(t, bits):
    """Return nodes by their new names, as bits."""
    found = 0
    for node in range(t.setup.nodes):
        found |= (bits >> node & 1) << t.free[node]
    return found


@inner
def say_list(t, words, nodes, count):
    """Write nodes in their order."""
    number = 1
    for k in range(count):
        number = number << 3 | t.free[nodes[k]]
    say(words, number)


@inner
def side_at(t, sides, number):
    """Return the place of a side in their order; -1 for one that is gone."""
    for k in range(sides):
        if t.order[k] == number:
            return k
    return -1


@inner
def say_node(t, words, node, sides):
    """Write a node's state and beliefs."""
    flags = bit(t.moment.virgin, node) << 3 | (t.nodes[node].drained != 0) << 2 | t.nodes[node].silent << 1
    flags |= bit(t.net.connected, node)
    say(words, flags << 1 | bit(t.notes.remembers, node))
    say(words, status(t, node) << 8 | t.nodes[node].awaits << 4 | side_at(t, sides, t.nodes[node].side))
    say(words, renamed(t, t.nodes[node].believes))
    say(words, renamed(t, t.cut[node]) << 8 | renamed(t, t.suspected[node]))


@inner
def say_record(t, words, place):
    """Write a record of the queue, without messages."""
    queue = t.kept[place]
    flags = queue.up << 4 | queue.stopped << 3 | queue.awaits_master << 2 | queue.absent << 1 | queue.mirrored
    say(words, flags << 3 | t.free[queue.master])
    say(words, t.free[queue.orphaned_gm] + 1 if queue.orphaned_gm != NONE else 0)
    say_list(t, words, t.kept_mirrors[place], queue.mirrors)
    say_list(t, words, t.kept_synchronised[place], queue.synchronised)
    say_list(t, words, t.kept_recoverable[place], queue.recoverable)
    say_list(t, words, t.kept_lagging[place], queue.lagging)
    say(words, renamed(t, queue.depth_unknown) << 8 | renamed(t, queue.copies))
    say(words, renamed(t, queue.dead_gm_members) << 8 | renamed(t, queue.dead_gm_synchronised))
    syncs = queue.syncing and place < REMEMBERED
    say(words, syncs)
    if syncs:
        say(words, renamed(t, queue.sync_mirrors))
        say(words, t.moment.now_us - queue.sync_began_us)
    say(words, queue.waiting)
    for k in range(queue.waiting):
        row = t.kept_waiting[place, k]
        what = row[KIND] << 8 | t.free[row[A if row[KIND] == MANUAL_SYNC else B]] << 4 | row[C] & HOW
        say(words, renamed(t, row[C] >> LACKED_BY) << 16 | what)


@inner
def say_rest(t, words, sides):
    """Write what waits, and the agenda."""
    say(words, t.queue.waiting_changes)
    for k in range(t.queue.waiting_changes):
        node = t.free[t.waiting_changes[k, 1]] if t.waiting_changes[k, 0] == MIRROR_JOINS else 0
        say(words, t.waiting_changes[k, 0] << 4 | node)
    say(words, t.moment.awaiting)
    for k in range(t.moment.awaiting):
        row = t.awaiting[k]
        say(words, t.free[row[AT]] << 1 | row[ANSWERED])
        for place in range(t.setup.nodes):
            due_us = row[FIRST_NODE + t.available[place]]
            asked = 0 <= due_us < NEVER
            say(words, due_us - t.moment.now_us if asked else NEVER + (due_us < 0))
    say_agenda(t, words, sides)


@inner
def say_agenda(t, words, sides):
    """Write the agenda."""
    say(words, t.moment.agenda)
    for row in range(t.moment.agenda):
        t.agenda[row, NUMBER] += t.agenda[row, PRIORITY] << 48
    for _ in range(t.moment.agenda):
        say_event(t, words, first_event(t), sides)
    for row in range(t.moment.agenda):
        t.agenda[row, NUMBER] &= (1 << 48) - 1


@inner
def first_event(t):
    """Return the row of the first event that is not written yet, and mark it as written."""
    best = -1
    for row in range(t.moment.agenda):
        if t.agenda[row, NUMBER] < LISTED and (best < 0 or comes_first(t.agenda[row], t.agenda[best])):
            best = row
    t.agenda[best, NUMBER] += LISTED
    return best


@inner
def comes_first(planned, other):
    """Return True if an event comes before another, by time, then priority, then number."""
    return planned[TIME] < other[TIME] or (planned[TIME] == other[TIME] and planned[NUMBER] < other[NUMBER])


@inner
def say_event(t, words, row, sides):
    """Write an event, without the numbers that only distinguish it from a stale one."""
    planned = t.agenda[row]
    kind = planned[KIND]
    say(words, planned[TIME] - t.moment.now_us)
    say(words, planned[PRIORITY] << 16 | kind << 8 | side_at(t, sides, planned[SIDE]) + 1)
    say(words, meaning(t, planned, kind))


@inner
def meaning(t, planned, kind):
    """Return the subject of an event."""
    if kind in (SHUT_DOWN, NODE_GONE, MANUAL_SYNC):
        return t.free[planned[A]]
    if kind in (STOPPED, BOOT, BOOT_GIVES_UP):
        return t.free[planned[A]] << 1 | int(t.nodes[planned[A]].boots == planned[B])
    if kind == MIRROR_JOINS:
        return t.free[planned[A]] << 1 | planned[B]
    if kind == PUBLISH:
        return t.free[planned[B]] << 4 | planned[C]
    if kind == POLICY_TAKES_EFFECT:
        return planned[A]
    if kind == LINKS_TIME_OUT:
        return int(t.net.severed and t.net.cut_number == planned[A])
    if kind == SYNC_FINISHED:
        return int(is_under_way(t, planned[A]))
    if kind == CONFIRMS_DUE:
        for k in range(t.moment.awaiting):
            if t.awaiting[k, NUMBERED] == planned[A]:
                return k
        return -1
    return 0


@inner
def is_under_way(t, number):
    """Return True if any side has a synchronisation of that number."""
    found = t.queue.syncing and t.queue.sync_number == number
    for place in range(MOST_SIDES):
        if t.kept_side[place] != NO_SIDE:
            found = found or (t.kept[place].syncing and t.kept[place].sync_number == number)
    return found
