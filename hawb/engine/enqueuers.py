"""Channels that publish to a quorum queue: it gets to know each before it takes anything from it, and tells those it
knows when it is full.

Source: `rabbit_fifo_client` (`enqueue`, `register_enqueuer`); since 3.8.10.
"""

from __future__ import annotations

from msgspec.structs import replace

from hawb.engine import bookkeeping, confirms, fifo, limits, metadata, quorum_view, runs
from hawb.engine.operations import Enqueue
from hawb.engine.quorum_group import GONE, Channel, Proposal
from hawb.engine.raft_events import (
    RegistrationGivenUp,
)
from hawb.engine.runs import Runs
from hawb.engine.turn import TIMER, Turn
from hawb.rules.quorum_profiles import QUORUM_PROFILES

BEYOND_TICKTIME_US = 5_000_000
"""How much longer than net_ticktime a channel waits for an answer (`rabbit_fifo_client:init`)."""


def channel_of(turn: Turn, operation: object) -> Channel | None:
    """The channel that has to be known to the queue before it may publish to it; None where that is not asked."""
    return sender(operation) if QUORUM_PROFILES[turn.settings.profile.version].registers_enqueuers else None


def sender(operation: object) -> Channel | None:
    """The channel over which messages were published; None for anything else."""
    if not isinstance(operation, Enqueue) or operation.connection is None:
        return None
    return operation.connection, operation.node, operation.mode


def is_registered(turn: Turn, name: str, operation: object) -> bool:
    """Whether a queue knows the channel over which something is asked, as far as it has to."""
    channel = channel_of(turn, operation)
    return channel is None or any(one.channel == channel for one in fifo.of(turn.queues[name]).enqueuers)


def register(turn: Turn, name: str, operation: object) -> None:
    """A leader that can commit makes a channel known to the queue. The round that it takes goes uncounted."""
    if not is_registered(turn, name, operation):
        limits.register(turn, name, channel_of(turn, operation))


def registration_us(turn: Turn, name: str) -> int:
    """How long a channel waits to be known; where the last leader's node is down it has nobody to ask."""
    return metadata.ticktime_us(turn) + BEYOND_TICKTIME_US if turn.runs_anywhere(turn.queues[name].holder) else 0


def await_registration(turn: Turn, name: str, channel: Channel) -> None:
    """A channel waits to be known, with the first message that it wants to send; the others wait behind that."""
    group = turn.groups[name]
    unsent = (one for one in group.waiting if one.node != GONE)
    first = next((one for one in unsent if channel_of(turn, one.operation) == channel), None)
    event = None if first is None else RegistrationGivenUp(name, group.number, first.number)
    if event is not None and not turn.is_planned(event):
        turn.schedule(registration_us(turn, name), event, priority=TIMER, step=first.step)


def registration_given_up(turn: Turn, event: RegistrationGivenUp) -> None:
    """Nobody has made a channel known to its queue in time: the message that waited for it is rejected, and the channel
    tries again with the next, where it has nobody to ask with all of them."""
    proposal = quorum_view.waiting(turn, event)
    if proposal is None or is_registered(turn, event.queue, proposal.operation):
        return
    name, operation = event.queue, proposal.operation
    failed = runs.head(proposal.numbers, 1) if registration_us(turn, name) else proposal.numbers
    left = runs.minus(proposal.numbers, failed)
    place = turn.groups[name].waiting.index(proposal)
    turn.look_from(proposal.node)
    reject(turn, name, proposal, failed, "no_majority")
    if left:
        operation = replace(operation, count=runs.size(left), numbers=left)
        again = replace(proposal, number=turn.next_number(), operation=operation, numbers=left)
        group = turn.groups[name]
        turn.groups[name] = replace(group, waiting=(*group.waiting[:place], again, *group.waiting[place:]))
    await_registration(turn, name, channel_of(turn, operation))


def is_rejected(turn: Turn, name: str, proposal: Proposal) -> bool:
    """Whether a channel rejects what it was to publish, since it has been told that the queue is full."""
    channel = channel_of(turn, proposal.operation)
    return channel is not None and limits.rejects(turn, turn.queues[name], channel)


def reject(turn: Turn, name: str, proposal: Proposal, numbers: Runs, reason: str) -> None:
    """A channel does not send messages of a proposal, and says so to their publisher."""
    turn.groups[name] = turn.groups[name].without(proposal.number)
    turn.change_queue(name, pending=runs.minus(turn.queues[name].pending, numbers))
    bookkeeping.refuse(turn, name, numbers, reason)
    confirms.group_answers(turn, name, proposal.node, numbers, numbers, 0)
