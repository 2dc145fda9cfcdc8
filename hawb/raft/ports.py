"""The ports of Raft: all that differs between the interpreted and the compiled protocol.

This module is the engine's implementation. `t` is the list of a member's outputs, and logs are runs of entries; for the
kernel, whose ports have the same names (`hawb.study.kernel.raft_ports`), it is the trial, and logs are places in a
tree. The docstrings here describe both.
"""

from __future__ import annotations

from functools import lru_cache

from hawb.raft.log import Configuration, Members, Run
from hawb.raft.member import Member, Peer, nodes_in
from hawb.raft.messages import (
    KINDS,
    AppendEntries,
    Committed,
    Installed,
    InstallSnapshot,
    Output,
    StartElectionTimer,
    Write,
)

Out = list[Output]

RUNS_PER_MESSAGE = 128
"""The most runs in a message; Ra sends 128 entries in one (AER_CHUNK_SIZE)."""

NO_TERM = -1
"""The term of a missing entry."""

# Members


def bits_in(bits: int) -> int:
    """Return the number of members in a set."""
    return bits.bit_count()


def members_of(_: object, member: Member) -> int:
    """Return the group as a member knows it, committed or not, as bits."""
    return bits_of(member.log.configurations[-1][1])


@lru_cache
def bits_of(members: Members) -> int:
    """Return a set as bits."""
    return sum(1 << member for member in members)


def configured_at(_: object, member: Member) -> int:
    """Return the index of the configuration in effect."""
    return member.log.configurations[-1][0]


def peers_of(_: object, leader: Member) -> tuple[Peer, ...]:
    """Return a leader's progress records."""
    return leader.peers


def start_peers(_: object, leader: Member) -> None:
    """Initialise each peer's next index to last index + 1."""
    next_index = leader.log.last_index + 1
    leader.peers = tuple(Peer(other, next_index) for other in leader.members if other != leader.id)


def forget_peers(_: object, member: Member) -> None:
    """Clear the progress records; only a leader has any."""
    member.peers = ()


def add_peer(_: object, leader: Member, node: int) -> None:
    """Begin the progress record of a new member, whose log is empty."""
    leader.peers = (*leader.peers, Peer(node, next_index=1))


def remove_peer(_: object, leader: Member, node: int) -> None:
    """Remove the progress record of a member."""
    leader.peers = tuple(peer for peer in leader.peers if peer.id != node)


def configuration(_: object, members: int) -> Configuration:
    """Return the command of an entry from which on a group has these members, given as bits."""
    return Configuration(nodes_in(members))


# Logs


def term_at(_: object, member: Member, index: int) -> int:
    """Return the term of the entry at `index`; NO_TERM for one before the snapshot or behind the end."""
    term = member.log.term_at(index)
    return NO_TERM if term is None else term


def append_entries(_: object, leader: Member, command: object, count: int, offset: int) -> None:
    """Append `count` entries of the leader's term, the first of which is the one at `offset` of its batch."""
    log = leader.log
    leader.log = log.append(Run(log.last_index + 1, count, leader.term, command, offset))


def merge(_: object, member: Member, message: AppendEntries) -> bool:
    """Merge the entries that a leader sent; return True if any are new.

    The first of them is right behind one that agrees. Entries that are there already stay; an entry of another term is
    removed, with everything behind it (Raft, section 5.3).
    """
    had = member.log.opened(message.opening)
    member.log = had.merge(message.entries)
    return member.log is not had


def install(t: Out, member: Member, message: InstallSnapshot) -> None:
    """Install a leader's snapshot, on disk, in place of the entries that it replaces.

    The entries behind it stay if they agree with it. The state machine takes the snapshot's state.
    """
    member.log = member.log.install(message.snapshot)
    t.append(Installed(message.snapshot))


def lose_unwritten(_: object, member: Member) -> None:
    """Drop what was not on disk."""
    member.log = member.log.on_disk()


# Outputs


def send_message(t: Out, kind: int, member: Member, to: int, *said: int) -> None:
    """Send a message of a kind with these fields, in the member's term."""
    t.append(KINDS[kind](member.id, to, member.term, *said))


def send_entries(t: Out, leader: Member, to: int, prev_index: int, prev_term: int) -> int:
    """Send the leader's entries behind `prev_index`, as many as fit into a message.

    Return the index of the last one.
    """
    log = leader.log
    entries = log.between(prev_index + 1, log.last_index, RUNS_PER_MESSAGE)
    opening = () if prev_index else log.snapshot.members
    t.append(AppendEntries(leader.id, to, leader.term, prev_index, prev_term, entries, leader.commit_index, opening))
    return entries[-1].last if entries else prev_index


def send_snapshot(t: Out, leader: Member, to: int) -> None:
    """Send the leader's snapshot."""
    t.append(InstallSnapshot(leader.id, to, leader.term, leader.log.snapshot))


def say_committed(t: Out, member: Member, index: int) -> None:
    """Emit the newly committed entries, up to `index`, to the state machine."""
    t.append(Committed(member.id, member.log.between(member.commit_index + 1, index)))


def start_election_timer(t: Out, member: Member) -> None:
    """Start the member's election timer."""
    t.append(StartElectionTimer(member.id))


def say_unwritten(t: Out, member: Member) -> None:
    """Ask the host to write the log to disk."""
    t.append(Write(member.id, member.generation, member.last_index))


def raise_two_leaders(_: object, member: Member, leader: int) -> None:
    """Raise RuntimeError: two members lead in one term, which only a lost disk can cause."""
    raise RuntimeError(f"members {member.id} and {leader} lead in the same term, {member.term}")


PORTS = (
    "NOOP", "bits_in", "members_of", "configured_at", "peers_of", "start_peers", "term_at", "append_entries", "merge",
    "install", "lose_unwritten", "send_message", "send_entries", "send_snapshot", "say_committed",
    "start_election_timer", "say_unwritten", "forget_peers", "raise_two_leaders", "add_peer", "remove_peer",
    "configuration",
)  # fmt: skip
"""The ports that engine and kernel both implement; NOOP is the command of a leader's first entry."""
