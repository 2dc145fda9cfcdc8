"""Logs of members: `hawb.raft.log`, for logs that are identified by their last entries (`quorum_state`)."""

from __future__ import annotations

from hawb.raft.ports import NO_TERM, RUNS_PER_MESSAGE
from hawb.study.compiled import inner
from hawb.study.kernel.quorum_state import (
    BASE_INDEX,
    BASE_TERM,
    ENQUEUED,
    MOST_CHANGES,
    MOST_RUNS,
    MOST_TERMS,
    SETTLED,
)


@inner
def is_member(t, g, node):
    """Return True if the group has a member on a node, whether it runs or not."""
    return g.present >> node & 1 == 1


@inner
def row_of_member(t, store, node):
    """Return the row of a member; the metadata store's rows are behind the queue's."""
    return node + store * (len(t.members) // 2)


@inner
def bits_in(bits):
    """Return the number of nodes in a set."""
    count = 0
    while bits:
        bits &= bits - 1
        count += 1
    return count


# Logs


@inner
def row_of_term(t, store, term):
    """Return the row of `terms` with the beginning of a term; the metadata store's rows are behind the queue's."""
    return term % MOST_TERMS + store * MOST_TERMS


@inner
def term_within(t, store, term, index):
    """Return the term of the entry at `index` in logs that end in `term`, no earlier than there.

    `store` is 1 for logs of the metadata store. Raise OverflowError for more terms than fit.
    """
    while term > 0:
        begun = t.terms[row_of_term(t, store, term)]
        if begun[0] != term:
            raise OverflowError("logs of more terms than a trial has room for")
        if index > begun[BASE_INDEX]:
            break
        term = begun[BASE_TERM]
    return term


@inner
def term_at(t, member, index):
    """Return the term of the entry at `index` in a member's log; NO_TERM for one that is not there."""
    if index < member.snapshot_index or index > member.last_index:
        return NO_TERM
    if index == member.snapshot_index:
        return member.snapshot_term
    return term_within(t, member.store, member.last_term, index)


@inner
def alike_up_to(t, store, last, term, other_last, other_term):
    """Return the index up to which two logs are the same that end so."""
    while term != other_term:
        begun = t.terms[row_of_term(t, store, max(term, other_term))]
        if term > other_term:
            last, term = begun[BASE_INDEX], begun[BASE_TERM]
        else:
            other_last, other_term = begun[BASE_INDEX], begun[BASE_TERM]
    return min(last, other_last)


@inner
def cut_off(t, member, last):
    """Truncate a log after `last`."""
    member.last_term = term_at(t, member, last)
    member.last_index, member.written = last, min(member.written, last)
    member.generation += 1
    find_configuration(t, member)


# Members by their logs: rows (index, term, members) of `configurations`, those of the metadata store behind the
# queue's; `counts` has their number, and the members at the group's beginning


@inner
def begin_configurations(t, store, members):
    """Note the members of a group that begins."""
    t.counts[store, 0], t.counts[store, 1] = 0, members


@inner
def configure(t, leader, members):
    """Note that a leader's next entry has the members of the group, given as bits."""
    count = t.counts[leader.store, 0]
    if count == MOST_CHANGES:
        raise OverflowError("a group's members change more often than a trial has room for")
    row = t.configurations[count + leader.store * MOST_CHANGES]
    row[0], row[1], row[2] = leader.last_index + 1, leader.term, members
    t.counts[leader.store, 0] = count + 1
    leader.group, leader.configured = members, leader.last_index + 1


@inner
def find_configuration(t, member):
    """Note the members of the group by a member's log, after it has changed."""
    if not member.opened:
        return
    for k in range(t.counts[member.store, 0] - 1, -1, -1):
        row = t.configurations[k + member.store * MOST_CHANGES]
        if row[0] <= member.last_index and term_within(t, member.store, member.last_term, row[0]) == row[1]:
            member.group, member.configured = row[2], row[0]
            return
    member.group, member.configured = t.counts[member.store, 1], 0


@inner
def note_run(t, first, term, says):
    """Note that entries of a leader begin at `first`, unless they continue the last run."""
    count = t.queue.runs
    while count and t.runs[count - 1, 0] >= first:
        count -= 1
    if count and says in (ENQUEUED, SETTLED) and t.runs[count - 1, 1] == term and t.runs[count - 1, 2] == says:
        t.queue.runs = count
        return
    if count == MOST_RUNS:
        for k in range(MOST_RUNS // 2, MOST_RUNS):
            for column in range(3):
                t.runs[k - MOST_RUNS // 2, column] = t.runs[k, column]
        count -= MOST_RUNS // 2
    t.runs[count, 0], t.runs[count, 1], t.runs[count, 2] = first, term, says
    t.queue.runs = count + 1


@inner
def last_sent(t, first, last):
    """Return the last entry of a message that begins with `first`."""
    k = t.queue.runs
    while k and t.runs[k - 1, 0] > first:
        k -= 1
    if k == 0:
        raise OverflowError("logs of more runs than a trial has room for")
    end = k - 1 + RUNS_PER_MESSAGE
    return min(last, t.runs[end, 0] - 1) if end < t.queue.runs else last


@inner
def compact(t, member, index):
    """Replace what is committed and on disk up to `index` by a snapshot."""
    member.snapshot_term = term_at(t, member, index)
    member.snapshot_index = index


@inner
def has_entry(t, node, entry, after):
    """Return True if a member's log has an entry behind an index."""
    return entry.last > after and term_at(t, t.members[node], entry.first) == entry.term
