"""A member's handling of messages, whatever its role.

Source: `ra_server` (`handle_leader`, `handle_candidate`, `handle_pre_vote`, `handle_follower`).
"""

from __future__ import annotations

from hawb.raft.election import (
    begin_term,
    on_pre_vote,
    on_pre_vote_result,
    on_request_vote,
    on_request_vote_result,
    on_try_become_leader,
)
from hawb.raft.member import LEADER, Member
from hawb.raft.messages import (
    APPEND_ENTRIES_REPLY,
    APPEND_ENTRIES_RPC,
    INSTALL_SNAPSHOT_RPC,
    PRE_VOTE_RESULT,
    PRE_VOTE_RPC,
    REQUEST_VOTE_RESULT,
    REQUEST_VOTE_RPC,
    AnyMessage,
)
from hawb.raft.ports import Out, members_of
from hawb.raft.replication import on_append_entries, on_append_entries_reply, on_install_snapshot

SHARED = True  # the kernel of studies compiles this module


def on_message(t: Out, member: Member, message: AnyMessage) -> None:
    """Handle a message. A member that receives a newer term adopts it."""
    if message.term > member.term:
        if not accepts_term(t, member, message):
            return
        begin_term(t, member, message.term)
    receive(t, member, message)


def accepts_term(t: Out, member: Member, message: AnyMessage) -> bool:
    """Return True if a member adopts the newer term of a message.

    A leader gives way to another leader, but not to a candidate that is no member of its group.
    """
    from_leader = message.kind in (APPEND_ENTRIES_RPC, INSTALL_SNAPSHOT_RPC)
    return from_leader or member.role != LEADER or members_of(t, member) >> message.source & 1 == 1


def receive(t: Out, member: Member, message: AnyMessage) -> None:
    """Handle a message by its kind."""
    if message.kind == APPEND_ENTRIES_RPC:
        on_append_entries(t, member, message)
    elif message.kind == APPEND_ENTRIES_REPLY:
        on_append_entries_reply(t, member, message)
    elif message.kind == INSTALL_SNAPSHOT_RPC:
        on_install_snapshot(t, member, message)
    elif message.kind == PRE_VOTE_RPC:
        on_pre_vote(t, member, message)
    elif message.kind == PRE_VOTE_RESULT:
        on_pre_vote_result(t, member, message)
    elif message.kind == REQUEST_VOTE_RPC:
        on_request_vote(t, member, message)
    elif message.kind == REQUEST_VOTE_RESULT:
        on_request_vote_result(t, member, message)
    else:
        on_try_become_leader(t, member, message)
