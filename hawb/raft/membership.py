"""Requests to a leader: commands, members that join and leave, leadership transfer, a shorter log.

Any member also accepts the request to become the only one of its group. The kernel compiles nothing of this module: a
study's group keeps its members, and its leaders are elected.

Source: `ra_server` (`handle_leader`: '$ra_join', '$ra_leave', `transfer_leadership`; `handle_follower`:
force_member_change; `update_release_cursor`).
"""

from __future__ import annotations

from hawb.raft.election import ask_for_pre_votes
from hawb.raft.log import Configuration, Members
from hawb.raft.member import FOLLOWER, LEADER, NOWHERE, Member, Peer
from hawb.raft.messages import (
    TRY_BECOME_LEADER,
    Command,
    ForceMemberChange,
    Join,
    Leave,
    Refused,
    ReleaseCursor,
    TransferLeadership,
)
from hawb.raft.ports import Out, append_entries, configured_at, forget_peers, send_message, term_at
from hawb.raft.replication import append


def on_command(t: Out, member: Member, event: Command) -> None:
    """Append a command."""
    if reason := _not_in_charge(member):
        t.append(Refused(event, reason))
    else:
        append(t, member, event.command, event.count, event.offset)


def on_join(t: Out, member: Member, event: Join) -> None:
    """Add a member, whose log is empty."""
    if reason := _not_permitted(t, member) or ("already_member" if event.member in member.members else None):
        t.append(Refused(event, reason))
    else:
        member.peers = (*member.peers, Peer(event.member, next_index=1))
        _change_members(t, member, (*member.members, event.member))


def on_leave(t: Out, member: Member, event: Leave) -> None:
    """Remove a member without informing it. A leader that removes itself steps down once the change is committed."""
    members = tuple(one for one in member.members if one != event.member)
    reason = _not_permitted(t, member) or ("not_member" if members == member.members else None)
    if reason or not members:
        t.append(Refused(event, reason or "last_node"))
    else:
        member.peers = tuple(peer for peer in member.peers if peer.id != event.member)
        _change_members(t, member, members)


def on_transfer_leadership(t: Out, member: Member, event: TransferLeadership) -> None:
    """Ask another member to start an election, and take no commands until it leads or a `ConditionTimeout` comes."""
    reason = _not_in_charge(member)
    if event.target == member.id:
        reason = reason or "already_leader"
    if reason or event.target not in member.members:
        t.append(Refused(event, reason or "unknown_member"))
    else:
        send_message(t, TRY_BECOME_LEADER, member, event.target)
        member.transferring_to = event.target


def on_force_member_change(t: Out, member: Member, _: ForceMemberChange) -> None:
    """Append that this member is the only one, and elect it in the next term.

    What only the other members had committed is lost.
    """
    member.role, member.leader, member.transferring_to = FOLLOWER, NOWHERE, NOWHERE
    forget_peers(t, member)
    append_entries(t, member, Configuration((member.id,)), 1, 0)
    ask_for_pre_votes(t, member)


def on_release_cursor(_: Out, member: Member, event: ReleaseCursor) -> None:
    """Replace entries that are committed and on disk by a snapshot; for others the host has to ask again."""
    if member.snapshot_index < event.index <= min(member.commit_index, member.written):
        member.log = member.log.compact(event.index, event.state)


def may_change_members(t: Out, leader: Member) -> bool:
    """Return True if the last change and an entry of the leader's term are committed."""
    commit_index = leader.commit_index
    return term_at(t, leader, commit_index) == leader.term and configured_at(t, leader) <= commit_index


def _change_members(t: Out, leader: Member, members: Members) -> None:
    append(t, leader, Configuration(tuple(sorted(members))), 1, 0)


def _not_in_charge(member: Member) -> str | None:
    if member.role != LEADER:
        return "not_leader"
    return None if member.transferring_to == NOWHERE else "transferring_leadership"


def _not_permitted(t: Out, member: Member) -> str | None:
    return _not_in_charge(member) or (None if may_change_members(t, member) else "cluster_change_not_permitted")
