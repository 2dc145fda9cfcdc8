"""The key of a state with a quorum queue: two states have the same if `hawb.planning.explore.digest` has.

`hawb.engine.keys.quorum_key` says what is left out; `search_key` has the parts about nodes and the agenda.
"""

from __future__ import annotations

from hawb.raft.member import LEADER
from hawb.raft.messages import APPEND_ENTRIES_RPC
from hawb.study.compiled import inner, with_arrays
from hawb.study.kernel import search_key, search_names
from hawb.study.kernel.host_ports import member_of
from hawb.study.kernel.partitioned_state import place_of_side
from hawb.study.kernel.quorum_group import row_of
from hawb.study.kernel.quorum_search_ports import row_of_term
from hawb.study.kernel.quorum_search_sets import is_kept, note_key_parts, promises, term_before
from hawb.study.kernel.quorum_search_state import HERE, MOST_TERMS, remember_at
from hawb.study.kernel.quorum_state import (
    AFTER_OF,
    BASE_INDEX,
    CLIENT,
    DUE,
    ENQUEUE,
    FIFTH,
    FIRST,
    FOURTH,
    LINKS_SUSPECTED,
    LOG_CUT,
    METADATA_AVAILABLE,
    NOOP,
    OF_STORE,
    RAFT_ARRIVES,
    RAFT_WRITTEN,
    REGISTRATION_GIVEN_UP,
    REJECTED,
    SECOND,
    SUSPECTS,
    TERM_SENT,
    THIRD,
    TYPE,
)
from hawb.study.kernel.raft_log import bits_in, is_member, term_within
from hawb.study.kernel.raft_ports import peers_of
from hawb.study.kernel.search_key import renamed, say_agenda, say_node
from hawb.study.kernel.search_names import bit, rename, runs_differ, say, status
from hawb.study.kernel.search_sets import firsts, picked, say_stretches
from hawb.study.kernel.search_state import count, order_sides
from hawb.study.kernel.state import KIND, NEVER, NONE, A, B

are_interchangeable, means, says_event = search_names.interchangeable, search_key.meaning, search_key.say_event


@inner
def name(t, words):
    """Write the key of a state."""
    words[0] = 0
    sides = order_sides(t)
    remember_at(t, HERE)
    note_key_parts(t)
    rename(t, HERE, sides)
    say(words, t.queue.under_way << 1 | t.store.under_way)
    for k in range(t.setup.nodes):
        say_node(t, words, t.available[k], sides)
    say_messages(t, words)
    for k in range(sides):
        say_view(t, words, t.order[k])
    say_record(t, words, HERE)
    for k in range(t.setup.nodes):
        if t.notes.remembers >> t.available[k] & 1:
            say_leader(t, words, t.kept[t.available[k]].master, t.kept[t.available[k]].up)
            say_leader(t, words, t.known_store[t.available[k]], t.known_store_up[t.available[k]])
            say_record(t, words, t.available[k])
    say_waiting(t, words)
    for k in range(t.setup.nodes):
        say_node_name(t, words, t.asks[t.available[k]] - 1)
    say_group(t, words, t.queue)
    if t.setup.khepri:
        say_group(t, words, t.store)
    say_agenda(t, words, sides)


# Terms and indices in the key


@inner
def term_in_key(t, g, term):
    """Return a term as it is while something is under way between members.

    Otherwise its place among the key's terms.
    """
    k = 0
    while not g.under_way and t.ranks[g.store * MOST_TERMS + k] != term:
        k += 1
    return term if g.under_way else k


@inner
def index_in_key(g, index):
    """Return an index as it is while something is under way between members; otherwise as counted from the base."""
    return index if g.under_way else index - g.key_from


@inner
def say_node_name(t, words, node):
    """Write a node, or 0 for none."""
    say(words, t.free[node] + 1 if node >= 0 else 0)


@inner
def say_set(t, words, some):
    """Write a set of messages."""
    say(words, picked(some, t.notes.starts))


@inner
def say_group(t, words, g):
    """Write a group's members and their progress."""
    say(words, renamed(t, g.present) << 8 | renamed(t, g.stopped))
    say(words, index_in_key(g, g.applied))
    say(words, g.key_from * g.under_way)
    for k in range(t.setup.nodes):
        if is_member(t, g, t.available[k]):
            say_member(t, words, g, member_of(t, g, t.available[k]))


@inner
def say_member(t, words, g, member):
    """Write a member."""
    say(words, member.role)
    say(words, term_in_key(t, g, member.term))
    say_node_name(t, words, member.voted_for)
    say_node_name(t, words, member.leader)
    say(words, index_in_key(g, member.commit_index))
    say(words, renamed(t, member.votes))
    say(words, max(index_in_key(g, member.agreed), 0))
    say(words, index_in_key(g, member.asked) if member.asked else 0)
    say_node_name(t, words, member.transferring_to)
    if member.role == LEADER:
        say_progress(t, words, g, peers_of(t, member))
    say(words, term_in_key(t, g, term_before(t, g, member)))
    say(words, index_in_key(g, member.written))
    say_entries(t, words, g, g.key_from, member.last_index, member.last_term)


@with_arrays
def say_progress(t, words, g, peers):
    """Write a leader's progress records."""
    for k in range(len(peers)):
        say(words, t.free[peers[k].id] << 1 | peers[k].receiving)
        say(words, index_in_key(g, peers[k].next_index))
        say(words, max(index_in_key(g, peers[k].match_index), 0))
        say(words, max(index_in_key(g, peers[k].commit_sent), 0))
        say(words, max(index_in_key(g, peers[k].commit_index), 0))


@inner
def say_entries(t, words, g, after, last, term):
    """Write the entries behind an index, of a log that ends with `last` in `term`."""
    if g.store:
        say_changes(t, words, after, last, term)
        return
    at, index = words[0] + 1, after + 1
    say(words, 0)
    while index <= last:
        row = entry_at(t, index, term)
        first = end = index
        if row != NONE:
            first, end = t.entries[row].first, min(last, t.entries[row].last)
        say(words, index - first)
        say(words, end - index + 1)
        say(words, term_in_key(t, g, term_within(t, 0, term, index)))
        if row == NONE:
            say(words, NOOP)
        else:
            say_proposal(t, words, t.entries[row])
        index = end + 1
        words[at] += 1


@inner
def say_changes(t, words, after, last, term):
    """Write the entries of the metadata store's log: of each term how many, and whether its first one is among them."""
    at, index = words[0] + 1, after + 1
    say(words, 0)
    while index <= last:
        within, end = term_within(t, 1, term, index), index
        while end < last and term_within(t, 1, term, end + 1) == within:
            end += 1
        begins = t.terms[row_of_term(t, 1, within), BASE_INDEX] + 1 == index
        say(words, (end - index + 1) << 1 | begins)
        say(words, term_in_key(t, t.store, within))
        index = end + 1
        words[at] += 1


@inner
def entry_at(t, index, term):
    """Return the row of the entries at an index of a log that ends in a term; NONE where a term begins there."""
    for k in range(t.queue.entries):
        entry = t.entries[k]
        if entry.first <= index <= entry.last and term_within(t, 0, term, entry.first) == entry.term:
            return k
    return NONE


@inner
def say_proposal(t, words, p):
    """Write a proposal."""
    say(words, p.asks + 1)
    if p.asks == ENQUEUE:
        say_node_name(t, words, p.client)
        say_set(t, words, p.after)
    elif p.asks == SUSPECTS:
        say_node_name(t, words, p.after)


# Records and waiting operations


@inner
def say_messages(t, words):
    """Write how many messages are in each stretch, and which are confirmed."""
    promised, stored = promises(t), 0
    for place in range(HERE + 1):
        if is_kept(t, place):
            stored |= t.kept[place].stored
    say_stretches(t, words, t.notes.starts, t.notes.union)
    say_set(t, words, promised)
    say_set(t, words, promised & ~(promised << 1))
    for kind in t.kinds:
        say_set(t, words, kind & stored)


@inner
def say_view(t, words, number):
    """Write the leaders that a side sees."""
    if number == t.net.focus:
        say_leader(t, words, t.queue.master, t.queue.up)
        say_leader(t, words, t.store.master, t.store.up)
    else:
        place = place_of_side(t, number)
        say_leader(t, words, t.kept_master[place], t.kept_up[place])
        say_leader(t, words, t.kept_store[place], t.kept_store_up[place])


@inner
def say_leader(t, words, master, up):
    """Write a leader, and whether it can commit."""
    say(words, (t.free[master] + 1 if master != NONE else 0) << 1 | up)


@inner
def say_record(t, words, place):
    """Write the queue's record."""
    kept = t.kept[place]
    say_node_name(t, words, kept.holder)
    say(words, renamed(t, kept.abreast) << 9 | renamed(t, kept.copies) << 1 | kept.roomy)
    known, nodes = 1, kept.known
    while nodes > 1:
        known, nodes = known << 3 | t.free[nodes & 7], nodes >> 3
    say(words, known)
    for k in range(t.setup.nodes):
        say_set(t, words, t.kept_contents[place, t.available[k]])
    say_set(t, words, kept.pending)
    say_set(t, words, kept.stored)
    say_set(t, words, firsts(kept, t.notes.union))
    say(words, kept.moved)
    for k in range(kept.moved):
        behind = t.kept_moved[place, k, 0]
        say(words, count(t, ((behind << 1) - 1) & t.notes.union))
        say_set(t, words, t.kept_moved[place, k, 1])


@inner
def say_waiting(t, words):
    """Write what waits for an answer, in channels, and for the queue; and the nodes of the group's members."""
    say(words, t.moment.awaiting)
    for k in range(t.moment.awaiting):
        row = t.awaiting[k]
        say(words, t.free[row[CLIENT]] << 1 | row[REJECTED])
        say_set(t, words, row[AFTER_OF])
        say(words, row[DUE] - t.moment.now_us if row[DUE] < NEVER else NEVER)
    say(words, t.queue.awaiting_registration)
    for k in range(t.queue.awaiting_registration):
        say_node_name(t, words, t.awaiting_registration[k])
    say(words, t.queue.waiting)
    for k in range(t.queue.waiting):
        say_proposal(t, words, t.waiting[k])
    for node in range(t.setup.nodes):
        say(words, t.free[node] * bit(t.setup.members, node))


# The agenda


@inner
def say_event(t, words, row, sides):
    """Write an event; of a message also its contents."""
    says_event(t, words, row, sides)
    planned = t.agenda[row]
    if planned[KIND] == RAFT_ARRIVES:
        say_sent(t, words, t.queue, planned)
    elif planned[KIND] == OF_STORE + RAFT_ARRIVES:
        say_sent(t, words, t.store, planned)


@inner
def say_sent(t, words, g, planned):
    """Write the contents of a message between members."""
    say(words, planned[TERM_SENT])
    for column in (FIRST, SECOND, FIFTH):
        say(words, planned[column])
    if planned[TYPE] == APPEND_ENTRIES_RPC:
        say_entries(t, words, g, planned[FIRST], planned[THIRD], planned[FOURTH])
    else:
        say(words, planned[THIRD])
        say(words, planned[FOURTH])


@inner
def meaning(t, planned, kind):
    """Return the subject of an event."""
    if kind < RAFT_ARRIVES:
        return means(t, planned, kind)
    if kind in (RAFT_ARRIVES, OF_STORE + RAFT_ARRIVES):
        return planned[A] << 8 | planned[B] << 4 | planned[TYPE]
    if kind == RAFT_WRITTEN:
        return write_in_key(t, t.queue, planned)
    if kind == OF_STORE + RAFT_WRITTEN:
        return write_in_key(t, t.store, planned)
    if kind in (LOG_CUT, OF_STORE + LOG_CUT, METADATA_AVAILABLE):
        return 0
    if kind == REGISTRATION_GIVEN_UP:
        return row_of(t, planned[A])
    if kind == LINKS_SUSPECTED:
        return planned[A]
    return t.free[planned[A]]


@inner
def write_in_key(t, g, planned):
    """Return the subject of a write to the disk of a group's member."""
    node = planned[A]
    counts = is_member(t, g, node) and t.nodes[node].boots == planned[B]
    counts = counts and member_of(t, g, node).generation == planned[FIRST]
    return planned[SECOND] << 5 | int(counts) << 4 | t.free[node]


# Order of nodes


@inner
def interchangeable(t, sides):
    """Return True if no rule depends on nodes' names, and no message between members contains them."""
    return not t.queue.under_way and not t.store.under_way and are_interchangeable(t, sides)


@inner
def differs(t, place, node, other):
    """Compare two nodes by what they are and hold: below 0 if the first one comes first, 0 if they are alike."""
    own_sign, other_sign = sign(t, node), sign(t, other)
    return own_sign - other_sign if own_sign != other_sign else runs_differ(t.contents[node], t.contents[other])


@inner
def sign(t, node):
    """Return a node's state and its role in the queue, without what it holds."""
    role = int(t.queue.master == node) << 2 | bit(t.queue.abreast, node) << 1 | bit(t.setup.members, node)
    flags = bit(t.moment.virgin, node) << 2 | int(t.nodes[node].drained != 0) << 1 | t.nodes[node].silent
    return bits_in(t.nodes[node].believes) << 10 | role << 7 | status(t, node) << 3 | flags
