"""What Raft needs of those who run it: all that is otherwise where it is interpreted and where it is compiled.

Here is what the engine has for it. `t` is the list of what a member wants done, and logs are runs of entries; for the
kernel, whose ports have the same names (`hawb.study.kernel.raft_ports`), it is the trial, and logs are places in a
tree. What a port promises is said here for both.
"""

from __future__ import annotations

from functools import lru_cache

from hawb.raft.log import Members, Run
from hawb.raft.member import Member, Peer
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
"""The term of an entry that is not there."""

# Who belongs to the group


def bits_in(bits: int) -> int:
    """How many members are in a set."""
    return bits.bit_count()


def members_of(_: Out, member: Member) -> int:
    """The group as a member knows it, committed or not, as bits."""
    return bits_of(member.log.configurations[-1][1])


@lru_cache
def bits_of(members: Members) -> int:
    """A set as bits."""
    return sum(1 << member for member in members)


def configured_at(_: Out, member: Member) -> int:
    """The index from which on the group is so."""
    return member.log.configurations[-1][0]


def peers_of(_: Out, leader: Member) -> tuple[Peer, ...]:
    """What a leader knows of each other member."""
    return leader.peers


def start_peers(_: Out, leader: Member) -> None:
    """A new leader takes it that all have what it has."""
    next_index = leader.log.last_index + 1
    leader.peers = tuple(Peer(other, next_index) for other in leader.members if other != leader.id)


def forget_peers(_: Out, member: Member) -> None:
    """Whom a member leads is known to a leader alone."""
    member.peers = ()


# Logs


def term_at(_: Out, member: Member, index: int) -> int:
    """The term of the entry at `index`; NO_TERM for one that is not there, before the snapshot or behind the end."""
    term = member.log.term_at(index)
    return NO_TERM if term is None else term


def append_entries(_: Out, leader: Member, command: object, count: int, offset: int) -> None:
    """`count` more entries of the leader's term, the first of which is the one at `offset` of its batch."""
    log = leader.log
    leader.log = log.append(Run(log.last_index + 1, count, leader.term, command, offset))


def merge(_: Out, member: Member, message: AppendEntries) -> bool:
    """Takes the entries that a leader sent, whose first stands right behind one that agrees. What is already there
    stays; an entry of another term goes, with everything behind it (Raft, section 5.3). Whether anything is new."""
    had = member.log.opened(message.opening)
    member.log = had.merge(message.entries)
    return member.log is not had


def install(t: Out, member: Member, message: InstallSnapshot) -> None:
    """A leader's snapshot, on disk, in place of what it stands for. The entries behind it stay if they agree with it.
    The state machine becomes what it says."""
    member.log = member.log.install(message.snapshot)
    t.append(Installed(message.snapshot))


def lose_unwritten(_: Out, member: Member) -> None:
    """What was not on disk is gone."""
    member.log = member.log.on_disk()


# What a member wants done


def tell(t: Out, kind: int, member: Member, to: int, *said: int) -> None:
    """A message of a kind that says so much, of the member's term."""
    t.append(KINDS[kind](member.id, to, member.term, *said))


def tell_entries(t: Out, leader: Member, to: int, prev_index: int, prev_term: int) -> int:
    """A message with what the leader has behind `prev_index`, as much as goes into one. Up to which index that is."""
    log = leader.log
    entries = log.between(prev_index + 1, log.last_index, RUNS_PER_MESSAGE)
    opening = () if prev_index else log.snapshot.members
    t.append(AppendEntries(leader.id, to, leader.term, prev_index, prev_term, entries, leader.commit_index, opening))
    return entries[-1].last if entries else prev_index


def tell_snapshot(t: Out, leader: Member, to: int) -> None:
    """A message with the leader's snapshot."""
    t.append(InstallSnapshot(leader.id, to, leader.term, leader.log.snapshot))


def say_committed(t: Out, member: Member, index: int) -> None:
    """The entries behind what the member knew as committed, up to `index`, are for the state machine."""
    t.append(Committed(member.id, member.log.between(member.commit_index + 1, index)))


def start_election_timer(t: Out, member: Member) -> None:
    """Unless a leader is heard of, the member is to ask for votes."""
    t.append(StartElectionTimer(member.id))


def say_unwritten(t: Out, member: Member) -> None:
    """The log has to go to disk."""
    t.append(Write(member.id, member.generation, member.last_index))


def two_lead(_: Out, member: Member, leader: int) -> None:
    """Raises RuntimeError: what cannot be has come about, short of a lost disk."""
    raise RuntimeError(f"members {member.id} and {leader} lead in the same term, {member.term}")


PORTS = (
    "NOOP", "bits_in", "members_of", "configured_at", "peers_of", "start_peers", "term_at", "append_entries", "merge",
    "install", "lose_unwritten", "tell", "tell_entries", "tell_snapshot", "say_committed", "start_election_timer",
    "say_unwritten", "forget_peers", "two_lead",
)  # fmt: skip
"""The names of what others have to have; NOOP is what the entry says that a leader appends first."""
