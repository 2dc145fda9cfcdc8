"""Nodes that go down and come back, and links, in a search with a quorum queue and, with Khepri, the metadata store.

These are the differences from `departure`, `arrival` and `network_ports`.
"""

from __future__ import annotations

from hawb.engine.raft_groups import inputs
from hawb.study.compiled import inner
from hawb.study.kernel.asking import drop_orphans, set_unsent_aside
from hawb.study.kernel.disks import keep_sides
from hawb.study.kernel.hosting import look_around
from hawb.study.kernel.node_ports import focus_on, focused, sides
from hawb.study.kernel.partitioned_state import SIDE, show_nodes
from hawb.study.kernel.quorum import ask_for
from hawb.study.kernel.quorum_disks import lose_members_at
from hawb.study.kernel.quorum_nodes import members_noticed_down, refresh_groups, start_member
from hawb.study.kernel.quorum_search_ports import offer_what_is_in_sight
from hawb.study.kernel.quorum_search_state import (
    is_of_side,
    link_bit,
    remember_at,
    without_node,
)
from hawb.study.kernel.quorum_state import (
    GONE,
    LINKS_SUSPECTED,
    SUSPECTS,
)
from hawb.study.kernel.raft_log import is_member
from hawb.study.kernel.state import (
    KIND,
    NONE,
    NUMBER,
    PRIORITY,
    TIME,
    TIMER,
    is_here,
    is_running,
    linked,
    look_from,
    next_number,
    put_on_agenda,
    remove_row,
    runs_anywhere,
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
def suspect_later(t, links):
    """Schedule the suspicion of links, or of nodes at their ends, that have fallen silent."""
    put_on_agenda(t, SUSPICION_US, TIMER, LINKS_SUSPECTED, links, 0, 0, 0)
    refresh_groups(t)


@inner
def fall_silent(t, node):
    """Cut off a node without power: neither it nor the running nodes receive anything from each other."""
    links = 0
    for other in range(t.setup.nodes):
        links |= link_bit(node, other) * int(is_running(t, other))
    suspect_later(t, links)


@inner
def be_silent(t, ends):
    """Let members receive nothing over these links."""
    links = 0
    for a in range(t.setup.nodes):
        for b in range(a + 1, t.setup.nodes):
            links |= link_bit(a, b) * (ends[a] >> b & 1)
    suspect_later(t, links)


@inner
def suspect(t, links):
    """Let the failure detector suspect the nodes at the ends of these links, as far as the links are still silent."""
    found = 0
    for a in range(t.setup.nodes):
        for b in range(a + 1, t.setup.nodes):
            talk = linked(t, a, b) and runs_anywhere(t, a) and runs_anywhere(t, b)
            if links & link_bit(a, b) and not talk:
                t.suspected[a] |= 1 << b
                t.suspected[b] |= 1 << a
                found = 1
    if found:
        members_noticed_down(t)


@inner
def in_reach(t):
    """Let members reach each other again, and inform channels that had not lost sight of any node about leaders."""
    for node in range(t.setup.nodes):
        t.suspected[node] = 0
    if t.setup.khepri:
        look_around(t, t.store)
    look_around(t, t.queue)
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
def take_in(t, best, side):
    """Merge a side into the best one, on which the events at its nodes happen; its other events are dropped."""
    row = first_of_side(t, side)
    while row != NONE:
        if is_of_side(t.agenda[row, KIND]):
            remove_row(t, row)
        else:
            t.agenda[row, NUMBER], t.agenda[row, SIDE] = next_number(t), best
        row = first_of_side(t, side)
    focus_on(t, best)
    for node in range(t.setup.nodes):
        if t.nodes[node].side == side:
            t.nodes[node].side = best
    drop_side(t, side, 0)
    show_nodes(t)


@inner
def first_of_side(t, side):
    """Return the row of the next event that was scheduled on a side; NONE if there is none."""
    best = NONE
    for row in range(t.moment.agenda):
        if t.agenda[row, SIDE] == side and (best == NONE or is_earlier(t.agenda[row], t.agenda[best])):
            best = row
    return best


@inner
def is_earlier(planned, other):
    """Return True if an event comes before another, by time, then priority, then number."""
    if planned[TIME] != other[TIME]:
        return planned[TIME] < other[TIME]
    if planned[PRIORITY] != other[PRIORITY]:
        return planned[PRIORITY] < other[PRIORITY]
    return planned[NUMBER] < other[NUMBER]


@inner
def drop_side(t, side, entry):
    """Drop a side's view."""
    for place in range(len(t.kept_side)):
        if t.kept_side[place] == side:
            t.kept_side[place] = 0
    t.net.sides -= 1
