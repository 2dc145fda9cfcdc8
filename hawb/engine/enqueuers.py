"""Channels that publish to a quorum queue: it gets to know each before it takes anything from it, and tells those it
knows when it is full.

Until then the channel's process waits for an answer, and with it whatever was published over it after that, to any
queue. Classic queues have a message before its quorum queues are asked (`rabbit_queue_type:deliver` goes by the names
of the types). Left out: several quorum queues that a message is for are asked at the same time here, what other queues
confirm meanwhile is passed on to the client, and the messages of a transaction are not told apart.

Source: `rabbit_fifo_client` (`enqueue`, `register_enqueuer`); since 3.8.10.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from hawb.engine import bookkeeping, confirms, fifo, limits, quorum_view, runs
from hawb.engine.naming import split_queue
from hawb.engine.operations import Enqueue, Publish
from hawb.engine.quorum.events import (
    MajorityReached,
    RegistrationGivenUp,
)
from hawb.engine.quorum.group import GONE, Channel, Proposal
from hawb.engine.quorum.ports import reached
from hawb.engine.runs import Runs
from hawb.engine.state import QUORUM, Parked
from hawb.engine.turn import REACTION, TIMER, Turn
from hawb.raft.ports import bits_in
from hawb.rules.quorum_profiles import QUORUM_PROFILES

BEYOND_TICKTIME_US = 5_000_000
"""How much longer than net_ticktime a channel waits for an answer (`rabbit_fifo_client:init`)."""


def channel_of(turn: Turn, operation: object) -> Channel | None:
    """The channel that has to be known to the queue before it may publish to it; None where that is not asked."""
    return sender(operation) if QUORUM_PROFILES[turn.settings.profile.version].registers_enqueuers else None


def sender(operation: object) -> Channel | None:
    """The channel over which messages were published; None for anything else."""
    if not isinstance(operation, Enqueue | Publish) or operation.connection is None:
        return None
    return operation.connection, operation.node, operation.mode


def is_registered(turn: Turn, name: str, operation: object) -> bool:
    """Whether a queue knows the channel over which something is asked, as far as it has to."""
    channel = channel_of(turn, operation)
    return channel is None or any(one.channel == channel for one in fifo.of(turn.queues[name]).enqueuers)


def is_waiting(turn: Turn, operation: Publish) -> bool:
    """Whether the channel over which something is published waits to be known to a quorum queue."""
    vhosts, channel = {split_queue(name)[0] for name in operation.queues}, channel_of(turn, operation)
    return channel is not None and any(
        channel_of(turn, proposal.operation) == channel and proposal.node != GONE
        and not is_registered(turn, name, proposal.operation)
        for name, group in turn.groups.items() if name in turn.queues and turn.queues[name].vhost in vhosts
        for proposal in group.waiting
    )  # fmt: skip


def has_to_wait(turn: Turn, name: str, operation: Publish) -> bool:
    """Whether a channel will wait to be known to a queue if it publishes to it now."""
    queue = turn.queues.get(name)
    if queue is None or queue.type != QUORUM or is_registered(turn, name, operation):
        return False
    reachable = queue.up and turn.linked(operation.node, queue.master)
    return not reachable and registration_us(turn, name, channel_of(turn, operation)) > 0


def let_through(turn: Turn, operation: Publish) -> Publish | None:
    """What a channel gets to of a publish before it waits, None if that is nothing: of messages for several queues the
    first. The rest is held back."""
    if operation.publisher is not None:
        return operation
    if is_waiting(turn, operation):
        hold_back(turn, operation)
        return None
    several = operation.count > 1 and len(operation.queues) > 1 and not operation.transaction
    if several and any(has_to_wait(turn, name, operation) for name in operation.queues):
        hold_back(turn, replace(operation, count=operation.count - 1))
        return replace(operation, count=1)
    return operation


def hold_back(turn: Turn, operation: Publish) -> None:
    """Messages wait in a channel's mailbox."""
    turn.held_back = (*turn.held_back, Parked(turn.next_number(), operation, turn.step))
    turn.emit("messages_held_back", node=operation.node, queue=operation.queue, messages=operation.count)


def go_on(turn: Turn) -> None:
    """Channels that wait no longer get to what they have held back, in its order."""
    focus, held_back, turn.held_back = turn.focus, turn.held_back, ()
    for parked in held_back:
        turn.look_from(parked.operation.node)
        if is_waiting(turn, parked.operation):
            turn.held_back = (*turn.held_back, parked)
        else:
            turn.schedule(0, parked.operation, step=parked.step)
    turn.focus = focus


def register(turn: Turn, name: str, operation: object) -> None:
    """A leader that can commit makes a channel known to the queue. The round that it takes goes uncounted."""
    channel = channel_of(turn, operation)
    if not is_registered(turn, name, operation) and not asks_in_vain(turn, name, channel):
        limits.register(turn, name, channel)


def asks_in_vain(turn: Turn, name: str, channel: Channel) -> bool:
    """Whether a channel that the queue does not know asks a node that is down for its version. 3.10.8 asks that of the
    leader that there was when the channel first published to the queue, however often it tries and whoever leads since
    (`rabbit_fifo_client:pick_server`: `servers` is as `init` had it, and `leader` is set by the registration). So a
    3.10.8 cluster rejected what came after a new leader too."""
    node = dict(turn.groups[name].asked).get(channel, turn.queues[name].holder)
    return QUORUM_PROFILES[turn.settings.profile.version].asks_leader_first and not turn.runs_anywhere(node)


def forget(turn: Turn, chosen: Callable[[tuple[str, int, str]], bool]) -> None:
    """The channels of the chosen connections are gone, and with them whom they asked."""
    for name, group in turn.groups.items():
        vhost = split_queue(name)[0]
        left = tuple((channel, node) for channel, node in group.asked if not chosen((*channel[:2], vhost)))
        if left != group.asked:
            turn.groups.own(name).asked = left


def registration_us(turn: Turn, name: str, channel: Channel) -> int:
    """How long a channel waits to be known: it asks one member after the other that it reaches, each of which passes it
    on to the leader or waits for one (`ra_server_proc:multi_statem_call`, `maybe_redirect`)."""
    if asks_in_vain(turn, name, channel):
        return 0
    return bits_in(reached(turn, turn.groups[name], channel[1])) * (turn.setup.ticktime_us + BEYOND_TICKTIME_US)


def await_registration(turn: Turn, name: str, channel: Channel) -> None:
    """A channel waits to be known, with the first message that it wants to send; the others wait behind that."""
    group = turn.groups.own(name)
    unsent = (one for one in group.waiting if one.node != GONE)
    first = next((one for one in unsent if channel_of(turn, one.operation) == channel), None)
    event = None if first is None else RegistrationGivenUp(name, group.number, first.number)
    if event is not None and not turn.is_planned(event):
        patience_us, queue = registration_us(turn, name, channel), turn.queues[name]
        turn.schedule(patience_us, event, priority=TIMER if patience_us else REACTION, step=first.step)
        if patience_us and queue.up and turn.linked(first.node, queue.master):
            turn.schedule(turn.link_us(first.node, queue.master), MajorityReached(name, queue.master, group.number))
    if QUORUM_PROFILES[turn.settings.profile.version].asks_leader_first and channel not in dict(group.asked):
        group.asked = (*group.asked, (channel, turn.queues[name].holder))


def registration_given_up(turn: Turn, event: RegistrationGivenUp) -> None:
    """Nobody has made a channel known to its queue in time: the message that waited for it is rejected, and the channel
    tries again with the next, where it has nobody to ask with all of them."""
    proposal = quorum_view.waiting(turn, event)
    if proposal is None or is_registered(turn, event.queue, proposal.operation):
        return
    name, operation = event.queue, proposal.operation
    channel = channel_of(turn, operation)
    failed = runs.head(proposal.numbers, 1) if registration_us(turn, name, channel) else proposal.numbers
    left = runs.minus(proposal.numbers, failed)
    place = turn.groups[name].waiting.index(proposal)
    turn.look_from(proposal.node)
    reject(turn, name, proposal, failed, "no_majority")
    if left:
        operation = replace(operation, count=runs.size(left), numbers=left)
        again = replace(proposal, number=turn.next_number(), operation=operation, numbers=left)
        group = turn.groups.own(name)
        group.waiting = (*group.waiting[:place], again, *group.waiting[place:])
    await_registration(turn, name, channel)


def is_rejected(turn: Turn, name: str, proposal: Proposal) -> bool:
    """Whether a channel rejects what it was to publish, since it has been told that the queue is full."""
    channel = channel_of(turn, proposal.operation)
    return channel is not None and limits.rejects(turn, turn.queues[name], channel)


def reject(turn: Turn, name: str, proposal: Proposal, numbers: Runs, reason: str) -> None:
    """A channel does not send messages of a proposal, and says so to their publisher."""
    turn.groups.own(name).withdraw(proposal.number)
    turn.change_queue(name, pending=runs.minus(turn.queues[name].pending, numbers))
    bookkeeping.refuse(turn, name, numbers, reason)
    confirms.group_answers(turn, name, proposal.node, numbers, numbers, 0)
