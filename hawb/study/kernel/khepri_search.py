"""The result of one more step, compiled, for a cluster with one classic queue and Khepri: `search` with other parts.

Some parts are those of a trial of such a queue, or of a search with a quorum queue.
"""

from __future__ import annotations

import numpy as np

from hawb.study.compiled import Assembly, inner
from hawb.study.kernel import (
    arrival,
    departure,
    host_ports,
    khepri_trial,
    network_ports,
    node_ports,
    partitioned_khepri_trial,
    partitioned_state,
    quorum_links,
    quorum_nodes,
    quorum_search_key,
    quorum_search_ports,
    raft_log,
    search,
    search_key,
    search_moves,
    search_names,
    search_nodes,
    silence,
    trial,
)
from hawb.study.kernel.hosting import look_around, lose_member
from hawb.study.kernel.partitioned_state import place_of_side
from hawb.study.kernel.quorum_links import suspect
from hawb.study.kernel.quorum_nodes import suspect_no_more
from hawb.study.kernel.quorum_search import reach_member
from hawb.study.kernel.quorum_search_key import say_changes, say_group, say_leader, say_sent, write_in_key
from hawb.study.kernel.quorum_search_sets import note_group
from hawb.study.kernel.quorum_search_state import GROUP, MOST_OUTPUTS, MOST_TERMS
from hawb.study.kernel.quorum_state import (
    COLUMNS,
    LETTER,
    LINKS_SUSPECTED,
    LOG_CUT,
    MEMBER,
    METADATA_AVAILABLE,
    OF_STORE,
    PEER,
    PROPOSAL,
    RAFT_ARRIVES,
    RAFT_WRITTEN,
    TYPE,
    with_letter,
)
from hawb.study.kernel.raft_log import is_member
from hawb.study.kernel.search_names import say
from hawb.study.kernel.search_state import MOST_NODES, MOST_PLANNED, MOST_SIDES, SEARCHED, order_sides
from hawb.study.kernel.state import KIND, A, B, look_from


def with_store(searched: np.dtype) -> np.dtype:
    """Return the record type of a search with the metadata store's group, as in `quorum_search_state`."""
    known = [(name, *(searched.fields[name][0].subdtype or (searched.fields[name][0],))) for name in searched.names]
    known = [(name, np.int64, (MOST_PLANNED, COLUMNS)) if name == "agenda" else (name, *form) for name, *form in known]
    return with_letter([
        *known, ("store", GROUP), ("message", np.int64, (COLUMNS,)),
        *((name, np.int64, (MOST_NODES,)) for name in ("known_store", "known_store_up")),
        *((name, np.int64, (MOST_SIDES,)) for name in ("kept_store", "kept_store_up")),
        ("ranks", np.int64, (2 * MOST_TERMS,)), ("members", MEMBER, (2 * MOST_NODES,)),
        ("peers", PEER, (2 * MOST_NODES, MOST_NODES - 1)), ("drawn", np.int64, (2 * MOST_NODES,)),
        ("terms", np.int64, (2 * MOST_TERMS, 3)), ("out", LETTER, (MOST_OUTPUTS,)), ("proposals", PROPOSAL, (1,)),
    ])  # fmt: skip


KHEPRI_SEARCHED = with_store(SEARCHED)
"""One cluster while stories are searched, in one piece of memory.

The fields of the metadata store's group are `quorum_search_state`'s, and `proposals` stays empty."""

handles, returns = search_moves.handle, arrival.return_to_queues
remembers, loses_disk, names = search_nodes.remember, search_nodes.lose_disk_of, search_key.name
are_interchangeable, means, says_event = search_names.interchangeable, search_key.meaning, search_key.say_event


@inner
def handle(t, number, kind, a, b, c, d):
    """Handle an event, of the kinds that a search has."""
    if kind >= OF_STORE + RAFT_ARRIVES:
        reach_member(t, t.store, kind - OF_STORE, a, b)
    elif kind == LINKS_SUSPECTED:
        suspect(t, a)
    elif kind < RAFT_ARRIVES:
        handles(t, number, kind, a, b, c, d)


# Nodes


@inner
def remember(t, node):
    """Keep the current records for a node that goes down."""
    remembers(t, node)
    t.known_store[node], t.known_store_up[node] = t.store.master, t.store.up


@inner
def lose_disk_of(t, node):
    """Lose the disk of a node that is down."""
    look_from(t, node)
    t.moment.virgin |= 1 << node
    if is_member(t, t.store, node):
        lose_member(t, t.store, node)
    loses_disk(t, node)


@inner
def return_to_queues(t, node, others):
    """Let the queue and the metadata store react to a node that is back, and drop what that remembered."""
    t.notes.remembers &= ~(1 << node)
    returns(t, node, others)
    suspect_no_more(t, node)
    look_around(t, t.store)


# The key of a state


@inner
def name(t, words):
    """Write the key of a state, with the metadata store behind that of a state without it."""
    note_group(t, t.store)
    names(t, words)
    sides = order_sides(t)
    for k in range(sides):
        say_view(t, words, t.order[k])
    for k in range(t.setup.nodes):
        if t.notes.remembers >> t.available[k] & 1:
            say_leader(t, words, t.known_store[t.available[k]], t.known_store_up[t.available[k]])
    say_group(t, words, t.store)
    for node in range(t.setup.nodes):  # all nodes are members, in the order of the log
        say(words, t.free[node])


@inner
def say_view(t, words, number):
    """Write the leader of the metadata store that a side sees."""
    if number == t.net.focus:
        say_leader(t, words, t.store.master, t.store.up)
    else:
        say_leader(t, words, t.kept_store[place_of_side(t, number)], t.kept_store_up[place_of_side(t, number)])


@inner
def say_entries(t, words, g, after, last, term):
    """Write the entries behind an index, of a log that ends with `last` in `term`."""
    say_changes(t, words, after, last, term)


@inner
def say_event(t, words, row, sides):
    """Write an event; of a message also its contents."""
    says_event(t, words, row, sides)
    if t.agenda[row, KIND] == OF_STORE + RAFT_ARRIVES:
        say_sent(t, words, t.store, t.agenda[row])


@inner
def meaning(t, planned, kind):
    """Return the subject of an event."""
    if kind < RAFT_ARRIVES:
        return means(t, planned, kind)
    if kind == OF_STORE + RAFT_ARRIVES:
        return planned[A] << 8 | planned[B] << 4 | planned[TYPE]
    if kind == OF_STORE + RAFT_WRITTEN:
        return write_in_key(t, t.store, planned)
    if kind in (OF_STORE + LOG_CUT, METADATA_AVAILABLE):
        return 0
    return planned[A] if kind == LINKS_SUSPECTED else t.free[planned[A]]


@inner
def interchangeable(t, sides):
    """Return True if no rule depends on nodes' names, and no message between members contains them."""
    return not t.store.under_way and are_interchangeable(t, sides)


WITHOUT_CLIENTS = (
    *khepri_trial.WITHOUT_CLIENTS[:2], host_ports.recorded, host_ports.count_times, host_ports.count_replicated,
    host_ports.has_changed, host_ports.note_members, raft_log.note_run, raft_log.configure,
    raft_log.find_configuration,
)  # fmt: skip
"""Functions of a quorum queue's group and its clients, and those that a search does not need for Khepri's."""
PARTS = search.PARTS | quorum_links.OF_MEMBERS | {
    **{part: khepri_trial.PARTS[part] for part in (
        departure.members_down, departure.members_noticed_down, quorum_nodes.members_noticed_down,
        quorum_nodes.refresh_groups, arrival.store_starts, node_ports.reaches_store,
        host_ports.waiting_of, host_ports.take_committed,
    )},
    **{part: partitioned_khepri_trial.PARTS[part] for part in (
        partitioned_state.is_of_side, partitioned_state.keep_view, partitioned_state.take_view, quorum_links.goes_on,
        quorum_links.adopt, network_ports.in_reach,
    )},
    **{getattr(host_ports, port): getattr(quorum_search_ports, port) for port in (
        "crown", "note_abreast", "begin_member",
    )},
    raft_log.last_sent: quorum_search_ports.last_sent, raft_log.row_of_term: quorum_search_ports.row_of_term,
    **dict.fromkeys(WITHOUT_CLIENTS, silence.nothing), quorum_search_key.say_entries: say_entries,
    departure.remember: remember, search_nodes.lose_disk_of: lose_disk_of, arrival.return_to_queues: return_to_queues,
    network_ports.give_up_what_waited: khepri_trial.refresh_groups,
    trial.read_message: khepri_trial.read_message, trial.handle: handle,
    search_key.name: name, search_key.meaning: meaning, search_key.say_event: say_event,
    search_names.interchangeable: interchangeable,
}  # fmt: skip
"""The functions of a search beside Khepri, by those of a trial or a search without it that they replace."""

followers, named = map(Assembly(PARTS).of, search.AS_WRITTEN)
