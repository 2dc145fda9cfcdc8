"""Requests to a leader as messages: commands, members that join and leave, leadership transfer, a shorter log.

Any member also accepts the request to become the only one of its group. `hawb.raft.joining` has what studies play, too:
how a leader adds and removes a member.

Source: `ra_server` (`handle_leader`: '$ra_join', '$ra_leave', `transfer_leadership`; `handle_follower`:
force_member_change; `update_release_cursor`).
"""

from __future__ import annotations

from hawb.raft.election import ask_for_pre_votes
from hawb.raft.joining import (
    ACCEPTED,
    ALREADY_LEADER,
    REFUSALS,
    UNKNOWN_MEMBER,
    join,
    leave,
    not_in_charge,
)
from hawb.raft.log import Configuration
from hawb.raft.member import FOLLOWER, NOWHERE, Member
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
from hawb.raft.ports import Out, append_entries, forget_peers, send_message
from hawb.raft.replication import append


def on_command(t: Out, member: Member, event: Command) -> None:
    """Append a command."""
    refusal = not_in_charge(member)
    refuse(t, event, refusal)
    if refusal == ACCEPTED:
        append(t, member, event.command, event.count, event.offset)


def on_join(t: Out, member: Member, event: Join) -> None:
    """Add a member, whose log is empty."""
    refuse(t, event, join(t, member, event.member))


def on_leave(t: Out, member: Member, event: Leave) -> None:
    """Remove a member without informing it. A leader that removes itself steps down once the change is committed."""
    refuse(t, event, leave(t, member, event.member))


def on_transfer_leadership(t: Out, member: Member, event: TransferLeadership) -> None:
    """Ask another member to start an election, and take no commands until it leads or a `ConditionTimeout` comes."""
    refusal = not_in_charge(member)
    if refusal == ACCEPTED and event.target == member.id:
        refusal = ALREADY_LEADER
    elif refusal == ACCEPTED and event.target not in member.members:
        refusal = UNKNOWN_MEMBER
    refuse(t, event, refusal)
    if refusal == ACCEPTED:
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


def refuse(t: Out, event: Command | Join | Leave | TransferLeadership, refusal: int) -> None:
    """Refuse a request for a reason, if there is one."""
    if refusal != ACCEPTED:
        t.append(Refused(event, REFUSALS[refusal]))
