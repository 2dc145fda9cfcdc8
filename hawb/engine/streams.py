"""Streams, as far as replication goes: what differs from a quorum queue, whose Raft groups simulate them.

A stream's writer is the leader of a group, its replicas are the other members, and an epoch is a term: what a majority
has is confirmed, a replica that comes back truncates what the leader does not have, and the replica with most of what a
majority kept is the next writer, which is also the result of Raft's election. Differences:

- The coordinator of all streams, a Raft group over the cluster's nodes, chooses writers, and executes declarations,
  deletions and changes of replicas. So an election also needs a majority of the cluster's nodes. In hawb every node is
  in it from the first stream on; a real one adds nodes that did not run then at its next tick, after 30 s.
- Without a majority of its members the coordinator executes no command. A command waits 30 s for each member that its
  node reaches, one after the other, and then fails with coordinator_unavailable.
- Nothing is removed: no purge, no basic.get, no limits, and a node in maintenance mode keeps its replicas.
- A channel need not be registered before it publishes. One that is cut off while a new leader is chosen goes on writing
  to the old one for good, and gets no answer (`writes_to_leader`; a 3.10.8 cluster did so).

Left out: consumers and their offsets, retention by size and age, super streams, filters, single active consumers and
the stream protocol, and a process of a stream that crashes (`hawb.scenario.run` refuses all of these); a change of
replicas while there is no leader; that a change of replicas makes a new epoch, and perhaps another writer; that no
replica is added while another is 10 s behind; and that a coordinator that gets its majority back may still execute a
command that was answered with coordinator_unavailable, if a leader has it in its log. In hawb the writer runs once its
node has booted. A real coordinator may take seconds more, and until then a publish to a stream whose record is not in
memory is still confirmed and dropped (`phase_update_mnesia`, `maybe_sleep`; a 4.0.5 cluster did so).

Source: `rabbit_stream_queue`, `rabbit_stream_coordinator`, `osiris_writer`, `osiris_replica`.
"""

from __future__ import annotations

from typing import Any

from hawb.engine.core.events import CoordinatorAwaited
from hawb.engine.core.naming import described
from hawb.engine.core.operations import Declare, Delete, Get, Operation, Purge
from hawb.engine.core.state import STREAM
from hawb.engine.core.turn import Turn
from hawb.engine.queues.access import fail
from hawb.engine.raft_groups.group import Channel, Group
from hawb.rules import streams
from hawb.rules.quorum import majority
from hawb.rules.streams import STREAM_PROFILES, StreamProfile

NOT_SUPPORTED = {Get: "basic.get", Purge: "queue.purge"}
"""The operations that streams do not support, with their AMQP methods."""

COMMAND_US = 30_000_000
"""The timeout of a command to one member of the stream coordinator (CMD_TIMEOUT)."""
UNAVAILABLE = "coordinator_unavailable"


def is_stream(turn: Turn, name: str) -> bool:
    """Return True if any side knows a stream of that name."""
    return any(name in side.queues and side.queues[name].type == STREAM for side in turn.sides.values())


def profile_of(turn: Turn) -> StreamProfile:
    """Return the rules in which the cluster's release differs."""
    return STREAM_PROFILES[turn.settings.profile.version]


def coordinates(turn: Turn, node: int) -> bool:
    """Return True if a node reaches a majority of the coordinator's members.

    These are the cluster's nodes, and those that left the cluster while the coordinator had no majority to remove them.
    """
    members = [other for other, value in enumerate(turn.nodes) if value.member or value.coordinates]
    return len(reached(turn, node)) >= majority(len(members))


def reached(turn: Turn, node: int) -> list[int]:
    """Return the nodes with a member of the coordinator that a node reaches."""
    members = [other for other, value in enumerate(turn.nodes) if value.member]
    return [other for other in members if turn.runs_anywhere(other) and turn.linked(node, other)]


def outlives(turn: Turn) -> bool:
    """Return True if the coordinator goes on counting a node that leaves the cluster now.

    It does if there is a stream, and no majority to remove a member (`rabbit_stream_coordinator`, `forget_node`,
    `maybe_resize_coordinator_cluster`).
    """
    return has_streams(turn) and not coordinates(turn, turn.first_running())


def has_streams(turn: Turn) -> bool:
    """Return True if any side knows a stream."""
    return any(queue.type == STREAM for side in turn.sides.values() for queue in side.queues.values())


def awaits_coordinator(
    turn: Turn, node: int, requests: tuple[Any, ...], text: str = UNAVAILABLE, code: int | None = None
) -> bool:
    """Return True if the coordinator that a node reaches has no majority to execute a command.

    The command then waits, each of its `requests` for each member in turn, and fails with `text` if there is still no
    majority.
    """
    if not requests or coordinates(turn, node):
        return False
    delay_us = len(requests) * len(reached(turn, node)) * COMMAND_US
    turn.schedule(delay_us, CoordinatorAwaited(node, requests, text, code))
    return True


def refuse_unavailable(turn: Turn, event: CoordinatorAwaited) -> None:
    """Refuse a command that the coordinator could not execute. A client that is gone gets no answer."""
    [request, *_] = event.requests
    if not turn.runs_anywhere(event.node):
        return
    if isinstance(request, Operation):
        fail(turn, request, event.code, event.text)
    else:
        turn.refuse(event.code, event.text)


def note_channel(turn: Turn, group: Group, channel: Channel | None) -> None:
    """Note the leader that a channel knows as it begins to write to a stream."""
    if channel is not None and is_stream(turn, group.name) and channel not in dict(group.asked):
        group.asked = (*group.asked, (channel, turn.queues[group.name].master))


def notify_channels(turn: Turn, group: Group, leader: int) -> None:
    """Note that the channels in reach learn of a stream's new leader.

    A channel that is cut off does not learn of it, then or later: the coordinator has dropped it.
    """
    if is_stream(turn, group.name):
        group.asked = tuple(
            (channel, leader if turn.linked(leader, channel[1]) else known) for channel, known in group.asked
        )


def writes_to_leader(turn: Turn, group: Group, channel: Channel | None) -> bool:
    """Return True if a channel writes to the present leader, and not to a process that has ended.

    RabbitMQ does not detect the latter. It is always True for a quorum queue.
    """
    leader = turn.queues[group.name].master
    return not is_stream(turn, group.name) or dict(group.asked).get(channel, leader) == leader


def can_be_declared(turn: Turn, operation: Declare) -> bool:
    """Return True if the coordinator takes a new stream; otherwise the step waits or was refused.

    The first stream starts the coordinator, on the nodes that run; that is not simulated if these are too few.
    """
    name, profile = described(operation.queue), turn.settings.profile
    if not has_streams(turn) and not coordinates(turn, operation.node):
        turn.refuse(
            None,
            f"not simulated: {name} as the first stream, while most nodes do not run: the coordinator would begin "
            "without these nodes; accepted while a majority of the nodes runs",
        )
        return False
    reason = streams.not_formed(name, turn.settings.names[operation.node], profile)
    return not awaits_coordinator(turn, operation.node, (operation,), f"INTERNAL_ERROR - {reason}", 541)


def refuses(turn: Turn, operation: Operation) -> bool:
    """Return True if a stream does not support a client's operation, or not now; then the step waits or was refused."""
    name = described(operation.queue)
    if type(operation) in NOT_SUPPORTED:
        method = NOT_SUPPORTED[type(operation)]
        fail(turn, operation, 540, f"NOT_IMPLEMENTED - {method} not supported by stream queues {name}")
        return True
    if not isinstance(operation, Delete):
        return False
    reason = streams.not_deleted(name, turn.settings.names[operation.node], turn.settings.profile)
    return awaits_coordinator(turn, operation.node, (operation,), f"INTERNAL_ERROR - {reason}", 541)
