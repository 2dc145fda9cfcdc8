"""The parts of a state with a quorum queue that its key contains.

These are: for each group the index from which logs are written, and the terms; and the number of messages in each
stretch that is in the same sets (`search_sets`).
"""

from __future__ import annotations

from hawb.raft.messages import APPEND_ENTRIES_RPC
from hawb.study.compiled import inner
from hawb.study.kernel.host_ports import member_of
from hawb.study.kernel.quorum_search_ports import row_of_term
from hawb.study.kernel.quorum_search_state import HERE, MOST_TERMS
from hawb.study.kernel.quorum_state import (
    AFTER_OF,
    BASE_INDEX,
    BASE_TERM,
    ENQUEUE,
    FIRST,
    FOURTH,
    OF_STORE,
    RAFT_ARRIVES,
    RAFT_WRITTEN,
    THIRD,
    TYPE,
)
from hawb.study.kernel.raft_log import alike_up_to, has_entry, is_member, term_at, term_within
from hawb.study.kernel.search_sets import changes, firsts
from hawb.study.kernel.state import KIND


@inner
def note_key_parts(t):
    """Note what the key needs of each group, and which messages are in which sets."""
    note_group(t, t.queue)
    if t.setup.khepri:
        note_group(t, t.store)
    t.notes.union = all_messages(t)
    t.notes.starts = changes_between(t, key_entries(t)) & t.notes.union


@inner
def note_group(t, g):
    """Note whether anything is under way between a group's members, from which index on logs are written, and terms."""
    g.under_way = 0
    for row in range(t.moment.agenda):
        g.under_way |= t.agenda[row, KIND] - g.store * OF_STORE in (RAFT_ARRIVES, RAFT_WRITTEN)
    g.key_from = base_of(t, g)
    rank_terms(t, g)


@inner
def base_of(t, g):
    """Return the last index up to which all members have the same on disk, and which is applied."""
    base, last, term = g.applied, 0, 0
    for node in range(t.setup.nodes):
        member = member_of(t, g, node)
        if is_member(t, g, node) and (member.last_term, member.last_index) > (term, last):
            last, term = member.last_index, member.last_term
    for node in range(t.setup.nodes):
        if is_member(t, g, node):
            member = member_of(t, g, node)
            alike = alike_up_to(t, g.store, member.last_index, member.last_term, last, term)
            base = min(base, member.written, alike)
    return base


@inner
def key_entries(t):
    """Return the rows of `entries` that are in a log behind the base or under way to one, as bits."""
    rows = entries_sent(t)
    for k in range(t.queue.entries):
        rows |= int(is_logged(t, t.entries[k], t.queue.key_from)) << k
    return rows


@inner
def is_logged(t, entry, after):
    """Return True if any log has an entry behind an index."""
    for node in range(t.setup.nodes):
        if is_member(t, t.queue, node) and has_entry(t, node, entry, after):
            return True
    return False


@inner
def entries_sent(t):
    """Return the rows of `entries` that are under way between members, as bits."""
    rows = 0
    for row in range(t.moment.agenda):
        sent = t.agenda[row]
        if sent[KIND] == RAFT_ARRIVES and sent[TYPE] == APPEND_ENTRIES_RPC:
            for k in range(t.queue.entries):
                entry = t.entries[k]
                if entry.first <= sent[THIRD] and entry.last > sent[FIRST]:
                    rows |= int(term_within(t, 0, sent[FOURTH], entry.first) == entry.term) << k
    return rows


@inner
def is_kept(t, place):
    """Return True if a record is kept at a place: what a node remembers, or the present queue."""
    return place == HERE or t.notes.remembers >> place & 1 == 1


@inner
def all_messages(t):
    """Return all messages that exist anywhere."""
    some, sent = 0, entries_sent(t)
    for place in range(HERE + 1):
        if is_kept(t, place):
            some |= t.kept[place].pending
            for node in range(t.setup.nodes):
                some |= t.kept_contents[place, node]
    for k in range(t.moment.awaiting):
        some |= t.awaiting[k, AFTER_OF]
    for k in range(t.queue.waiting):
        some |= messages(t.waiting[k])
    for k in range(t.queue.entries):
        if sent >> k & 1 or is_logged(t, t.entries[k], t.queue.applied):
            some |= messages(t.entries[k])
    return some


@inner
def messages(p):
    """Return the messages of a proposal."""
    return p.after if p.asks == ENQUEUE else 0


@inner
def changes_between(t, rows):
    """Return the messages that are in other sets than those before, given the key's entries."""
    here, promised = t.notes.union, promises(t)
    found = changes(promised, here) | promised & ~(promised << 1)
    for place in range(HERE + 1):
        if is_kept(t, place):
            found |= changes_of_record(t, place)
    for k in range(t.moment.awaiting):
        found |= changes(t.awaiting[k, AFTER_OF], here)
    for k in range(t.queue.waiting):
        found |= changes(messages(t.waiting[k]), here)
    for k in range(t.queue.entries):
        if rows >> k & 1:
            found |= changes(messages(t.entries[k]), here)
    return found


@inner
def changes_of_record(t, place):
    """Return the messages that are in other sets of a record than those before."""
    kept, here = t.kept[place], t.notes.union
    found = changes(kept.stored, here) | changes(kept.pending, here) | firsts(kept, here)
    for node in range(t.setup.nodes):
        found |= changes(t.kept_contents[place, node], here)
    for kind in t.kinds:
        found |= changes(kind & kept.stored, here)
    for k in range(kept.moved):
        found |= changes(t.kept_moved[place, k, 1], here)
    return found


@inner
def promises(t):
    """Return the confirmed messages among those that members hold."""
    held = 0
    for node in range(t.setup.nodes):
        held |= t.contents[node]
    return t.ledger.confirmed & held


@inner
def rank_terms(t, g):
    """Note a group's terms in the key, in their order."""
    g.ranks = 0
    for node in range(t.setup.nodes):
        if is_member(t, g, node):
            member = member_of(t, g, node)
            last, term = member.last_index, member.last_term
            note_term(t, g, member.term)
            note_term(t, g, term_before(t, g, member))
            while last > g.key_from:
                note_term(t, g, term)
                begun = t.terms[row_of_term(t, g.store, term)]
                last, term = begun[BASE_INDEX], begun[BASE_TERM]


@inner
def note_term(t, g, term):
    """Add a term to the key's terms of a group."""
    first, at = g.store * MOST_TERMS, g.ranks
    for k in range(at):
        if t.ranks[first + k] == term:
            return
    if at == MOST_TERMS:
        raise OverflowError("more terms than a search has room for")
    while at > 0 and t.ranks[first + at - 1] > term:
        t.ranks[first + at] = t.ranks[first + at - 1]
        at -= 1
    t.ranks[first + at] = term
    g.ranks += 1


@inner
def term_before(t, g, member):
    """Return the term of the last entry of a log that the key leaves out."""
    return term_at(t, member, g.key_from) if g.key_from else 0
