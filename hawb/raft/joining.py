"""A leader adds and removes members of its group, one at a time.

A change counts as soon as it is in the leader's log. The leader takes the next one once that is committed.

Source: `ra_server` (`handle_leader`: '$ra_join', '$ra_leave'; `append_cluster_change`).
"""

from __future__ import annotations

from hawb.raft.member import LEADER, NOWHERE, Member
from hawb.raft.ports import Out, add_peer, configuration, configured_at, members_of, remove_peer, term_at
from hawb.raft.replication import append

SHARED = True  # the kernel of studies compiles this module

REFUSALS = (
    "", "not_leader", "transferring_leadership", "cluster_change_not_permitted", "already_member", "not_member",
    "last_node", "already_leader", "unknown_member",
)  # fmt: skip
"""The reasons why a member refuses a request, by their numbers; the first one stands for none."""
(
    ACCEPTED, NOT_LEADER, TRANSFERRING, NOT_PERMITTED, ALREADY_MEMBER, NOT_MEMBER, LAST_NODE, ALREADY_LEADER,
    UNKNOWN_MEMBER,
) = range(len(REFUSALS))  # fmt: skip


def join(t: Out, leader: Member, node: int) -> int:
    """Add a member, whose log is empty; return why the request is refused, or ACCEPTED."""
    members, refusal = members_of(t, leader), not_permitted(t, leader)
    if refusal == ACCEPTED and members >> node & 1:
        return ALREADY_MEMBER
    if refusal == ACCEPTED:
        add_peer(t, leader, node)
        append(t, leader, configuration(t, members | 1 << node), 1, 0)
    return refusal


def leave(t: Out, leader: Member, node: int) -> int:
    """Remove a member without informing it; return why the request is refused, or ACCEPTED."""
    members, refusal = members_of(t, leader), not_permitted(t, leader)
    if refusal == ACCEPTED and not members >> node & 1:
        return NOT_MEMBER
    if refusal == ACCEPTED and members == 1 << node:
        return LAST_NODE
    if refusal == ACCEPTED:
        remove_peer(t, leader, node)
        append(t, leader, configuration(t, members & ~(1 << node)), 1, 0)
    return refusal


def not_permitted(t: Out, member: Member) -> int:
    """Return why a member may not change the group now, or ACCEPTED."""
    refusal = not_in_charge(member)
    return NOT_PERMITTED if refusal == ACCEPTED and not may_change_members(t, member) else refusal


def not_in_charge(member: Member) -> int:
    """Return why a member takes no requests, or ACCEPTED."""
    if member.role != LEADER:
        return NOT_LEADER
    return ACCEPTED if member.transferring_to == NOWHERE else TRANSFERRING


def may_change_members(t: Out, leader: Member) -> bool:
    """Return True if the last change and an entry of the leader's term are committed."""
    commit_index = leader.commit_index
    return term_at(t, leader, commit_index) == leader.term and configured_at(t, leader) <= commit_index
