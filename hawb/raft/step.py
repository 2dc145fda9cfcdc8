"""A member as a value: `step` takes an event, and returns the member after it and the host's tasks.

The transitions change what they are given, so they are given a copy; the caller's member stays as it was.
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


# Half the time of `copy.copy`, which would be most of a step.
COPY_MEMBER, COPY_PEER = Member.__copy__, Peer.__copy__


def step(member: Member, event: Input) -> tuple[Member, tuple[Output, ...]]:
    """Return the member after `event`, itself if nothing has changed, and the host's tasks, in this order."""
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
    """Return the member after a crash."""
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
