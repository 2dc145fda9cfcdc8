"""A member of a Raft group as a record: what it has on disk, what it believes, what it knows of the others.

The fields that are whole numbers are those of the kernel's records, too (`whole_numbers`); there the ends of the log
(`LOG_ENDS`) stand beside them, which a member that is interpreted reads from its `log`.
"""

from __future__ import annotations

from operator import attrgetter

from msgspec import Struct
from msgspec.structs import astuple, fields, replace

from hawb.raft.log import Log, Members, Snapshot

NOWHERE = -1
"""In place of a member: nobody."""

FOLLOWER, PRE_VOTE, CANDIDATE, LEADER, DOWN = range(5)
"""A member's role; DOWN only in pictures, of one that does not run."""
ROLES = ("follower", "pre_vote", "candidate", "leader", "down")
"""What they are called where somebody reads it."""

LOG_ENDS = ("last_index", "last_term", "written", "generation", "snapshot_index", "snapshot_term")
"""What the protocol looks at of a log: its last entry, up to where it is on disk in which generation of writes, and the
last entry that its snapshot stands for."""


class Peer(Struct, gc=False):
    """What a leader knows of another member: the index to send next, up to which its log is on disk and the same as
    the leader's, the commit index last sent and the one last heard of, and whether a snapshot is on its way."""

    id: int
    next_index: int
    match_index: int = 0
    commit_sent: int = 0
    commit_index: int = 0
    receiving: bool = False

    def __hash__(self) -> int:
        return hash(astuple(self))


class Member(Struct, gc=False):
    """`term`, `voted_for` and, as far as it is written, `log` survive a restart; the rest does not.

    `votes` are who granted this member its (pre-)vote, as bits, `peers` whom it leads. A follower's log agrees with its
    leader's up to `agreed`; `asked` is the entry that it has asked the leader for and waits for, 0 if none. A leader
    that hands over waits for another to lead (`transferring_to`).

    A value to all but the transitions, which change a copy of it (`hawb.raft.step`).
    """

    id: int
    log: Log
    term: int = 0
    voted_for: int = NOWHERE
    role: int = FOLLOWER
    leader: int = NOWHERE
    commit_index: int = 0
    votes: int = 0
    peers: tuple[Peer, ...] = ()
    agreed: int = 0
    asked: int = 0
    transferring_to: int = NOWHERE

    def __hash__(self) -> int:
        return hash(astuple(self))

    def _write(self, index: int) -> None:
        self.log = replace(self.log, written=index)

    members = property(attrgetter("log.members"), doc="The group as this member knows it.")
    last_index = property(attrgetter("log.last_index"), doc="The index of the last entry in its log.")
    last_term = property(attrgetter("log.last_term"), doc="The term of that entry.")
    written = property(attrgetter("log.written"), _write, doc="Up to where its log is on disk.")
    generation = property(attrgetter("log.generation"), doc="How often it has been cut off.")
    snapshot_index = property(attrgetter("log.snapshot.index"), doc="The last entry that its snapshot stands for.")


def start(member: int, members: Members = ()) -> Member:
    """A member of a new group of `members` or, without any, one that is about to join: it knows of no group, and never
    calls for an election, until a leader tells it."""
    return Member(member, Log.of(Snapshot(members=tuple(sorted(members)))))


def whole_numbers(kind: type[Struct]) -> list[str]:
    """The fields of a record that are whole numbers, or whether something is so."""
    return [field.name for field in fields(kind) if field.type in (int, bool)]


def nodes_in(bits: int) -> tuple[int, ...]:
    """The members of a set, in their order."""
    return tuple(node for node in range(bits.bit_length()) if bits >> node & 1)
