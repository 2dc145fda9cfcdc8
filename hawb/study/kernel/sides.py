"""Sides of a cluster, how one becomes several and how they find together again: `hawb.engine.sides`."""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel import windows
from hawb.study.kernel.books import give_up
from hawb.study.kernel.cut_state import (
    NO_SIDE,
    SIDE,
    drop_row,
    is_here,
    keep,
    look_from,
    place_of,
    show_nodes,
    unschedule,
)
from hawb.study.kernel.deliveries import deliver
from hawb.study.kernel.node_rules import is_up, seen_from
from hawb.study.kernel.replicas import end_master
from hawb.study.kernel.state import (
    AUTOMATIC_SYNC,
    CONSUMER_CLOSES,
    DEPTH_FELL,
    GIVE_UP,
    KIND,
    LINKS_TIME_OUT,
    LOOK_AROUND,
    NOBODY,
    NUMBER,
    POLICY_TAKES_EFFECT,
    REBALANCE,
    REPLICA_GONE,
    SYNC_FINISHED,
    B,
    count_times,
    hand_over,
    move_row,
    next_number,
)


@inner
def is_about_queue(kind):
    """Whether an event is one of the queue as such."""
    return kind in (POLICY_TAKES_EFFECT, AUTOMATIC_SYNC, SYNC_FINISHED, DEPTH_FELL, REPLICA_GONE, GIVE_UP)


@inner
def is_of_side(kind):
    """Whether an event happens on the side on which it was planned, and not where a node is."""
    return is_about_queue(kind) or kind in (LOOK_AROUND, REBALANCE, CONSUMER_CLOSES, LINKS_TIME_OUT)


# One side becomes several


@inner
def split(t):
    """Gives each group of nodes of the side in focus that see each other records of its own. The first keeps the side
    and what is down. Returns the nodes that are up, as bits, of which `seen_from` tells the groups."""
    old, up = t.net.focus, 0
    for node in range(t.setup.nodes):
        up |= int(is_here(t, node) and is_up(t, node)) << node
    left = up
    for node in range(t.setup.nodes):
        if left >> node & 1:
            group = seen_from(t, node, up)
            if left != up:
                split_off(t, group, old)
            left &= ~group
    left = up
    for node in range(t.setup.nodes):
        if left >> node & 1:
            look_from(t, node)
            keep_own(t)
            left &= ~seen_from(t, node, up)
    return up


@inner
def split_off(t, group, old):
    """A group of nodes has records of its own from now on, as they were, and what was planned for them."""
    next_number(t)
    t.net.last_side, t.net.sides = t.net.last_side + 1, t.net.sides + 1
    keep(t, place_of(t, NO_SIDE), t.net.last_side)
    for node in range(t.setup.nodes):
        if group >> node & 1:
            t.nodes[node].side = t.net.last_side
    show_nodes(t)
    for row in range(t.moment.agenda):
        if t.agenda[row, SIDE] == old and is_of_side(t.agenda[row, KIND]):
            plan_again(t, row)


@inner
def plan_again(t, row):
    """What is planned on a side is planned on the last one, too."""
    if t.moment.agenda == len(t.agenda):
        raise OverflowError("more is planned than a trial has room for")
    again = t.moment.agenda
    move_row(t.agenda, row, again)
    t.agenda[again, NUMBER], t.agenda[again, SIDE] = next_number(t), t.net.last_side
    t.moment.agenda += 1


@inner
def keep_own(t):
    """Of what waits for the queue, a side keeps what its own clients asked for. A consumer on another side is gone from
    here, and a master there is none."""
    queue, k = t.queue, 0
    while k < queue.parked:
        if is_here(t, t.parked[k, B]):
            k += 1
        else:
            unschedule(t, GIVE_UP, t.parked[k, NUMBER])
            queue.parked = drop_row(t.parked, queue.parked, k)
    if queue.up and not is_here(t, queue.master):
        end_master(t, t.queue, False)
        return
    if not is_here(t, t.consumer.node):
        t.consumer.subscribed = t.consumer.handed = 0
    deliver(t, False)


# Several sides become one


@inner
def find_records(t, node, found):
    """A node that is coming up forgets what it knew and takes over the records of the node that it has found, if they
    are those of another side."""
    old = t.nodes[node].side
    if found != NOBODY and t.nodes[found].side != old:
        t.nodes[node].side = t.nodes[found].side
        look_from(t, node)
        place = place_of(t, old)
        if t.queue.master == node and not t.queue.up:
            bring_back(t, place)
        leave(t, place, node)
        drop_unheld(t)
    look_from(t, node)


@inner
def bring_back(t, place):
    """The master that a side waits for comes from the disk of a node that was on another."""
    if t.kept[place].master != t.queue.master:
        hand_over(t)
        return
    windows.clear(t.here)
    windows.copy_all(t.content, t.here)
    windows.clear(t.content)
    windows.copy_all(t.kept_content[place], t.content)
    t.consumer.handed = 0
    give_up(t, t.here)


@inner
def leave(t, place, node):
    """A node's copy is no part of a side any more that it has left."""
    if t.kept[place].master == node:
        windows.clear(t.here)
        windows.copy_all(t.kept_content[place], t.here)
        windows.clear(t.kept_content[place])
        t.kept_handed[place] = 0
        give_up(t, t.here)


@inner
def drop_unheld(t):
    """Records that are on nobody's disk any more are gone, and what only they knew of."""
    for number in range(t.net.last_side + 1):
        place = place_of(t, number)
        if number != NO_SIDE and place != NOBODY and not is_held(t, number):
            t.kept_side[place] = NO_SIDE
            t.net.sides -= 1
            count_times(t)
            give_up(t, t.kept_content[place])
            for node in range(t.setup.nodes):
                if t.nodes[node].side == number:
                    t.nodes[node].side = t.net.focus
    if t.net.sides > 1 and not is_held(t, t.net.focus):
        hand_over(t)


@inner
def is_held(t, number):
    """Whether a side's records are on any disk."""
    for node in range(t.setup.nodes):
        if t.nodes[node].side == number and not t.moment.virgin >> node & 1:
            return True
    return False
