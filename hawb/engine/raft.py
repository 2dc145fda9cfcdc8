"""Raft as Ra does it (rabbitmq/ra, `ra_server`): the consensus protocol alone.

No queue, no clock, no disk, no network and nothing random: a message or an input goes into a member, which is a value,
and what is to be done comes out.

    member, outputs = step(member, event)

The host carries messages (late, twice, in any order or never), keeps the timers, writes to disk and runs the state
machine; `hawb.engine.raft_messages` says what it gives and gets. When a member should ask to be elected is the host's
failure detector's business, apart from the protocol: RabbitMQ's is aten with Ra's election timeouts, and net_ticktime
has no part in it.

- `raft_log`: the log of a member, as runs of entries
- `raft_messages`: messages, inputs and outputs
- `raft_member`: a member, and what survives a restart
- `raft_election`: pre-vote, vote, handing over
- `raft_replication`: entries, snapshots, what is committed
- `raft_group`: a group drawn as text

Membership changes one member at a time and is in effect as soon as it is in the log (Ongaro's thesis, 4.1). The next
change waits until the last one and an entry of the leader's own term are committed (Ra's cluster_change_permitted; the
fault in the thesis that the latter mends: Ongaro on raft-dev, 2015). A follower goes by the configuration in its log at
once; Ra's, after a restart, only once it is committed.

What of Ra is left out: machine versions, consistent queries and their heartbeats, non-voting members, snapshots in
chunks. While a leader hands over it takes no commands but goes on committing, which Ra's puts off.
"""

from __future__ import annotations

from msgspec.structs import replace

from hawb.engine.raft_election import (
    on_election_timeout,
    on_pre_vote,
    on_pre_vote_result,
    on_request_vote,
    on_request_vote_result,
    on_try_become_leader,
)
from hawb.engine.raft_log import Configuration, Members
from hawb.engine.raft_member import LEADER, Member, Peer, begin_term
from hawb.engine.raft_messages import (
    AppendEntries,
    AppendEntriesReply,
    Command,
    ConditionTimeout,
    ElectionTimeout,
    Input,
    InstallSnapshot,
    Join,
    Leave,
    Message,
    Output,
    PreVote,
    PreVoteResult,
    Refused,
    ReleaseCursor,
    RequestVote,
    RequestVoteResult,
    Store,
    Tick,
    TransferLeadership,
    TryBecomeLeader,
    Write,
    Written,
)
from hawb.engine.raft_replication import (
    append,
    on_append_entries,
    on_append_entries_reply,
    on_condition_timeout,
    on_install_snapshot,
    on_release_cursor,
    on_tick,
    on_written,
)

STORE = Store()


def step(member: Member, event: Input) -> tuple[Member, tuple[Output, ...]]:
    """The member after `event`, and what its host has to do, in this order."""
    out: list[Output] = []
    if not isinstance(event, Message) or _heeds(member, event):
        after = _in_its_term(member, event, out)
        after = HANDLERS[type(event)](after, event, out)
    else:
        after = member
    if after.term != member.term or after.voted_for != member.voted_for:
        out.insert(0, STORE)
    if after.log is not member.log and _needs_writing(member, after):
        out.append(Write(after.log.generation, after.log.last_index))
    return after, tuple(out)


def _heeds(member: Member, message: Message) -> bool:
    """A leader leaves its place for another leader, but not for a stranger that wants to be elected."""
    return (
        message.term <= member.term
        or member.role != LEADER
        or isinstance(message, AppendEntries | InstallSnapshot)
        or message.source in member.members
    )


def _in_its_term(member: Member, event: Input, out: list) -> Member:
    """Whoever hears of a newer term goes to it."""
    if isinstance(event, Message) and event.term > member.term:
        return begin_term(member, event.term, out)
    return member


def _needs_writing(before: Member, after: Member) -> bool:
    old, new = before.log, after.log
    return new.last_index > new.written and (new.last_index, new.generation) != (old.last_index, old.generation)


# What is asked of a leader


def on_command(member: Member, event: Command, out: list) -> Member:
    """Appends it."""
    if reason := _not_in_charge(member):
        return _refuse(member, event, reason, out)
    return append(member, event.command, out, event.count, event.offset)


def on_join(member: Member, event: Join, out: list) -> Member:
    """Adds a member, which has nothing yet."""
    reason = _not_permitted(member) or ("already_member" if event.member in member.members else None)
    if reason:
        return _refuse(member, event, reason, out)
    member = replace(member, peers=(*member.peers, Peer(event.member, next_index=1)))
    return _change_members(member, (*member.members, event.member), out)


def on_leave(member: Member, event: Leave, out: list) -> Member:
    """Removes a member. It is not told; one that leads goes once the change is committed."""
    members = tuple(one for one in member.members if one != event.member)
    reason = _not_permitted(member) or ("not_member" if members == member.members else None)
    if reason or not members:
        return _refuse(member, event, reason or "last_node", out)
    peers = tuple(peer for peer in member.peers if peer.id != event.member)
    return _change_members(replace(member, peers=peers), members, out)


def on_transfer_leadership(member: Member, event: TransferLeadership, out: list) -> Member:
    """Tells another member to ask for votes, and takes no commands until it leads or a `ConditionTimeout` comes."""
    reason = _not_in_charge(member)
    if event.target == member.id:
        reason = reason or "already_leader"
    if reason or event.target not in member.members:
        return _refuse(member, event, reason or "unknown_member", out)
    out.append(TryBecomeLeader(member.id, event.target, member.term))
    return replace(member, transferring_to=event.target)


def may_change_members(leader: Member) -> bool:
    """Whether the last change and an entry of the leader's term are committed."""
    log, commit = leader.log, leader.commit_index
    return log.term_at(commit) == leader.term and log.configurations[-1][0] <= commit


def _change_members(leader: Member, members: Members, out: list) -> Member:
    return append(leader, Configuration(tuple(sorted(members))), out)


def _not_in_charge(member: Member) -> str | None:
    if member.role != LEADER:
        return "not_leader"
    return None if member.transferring_to is None else "transferring_leadership"


def _not_permitted(member: Member) -> str | None:
    return _not_in_charge(member) or (None if may_change_members(member) else "cluster_change_not_permitted")


def _refuse(member: Member, asked: Command | Join | Leave | TransferLeadership, reason: str, out: list) -> Member:
    out.append(Refused(asked, reason))
    return member


HANDLERS = {
    PreVote: on_pre_vote,
    PreVoteResult: on_pre_vote_result,
    RequestVote: on_request_vote,
    RequestVoteResult: on_request_vote_result,
    AppendEntries: on_append_entries,
    AppendEntriesReply: on_append_entries_reply,
    InstallSnapshot: on_install_snapshot,
    TryBecomeLeader: on_try_become_leader,
    ElectionTimeout: on_election_timeout,
    Tick: on_tick,
    ConditionTimeout: on_condition_timeout,
    Written: on_written,
    Command: on_command,
    Join: on_join,
    Leave: on_leave,
    TransferLeadership: on_transfer_leadership,
    ReleaseCursor: on_release_cursor,
}
