"""The ports of Raft (`hawb.raft.ports`), for logs that are identified by their last entries.

A member's outputs are in `out` after a step, in their order.
"""

from __future__ import annotations

from hawb.raft.messages import (
    APPEND_ENTRIES_RPC,
    COMMITTED,
    INSTALL_SNAPSHOT_RPC,
    PRE_VOTE_RPC,
    REQUEST_VOTE_RPC,
    SEND,
    START_TIMER,
    WRITE,
)
from hawb.raft.ports import RUNS_PER_MESSAGE
from hawb.study.compiled import inner, with_arrays
from hawb.study.kernel.quorum_state import (
    BASE_INDEX,
    BASE_TERM,
    CONFIGURED,
    NOOP,
)
from hawb.study.kernel.raft_log import (
    alike_up_to,
    bits_in,
    configure,
    cut_off,
    find_configuration,
    last_sent,
    note_run,
    row_of_member,
    row_of_term,
    term_at,
)
from hawb.study.kernel.silence import nothing

__all__ = ["NOOP", "bits_in", "term_at"]
"""The ports from other modules."""

forget_peers = nothing
"""Do nothing: a follower does not read the progress records."""

# Members


@inner
def members_of(t, member):
    """Return the group as a member knows it, committed or not, as bits."""
    return member.group


@inner
def configured_at(t, member):
    """Return the index of the configuration in effect."""
    return member.configured


@with_arrays
def peers_of(t, leader):
    """Return a leader's progress records."""
    return t.peers[row_of_member(t, leader.store, leader.id), : leader.others]


@inner
def start_peers(t, leader):
    """Initialise each peer's next index to last index + 1."""
    leader.others = 0
    for other in range(t.setup.nodes):
        if other != leader.id and members_of(t, leader) >> other & 1:
            start_peer(t, leader, other, leader.last_index + 1)


@inner
def start_peer(t, leader, other, next_index):
    """Begin the progress record of a peer."""
    peer = t.peers[row_of_member(t, leader.store, leader.id), leader.others]
    peer.id, peer.next_index, peer.match_index = other, next_index, 0
    peer.commit_sent, peer.commit_index, peer.receiving = 0, 0, 0
    leader.others += 1


@inner
def add_peer(t, leader, node):
    """Begin the progress record of a new member, whose log is empty."""
    start_peer(t, leader, node, 1)


@inner
def remove_peer(t, leader, node):
    """Remove the progress record of a member."""
    row, left = row_of_member(t, leader.store, leader.id), 0
    for k in range(leader.others):
        if t.peers[row, k].id != node:
            t.peers[row, left] = t.peers[row, k]
            left += 1
    leader.others = left


@inner
def configuration(t, members):
    """Return the command of an entry from which on a group has these members, given as bits."""
    return CONFIGURED + members


# Logs


@inner
def append_entries(t, leader, says, count, offset):
    """Append `count` entries of the leader's term; the first one notes where that term begins."""
    if leader.last_term != leader.term:
        begun = t.terms[row_of_term(t, leader.store, leader.term)]
        begun[0], begun[BASE_INDEX], begun[BASE_TERM] = leader.term, leader.last_index, leader.last_term
    if not leader.store:
        note_run(t, leader.last_index + 1, leader.term, says)
    if says >= CONFIGURED:
        configure(t, leader, says - CONFIGURED)
    leader.last_index += count
    leader.last_term = leader.term


@inner
def merge(t, member, message):
    """Merge the entries that a leader sent behind one that agrees; return True if any are new."""
    if not member.opened:
        member.opened = 1
        find_configuration(t, member)
    last, term = message.last_index, message.last_term
    if last <= message.prev_index or last <= member.snapshot_index:
        return False
    alike = max(member.snapshot_index, alike_up_to(t, member.store, member.last_index, member.last_term, last, term))
    if alike >= last:
        return False
    if alike < member.last_index:
        cut_off(t, member, alike)
    member.last_index, member.last_term = last, term
    find_configuration(t, member)
    return True


@inner
def install(t, member, message):
    """Install a leader's snapshot, on disk, in place of the entries that it replaces."""
    index, term = message.snapshot_index, message.snapshot_term
    if term_at(t, member, index) != term:
        member.last_index, member.last_term, member.written = index, term, index
        member.generation += 1
    member.written = max(member.written, index)
    member.snapshot_index, member.snapshot_term, member.opened = index, term, 1
    find_configuration(t, member)


@inner
def lose_unwritten(t, member):
    """Drop what was not on disk."""
    if member.written < member.last_index:
        cut_off(t, member, member.written)


# Outputs


@inner
def say(t, effect, member, first, second):
    """Add an output."""
    row = t.store.out
    if row == len(t.out):
        raise OverflowError("more is to be done than a trial has room for")
    t.out[row].effect, t.out[row].source, t.out[row].first, t.out[row].second = effect, member.id, first, second
    t.store.out += 1


@inner
def put_message(t, kind, member, to, first, second, third, fourth, fifth):
    """Send a message, word by word (`quorum_state.COLUMN_OF`)."""
    message = t.out[t.store.out]
    say(t, SEND, member, first, second)
    message.target, message.kind, message.term = to, kind, member.term
    message.third, message.fourth, message.fifth = third, fourth, fifth


@inner
def send_message(t, kind, member, to, first, second=0, third=0, fourth=0):
    """Send a message of a kind with these fields."""
    if kind in (PRE_VOTE_RPC, REQUEST_VOTE_RPC):
        put_message(t, kind, member, to, 0, 0, first, second, 0)
    else:
        put_message(t, kind, member, to, int(first), second, third, fourth, 0)


@inner
def send_entries(t, leader, to, prev_index, prev_term):
    """Send the leader's entries behind `prev_index`, as many as fit into a message.

    Return the index of the last one.
    """
    last = prev_index
    if prev_index < leader.last_index and leader.store:
        last = leader.last_index
        if last - prev_index > RUNS_PER_MESSAGE:
            raise OverflowError("more entries of the metadata store than go into one message for sure")
    elif prev_index < leader.last_index:
        last = last_sent(t, prev_index + 1, leader.last_index)
    last_term = term_at(t, leader, last)
    put_message(t, APPEND_ENTRIES_RPC, leader, to, prev_index, prev_term, last, last_term, leader.commit_index)
    return last


@inner
def send_snapshot(t, leader, to):
    """Send the leader's snapshot."""
    put_message(t, INSTALL_SNAPSHOT_RPC, leader, to, leader.snapshot_index, leader.snapshot_term, 0, 0, 0)


@inner
def say_committed(t, member, index):
    """Emit the newly committed entries, up to `index`, to the queue."""
    say(t, COMMITTED, member, member.commit_index + 1, index)


@inner
def start_election_timer(t, member):
    """Start the member's election timer."""
    say(t, START_TIMER, member, 0, 0)


@inner
def say_unwritten(t, member):
    """Ask the host to write the log to disk."""
    say(t, WRITE, member, member.generation, member.last_index)


@inner
def raise_two_leaders(t, member, leader):
    """Raise RuntimeError: two members lead in one term, which no trial plays (`host_ports.crown`)."""
    raise RuntimeError("two lead in the same term")
