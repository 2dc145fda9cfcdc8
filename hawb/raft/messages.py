"""What goes into a member of a Raft group and what comes out: messages between members, inputs from its host, outputs
to its host. Plain values; what comes of them is in the other modules of `hawb.raft`.

The names are Ra's and the Raft paper's. What Ra says with install_snapshot_result is an `AppendEntriesReply` here.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from hawb.raft.log import Members, Run, Snapshot

(
    PRE_VOTE_RPC, PRE_VOTE_RESULT, REQUEST_VOTE_RPC, REQUEST_VOTE_RESULT, APPEND_ENTRIES_RPC, APPEND_ENTRIES_REPLY,
    INSTALL_SNAPSHOT_RPC, TRY_BECOME_LEADER,
) = range(8)  # fmt: skip
"""The kinds of messages, by Ra's names."""

SEND, WRITE, COMMITTED, START_TIMER, OTHER = range(5)
"""What a member may want done, in the word `wish` of what comes out of it; OTHER is what not every host has to do."""

# Between members. `term` is the sender's.


class Message(Struct, frozen=True, gc=False):
    """What one member sends to another."""

    kind: ClassVar[int]
    wish: ClassVar[int] = SEND
    source: int
    target: int
    term: int


class PreVote(Message, frozen=True, gc=False):
    """Would you vote for me? Asked before a new term begins, so that who cannot win disturbs nobody."""

    kind: ClassVar[int] = PRE_VOTE_RPC
    last_index: int
    last_term: int


class PreVoteResult(Message, frozen=True, gc=False):
    """The answer."""

    kind: ClassVar[int] = PRE_VOTE_RESULT
    granted: bool


class RequestVote(Message, frozen=True, gc=False):
    """Vote for me in this term."""

    kind: ClassVar[int] = REQUEST_VOTE_RPC
    last_index: int
    last_term: int


class RequestVoteResult(Message, frozen=True, gc=False):
    """The answer."""

    kind: ClassVar[int] = REQUEST_VOTE_RESULT
    granted: bool


class AppendEntries(Message, frozen=True, gc=False):
    """A leader's entries behind the one at `prev_index`, which is of `prev_term`, and how far it has committed. With
    the first ones come the members that the group began with (`opening`); in Ra a new member is started with them."""

    kind: ClassVar[int] = APPEND_ENTRIES_RPC
    prev_index: int
    prev_term: int
    entries: tuple[Run, ...]
    leader_commit: int
    opening: Members = ()

    @property
    def last_index(self) -> int:
        """The index of the last entry that comes with it or, without any, stands before it."""
        return self.entries[-1].last if self.entries else self.prev_index


class AppendEntriesReply(Message, frozen=True, gc=False):
    """Whether the entries fitted, which one is wanted next, how far the log agrees with the leader's and is on disk,
    and how far the follower has committed."""

    kind: ClassVar[int] = APPEND_ENTRIES_REPLY
    success: bool
    next_index: int
    last_index: int
    commit_index: int


class InstallSnapshot(Message, frozen=True, gc=False):
    """A snapshot instead of entries that the leader no longer has."""

    kind: ClassVar[int] = INSTALL_SNAPSHOT_RPC
    snapshot: Snapshot

    @property
    def snapshot_index(self) -> int:
        """The last entry that it stands for."""
        return self.snapshot.index


class TryBecomeLeader(Message, frozen=True, gc=False):
    """The leader hands over."""

    kind: ClassVar[int] = TRY_BECOME_LEADER


KINDS = (
    PreVote, PreVoteResult, RequestVote, RequestVoteResult, AppendEntries, AppendEntriesReply, InstallSnapshot,
    TryBecomeLeader,
)  # fmt: skip
"""The messages by their kinds."""

# From the host


class ElectionTimeout(Struct, frozen=True, gc=False):
    """The member has been without a leader, or its failure detector has suspected the leader, for long enough."""


class Tick(Struct, frozen=True, gc=False):
    """Time to send again what may have been lost. Needed as long as `replication.is_stale` is so of somebody."""


class ConditionTimeout(Struct, frozen=True, gc=False):
    """What the member waits for has not come (Ra's await_condition_timeout): entries that it asked for, or another
    leader in its place."""


class Written(Struct, frozen=True, gc=False):
    """The disk has what a `Write` asked for, and all before it."""

    generation: int
    index: int


class Command(Struct, frozen=True, gc=False):
    """`count` commands of the same kind for the state machine. `offset` is which of their batch the first one is."""

    command: object
    count: int = 1
    offset: int = 0


class Join(Struct, frozen=True, gc=False):
    """Another member is to belong to the group ('$ra_join')."""

    member: int


class Leave(Struct, frozen=True, gc=False):
    """A member is to belong to it no longer ('$ra_leave')."""

    member: int


class TransferLeadership(Struct, frozen=True, gc=False):
    """Another member is to lead."""

    target: int


class ForceMemberChange(Struct, frozen=True, gc=False):
    """The member is to be all of its group, whatever the others say: Raft promises nothing then."""


class ReleaseCursor(Struct, frozen=True, gc=False):
    """The entries up to `index` are not needed any more: after them the state machine was `state`."""

    index: int
    state: object = None


Input = (
    Message | ElectionTimeout | Tick | ConditionTimeout | Written
    | Command | Join | Leave | TransferLeadership | ForceMemberChange | ReleaseCursor
)  # fmt: skip

# To the host


class Store(Struct, frozen=True, gc=False):
    """Term and vote have to be on disk before the messages that follow leave; entries need not."""

    wish: ClassVar[int] = OTHER


class Write(Struct, frozen=True, gc=False):
    """The log as it is now has to go to disk; say `Written(generation, index)` when it is there. Writes are done one
    after the other."""

    wish: ClassVar[int] = WRITE
    source: int
    generation: int
    index: int


class Committed(Struct, frozen=True, gc=False):
    """Entries that are committed now, for the state machine."""

    wish: ClassVar[int] = COMMITTED
    source: int
    entries: tuple[Run, ...]


class Installed(Struct, frozen=True, gc=False):
    """The state machine becomes what the snapshot says, which is on disk before the messages that follow leave."""

    wish: ClassVar[int] = OTHER
    snapshot: Snapshot


class Refused(Struct, frozen=True, gc=False):
    """What was asked is not done: not_leader, transferring_leadership, cluster_change_not_permitted, already_member,
    not_member, last_node, already_leader or unknown_member."""

    wish: ClassVar[int] = OTHER
    asked: Command | Join | Leave | TransferLeadership
    reason: str


class StartElectionTimer(Struct, frozen=True, gc=False):
    """Unless a leader is heard of, an `ElectionTimeout` is wanted."""

    wish: ClassVar[int] = START_TIMER
    source: int


Output = Message | Store | Write | Committed | Installed | Refused | StartElectionTimer
