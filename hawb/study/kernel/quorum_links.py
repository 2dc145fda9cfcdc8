"""A quorum queue's group in a network whose links may fail, in a trial or a search: `hawb.engine.raft_groups.inputs`.

A quorum queue, like the metadata store, is one on all sides, except for the leader that a side sees
(`hawb.engine.core.turn.OF_A_SIDE`).
"""

from __future__ import annotations

from hawb.engine.raft_groups import inputs
from hawb.study.compiled import inner
from hawb.study.kernel import departure, enqueuers, host_ports, network_ports, partitioned_state
from hawb.study.kernel.hosting import look_around
from hawb.study.kernel.network_ports import drop_side
from hawb.study.kernel.node_ports import focus_on
from hawb.study.kernel.partitioned_state import NO_SIDE, SIDE, is_earlier, is_of_side, show_nodes
from hawb.study.kernel.quorum_nodes import members_noticed_down, refresh_groups
from hawb.study.kernel.quorum_state import LINKS_SUSPECTED
from hawb.study.kernel.state import (
    KIND,
    LINKS_TIME_OUT,
    NONE,
    NUMBER,
    TIME,
    TIMER,
    WAITING,
    is_running,
    linked,
    next_number,
    put_on_agenda,
    remove_row,
    running_bits,
    runs_anywhere,
)

SUSPICION_US = inputs.SUSPICION_US

# Sides


@inner
def put_aside(t, place, number):
    """Keep the leader that the current side sees as that of the side of this number."""
    t.kept_side[place], t.kept_master[place], t.kept_up[place] = number, t.queue.master, t.queue.up
    t.kept_store[place], t.kept_store_up[place] = t.store.master, t.store.up


@inner
def take_up(t, place):
    """Make the side current whose view is kept at a place."""
    t.queue.master, t.queue.up = t.kept_master[place], t.kept_up[place]
    t.store.master, t.store.up = t.kept_store[place], t.kept_store_up[place]
    t.net.focus, t.kept_side[place] = t.kept_side[place], NO_SIDE
    show_nodes(t)


@inner
def take_in(t, best, side):
    """Merge a side into the best one, on which its events go on, as far as they do."""
    focus_on(t, best)
    row = first_of_side(t, side)
    while row != NONE:
        if goes_on(t, t.agenda[row, KIND], side):
            t.agenda[row, NUMBER], t.agenda[row, SIDE] = next_number(t), best
        else:
            remove_row(t, row)
        row = first_of_side(t, side)
    adopt(t, best, side)
    for node in range(t.setup.nodes):
        if t.nodes[node].side == side:
            t.nodes[node].side = best
    drop_side(t, side, 0)
    show_nodes(t)


@inner
def goes_on(t, kind, side):
    """Return True if an event of a side that is merged into another is at a node."""
    return not is_of_side(kind)


@inner
def adopt(t, best, side):
    """Do nothing: a quorum queue is one on all sides."""


@inner
def first_of_side(t, side):
    """Return the row of the next event that was scheduled on a side; NONE if there is none."""
    best = NONE
    for row in range(t.moment.agenda):
        if t.agenda[row, SIDE] == side and (best == NONE or is_earlier(t.agenda[row], t.agenda[best])):
            best = row
    return best


# Members


@inner
def hosted(t, g, *_):
    """Return the nodes whose members run, on whatever side, as bits; the metadata store's also on nodes that wait."""
    bits = 0
    for node in range(t.setup.nodes):
        waits = g.store and t.nodes[node].status == WAITING
        bits |= int(waits or runs_anywhere(t, node)) << node
    return bits & g.present & ~g.stopped


@inner
def reached(t, g, node):
    """Return the nodes whose members run and are reached from a node, as bits."""
    bits = hosted(t, g)
    return bits & ~t.cut[node]


@inner
def in_sight(t, g):
    """Return the nodes whose members run and are reached from a running node of the current side, as bits."""
    here, running, seen = hosted(t, g), running_bits(t), 0
    for node in range(t.setup.nodes):
        if here >> node & 1 and running & ~t.cut[node]:
            seen |= 1 << node
    return seen


# Silent links


@inner
def link_bit(a, b):
    """Return a link between two nodes, as a bit."""
    return 1 << max(a, b) * (max(a, b) - 1) // 2 + min(a, b)


@inner
def silent_us(t, a, b):
    """Return the time until the connection of two nodes over a cut link is given up; 0 if it has been."""
    for row in range(t.moment.agenda):
        if t.agenda[row, KIND] == LINKS_TIME_OUT:
            return t.agenda[row, TIME] - t.moment.now_us
    return 0


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
def see_members(t):
    """Let members reach each other again over all links."""
    for node in range(t.setup.nodes):
        t.suspected[node] = 0
    if t.setup.khepri:
        look_around(t, t.store)
    look_around(t, t.queue)


OF_MEMBERS = {
    network_ports.take_in: take_in, host_ports.hosted: hosted, host_ports.reached: reached,
    host_ports.in_sight: in_sight, enqueuers.silent_us: silent_us, departure.fall_silent: fall_silent,
    network_ports.be_silent: be_silent,
}  # fmt: skip
"""The functions of a group's members where links may fail, by those that they replace."""
PARTS = OF_MEMBERS | {partitioned_state.put_aside: put_aside, partitioned_state.take_up: take_up}
"""The same, and those of the sides of a quorum queue's trial."""
