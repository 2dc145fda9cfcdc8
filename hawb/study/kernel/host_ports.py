"""What groups need of the kernel: `hawb.engine.quorum.ports`, for a whole network, where nobody is silent, no disk is
lost and the members stay the same. `g` is `t.queue`, and the outbox is the trial itself."""

from __future__ import annotations

from hawb.engine import chance
from hawb.raft.member import LEADER
from hawb.raft.messages import APPEND_ENTRIES_RPC
from hawb.study.compiled import inner, with_arrays
from hawb.study.draws import below
from hawb.study.kernel.quorum_group import enter_entries
from hawb.study.kernel.quorum_state import (
    ELECTION_DUE,
    ENQUEUE,
    FIFTH,
    FIRST,
    FOURTH,
    LEADER_ELECTED,
    LOG_CUT,
    MAJORITY_REACHED,
    MEMBERS_ABREAST,
    PROPOSED,
    RAFT_ARRIVES,
    RAFT_WRITTEN,
    SECOND,
    THIRD,
)
from hawb.study.kernel.raft import append
from hawb.study.kernel.raft_log import has_entry, is_member, note_run
from hawb.study.kernel.silence import nothing
from hawb.study.kernel.state import KIND, NEVER, TIME, A, B, running_bits, schedule, unschedule

__all__ = ["ELECTION_DUE", "LEADER_ELECTED", "LOG_CUT", "MAJORITY_REACHED", "MEMBERS_ABREAST", "is_member"]
"""The ports that stand elsewhere."""

ELECTION = chance.ELECTION

say_refused_by = say_available = await_handover = note_members = retire = ask_who_leads = start_anew = nothing
"""Nobody is told, nobody hands over, and nobody joins or leaves."""
is_held_back = offset_of = nothing
"""There are no streams, and of batches nothing is known."""

# What is so


@inner
def note_hosts(t):
    """Notes on which nodes members could run, whenever one has gone or come: that is asked more often than it
    changes."""
    t.queue.here = running_bits(t) & t.setup.members


@inner
def hosted(t, g, *_):
    """The nodes whose members run."""
    return g.here & ~g.stopped


@inner
def reached(t, g, node):
    """Those of them that get what is sent at a node."""
    return hosted(t, g)


@inner
def in_sight(t, g):
    """Those of them that are reached from a running node."""
    return hosted(t, g)


@inner
def has_given_up(t, a, b):
    """No failure detector gives anybody up."""
    return False


@inner
def member_of(t, g, node):
    """The member on a node."""
    return t.members[node]


@with_arrays
def drawn(t, g, term):
    """The members in the random order of a term."""
    if g.drawn_for != term:
        draw_order(t, term)
    return t.drawn


@inner
def draw_order(t, term):
    """Writes the members into `drawn`, in the random order of a term: `hawb.engine.chance.shuffled`."""
    count, t.queue.drawn_for = 0, term
    for node in range(t.setup.nodes):
        if is_member(t, t.queue, node):
            t.drawn[count] = node
            count += 1
    for i in range(count - 1, 0, -1):
        j = below(i + 1, t.setup.seed, ELECTION, t.queue.number, 16 * term + count - 1 - i)
        t.drawn[i], t.drawn[j] = t.drawn[j], t.drawn[i]


# What is planned


@inner
def plan(t, g, delay_us, kind, node):
    """Something of the group, or of its member on a node, is to happen."""
    schedule(t, delay_us, kind, node)


@inner
def unplan(t, g, kind, node):
    """Something is not to happen any more."""
    unschedule(t, kind, node)


@inner
def is_planned(t, g, kind, node):
    """Whether something is to happen."""
    for row in range(t.moment.agenda):
        if t.agenda[row, KIND] == kind and t.agenda[row, A] == node:
            return True
    return False


# What a member wants done


@inner
def outbox(t):
    """What a member is to write down in a step that it wants done."""
    t.queue.out = 0
    return t


@with_arrays
def wishes(out):
    """What it has written down, in its order."""
    return out.out[: out.queue.out]


@inner
def transfer_us(t, g, message):
    """How long the bodies of the messages in it take, which count as replicated."""
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
    """So much is sent to members."""
    t.book.bytes_replicated += sent_bytes


@inner
def behind_us(t, g, source, target):
    """How long it takes until what was sent before over the same link has all arrived."""
    delay_us = 0
    for row in range(t.moment.agenda):
        planned = t.agenda[row]
        if planned[KIND] == RAFT_ARRIVES and planned[A] == target and planned[B] == source:
            delay_us = max(delay_us, planned[TIME] - t.moment.now_us)
    return delay_us


@inner
def plan_arrival(t, g, message, delay_us):
    """A message is on its way."""
    row = t.agenda[t.moment.agenda]
    schedule(t, delay_us, RAFT_ARRIVES, message.target, message.source, message.kind, message.term)
    row[FIRST], row[SECOND], row[THIRD] = message.first, message.second, message.third
    row[FOURTH], row[FIFTH] = message.fourth, message.fifth


@inner
def plan_write(t, g, wish):
    """A member's log is on its way to the disk."""
    row = t.agenda[t.moment.agenda]
    schedule(t, t.setup.fsync_us, RAFT_WRITTEN, wish.source, t.nodes[wish.source].boots)
    row[FIRST], row[SECOND] = wish.first, wish.second


# Logs


@inner
def enter(t, g, leader, out, proposal):
    """A member that leads has what a client asks, a row of `waiting`, in its log."""
    if leader.role == LEADER:
        count = max(1, proposal.count) if proposal.asks == ENQUEUE else 1
        enter_entries(t, proposal, leader.last_index + 1, leader.last_index + count, leader.term)
        append(out, leader, PROPOSED, count, 0)


@inner
def take_committed(t, g, wish):
    """What clients asked, and nobody has committed before, is to be done. Up to which index."""
    first, last = wish.first, wish.second
    if last <= g.applied:
        return 0
    for k in range(g.entries):
        entry = t.entries[k]
        if entry.first <= last and has_entry(t, wish.source, entry, max(first - 1, g.applied)):
            if g.committed == len(t.committed):
                raise OverflowError("more is committed at once than a trial has room for")
            t.committed[g.committed] = entry
            g.committed += 1
    return last


@inner
def is_committing(t, g):
    """Whether anything that is committed is still to be done."""
    return g.committed > 0


@inner
def is_to_be_done(t, g, number):
    """Whether a proposal is committed, and still to be done."""
    for k in range(g.committed):
        if t.committed[k].number == number:
            return True
    return False


@with_arrays
def waiting_of(t, g):
    """What waits, in the order in which it was asked."""
    return t.waiting[: g.waiting]


@inner
def extend(t, member, leader, says, count):
    """A leader's log, or that of a member behind it, has `count` more entries, on disk and committed."""
    if member.id == leader.id:
        note_run(t, leader.last_index + 1, leader.term, says)
    member.last_index += count
    member.written = member.commit_index = member.last_index
    member.last_term = leader.term


# The queue's record


@inner
def has_record(t, g):
    """Whether the side in focus knows the queue."""
    return True


@inner
def record(t, g):
    """The queue as the side in focus knows it."""
    return t.queue


@inner
def count_times(t, g):
    """Counts from now on, or no longer, that the queue is out of service. The time before its first leader counts as
    no outage (`hawb.study.engine_trial`)."""
    book, now_us = t.book, t.moment.now_us
    if g.up and book.down_since != NEVER:
        book.down_us, book.down_since = book.down_us + now_us - book.down_since, NEVER
    elif not g.up and book.down_since == NEVER and g.led:
        book.down_since = now_us
    g.led |= g.up


@inner
def crown(t, g, leader):
    """A member has been elected."""
    g.holder = leader.id


@inner
def note_abreast(t, g, abreast):
    """Those members hold what the queue does. Whether there are any new ones, and messages that the last leader could
    not deliver."""
    had, g.abreast = g.abreast, abreast
    return t.missing[0, 0] > 0 and abreast & ~had != 0
