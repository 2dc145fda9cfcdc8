"""Logs of members: `hawb.engine.raft_log`, for logs that are told by their last entries (`quorum_state`)."""

from __future__ import annotations

from hawb.engine import raft_replication
from hawb.rules import quorum
from hawb.study.compiled import inner, rule
from hawb.study.kernel.quorum_state import (
    AGREED,
    ASKED,
    BASE_INDEX,
    BASE_TERM,
    COMMIT,
    ENTRY_FIRST,
    ENTRY_LAST,
    ENTRY_TERM,
    FOLLOWER,
    GENERATION,
    LAST,
    LAST_TERM,
    LEADER,
    MOST_RUNS,
    MOST_TERMS,
    NOOP,
    NOWHERE,
    PROPOSED,
    ROLE,
    SNAPSHOT,
    SNAPSHOT_TERM,
    VOTES,
    WRITTEN,
)

RUNS_PER_MESSAGE = raft_replication.RUNS_PER_MESSAGE

NO_TERM = -1
"""The term of an entry that is not there."""
majority = rule(quorum.majority)


@inner
def is_member(t, node):
    """Whether the group has a member at a node."""
    return t.setup.members >> node & 1 == 1


@inner
def bits_in(bits):
    """How many nodes are in a set."""
    count = 0
    while bits:
        bits &= bits - 1
        count += 1
    return count


# Logs


@inner
def term_within(t, term, index):
    """The term of the entry at `index` in logs that end in `term`, no earlier than there."""
    while term > 0:
        begun = t.terms[term % MOST_TERMS]
        if begun[0] != term:
            raise OverflowError("logs of more terms than a trial has room for")
        if index > begun[BASE_INDEX]:
            break
        term = begun[BASE_TERM]
    return term


@inner
def term_at(t, node, index):
    """The term of the entry at `index` in a member's log; NO_TERM for one that is not there."""
    member = t.members[node]
    if index < member[SNAPSHOT] or index > member[LAST]:
        return NO_TERM
    if index == member[SNAPSHOT]:
        return member[SNAPSHOT_TERM]
    return term_within(t, member[LAST_TERM], index)


@inner
def agrees(t, node, index, term):
    """Whether a member's log and one with an entry of `term` at `index` are the same up to there."""
    return index < t.members[node, SNAPSHOT] or term_at(t, node, index) == term


@inner
def alike_up_to(t, last, term, other_last, other_term):
    """Up to which index two logs are the same that end so."""
    while term != other_term:
        if term > other_term:
            last, term = t.terms[term % MOST_TERMS, BASE_INDEX], t.terms[term % MOST_TERMS, BASE_TERM]
        else:
            other_last = t.terms[other_term % MOST_TERMS, BASE_INDEX]
            other_term = t.terms[other_term % MOST_TERMS, BASE_TERM]
    return min(last, other_last)


@inner
def merge(t, node, last, term):
    """Takes what a leader has sent, up to `last`, behind an entry that agrees. Whether anything is new."""
    member = t.members[node]
    if last <= member[SNAPSHOT]:
        return False
    alike = max(member[SNAPSHOT], alike_up_to(t, member[LAST], member[LAST_TERM], last, term))
    if alike >= last:
        return False
    if alike < member[LAST]:
        cut_off(t, node, alike)
    member[LAST], member[LAST_TERM] = last, term
    return True


@inner
def cut_off(t, node, last):
    """A log ends at `last`."""
    member = t.members[node]
    member[LAST_TERM] = term_at(t, node, last)
    member[LAST], member[WRITTEN] = last, min(member[WRITTEN], last)
    member[GENERATION] += 1


@inner
def note_run(t, first, term, says):
    """Entries of a leader begin at `first`, unless they go on as others ended."""
    count = t.queue.runs
    while count and t.runs[count - 1, 0] >= first:
        count -= 1
    if count and says not in (NOOP, PROPOSED) and t.runs[count - 1, 1] == term and t.runs[count - 1, 2] == says:
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
    """The last entry of a message that begins with `first`."""
    k = t.queue.runs
    while k and t.runs[k - 1, 0] > first:
        k -= 1
    if k == 0:
        raise OverflowError("logs of more runs than a trial has room for")
    end = k - 1 + RUNS_PER_MESSAGE
    return min(last, t.runs[end, 0] - 1) if end < t.queue.runs else last


@inner
def compact(t, node, index):
    """A snapshot stands in place of what is committed and on disk up to `index`."""
    member = t.members[node]
    member[SNAPSHOT_TERM] = term_at(t, node, index)
    member[SNAPSHOT] = index


@inner
def restart(t, node):
    """The member after a crash: what was not on disk is gone."""
    member = t.members[node]
    if member[WRITTEN] < member[LAST]:
        cut_off(t, node, member[WRITTEN])
    member[ROLE], member[LEADER], member[VOTES], member[ASKED] = FOLLOWER, NOWHERE, 0, 0
    member[COMMIT] = member[AGREED] = member[SNAPSHOT]


@inner
def has_entry(t, node, entry, after):
    """Whether a member's log has an entry behind an index."""
    return entry[ENTRY_LAST] > after and term_at(t, node, entry[ENTRY_FIRST]) == entry[ENTRY_TERM]
