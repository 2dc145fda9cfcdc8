"""A member as a value: an event goes into it, and the member after it comes out, with what its host has to do.

The transitions change what they are given, so they are given a copy; whoever has the member as it was goes on having
it so.
"""

from __future__ import annotations

from hawb.raft.election import begin_again, on_election_timeout
from hawb.raft.member import Member, Peer
from hawb.raft.membership import (
    on_command,
    on_force_member_change,
    on_join,
    on_leave,
    on_release_cursor,
    on_transfer_leadership,
)
from hawb.raft.messages import (
    KINDS,
    Command,
    ConditionTimeout,
    ElectionTimeout,
    ForceMemberChange,
    Input,
    Join,
    Leave,
    Output,
    ReleaseCursor,
    Store,
    Tick,
    TransferLeadership,
    Written,
)
from hawb.raft.replication import end_step, on_condition_timeout, on_tick, on_written
from hawb.raft.server import on_message

STORE = Store()


# Called so, which is half as long as `copy.copy`: a step does little beside.
COPY_MEMBER, COPY_PEER = Member.__copy__, Peer.__copy__


def step(member: Member, event: Input) -> tuple[Member, tuple[Output, ...]]:
    """The member after `event`, itself if nothing has changed, and what its host has to do, in this order."""
    after, out = COPY_MEMBER(member), []
    if after.peers:
        after.peers = tuple(map(COPY_PEER, after.peers))
    HANDLERS[type(event)](out, after, event)
    end_step(out, after, member.last_index, member.generation)
    if after.term != member.term or after.voted_for != member.voted_for:
        out.insert(0, STORE)
    if not out and after == member:
        return member, ()
    return after, tuple(out)


def restart(member: Member) -> Member:
    """The member after a crash."""
    after = COPY_MEMBER(member)
    begin_again([], after)
    return after


HANDLERS = dict.fromkeys(KINDS, on_message) | {
    ElectionTimeout: lambda t, member, _: on_election_timeout(t, member),
    Tick: lambda t, member, _: on_tick(t, member),
    ConditionTimeout: lambda t, member, _: on_condition_timeout(t, member),
    Written: on_written,
    Command: on_command,
    Join: on_join,
    Leave: on_leave,
    TransferLeadership: on_transfer_leadership,
    ForceMemberChange: on_force_member_change,
    ReleaseCursor: on_release_cursor,
}
