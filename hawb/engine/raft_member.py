"""A member of a Raft group as a value: what it has on disk, what it believes, what it forgets when it restarts."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from hawb.engine.raft_log import Log, Members, Snapshot
from hawb.engine.raft_messages import StartElectionTimer

FOLLOWER, PRE_VOTE, CANDIDATE, LEADER = "follower", "pre_vote", "candidate", "leader"

START_ELECTION_TIMER = StartElectionTimer()


class Peer(Struct, frozen=True):
    """What a leader knows of another member: the index to send next, up to which its log is on disk and the same as
    the leader's, the commit index last sent and the one last heard of, and whether a snapshot is on its way."""

    id: int
    next_index: int
    match_index: int = 0
    commit_sent: int = 0
    commit_index: int = 0
    receiving: bool = False


class Member(Struct, frozen=True):
    """`term`, `voted_for` and, as far as it is written, `log` survive a restart; the rest does not.

    `votes` are who granted this member its (pre-)vote, `peers` whom it leads. A follower's log agrees with its leader's
    up to `agreed`; `asked` is the entry that it has asked the leader for and waits for, 0 if none. A leader that hands
    over waits for another to lead (`transferring_to`).
    """

    id: int
    log: Log
    term: int = 0
    voted_for: int | None = None
    role: str = FOLLOWER
    leader: int | None = None
    commit_index: int = 0
    votes: frozenset[int] = frozenset()
    peers: tuple[Peer, ...] = ()
    agreed: int = 0
    asked: int = 0
    transferring_to: int | None = None

    @property
    def members(self) -> Members:
        """The group as this member knows it."""
        return self.log.members


def start(member: int, members: Members = ()) -> Member:
    """A member of a new group of `members` or, without any, one that is about to join: it knows of no group, and never
    calls for an election, until a leader tells it."""
    return Member(member, Log.of(Snapshot(members=tuple(sorted(members)))))


def restart(member: Member) -> Member:
    """The member after a crash: what was not on disk is gone. The state machine begins anew with the log's snapshot and
    is given all that is committed again (Ra keeps last_applied too, which only saves time)."""
    log = member.log.on_disk()
    index = log.snapshot.index
    return Member(member.id, log, member.term, member.voted_for, commit_index=index, agreed=index)


def begin_term(member: Member, term: int, out: list) -> Member:
    """A follower in a newer term, in which it has not voted and knows of no leader."""
    out.append(START_ELECTION_TIMER)
    return Member(member.id, member.log, term, commit_index=member.commit_index, agreed=member.commit_index)


def is_gone(member: Member) -> bool:
    """Whether it knows for certain that it does not belong to the group, because it left or has not joined yet. As long
    as its leaving is not committed the others may need it (Ongaro's thesis, 4.2.2)."""
    index, members = member.log.configurations[-1]
    return member.id not in members and index <= member.commit_index


def stale(leader: Member) -> tuple[int, ...]:
    """To whom a `Tick` sends again: members that have not said yet that they have all entries on disk, and that they
    know how far the leader has committed (`ra_server:stale_peers`, where the latter is taken to be so once it is sent).
    """
    last = leader.log.last_index
    return tuple(
        peer.id
        for peer in leader.peers
        if peer.match_index < last or peer.commit_index < leader.commit_index or peer.receiving
    )


def change_peer(leader: Member, changed: Peer) -> Member:
    """The leader with another opinion of a peer."""
    return replace(leader, peers=tuple(changed if peer.id == changed.id else peer for peer in leader.peers))
