"""Clients' operations on quorum queues: proposed to a Raft group, and applied once they are committed.

An operation goes to the leader as a command of the group's log (a `Proposal`). When it is committed, the handlers of
classic queues apply it (`hawb.engine.advance`); `hawb.engine.quorum.fifo` has what `rabbit_fifo` does otherwise.
Without a majority it waits (`hawb.engine.raft_groups.asking`): publishes and acknowledgements without limit, operations
that a client waits for until its channel gives up.

A message gets its number when its channel sends it, and is pending until it is committed. A message whose client goes
before any member has it counts as never taken.

Source: `rabbit_quorum_queue`, `rabbit_fifo_client`, `ra`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from msgspec.structs import replace

from hawb.engine import streams
from hawb.engine.clients import settling, subscriptions
from hawb.engine.clients.client_state import NEVER_US, Consumer, Share
from hawb.engine.core import bookkeeping, runs
from hawb.engine.core.events import MetadataCommitted
from hawb.engine.core.naming import described, split_queue
from hawb.engine.core.operations import (
    NODE_DOWN,
    AbandonedRequest,
    ChannelDown,
    Consume,
    ConsumerCancels,
    ConsumerCloses,
    DeadLetters,
    Delete,
    Enqueue,
    Get,
    NodeSuspected,
    Operation,
    Publish,
    Purge,
    Settle,
)
from hawb.engine.core.runs import EMPTY, Runs
from hawb.engine.core.state import NOWHERE, QUORUM, STOPPING, STREAM, Queue
from hawb.engine.core.turn import Turn
from hawb.engine.queues import limits
from hawb.engine.queues.access import fail, is_absent
from hawb.engine.quorum import fifo, log, queue_record, resending
from hawb.engine.raft_groups import asking, enqueuers, flowing, leadership, registration, unregistered
from hawb.engine.raft_groups.events import ProposalGivenUp
from hawb.engine.raft_groups.group import GONE, STORE, Channel, Group, Proposal

AWAITED = (Consume, Get, Purge, Delete, ConsumerCancels)
"""What a client waits for. The rest goes on behind its back."""

BEYOND_TICKTIME_US = 5_000_000
"""How much longer than net_ticktime a channel waits for an answer (`rabbit_fifo_client:init`)."""
PURGE_US, DELETE_US = 30_000_000, 5_000_000
"""What it waits to purge (`rabbit_quorum_queue:purge`) and to delete, which it then does by force."""


def propose(turn: Turn, event: Any) -> bool:
    """Propose a client's operation to its quorum queue; return False if the event is not one.

    Return False too if only disks have the queue's record, so that the operation is refused.
    """
    if not isinstance(event, (*AWAITED, Settle, ConsumerCloses)):
        return False
    consumer = turn.consumers.get(getattr(event, "consumer", None))
    name = event.queue if isinstance(event, Operation) else consumer.queue
    queue = turn.queues.get(name)
    if queue is None or not queue.has_group or is_absent(queue):
        return False
    node = event.node if isinstance(event, Operation) else consumer.node
    if queue.type == STREAM:
        # The coordinator deletes it, without its replicas being asked.
        return not turn.is_running(node) or streams.refuses(turn, event)
    if isinstance(event, ConsumerCloses):
        if consumer.state != "closed":
            channel_down(turn, consumer.name, event.reason)
    elif turn.is_running(node) and not refused_by_channel(turn, event):
        put(turn, name, with_count(turn, event), node)
    return True


def refused_by_channel(turn: Turn, event: Any) -> bool:
    """Return True if a channel refuses an operation by itself; refuse the step then."""
    if isinstance(event, Consume):
        return subscriptions.refused_by_channel(turn, event)
    if isinstance(event, Delete) and not queue_record.goes_on_all_sides(turn, event.queue, event.node):
        return True
    flags = [flag for flag in ("if_unused", "if_empty") if isinstance(event, Delete) and getattr(event, flag)]
    if flags:
        flag = flags[0].replace("_", "-")
        reason = f"queue.delete operations with {flag} flag set are not supported by quorum queues"
        fail(turn, event, 540, f"NOT_IMPLEMENTED - cannot delete {described(event.queue)}. {reason}")
        return True
    return False


def with_count(turn: Turn, event: object) -> object:
    """Return an acknowledgement of all deliveries as one of so many deliveries."""
    if not isinstance(event, Settle) or event.count is not None:
        return event
    consumer = turn.consumers[event.consumer]
    return replace(event, count=runs.size(consumer.stale) + runs.size(settling.arrived(turn, consumer)))


def put(turn: Turn, name: str, operation: Any, node: int, numbers: Runs = EMPTY, *, flows: bool = False) -> None:
    """Propose an operation of a channel at `node`; NOWHERE stands for the leader itself.

    `flows` is True if a client with a rate has sent it since the last event.
    """
    proposal = Proposal(turn.next_number(), operation, node, turn.step, numbers)
    group = turn.groups.own(name)
    group.waiting = (*group.waiting, proposal)
    if numbers:
        enqueuers.be_pending(turn, name, operation, numbers)
    if isinstance(operation, AWAITED):
        event = ProposalGivenUp(name, proposal.number, group.number)
        turn.schedule(patience_us(turn, turn.queues[name], operation), event)
    channel = enqueuers.sender(operation)
    streams.note_channel(turn, group, channel)
    unregistered.note_sender(turn, group, channel)
    if flows:
        flowing.enter_at_once(turn, group, proposal, operation.count, operation.size_bytes)
    elif gets_to_leader(turn, group, channel):
        asking.ask(turn, group, proposal)
    else:
        asking.set_unsent_aside(turn, group)
    if channel is not None and not is_in_reach(turn, name, node):
        resending.set_timer(turn, group, proposal, channel)


def gets_to_leader(turn: Turn, group: Group, channel: Channel | None) -> bool:
    """Return True if what a channel sends to a quorum queue or stream reaches the leader."""
    return streams.writes_to_leader(turn, group, channel) and unregistered.gets_to_leader(turn, group, channel)


def is_in_reach(turn: Turn, name: str, node: int) -> bool:
    """Return True if an operation at a node reaches a leader that can commit."""
    queue = turn.queues[name]
    return queue.up and (node == NOWHERE or turn.linked(node, queue.master))


def patience_us(turn: Turn, queue: Queue, operation: object) -> int:
    """Return how long a channel waits for an operation.

    If it knows no leader, it does not wait for a get or a purge.
    """
    if isinstance(operation, Get | Purge) and queue.master == NOWHERE:
        return 0
    fixed_us = {Purge: PURGE_US, Delete: DELETE_US}
    return fixed_us.get(type(operation), turn.setup.ticktime_us + registration.BEYOND_TICKTIME_US)


def committed(turn: Turn) -> Iterator[object]:
    """Yield the committed operations one after the other, with the leader's side of the partition current."""
    while turn.committed:
        name, leader, proposal, cause = turn.committed.pop(0)
        turn.look_from(leader)
        if name == STORE:
            turn.because, turn.step = cause, proposal.step
            yield MetadataCommitted(proposal.number, proposal.operation)
            continue
        if name not in turn.groups or name not in turn.queues:
            continue
        group = turn.groups.own(name)
        waits = asking.end_waiting(turn, group, proposal.number)
        turn.because, turn.step = cause, proposal.step
        unregistered.note_taken(turn, group, enqueuers.sender(proposal.operation))
        yield proposal.operation if waits else without_waiting_client(proposal.operation)
        limits.notify_publishers(turn, name)
        log.cut(turn, name, published=isinstance(proposal.operation, Enqueue))
        if name in turn.groups and all(entry[0] != name for entry in turn.committed):
            leadership.refresh(turn, turn.groups.own(name))


def without_waiting_client(operation: object) -> object:
    """Return what a committed operation does whose client no longer waits: a get or a subscription is abandoned."""
    if isinstance(operation, Get):
        return AbandonedRequest(operation.queue, operation.node, count=operation.count)
    if isinstance(operation, Consume):
        return AbandonedRequest(operation.queue, operation.node, count=operation.prefetch or fifo.UNLIMITED_PREFETCH)
    return operation


def give_up(turn: Turn, event: ProposalGivenUp) -> object | None:
    """End a channel's wait for an operation, fail the client's step and return the operation.

    The command may still be committed later if it is in the leader's log.
    """
    proposal = queue_record.waiting(turn, event)
    if proposal is None:
        return None
    if proposal.node != GONE:
        turn.look_from(proposal.node)
    enqueuers.withdraw(turn, turn.groups.own(event.queue), proposal.number)
    if not isinstance(proposal.operation, Delete):
        fail(turn, proposal.operation, 541, f"INTERNAL_ERROR{why_not(turn, event.queue, proposal.operation)}")
    return proposal.operation


def why_not(turn: Turn, name: str, operation: object) -> str:
    """Return RabbitMQ's reason for an operation that was not committed, to be put behind INTERNAL_ERROR.

    See `rabbit_quorum_queue`: `dequeue`, and `consume_error` since 4.1. A client that subscribes asks one member after
    the other and reports the last failure (`rabbit_fifo_client:try_process_command`): here of a member that is down.
    """
    leader = turn.queues[name].master
    vhost, short = split_queue(name)
    server = f"{{'{quote(vhost, safe='')}_{short}','{turn.settings.names[leader]}'}}"
    if isinstance(operation, Get):
        reason = "nodedown" if leader == NOWHERE else f"{{timeout,{server}}}"
        return f" - Cannot get a message from queue '{described(name)}': {reason}"
    if isinstance(operation, Consume) and enqueuers.profile_of(turn).explains_consume_errors:
        return f" - failed consuming from quorum {described(name)}: nodedown"
    return ""


# Publishing


def take(turn: Turn, operation: Publish, queue: Queue, numbers: Runs) -> Share | None:
    """Propose a channel's messages to a quorum queue, or let the channel reject them if the queue has asked it to.

    Return None for the messages that a publisher with a rate has sent since the last event to a queue that can commit:
    they are committed by now. Otherwise return the share to be confirmed.
    """
    connection = f"{enqueuers.STEADY}{operation.publisher}" if operation.publisher else operation.connection
    order = Enqueue(
        queue.name, operation.node, connection, count=operation.count, size_bytes=operation.size_bytes,
        persistent=operation.persistent, priority=operation.priority, numbers=numbers,
        mode=operation.mode,
    )  # fmt: skip
    group, channel = turn.groups.own(queue.name), enqueuers.channel_over(turn, order)
    in_reach = is_in_reach(turn, queue.name, operation.node)
    if in_reach:
        registration.register(turn, group, channel)
    if enqueuers.rejects(turn, group, channel):
        bookkeeping.refuse(turn, queue.name, numbers, "max_length")
        rejected = EMPTY if operation.transaction else numbers
        return Share(queue.name, numbers, ((NOWHERE, turn.now_us),), rejected=rejected)
    publisher = enqueuers.sender(order)
    known = registration.is_registered(turn, group, channel) and gets_to_leader(turn, group, publisher)

    def is_its_own(one: Proposal) -> bool:
        return enqueuers.sender(one.operation) == publisher

    flows = turn.flowing and known and in_reach and flowing.takes_flows(turn, group)
    if flows and not asking.has_under_way(turn, group, is_its_own):
        flowing.commit_at_once(turn, group, "enqueue", operation.count, operation.size_bytes)
        unregistered.note_taken(turn, group, publisher)
        log.cut(turn, queue.name, published=True)
        return None
    reached = gets_to_leader(turn, group, publisher)
    if turn.queues[queue.name].master != NOWHERE and group.waiting and queue.type == QUORUM and reached:
        asking.offer_again(turn, group, queue.master, is_its_own)
        turn.look_from(operation.node)
    put(turn, queue.name, order, operation.node, numbers, flows=flows)
    return Share(queue.name, numbers, ((NOWHERE, NEVER_US),))


def settle_flowing(turn: Turn, consumer: Consumer, count: int) -> None:
    """Commit the acknowledgements that a consumer with a rate has sent since the last event, if a leader can.

    Acknowledgements for messages returned meanwhile have no effect.
    """
    settled = min(count, runs.size(consumer.in_sequence))
    reached = is_in_reach(turn, consumer.queue, consumer.node)
    if settled and reached and flowing.takes_flows(turn, turn.groups.own(consumer.queue)):
        flowing.commit_at_once(turn, turn.groups.own(consumer.queue), "settle", settled, 0)


def takes_dead_letters(turn: Turn, queue: Queue) -> bool:
    """Return True if a quorum queue receives dead letters that are sent at most once.

    They are one command to the leader that the record names (`rabbit_fifo_client:untracked_enqueue`), which a node
    without that member drops. Over a link that is cut they arrive when it is back.
    """
    return leadership.hosts(turn, turn.groups[queue.name], queue.holder)


def take_dead_letters(turn: Turn, event: DeadLetters, numbers: Runs) -> None:
    """Propose dead letters of another queue; no process waits for a confirm or resends them once the sender is gone."""
    order = Enqueue(
        event.queue, event.node, count=event.count, size_bytes=event.size_bytes, persistent=event.persistent,
        priority=event.priority, deaths=event.deaths, routing_keys=event.routing_keys, numbers=numbers,
    )  # fmt: skip
    put(turn, event.queue, order, event.node, numbers)


def is_decided(turn: Turn, name: str) -> bool:
    """Return True if a queue has a Raft group."""
    return name in turn.queues and turn.queues[name].has_group


def suspect(turn: Turn, name: str, node: int) -> None:
    """Let a leader suspect the consumers on a node that it has lost the connection to, once for all of them.

    Without a leader the next one looks for them (`visibility.look_for_channels`).
    """
    group, suspected, focus = turn.groups[name], NodeSuspected(name, node), turn.focus
    leader = leadership.latest_leader(turn, group, leadership.hosted(turn, group))
    if leader != NOWHERE and all(one.operation != suspected for one in group.waiting):
        turn.look_from(leader)
        put(turn, name, suspected, NOWHERE)
        turn.focus = focus


def misses_policy(turn: Turn, queue: Queue) -> bool:
    """Return True if a change of its policy does not reach a quorum queue.

    The change is one command to the leader that the record names, the last known one, and fails if that one is gone
    (`rabbit_quorum_queue:policy_changed`). A member that comes back has the settings of the declaration and of its log
    (`ra:restart_server`), in 4.0 until its leader's first tick (`policy_changes.watch`).
    """
    if not queue.has_group or queue.master != NOWHERE:
        return False
    reached = any(turn.linked(node, queue.holder) for node in turn.running())
    return not (reached and leadership.hosts(turn, turn.groups[queue.name], queue.holder))


def channel_down(turn: Turn, name: str, reason: str) -> None:
    """Propose that a consumer's channel is gone; its messages are returned when that is committed.

    A leader linked to the channel's node notices it, on whichever side of a partition. Of a node that died a leader
    only knows that the connection is lost, and suspects the consumers there. Without a leader the next one notices.
    """
    consumer = turn.change_consumer(name, state="closed")
    focus, group = turn.focus, turn.groups[consumer.queue]
    if reason == NODE_DOWN and not (leadership.is_led(turn, group) and turn.nodes[consumer.node].status == STOPPING):
        suspect(turn, consumer.queue, consumer.node)
        return
    for leader in reversed(group.leaders()):
        if leadership.hosts(turn, group, leader.id) and turn.linked(leader.id, consumer.node):
            turn.look_from(leader.id)
    put(turn, consumer.queue, ChannelDown(consumer.queue, consumer.node, consumer=name, reason=reason), NOWHERE)
    turn.focus = focus
