"""The timer by which a channel looks for a quorum queue's leader, to resend all pending messages.

A channel sets it with the first message that finds quorum_commands_soft_limit messages pending. After 10 s it asks the
queue's members for the leader, and sends that leader all pending messages; if no member knows a leader it sets the
timer again. With fewer messages pending than the limit the timer is cancelled.

Here the timer is set only while messages could get lost: while a link drops everything, or if the queue does not know
the channel (`hawb.engine.raft_groups.unregistered`). Otherwise each leader has the messages, or notifies the channel.

Source: `rabbit_fifo_client` (`enqueue`, `set_timer`, `find_leader`, `handle_ra_event` of timeout), 3.8 to 4.1.
"""

from __future__ import annotations

from hawb.engine.core import runs
from hawb.engine.core.state import NOWHERE, QUORUM
from hawb.engine.core.turn import TIMER, Turn
from hawb.engine.raft_groups.asking import offer_again
from hawb.engine.raft_groups.enqueuers import profile_of, sender
from hawb.engine.raft_groups.events import LeaderSought
from hawb.engine.raft_groups.group import Channel, Group, Proposal
from hawb.engine.raft_groups.unregistered import learns_of_leaders

PATIENCE_US = 10_000_000
"""The time after which a channel looks for a leader (TIMER_TIME)."""


def set_timer(turn: Turn, group: Group, proposal: Proposal, channel: Channel) -> None:
    """Set the timer of a channel if the messages that it sends now are the first beyond the soft limit."""
    limit = turn.settings.quorum_commands_soft_limit
    if not profile_of(turn).resends_at_soft_limit or turn.queues[group.name].type != QUORUM:
        return
    pending = pending_of(group, channel)
    first = pending - runs.size(proposal.numbers) <= limit < pending
    if first and (turn.cuts or not learns_of_leaders(turn, group, channel)):
        connection, node, mode = channel
        turn.schedule(PATIENCE_US, LeaderSought(group.name, node, connection, mode, group.number), priority=TIMER)


def pending_of(group: Group, channel: Channel) -> int:
    """Return how many messages a channel has pending."""
    return sum(runs.size(p.numbers) for p in group.waiting if p.node == channel[1] and sender(p.operation) == channel)


def seek_leader(turn: Turn, event: LeaderSought) -> None:
    """Resend all pending messages to the leader that the channel finds; without a leader set the timer again."""
    group, channel = turn.groups.get(event.queue), (event.connection, event.node, event.mode)
    if group is None or group.number != event.group:
        return
    if pending_of(group, channel) < turn.settings.quorum_commands_soft_limit:
        return
    turn.look_from(event.node)
    leader = turn.queues[event.queue].master if event.queue in turn.queues else NOWHERE
    if leader == NOWHERE:
        turn.schedule(PATIENCE_US, event, priority=TIMER)
    else:
        offer_again(turn, turn.groups.own(event.queue), leader, lambda one: sender(one.operation) == channel)
