"""The ports of Raft groups (`hawb.engine.raft_groups.ports`), for the kernel.

It is for a whole network. `g` is `t.queue` or `t.store`, and the outbox is the trial itself. A trial falls back to the
engine where members that have lost their disks elect two leaders in one term, or one that lacks a part of what is
committed.
"""

from __future__ import annotations

from hawb.engine.core import randomness
from hawb.raft.member import LEADER
from hawb.raft.messages import APPEND_ENTRIES_RPC, PRE_VOTE_RPC
from hawb.study.compiled import inner, with_arrays
from hawb.study.draws import below
from hawb.study.kernel import windows
from hawb.study.kernel.quorum_group import begin_empty, enter_entries
from hawb.study.kernel.quorum_state import (
    ELECTION_DUE,
    ENQUEUE,
    ENQUEUED,
    FIFTH,
    FIRST,
    FOURTH,
    LEADER_ELECTED,
    LOG_CUT,
    MAJORITY_REACHED,
    MEMBERS_ABREAST,
    METADATA_AVAILABLE,
    OF_STORE,
    PROPOSED,
    RAFT_ARRIVES,
    RAFT_WRITTEN,
    REMOVAL_WRITTEN,
    SECOND,
    THIRD,
)
from hawb.study.kernel.raft import append
from hawb.study.kernel.raft_log import has_entry, is_member, note_run, row_of_member
from hawb.study.kernel.silence import nothing
from hawb.study.kernel.state import (
    KIND,
    NEVER,
    NONE,
    RUNNING,
    TIME,
    WAITING,
    A,
    B,
    running_bits,
    schedule,
    unschedule,
)

__all__ = ["ELECTION_DUE", "LEADER_ELECTED", "LOG_CUT", "MAJORITY_REACHED", "MEMBERS_ABREAST", "is_member"]
"""The ports from other modules."""

ELECTION, METADATA = randomness.ELECTION, ENQUEUED

say_refused_by = await_handover = say_not_changed = nothing
"""There is no trace, and no leader hands over."""
lacks_coordinator = offset_of = nothing
"""There are no streams, and batches are not recorded."""

# Facts


@inner
def note_hosts(t):
    """Note the nodes on which members could run, whenever a node has stopped or booted.

    These are read more often than they change.
    """
    t.queue.here = running_bits(t) & t.queue.present


@inner
def hosted(t, g, *_):
    """Return the nodes whose members run, as bits."""
    return (started_bits(t) & g.present if g.store else g.here) & ~g.stopped


@inner
def started_bits(t):
    """Return the nodes whose members of the metadata store run, as bits.

    They run, or wait for others as they boot.
    """
    bits = 0
    for node in range(t.setup.nodes):
        if t.nodes[node].status == RUNNING or t.nodes[node].status == WAITING:
            bits |= 1 << node
    return bits


@inner
def reached(t, g, node):
    """Return the nodes whose members run and are reached from a node, as bits."""
    return hosted(t, g)


@inner
def in_sight(t, g):
    """Return the nodes whose members run and are reached from a running node, as bits."""
    return 0 if g.store and not running_bits(t) else hosted(t, g)


@inner
def has_given_up(t, a, b):
    """Return True if the failure detectors of two nodes suspect each other."""
    return t.suspected[a] >> b & 1 == 1


@inner
def member_of(t, g, node):
    """Return the member on a node."""
    return t.members[row_of_member(t, g.store, node)]


@with_arrays
def drawn(t, g, term):
    """Return the members in the random order of a term."""
    order = t.drawn[row_of_member(t, g.store, 0) :]
    if g.drawn_for != term:
        draw_order(t, g, term, order)
    return order


@with_arrays
def draw_order(t, g, term, order):
    """Write the members in the random order of a term: `hawb.engine.core.randomness.shuffled`."""
    count, g.drawn_for = 0, term
    for node in range(t.setup.nodes):
        if is_member(t, g, node):
            order[count] = node
            count += 1
    for i in range(count - 1, 0, -1):
        j = below(i + 1, t.setup.seed, ELECTION, g.number, 16 * term + count - 1 - i)
        order[i], order[j] = order[j], order[i]


# Scheduling


@inner
def plan(t, g, delay_us, kind, node):
    """Schedule an event of the group, or of its member on a node."""
    schedule(t, delay_us, kind + g.store * OF_STORE, node)


@inner
def unplan(t, g, kind, node):
    """Unschedule an event."""
    unschedule(t, kind + g.store * OF_STORE, node)


@inner
def is_planned(t, g, kind, node):
    """Return True if an event is scheduled."""
    kind += g.store * OF_STORE
    for row in range(t.moment.agenda):
        if t.agenda[row, KIND] == kind and t.agenda[row, A] == node:
            return True
    return False


# Outputs of a member


@inner
def outbox(t):
    """Empty the outbox for the outputs of a member's step, and return it.

    The metadata store's record has the number of outputs, of whichever group.
    """
    t.store.out = 0
    return t


@with_arrays
def outputs(out):
    """Return the outputs, in their order."""
    return out.out[: out.store.out]


@inner
def transfer_us(t, g, message):
    """Return the transfer time of the bodies in a message, and count them as replicated."""
    before, last, count = message.prev_index, message.last_index, 0
    if message.kind != APPEND_ENTRIES_RPC or last == before:
        return 0
    for k in range(g.entries):
        entry = t.entries[k]
        is_in_it = before < entry.last and entry.first <= last
        if is_in_it and entry.asks == ENQUEUE and has_entry(t, message.source, entry, before):
            count += min(entry.last, last) - max(entry.first, before + 1) + 1
    sent_bytes = count * t.setup.size_bytes
    count_replicated(t, g, sent_bytes)
    return sent_bytes * 1_000_000 // t.setup.network_bytes_per_s


@inner
def count_replicated(t, g, sent_bytes):
    """Count bytes as sent to members."""
    t.book.bytes_replicated += sent_bytes


@inner
def behind_us(t, g, source, target):
    """Return the time until all that was sent before over the same link has arrived."""
    delay_us, kind = 0, RAFT_ARRIVES + g.store * OF_STORE
    for row in range(t.moment.agenda):
        planned = t.agenda[row]
        if planned[KIND] == kind and planned[A] == target and planned[B] == source:
            delay_us = max(delay_us, planned[TIME] - t.moment.now_us)
    return delay_us


@inner
def plan_arrival(t, g, message, delay_us):
    """Schedule the arrival of a message."""
    row = t.agenda[t.moment.agenda]
    kind = RAFT_ARRIVES + g.store * OF_STORE
    schedule(t, delay_us, kind, message.target, message.source, message.kind, message.term)
    row[FIRST], row[SECOND], row[THIRD] = message.first, message.second, message.third
    row[FOURTH], row[FIFTH] = message.fourth, message.fifth


@inner
def plan_write(t, g, output):
    """Schedule the completion of a member's disk write."""
    row = t.agenda[t.moment.agenda]
    schedule(t, t.setup.fsync_us, RAFT_WRITTEN + g.store * OF_STORE, output.source, t.nodes[output.source].boots)
    row[FIRST], row[SECOND] = output.first, output.second


# Logs


@inner
def enter(t, g, leader, out, proposal):
    """Append a client's proposal, a row of `waiting`, to the leader's log."""
    if leader.role == LEADER:
        count = max(1, proposal.count) if proposal.asks == ENQUEUE else 1
        enter_entries(t, proposal, leader.last_index + 1, leader.last_index + count, leader.term)
        append(out, leader, PROPOSED, count, 0)


@inner
def take_committed(t, g, output):
    """Add newly committed proposals to those to execute.

    Return the last index among the entries, 0 if no entry is new.
    """
    first, last = output.first, output.second
    if last <= g.applied:
        return 0
    for k in range(g.entries):
        entry = t.entries[k]
        if entry.first <= last and has_entry(t, output.source, entry, max(first - 1, g.applied)):
            if g.committed == len(t.committed):
                raise OverflowError("more is committed at once than a trial has room for")
            t.committed[g.committed] = entry
            g.committed += 1
    return last


@inner
def is_committing(t, g):
    """Return True if a committed proposal is still to be executed."""
    return g.committed > 0


@inner
def is_to_be_done(t, g, number):
    """Return True if this proposal is committed and still to be executed."""
    for k in range(g.committed):
        if t.committed[k].number == number:
            return True
    return False


@with_arrays
def waiting_of(t, g):
    """Return the waiting proposals, in the order in which they were made."""
    return t.waiting[: g.waiting]


@inner
def extend(t, member, leader, says, count):
    """Append `count` entries, on disk and committed, to a leader's log or to that of a member behind it."""
    if member.id == leader.id and not leader.store:
        note_run(t, leader.last_index + 1, leader.term, says)
    member.last_index += count
    member.written = member.commit_index = member.last_index
    member.last_term = leader.term


# Members that come and go


@inner
def begin_member(t, g, node, members):
    """Begin a member with an empty disk in a new group of `members`, as bits; with 0 it is about to join one."""
    begin_empty(t, g, node, members)
    g.present |= 1 << node
    g.changes += 1
    members_changed(t, g)


@inner
def drop_member(t, g, node):
    """Delete a member with all that it has on its node's disk, if there is one."""
    g.present &= ~(1 << node)
    members_changed(t, g)


@inner
def members_changed(t, g):
    """Note the nodes on which members run, and that their order of elections is to be drawn again."""
    g.drawn_for = NONE
    note_hosts(t)


@inner
def has_changed(t, g):
    """Return True if a member's log may name other members than the group has."""
    return g.changes > 0 or t.counts[g.store, 0] > 0


@inner
def plan_question(t, g, member, leader, delay_us):
    """Schedule that the request for votes of a member without a log reaches a leader."""
    row = t.agenda[t.moment.agenda]
    schedule(t, delay_us, RAFT_ARRIVES + g.store * OF_STORE, leader, member.id, PRE_VOTE_RPC, member.term)
    row[FIRST] = row[SECOND] = row[THIRD] = row[FOURTH] = row[FIFTH] = 0


@inner
def plan_removal(t, g, leader, removed):
    """Schedule that a leader's disk has the removal of a member."""
    schedule(t, t.setup.fsync_us, REMOVAL_WRITTEN, leader, removed)


# Record of the queue


@inner
def recorded(t, g):
    """Return the members in the queue's record, as bits; 0 for the metadata store, which has none."""
    return g.recorded


@inner
def note_members(t, g, members):
    """Give the queue's record other members."""
    g.recorded = members


@inner
def has_record(t, g):
    """Return True if the current side knows the queue."""
    return True


@inner
def record(t, g):
    """Return the queue, or the metadata store, as the current side knows it."""
    return g


@inner
def say_available(t, g, leader, up):
    """Schedule that waiting changes of the metadata are tried again once the store can commit.

    In a trial none waits.
    """
    if up and g.store:
        schedule(t, 0, METADATA_AVAILABLE)


@inner
def count_times(t, g):
    """Start or stop counting the time for which the queue is out of service.

    The time before its first leader is no outage (`hawb.study.engine_trial`).
    """
    if g.store:
        return
    book, now_us = t.book, t.moment.now_us
    if g.up and book.down_since != NEVER:
        book.down_us, book.down_since = book.down_us + now_us - book.down_since, NEVER
    elif not g.up and book.down_since == NEVER and g.led:
        book.down_since = now_us
    g.led |= g.up


@inner
def crown(t, g, leader):
    """Record the election of a leader. If all disks are lost, so is what the queue holds.

    Raise OverflowError if another member has led in its term or later, or it lacks a part of what is committed.
    """
    if leader.term <= g.led_term:
        raise OverflowError("two leaders in one term, since a member has lost its disk with its vote")
    g.led_term = leader.term
    if not g.store and leader.last_index - 1 < g.applied:
        if leader.last_index > 1:
            raise OverflowError("a leader that lacks a part of what is committed, since too many disks are lost")
        lose_content(t)
    g.holder = leader.id


@inner
def lose_content(t):
    """Lose what the queue holds but what the consumer holds: `hawb.engine.quorum.losses.end_with_log`."""
    for k in range(1, t.ready[0, 0] + 1):
        windows.add(t.lost, t.ready[k, 0], t.ready[k, 1])
    for k in range(1, t.returns[0, 0] + 1):
        windows.add(t.lost, t.returns[k, 0], t.returns[k, 1])
    windows.clear(t.ready)
    windows.clear(t.returns)
    t.queue.applied = t.queue.places = t.queue.cut_at = t.queue.moved = 0


@inner
def note_abreast(t, g, abreast):
    """Record that members have caught up with the queue.

    Return True if there are new ones and messages that the last leader could not deliver.
    """
    if not g.store:
        abreast &= g.recorded
    had, g.abreast = g.abreast, abreast
    return not g.store and t.missing[0, 0] > 0 and abreast & ~had != 0
