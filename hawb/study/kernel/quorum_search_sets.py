"""The parts of a state with a quorum queue that its key contains.

These are: the index from which logs are written, the terms, and the number of messages in each stretch that is in the
same sets (`search_sets`).
"""

from __future__ import annotations

from hawb.raft.messages import APPEND_ENTRIES_RPC
from hawb.study.compiled import inner
from hawb.study.kernel.quorum_search_ports import is_member
from hawb.study.kernel.quorum_search_state import HERE
from hawb.study.kernel.quorum_state import (
    AFTER_OF,
    BASE_INDEX,
    BASE_TERM,
    ENQUEUE,
    FIRST,
    FOURTH,
    RAFT_ARRIVES,
    RAFT_WRITTEN,
    THIRD,
    TYPE,
)
from hawb.study.kernel.raft_log import alike_up_to, has_entry, term_at, term_within
from hawb.study.kernel.search_sets import changes, firsts
from hawb.study.kernel.state import KIND


@inner
def note_key_parts(t):
    """Note the index from which logs are written to the key, and which messages are in which sets."""
    t.notes.under_way = 0
    for row in range(t.moment.agenda):
        t.notes.under_way |= t.agenda[row, KIND] in (RAFT_ARRIVES, RAFT_WRITTEN)
    t.notes.key_from = base_of(t)
    t.notes.union = all_messages(t)
    t.notes.starts = changes_between(t, key_entries(t)) & t.notes.union
    rank_terms(t)


@inner
def base_of(t):
    """Return the last index up to which all members have the same on disk, and which the queue has applied."""
    base, last, term = t.queue.applied, 0, 0
    for node in range(t.setup.nodes):
        member = t.members[node]
        if is_member(t, t.queue, node) and (member.last_term, member.last_index) > (term, last):
            last, term = member.last_index, member.last_term
    for node in range(t.setup.nodes):
        if is_member(t, t.queue, node):
            member = t.members[node]
            base = min(base, member.written, alike_up_to(t, 0, member.last_index, member.last_term, last, term))
    return base


@inner
def key_entries(t):
    """Return the rows of `entries` that are in a log behind the base or under way to one, as bits."""
    rows = entries_sent(t)
    for k in range(t.queue.entries):
        rows |= int(is_logged(t, t.entries[k], t.notes.key_from)) << k
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
def rank_terms(t):
    """Note the terms in the key, in their order."""
    t.notes.ranks = 0
    for node in range(t.setup.nodes):
        if is_member(t, t.queue, node):
            member = t.members[node]
            last, term = member.last_index, member.last_term
            note_term(t, member.term)
            note_term(t, term_before(t, member))
            while last > t.notes.key_from:
                note_term(t, term)
                begun = t.terms[term % len(t.terms)]
                last, term = begun[BASE_INDEX], begun[BASE_TERM]


@inner
def note_term(t, term):
    """Add a term to the key's terms."""
    at = t.notes.ranks
    for k in range(at):
        if t.ranks[k] == term:
            return
    if at == len(t.ranks):
        raise OverflowError("more terms than a search has room for")
    while at > 0 and t.ranks[at - 1] > term:
        t.ranks[at] = t.ranks[at - 1]
        at -= 1
    t.ranks[at] = term
    t.notes.ranks += 1


@inner
def term_before(t, member):
    """Return the term of the last entry of a log that the key leaves out."""
    return term_at(t, member, t.notes.key_from) if t.notes.key_from else 0
