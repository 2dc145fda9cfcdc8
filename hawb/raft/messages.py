"""Inputs and outputs of a member of a Raft group: messages between members, inputs from its host, outputs to its host.

They are plain values; the other modules of `hawb.raft` handle them. The names are Ra's and the Raft paper's. Ra's
install_snapshot_result is an `AppendEntriesReply` here.
"""

from __future__ import annotations

from typing import ClassVar, Final, Literal

from msgspec import Struct

from hawb.raft.log import Members, Run, Snapshot

PRE_VOTE_RPC: Final = 0
PRE_VOTE_RESULT: Final = 1
REQUEST_VOTE_RPC: Final = 2
REQUEST_VOTE_RESULT: Final = 3
APPEND_ENTRIES_RPC: Final = 4
APPEND_ENTRIES_REPLY: Final = 5
INSTALL_SNAPSHOT_RPC: Final = 6
TRY_BECOME_LEADER: Final = 7
"""The kinds of messages, by Ra's names."""

SEND: Final = 0
WRITE: Final = 1
COMMITTED: Final = 2
START_TIMER: Final = 3
OTHER: Final = 4
"""The kinds of outputs, in their field `effect`; OTHER is one that not every host has to handle."""

# Between members. `term` is the sender's.


class Message(Struct, frozen=True, gc=False):
    """A message from one member to another."""

    kind: ClassVar[int]
    effect: ClassVar[Literal[0]] = SEND
    source: int
    target: int
    term: int


class PreVote(Message, frozen=True, gc=False):
    """A request for a pre-vote, before a new term begins.

    A member that cannot win then does not disturb a leader.
    """

    kind: ClassVar[Literal[0]] = PRE_VOTE_RPC
    last_index: int
    last_term: int


class PreVoteResult(Message, frozen=True, gc=False):
    """The answer to `PreVote`."""

    kind: ClassVar[Literal[1]] = PRE_VOTE_RESULT
    granted: bool


class RequestVote(Message, frozen=True, gc=False):
    """A request for a vote in this term."""

    kind: ClassVar[Literal[2]] = REQUEST_VOTE_RPC
    last_index: int
    last_term: int


class RequestVoteResult(Message, frozen=True, gc=False):
    """The answer to `RequestVote`."""

    kind: ClassVar[Literal[3]] = REQUEST_VOTE_RESULT
    granted: bool


class AppendEntries(Message, frozen=True, gc=False):
    """A leader's entries behind the one at `prev_index`, which is of `prev_term`, and its commit index.

    The first entries come with the group's first members (`opening`); Ra starts a new member with them.
    """

    kind: ClassVar[Literal[4]] = APPEND_ENTRIES_RPC
    prev_index: int
    prev_term: int
    entries: tuple[Run, ...]
    leader_commit: int
    opening: Members = ()

    @property
    def last_index(self) -> int:
        """Return the index of the last entry that it carries; without any, that of the entry before."""
        return self.entries[-1].last if self.entries else self.prev_index


class AppendEntriesReply(Message, frozen=True, gc=False):
    """The answer to `AppendEntries` and `InstallSnapshot`.

    It has the success, the index wanted next, the last index that agrees with the leader's log and is on disk, and the
    follower's commit index.
    """

    kind: ClassVar[Literal[5]] = APPEND_ENTRIES_REPLY
    success: bool
    next_index: int
    last_index: int
    commit_index: int


class InstallSnapshot(Message, frozen=True, gc=False):
    """A snapshot instead of entries that the leader no longer has."""

    kind: ClassVar[Literal[6]] = INSTALL_SNAPSHOT_RPC
    snapshot: Snapshot

    @property
    def snapshot_index(self) -> int:
        """Return the last entry that it replaces."""
        return self.snapshot.index


class TryBecomeLeader(Message, frozen=True, gc=False):
    """A leader's request to start an election, as it hands over."""

    kind: ClassVar[Literal[7]] = TRY_BECOME_LEADER


KINDS = (
    PreVote, PreVoteResult, RequestVote, RequestVoteResult, AppendEntries, AppendEntriesReply, InstallSnapshot,
    TryBecomeLeader,
)  # fmt: skip
"""The messages by their kinds."""

AnyMessage = (
    PreVote | PreVoteResult | RequestVote | RequestVoteResult | AppendEntries | AppendEntriesReply | InstallSnapshot
    | TryBecomeLeader
)  # fmt: skip
"""Any message; its `kind` says which."""

OfElection = PreVote | PreVoteResult | RequestVote | RequestVoteResult
"""The messages of elections."""

# From the host


class ElectionTimeout(Struct, frozen=True, gc=False):
    """The member has been without a leader, or its failure detector has suspected the leader, for long enough."""


class Tick(Struct, frozen=True, gc=False):
    """Time to send again what may have been lost. Needed as long as `replication.is_stale` is True of any peer."""


class ConditionTimeout(Struct, frozen=True, gc=False):
    """What the member waits for has not come (Ra's await_condition_timeout).

    It waits for entries that it asked for, or for another leader in its place.
    """


class Written(Struct, frozen=True, gc=False):
    """The disk has written what a `Write` asked for, and all before it."""

    generation: int
    index: int


class Command(Struct, frozen=True, gc=False):
    """`count` commands of the same kind for the state machine. `offset` is the place of the first one in its batch."""

    command: object
    count: int = 1
    offset: int = 0


class Join(Struct, frozen=True, gc=False):
    """A member is to join the group ('$ra_join')."""

    member: int


class Leave(Struct, frozen=True, gc=False):
    """A member is to leave the group ('$ra_leave')."""

    member: int


class TransferLeadership(Struct, frozen=True, gc=False):
    """Another member is to lead."""

    target: int


class ForceMemberChange(Struct, frozen=True, gc=False):
    """The member is to become the only one of its group, without a majority: Raft guarantees nothing then."""


class ReleaseCursor(Struct, frozen=True, gc=False):
    """The entries up to `index` are no longer needed: after them the state machine was `state`."""

    index: int
    state: object = None


Input = (
    AnyMessage | ElectionTimeout | Tick | ConditionTimeout | Written
    | Command | Join | Leave | TransferLeadership | ForceMemberChange | ReleaseCursor
)  # fmt: skip

# To the host


class Store(Struct, frozen=True, gc=False):
    """Term and vote have to be on disk before the messages that follow are sent; entries need not."""

    effect: ClassVar[Literal[4]] = OTHER


class Write(Struct, frozen=True, gc=False):
    """The log as it is now has to be written to disk; answer with `Written(generation, index)`.

    Writes are done one after the other.
    """

    effect: ClassVar[Literal[1]] = WRITE
    source: int
    generation: int
    index: int


class Committed(Struct, frozen=True, gc=False):
    """Newly committed entries, for the state machine."""

    effect: ClassVar[Literal[2]] = COMMITTED
    source: int
    entries: tuple[Run, ...]


class Installed(Struct, frozen=True, gc=False):
    """The state machine takes the state of the snapshot, which is on disk before the messages that follow are sent."""

    effect: ClassVar[Literal[4]] = OTHER
    snapshot: Snapshot


class Refused(Struct, frozen=True, gc=False):
    """A request was refused.

    The reason is not_leader, transferring_leadership, cluster_change_not_permitted, already_member, not_member,
    last_node, already_leader or unknown_member.
    """

    effect: ClassVar[Literal[4]] = OTHER
    asked: Command | Join | Leave | TransferLeadership
    reason: str


class StartElectionTimer(Struct, frozen=True, gc=False):
    """The host is to send an `ElectionTimeout` unless a leader sends a message before."""

    effect: ClassVar[Literal[3]] = START_TIMER
    source: int


Output = AnyMessage | Store | Write | Committed | Installed | Refused | StartElectionTimer
