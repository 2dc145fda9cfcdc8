"""What Raft needs of the kernel: `hawb.raft.ports`, for a group whose members stay the same. What a member wants done
stands in `out` after a step, in its order."""

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
    NOOP,
)
from hawb.study.kernel.raft_log import alike_up_to, bits_in, cut_off, last_sent, note_run, row_of_term, term_at
from hawb.study.kernel.silence import nothing
from hawb.study.kernel.state import MOST_NODES

__all__ = ["NOOP", "bits_in", "term_at"]
"""The ports that stand elsewhere."""

forget_peers = nothing
"""What was known of others is of no use to who does not lead."""

# Who belongs to the group


@inner
def members_of(t, member):
    """The group, as bits: all nodes are members of the metadata store."""
    return (1 << t.setup.nodes) - 1 if member.store else t.setup.members


@inner
def configured_at(t, member):
    """The index from which on the group is so."""
    return 0


@with_arrays
def peers_of(t, leader):
    """What a leader knows of each other member."""
    others = t.setup.nodes - 1 if leader.store else t.setup.others
    return t.peers[leader.id + leader.store * MOST_NODES, :others]


@inner
def start_peers(t, leader):
    """A new leader takes it that all have what it has."""
    k, group = 0, members_of(t, leader)
    for other in range(t.setup.nodes):
        if other != leader.id and group >> other & 1:
            peer = t.peers[leader.id + leader.store * MOST_NODES, k]
            peer.id, peer.next_index, peer.match_index = other, leader.last_index + 1, 0
            peer.commit_sent, peer.commit_index, peer.receiving = 0, 0, 0
            k += 1


# Logs


@inner
def append_entries(t, leader, says, count, offset):
    """`count` more entries of the leader's term, whose first one notes where that begins."""
    if leader.last_term != leader.term:
        begun = t.terms[row_of_term(t, leader.store, leader.term)]
        begun[0], begun[BASE_INDEX], begun[BASE_TERM] = leader.term, leader.last_index, leader.last_term
    if not leader.store:
        note_run(t, leader.last_index + 1, leader.term, says)
    leader.last_index += count
    leader.last_term = leader.term


@inner
def merge(t, member, message):
    """Takes the entries that a leader sent, behind one that agrees. Whether anything is new."""
    last, term = message.last_index, message.last_term
    if last <= message.prev_index or last <= member.snapshot_index:
        return False
    alike = max(member.snapshot_index, alike_up_to(t, member.store, member.last_index, member.last_term, last, term))
    if alike >= last:
        return False
    if alike < member.last_index:
        cut_off(t, member, alike)
    member.last_index, member.last_term = last, term
    return True


@inner
def install(t, member, message):
    """A leader's snapshot, on disk, in place of what it stands for."""
    index, term = message.snapshot_index, message.snapshot_term
    if term_at(t, member, index) != term:
        member.last_index, member.last_term, member.written = index, term, index
        member.generation += 1
    member.written = max(member.written, index)
    member.snapshot_index, member.snapshot_term = index, term


@inner
def lose_unwritten(t, member):
    """What was not on disk is gone."""
    if member.written < member.last_index:
        cut_off(t, member, member.written)


# What a member wants done


@inner
def say(t, wish, member, first, second):
    """Something is to be done."""
    row = t.queue.out
    if row == len(t.out):
        raise OverflowError("more is to be done than a trial has room for")
    t.out[row].wish, t.out[row].source, t.out[row].first, t.out[row].second = wish, member.id, first, second
    t.queue.out += 1


@inner
def send(t, kind, member, to, first, second, third, fourth, fifth):
    """A message, word by word (`quorum_state.COLUMN_OF`)."""
    message = t.out[t.queue.out]
    say(t, SEND, member, first, second)
    message.target, message.kind, message.term = to, kind, member.term
    message.third, message.fourth, message.fifth = third, fourth, fifth


@inner
def tell(t, kind, member, to, first, second=0, third=0, fourth=0):
    """A message of a kind that says so much."""
    if kind in (PRE_VOTE_RPC, REQUEST_VOTE_RPC):
        send(t, kind, member, to, 0, 0, first, second, 0)
    else:
        send(t, kind, member, to, int(first), second, third, fourth, 0)


@inner
def tell_entries(t, leader, to, prev_index, prev_term):
    """A message with what the leader has behind `prev_index`, as much as goes into one. Up to which index that is."""
    last = prev_index
    if prev_index < leader.last_index and leader.store:
        last = leader.last_index
        if last - prev_index > RUNS_PER_MESSAGE:
            raise OverflowError("more entries of the metadata store than go into one message for sure")
    elif prev_index < leader.last_index:
        last = last_sent(t, prev_index + 1, leader.last_index)
    last_term = term_at(t, leader, last)
    send(t, APPEND_ENTRIES_RPC, leader, to, prev_index, prev_term, last, last_term, leader.commit_index)
    return last


@inner
def tell_snapshot(t, leader, to):
    """A message with the leader's snapshot."""
    send(t, INSTALL_SNAPSHOT_RPC, leader, to, leader.snapshot_index, leader.snapshot_term, 0, 0, 0)


@inner
def say_committed(t, member, index):
    """The entries behind what the member knew as committed, up to `index`, are for the queue."""
    say(t, COMMITTED, member, member.commit_index + 1, index)


@inner
def start_election_timer(t, member):
    """Unless a leader is heard of, the member is to ask for votes."""
    say(t, START_TIMER, member, 0, 0)


@inner
def say_unwritten(t, member):
    """The log has to go to disk."""
    say(t, WRITE, member, member.generation, member.last_index)


@inner
def two_lead(t, member, leader):
    """No disk is lost here."""
    raise RuntimeError("two lead in the same term")
