"""Waiting proposals to a quorum queue, and those in logs: `hawb.engine.raft_groups.group`."""

from __future__ import annotations

from hawb.raft.member import FOLLOWER, NOWHERE
from hawb.raft.messages import APPEND_ENTRIES_RPC
from hawb.study.compiled import inner
from hawb.study.kernel.quorum_state import (
    BASE_INDEX,
    BASE_TERM,
    ENQUEUE,
    FIRST,
    MOST_TERMS,
    RAFT_ARRIVES,
    THIRD,
)
from hawb.study.kernel.raft_log import begin_configurations, has_entry, is_member, row_of_member, row_of_term
from hawb.study.kernel.state import KIND, NONE, C

FEW_ENTRIES = 8
"""The number of entries up to which entries that no log has any more are kept."""


@inner
def stand_members(t, g):
    """Set up the members of a group that has just been declared."""
    begun = t.terms[row_of_term(t, g.store, 1)]
    begun[0], begun[BASE_INDEX], begun[BASE_TERM] = 1, 0, 0
    begin_configurations(t, g.store, g.present)
    for node in range(t.setup.nodes):
        member = t.members[row_of_member(t, g.store, node)]
        member.id, member.store = node, g.store
        member.last_index = member.last_term = member.written = member.term = member.commit_index = member.agreed = 1
        member.voted_for = member.leader = member.transferring_to = NOWHERE
        member.opened, member.group, member.configured = 1, g.present, 0


@inner
def begin_empty(t, g, node, members):
    """Begin a member with an empty disk in a new group of `members`, as bits; with 0 it is about to join one."""
    member = t.members[row_of_member(t, g.store, node)]
    member.id, member.store, member.role = node, g.store, FOLLOWER
    member.last_index = member.last_term = member.written = member.generation = member.term = member.commit_index = 0
    member.snapshot_index = member.snapshot_term = member.votes = member.agreed = member.asked = member.others = 0
    member.voted_for = member.leader = member.transferring_to = NOWHERE
    member.opened, member.group, member.configured = int(members != 0), members, 0
    if members:
        begin_configurations(t, g.store, members)
        for term in range(MOST_TERMS):
            t.terms[row_of_term(t, g.store, term)][0] = 0
        g.led_term = 0
        if not g.store:
            g.entries = g.runs = 0


@inner
def row_of(t, number):
    """Return the row of a waiting proposal; NONE if it is decided."""
    for row in range(t.queue.waiting):
        if t.waiting[row].number == number:
            return row
    return NONE


@inner
def withdraw(t, g, number):
    """Remove a proposal that is decided, or no longer waits."""
    row = row_of(t, number)
    if row != NONE:
        g.waiting -= 1
        for other in range(row, g.waiting):
            t.waiting[other] = t.waiting[other + 1]


@inner
def pending(t):
    """Return how many messages are not decided yet."""
    count = 0
    for row in range(t.queue.waiting):
        if t.waiting[row].asks == ENQUEUE:
            count += t.waiting[row].count
    return count


# Entries with clients' proposals


@inner
def enter_entries(t, proposal, first, last, term):
    """Record the entries of a proposal in the leader's log."""
    if t.queue.entries >= max(FEW_ENTRIES, t.queue.looked):
        forget_entries(t)
        t.queue.looked = 2 * t.queue.entries
    row = t.queue.entries
    if row == len(t.entries):
        raise OverflowError("logs have more in them than a trial has room for")
    entry = t.entries[row]
    entry.number, entry.asks, entry.node, entry.client = proposal.number, proposal.asks, proposal.node, proposal.client
    entry.channel, entry.after, entry.count = proposal.channel, proposal.after, proposal.count
    entry.first, entry.last, entry.term = first, last, term
    t.queue.entries += 1


@inner
def forget_entries(t):
    """Drop entries that no log has behind its snapshot, and that are not under way."""
    least = 0
    for row in range(t.moment.agenda):
        planned = t.agenda[row]
        if planned[KIND] == RAFT_ARRIVES and planned[C] == APPEND_ENTRIES_RPC and planned[THIRD] > planned[FIRST]:
            least = min(least, planned[FIRST]) if least else planned[FIRST]
    left = 0
    for k in range(t.queue.entries):
        if is_logged(t, t.entries[k]) or (least and t.entries[k].last > least):
            t.entries[left] = t.entries[k]
            left += 1
    t.queue.entries = left


@inner
def is_logged(t, entry):
    """Return True if any log has an entry behind its snapshot."""
    for node in range(t.setup.nodes):
        if is_member(t, t.queue, node) and has_entry(t, node, entry, t.members[node].snapshot_index):
            return True
    return False


@inner
def is_in_log(t, g, node, number, after):
    """Return True if a member's log has a proposal behind an index."""
    for k in range(t.queue.entries):
        if t.entries[k].number == number and has_entry(t, node, t.entries[k], after):
            return True
    return False
