"""A member of a Raft group as a record: its durable and volatile state, and its progress records of peers.

The fields that are whole numbers are those of the kernel's records, too (`whole_numbers`); the kernel adds the ends of
the log (`LOG_ENDS`), which an interpreted member reads from its `log`.
"""

from __future__ import annotations

from operator import attrgetter

from msgspec import Struct
from msgspec.structs import astuple, fields, replace

from hawb.raft.log import Log, Members, Snapshot

NOWHERE = -1
"""In place of a member: none."""

FOLLOWER, PRE_VOTE, CANDIDATE, LEADER, DOWN = range(5)
"""A member's role; DOWN occurs only in pictures, for one that does not run."""
ROLES = ("follower", "pre_vote", "candidate", "leader", "down")
"""The names of the roles."""

LOG_ENDS = ("last_index", "last_term", "written", "generation", "snapshot_index", "snapshot_term")
"""The protocol's view of a log: its last entry, the last index on disk, the generation of writes, and the last entry
that its snapshot replaces."""


class Peer(Struct, gc=False):
    """A leader's progress record of another member.

    `next_index` is the index to send next, `match_index` the last index at which the member's log on disk is known to
    match the leader's, `commit_sent` the commit index last sent and `commit_index` the one last received. `receiving`
    is True while a snapshot is under way.
    """

    id: int
    next_index: int
    match_index: int = 0
    commit_sent: int = 0
    commit_index: int = 0
    receiving: bool = False

    def __hash__(self) -> int:
        return hash(astuple(self))


class Member(Struct, gc=False):
    """A member's state. `term`, `voted_for` and, as far as it is written, `log` survive a restart; the rest does not.

    `votes` are the members that granted this one their (pre-)vote, as bits, `peers` a leader's progress records. A
    follower's log agrees with its leader's up to `agreed`; `asked` is the entry that it has asked the leader for, 0 if
    none. A leader that hands over waits for `transferring_to` to lead.

    Only transitions change it, in a copy (`hawb.raft.step`).
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

    members = property(attrgetter("log.members"), doc="The members of the group, as this member knows it.")
    last_index = property(attrgetter("log.last_index"), doc="The index of the last entry in its log.")
    last_term = property(attrgetter("log.last_term"), doc="The term of that entry.")
    written = property(attrgetter("log.written"), _write, doc="The last index of its log on disk.")
    generation = property(attrgetter("log.generation"), doc="How often its log was truncated.")
    snapshot_index = property(attrgetter("log.snapshot.index"), doc="The last entry that its snapshot replaces.")


def start(member: int, members: Members = ()) -> Member:
    """Return a member of a new group of `members` or, without any, one that is about to join.

    The latter knows of no group, and never calls for an election, until it receives entries from a leader.
    """
    return Member(member, Log.of(Snapshot(members=tuple(sorted(members)))))


def whole_numbers(kind: type[Struct]) -> list[str]:
    """Return the fields of a record that are whole numbers or booleans."""
    return [field.name for field in fields(kind) if field.type in (int, bool)]


def nodes_in(bits: int) -> tuple[int, ...]:
    """Return the members of a set given as bits, in their order."""
    return tuple(node for node in range(bits.bit_length()) if bits >> node & 1)
