"""Quorum queues: how what clients ask of them is decided by a Raft group, and done once it is committed.

What a client asks goes to the leader as a command of the group's log (a `Proposal`). When it is committed the queue
does what a classic queue does when it is asked, by the same handlers (`hawb.engine.advance`), and where rabbit_fifo
does otherwise that is in `hawb.engine.fifo`. Until then its channel sends it again to each new leader, and since a log
takes each command once it is done once. Without a majority it waits: publishes and acknowledgements for as long as it
takes, whatever a client waits for until its channel gives up.

A message has its number when its channel has sent it, and stands in the queue as pending until it is committed. One
whose client goes before any member has it was never taken.

Source: `rabbit_quorum_queue`, `rabbit_fifo_client`, `ra`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from urllib.parse import quote

from msgspec.structs import replace

from hawb.engine import (
    bookkeeping,
    confirms,
    consuming,
    fifo,
    limits,
    metadata,
    quorum_log,
    quorum_view,
    raft_host,
    runs,
    subscriptions,
)
from hawb.engine.clients import NEVER_US, Consumer, Share
from hawb.engine.naming import described, split_queue
from hawb.engine.operations import (
    ChannelDown,
    Consume,
    ConsumerCancels,
    ConsumerCloses,
    DeadLetters,
    Delete,
    Enqueue,
    Get,
    NodeReached,
    NodeSuspected,
    Operation,
    Publish,
    Purge,
    Settle,
)
from hawb.engine.quorum_group import GONE, Channel, Proposal, proposals
from hawb.engine.raft_events import (
    LeaderElected,
    LogCut,
    MajorityReached,
    MembersAbreast,
    ProposalGivenUp,
    RegistrationGivenUp,
)
from hawb.engine.raft_messages import Command
from hawb.engine.runs import EMPTY, Runs
from hawb.engine.state import NOWHERE, QUORUM, Queue
from hawb.engine.turn import TIMER, Turn
from hawb.rules.quorum_profiles import QUORUM_PROFILES

AWAITED = (Consume, Get, Purge, Delete, ConsumerCancels)
"""What a client waits for. The rest goes on behind its back."""

BEYOND_TICKTIME_US = 5_000_000
"""How much longer than net_ticktime a channel waits for an answer (`rabbit_fifo_client:init`)."""
PURGE_US, DELETE_US = 30_000_000, 5_000_000
"""What it waits to purge (`rabbit_quorum_queue:purge`) and to delete, which it then does by force."""


def propose(turn: Turn, event: object) -> bool:
    """Takes what a client asks of a quorum queue to its log; False for anything else."""
    if not isinstance(event, (*AWAITED, Settle, ConsumerCloses)):
        return False
    consumer = turn.consumers.get(getattr(event, "consumer", None))
    name = event.queue if isinstance(event, Operation) else consumer.queue
    queue = turn.queues.get(name)
    if queue is None or queue.type != QUORUM:
        return False
    node = event.node if isinstance(event, Operation) else consumer.node
    if isinstance(event, ConsumerCloses):
        if consumer.state != "closed":
            channel_down(turn, consumer.name, "client")
    elif turn.is_running(node) and not refused_by_channel(turn, event):
        put(turn, name, with_count(turn, event), node)
    return True


def refused_by_channel(turn: Turn, event: object) -> bool:
    """Whether a channel refuses an operation by itself, so that no majority is asked; then its step was refused."""
    if isinstance(event, Consume):
        return subscriptions.refused_by_channel(turn, event)
    flags = [flag for flag in ("if_unused", "if_empty") if isinstance(event, Delete) and getattr(event, flag)]
    if flags:
        flag = flags[0].replace("_", "-")
        reason = f"queue.delete operations with {flag} flag set are not supported by quorum queues"
        turn.refuse(540, f"NOT_IMPLEMENTED - cannot delete {described(event.queue)}. {reason}")
        return True
    return False


def with_count(turn: Turn, event: object) -> object:
    """An answer to all that a client holds is one to what it holds now."""
    if not isinstance(event, Settle) or event.count is not None:
        return event
    consumer = turn.consumers[event.consumer]
    return replace(event, count=runs.size(consumer.stale) + runs.size(consuming.arrived(turn, consumer)))


def put(turn: Turn, name: str, operation: object, node: int, numbers: Runs = EMPTY) -> None:
    """A channel at `node` (NOWHERE: the leader itself) wants something done."""
    proposal = Proposal(turn.next_number(), operation, node, turn.step, numbers)
    group = turn.groups[name]
    turn.groups[name] = replace(group, waiting=(*group.waiting, proposal))
    if numbers:
        turn.change_queue(name, pending=runs.union(turn.queues[name].pending, numbers))
    if not is_registered(turn, name, operation):
        await_registration(turn, name, channel_of(turn, operation))
    if isinstance(operation, AWAITED) and not turn.queues[name].up:
        event = ProposalGivenUp(name, group.number, proposal.number)
        turn.schedule(patience_us(turn, turn.queues[name], operation), event)
    offer(turn, name, proposal)


def patience_us(turn: Turn, queue: Queue, operation: object) -> int:
    """How long a channel waits for an operation on a queue without a majority. Where it knows of no leader it has
    nobody to ask for messages, or to have them purged."""
    if isinstance(operation, Get | Purge) and queue.master == NOWHERE:
        return 0
    fixed_us = {Purge: PURGE_US, Delete: DELETE_US}
    return fixed_us.get(type(operation), metadata.ticktime_us(turn) + BEYOND_TICKTIME_US)


def offer(turn: Turn, name: str, proposal: Proposal) -> None:
    """A proposal gets to the leader that its channel knows of, if it reaches it. One that does not take it leaves it
    waiting for the next."""
    queue = turn.queues[name]
    if queue.master == NOWHERE or not (proposal.node == NOWHERE or turn.linked(proposal.node, queue.master)):
        return
    if queue.up:
        register(turn, name, proposal.operation)
    if is_rejected(turn, name, proposal):
        reject(turn, name, proposal, proposal.numbers, "max_length")
    elif is_registered(turn, name, proposal.operation):
        raft_host.feed(turn, name, queue.master, Command(proposal, max(1, runs.size(proposal.numbers))))


def send_again(turn: Turn, event: LeaderElected) -> None:
    """Channels send a new leader what it has not in its log and is not decided. What nobody is left to send, and no
    member has, never happens."""
    group = turn.groups.get(event.queue)
    if group is None or group.number != event.group or event.node not in group.members:
        return
    turn.look_from(event.node)
    if event.queue in turn.queues:
        consuming.follow_leader(turn, event.queue)
        suspect_unreached(turn, event.queue, event.node)
        drop_orphans(turn, event.queue)
        offer_again(turn, event.queue, event.node, lambda proposal: True)


def majority_reached(turn: Turn, event: MajorityReached) -> None:
    """A leader that could not commit, or did not take commands, does: what it has noticed itself and what channels that
    see it have waited with gets to it."""
    group, queue = turn.groups.get(event.queue), turn.queues.get(event.queue)
    if group is not None and group.number == event.group and queue is not None and queue.master == event.node:
        offer_in_sight(turn, event.queue, event.node)


def offer_in_sight(turn: Turn, name: str, leader: int) -> None:
    """What the leader, whose side is in focus, has noticed itself and what channels there have waited with gets to
    it."""
    offer_again(turn, name, leader, lambda one: one.node == NOWHERE or turn.is_here(one.node))


def offer_again(turn: Turn, name: str, leader: int, chosen: Callable[[Proposal], bool]) -> None:
    """The chosen of the proposals that wait and that a leader has not in its log get to it."""
    group = turn.groups[name]
    member = group.members[leader]
    logged = {proposal.number for proposal in proposals(member.log, member.commit_index)}
    sendable = (one for one in group.waiting if one.number not in logged and one.node != GONE)
    for proposal in list(filter(chosen, sendable)):
        turn.look_from(leader if proposal.node == NOWHERE else proposal.node)
        offer(turn, name, proposal)


def links_healed(turn: Turn) -> None:
    """Channels that had not lost sight of anybody learn who leads, and send again what they had sent to another. Those
    that had do so when they publish next (`rabbit_fifo_client:handle_ra_event`, and as seen on a 3.10.8 cluster)."""
    for name in sorted(turn.groups):
        for _side in turn.each_side():
            queue = turn.queues.get(name)
            if queue is not None and queue.type == QUORUM and queue.master != NOWHERE and turn.is_here(queue.master):
                offer_in_sight(turn, name, queue.master)


def committed(turn: Turn) -> Iterator[object]:
    """What has been committed and is to be done now, one after the other, with the leader's side in focus."""
    while turn.committed:
        name, leader, proposal, cause = turn.committed.pop(0)
        group = turn.groups.get(name)
        turn.look_from(leader)
        if group is None or name not in turn.queues:
            continue
        turn.groups[name] = group.without(proposal.number)
        turn.unschedule(ProposalGivenUp(name, group.number, proposal.number))
        turn.because, turn.step = cause, proposal.step
        yield proposal.operation
        limits.tell_publishers(turn, name)
        quorum_log.cut(turn, name, published=isinstance(proposal.operation, Enqueue))
        if name in turn.groups and all(entry[0] != name for entry in turn.committed):
            quorum_view.refresh(turn, name)


def waiting(turn: Turn, event: ProposalGivenUp | RegistrationGivenUp) -> Proposal | None:
    """The proposal that an event is about; None if it is decided or its group gone."""
    group = turn.groups.get(event.queue)
    if group is None or group.number != event.group:
        return None
    return next((one for one in group.waiting if one.number == event.number), None)


def give_up(turn: Turn, event: ProposalGivenUp) -> object | None:
    """A channel has waited long enough for an operation, which is returned, and its client is told so. What is in the
    leader's log may still be committed one day."""
    proposal = waiting(turn, event)
    if proposal is None:
        return None
    turn.groups[event.queue] = turn.groups[event.queue].without(proposal.number)
    if not isinstance(proposal.operation, Delete):
        turn.refuse(541, f"INTERNAL_ERROR{why_not(turn, event.queue, proposal.operation)}")
    return proposal.operation


def why_not(turn: Turn, name: str, operation: object) -> str:
    """What RabbitMQ says of an operation that was not decided, beside its being an internal error."""
    if not isinstance(operation, Get):
        return ""
    leader = turn.queues[name].master
    vhost, short = split_queue(name)
    server = f"{{'{quote(vhost, safe='')}_{short}','{turn.settings.names[leader]}'}}"
    reason = "nodedown" if leader == NOWHERE else f"{{timeout,{server}}}"
    return f" - Cannot get a message from queue '{described(name)}': {reason}"


# Publishing


def take(turn: Turn, operation: Publish, queue: Queue, numbers: Runs) -> Share | None:
    """A channel sends messages to a quorum queue, and waits until they are committed; or it rejects them, since it has
    been told that the queue is full. None for what a steady publisher has sent since the last event to a queue that can
    commit: that is committed by now."""
    connection = f"publisher {operation.publisher}" if operation.publisher else operation.connection
    order = Enqueue(
        queue.name, operation.node, connection, count=operation.count, size_bytes=operation.size_bytes,
        persistent=operation.persistent, priority=operation.priority, numbers=numbers,
        mode=(operation.confirm, operation.transaction),
    )  # fmt: skip
    channel = channel_of(turn, order)
    if channel is not None and queue.up and turn.linked(operation.node, queue.master):
        register(turn, queue.name, order)
    if channel is not None and limits.rejects(turn, turn.queues[queue.name], channel):
        bookkeeping.refuse(turn, queue.name, numbers, "max_length")
        return Share(queue.name, numbers, ((NOWHERE, turn.now_us),), rejected=numbers)
    if turn.flowing and queue.up and turn.linked(operation.node, queue.master) and takes_flows(turn, queue.name):
        raft_host.commit_at_once(turn, queue.name, "enqueue", operation.count, operation.size_bytes)
        quorum_log.cut(turn, queue.name, published=True)
        return None
    if turn.queues[queue.name].master != NOWHERE and turn.groups[queue.name].waiting:
        offer_again(turn, queue.name, queue.master, lambda proposal: sender(proposal.operation) == sender(order))
        turn.look_from(operation.node)
    put(turn, queue.name, order, operation.node, numbers)
    return Share(queue.name, numbers, ((NOWHERE, NEVER_US),))


def settle_flowing(turn: Turn, consumer: Consumer, count: int) -> None:
    """What a consumer with a rate has answered since the last event to a queue that can commit is committed by now."""
    if takes_flows(turn, consumer.queue):
        raft_host.commit_at_once(turn, consumer.queue, "settle", min(count, runs.size(consumer.in_sequence)))


def takes_flows(turn: Turn, name: str) -> bool:
    """Whether a leader that can commit takes what flows at once: not while it hands over, or while a change of members
    is undecided, after which it may lead no more."""
    leader = turn.groups[name].leaders()[0]
    return leader.transferring_to is None and leader.log.configurations[-1][0] <= leader.commit_index


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
    proposal = waiting(turn, event)
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


def take_dead_letters(turn: Turn, event: DeadLetters, numbers: Runs) -> None:
    """What another queue has given up is sent to a quorum queue. Nobody waits for an answer, and nobody sends it again
    once its sender is gone."""
    order = Enqueue(
        event.queue, event.node, count=event.count, size_bytes=event.size_bytes, persistent=event.persistent,
        priority=event.priority, deaths=event.deaths, routing_keys=event.routing_keys, numbers=numbers,
    )  # fmt: skip
    put(turn, event.queue, order, event.node, numbers)


# Channels that go


def is_decided(turn: Turn, name: str) -> bool:
    """Whether a queue is one whose group decides what happens to it."""
    return name in turn.queues and turn.queues[name].type == QUORUM


def channel_down(turn: Turn, name: str, reason: str) -> None:
    """A consumer's channel is gone, which a leader notices that its node is linked to, whatever side that belongs to.
    What it held is returned when that is committed."""
    consumer = turn.change_consumer(name, state="closed")
    focus, group = turn.focus, turn.groups[consumer.queue]
    for leader in reversed(group.leaders()):
        if quorum_view.hosts(turn, group, leader.id) and turn.linked(leader.id, consumer.node):
            turn.look_from(leader.id)
    put(turn, consumer.queue, ChannelDown(consumer.queue, consumer.node, consumer=name, reason=reason), NOWHERE)
    turn.focus = focus


def channels_gone(turn: Turn, node: int) -> None:
    """The channels at a node are gone: nobody sends again what they have asked."""
    for name, group in sorted(turn.groups.items()):
        if name not in turn.queues:
            continue
        for enqueuer in fifo.of(turn.queues[name]).enqueuers:
            if enqueuer.channel[1] == node:
                limits.unregister(turn, name, enqueuer.channel)
        orphans = tuple(replace(one, node=GONE) if one.node == node else one for one in group.waiting)
        turn.groups[name] = replace(group, waiting=orphans)
        drop_orphans(turn, name)


def log_cut(turn: Turn, event: LogCut) -> None:
    """What a log no longer has may be nowhere any more."""
    if event.queue in turn.groups:
        drop_orphans(turn, event.queue)


def out_of_reach(turn: Turn, nodes: Iterable[int]) -> None:
    """The side in focus has lost sight of nodes that run: its leaders suspect the consumers there."""
    for name in sorted(turn.groups):
        if name in turn.queues and turn.queues[name].up and turn.is_here(turn.queues[name].master):
            for node in nodes:
                put(turn, name, NodeSuspected(name, node), NOWHERE)


def suspect_unreached(turn: Turn, name: str, leader: int) -> None:
    """A new leader suspects consumers on nodes that have been given up and that it does not reach. Where the links work
    again its monitors connect them, whatever the nodes' records say."""
    nodes = {turn.consumers[consumer].node for consumer in turn.queues[name].consumers}
    given_up = [node for node in sorted(nodes) if turn.runs_anywhere(node) and not turn.is_here(node)]
    for node in [node for node in given_up if not turn.linked(leader, node)]:
        put(turn, name, NodeSuspected(name, node), NOWHERE)


def in_reach(turn: Turn) -> None:
    """Leaders see again those that they had lost sight of."""
    for name in sorted(turn.groups):
        suspected = fifo.of(turn.queues[name]).suspected if name in turn.queues else ()
        for node in sorted({turn.consumers[consumer].node for consumer in suspected}):
            if turn.queues[name].master != NOWHERE and turn.linked(node, turn.queues[name].master):
                put(turn, name, NodeReached(name, node), NOWHERE)


def abreast(turn: Turn, event: MembersAbreast) -> None:
    """Members have caught up, and deliver what the last leader could not."""
    if event.queue in turn.queues and turn.queues[event.queue].type == QUORUM:
        consuming.deliver_missing(turn, event.queue)


def drop_orphans(turn: Turn, name: str) -> None:
    """Withdraws what no member has in its log and nobody is left to send."""
    group = turn.groups[name]
    logged = {proposal.number for member in group.members.values() for proposal in group.undecided(member.log)}
    for proposal in group.waiting:
        if proposal.node == GONE and proposal.number not in logged:
            turn.groups[name] = turn.groups[name].without(proposal.number)
            turn.unschedule(ProposalGivenUp(name, group.number, proposal.number))
            if proposal.numbers and name in turn.queues:
                turn.change_queue(name, pending=runs.minus(turn.queues[name].pending, proposal.numbers))
                bookkeeping.refuse(turn, name, proposal.numbers, "client_node_gone")
