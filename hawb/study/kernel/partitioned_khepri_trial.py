"""One trial of a classic queue beside Khepri in a network whose links may fail: the differences from a whole network.

Each side has the queue's records and its view of the metadata store. Once links are mended one side takes in the
others, and the queue's records of the side with its process.

A trial falls back to the engine if a node loses its disk while links are cut or nodes are on several sides, or if links
are cut while an empty node is still to be replaced.
"""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel import (
    disks,
    khepri_trial,
    network_ports,
    partitioned_quorum_trial,
    partitioned_state,
    partitioned_trial,
    quorum_links,
    quorum_nodes,
    search_nodes,
)
from hawb.study.kernel.hosting import look_around, refresh
from hawb.study.kernel.partitioned_state import NO_SIDE, is_about_queue, place_of_side, put_aside, take_up
from hawb.study.kernel.quorum_state import LINKS_SUSPECTED, LOG_CUT, METADATA_AVAILABLE, METADATA_CHANGED, OF_STORE

is_of_classic_side = partitioned_state.is_of_side
suspect_ends, gives_up = quorum_links.suspect, network_ports.give_up_what_waited

# Events


@inner
def suspect(t, links, _):
    """Let the failure detector suspect the nodes at the ends of these links."""
    suspect_ends(t, links)


@inner
def is_of_side(kind):
    """Return True if an event happens on the side on which it was scheduled, and not where a node is."""
    return is_of_classic_side(kind) or kind in (
        OF_STORE + LOG_CUT, LINKS_SUSPECTED, METADATA_AVAILABLE, METADATA_CHANGED,
    )  # fmt: skip


# Sides


@inner
def keep_view(t, place):
    """Keep the leader of the metadata store that the current side sees."""
    t.kept_store[place], t.kept_store_up[place] = t.store.master, t.store.up


@inner
def take_view(t, place):
    """Show the leader of the metadata store that a side sees."""
    t.store.master, t.store.up = t.kept_store[place], t.kept_store_up[place]


@inner
def hosts_queue(t, side):
    """Return True if the queue's process is on a node of a side that is not the current one, by that side's records."""
    return t.nodes[t.kept[place_of_side(t, side)].master].side == side


@inner
def goes_on(t, kind, side):
    """Return True if an event of a side that is merged into another is at a node, or about a queue that it hosts."""
    return not is_of_side(kind) or (is_about_queue(kind) and hosts_queue(t, side))


@inner
def adopt(t, best, side):
    """Exchange the current side's records of the queue for those of a side that is merged into it, if that hosts it."""
    if hosts_queue(t, side):
        place, had = place_of_side(t, side), place_of_side(t, NO_SIDE)
        put_aside(t, had, side)
        take_up(t, place)
        take_view(t, had)
        t.net.focus = best


# Links


@inner
def give_up_what_waited(t):
    """Update the leader of the metadata store after links have been given up, and lose deliveries under way on them."""
    refresh(t, t.store)
    gives_up(t)


@inner
def in_reach(t):
    """Let members of the metadata store reach each other again over all links."""
    for node in range(t.setup.nodes):
        t.suspected[node] = 0
    look_around(t, t.store)


PARTS = khepri_trial.PARTS | partitioned_trial.PARTS | quorum_links.OF_MEMBERS | {
    partitioned_state.is_of_side: is_of_side, partitioned_state.keep_view: keep_view,
    partitioned_state.take_view: take_view,
    quorum_nodes.suspect: suspect, quorum_links.goes_on: goes_on, quorum_links.adopt: adopt,
    network_ports.give_up_what_waited: give_up_what_waited, network_ports.in_reach: in_reach,
    network_ports.note_suspects: search_nodes.note_suspects,
    partitioned_trial.cut_between: partitioned_quorum_trial.cut_between,
    disks.lose_nodes: partitioned_quorum_trial.lose_nodes,
}  # fmt: skip
"""The functions of a trial in a network whose links may fail, by those that they replace."""
