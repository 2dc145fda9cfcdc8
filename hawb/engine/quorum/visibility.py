"""Quorum queues and their channels when leaders, members or clients become reachable or unreachable.

Source: `rabbit_fifo_client` (`handle_ra_event`, `resend_all_pending`), `rabbit_fifo` (`down`, `nodeup`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from hawb.engine import streams
from hawb.engine.clients import consuming, timeouts
from hawb.engine.clients.client_state import Consumer, consumers_of
from hawb.engine.cluster import reachability
from hawb.engine.core.operations import NO_PROCESS, ChannelDown, NodeReached, NodeSuspected
from hawb.engine.core.state import NOWHERE, QUORUM
from hawb.engine.core.turn import Turn
from hawb.engine.queues import limits, policy_changes
from hawb.engine.quorum import fifo, out_of_reach, retries
from hawb.engine.quorum.requests import put, suspect
from hawb.engine.raft_groups.asking import drop_orphans, is_in_sight, offer_again, set_unsent_aside
from hawb.engine.raft_groups.enqueuers import sender, sends_at_once
from hawb.engine.raft_groups.events import (
    LeaderElected,
    LogCut,
    MajorityReached,
    MembersAbreast,
)
from hawb.engine.raft_groups.group import GONE, Group, Proposal
from hawb.engine.raft_groups.unregistered import learns_of_leaders


def send_again(turn: Turn, event: LeaderElected) -> None:
    """Let channels resend to a new leader the undecided commands that its log lacks.

    A command that no channel is left to send, and that no member has, is dropped.
    """
    group = turn.groups.get(event.queue)
    if group is None or group.number != event.group or event.node not in group.members:
        return
    turn.look_from(event.node)
    if event.queue in turn.queues:
        consuming.follow_leader(turn, event.queue)
        out_of_reach.follow_leader(turn, event.queue)
        timeouts.follow_leader(turn, event.queue)
        retries.set_timer(turn, event.queue)
        policy_changes.watch(turn, event.queue)
        suspect_unreached(turn, event.queue, event.node)
        look_for_channels(turn, event.queue, event.node)
        drop_orphans(turn, turn.groups.own(event.queue))
        group = turn.groups.own(event.queue)
        streams.notify_channels(turn, group, event.node)
        offer_again(turn, group, event.node, lambda one: learns_of_leader(turn, group, one))


def learns_of_leader(turn: Turn, group: Group, one: Proposal) -> bool:
    """Return True if the channel of a proposal learns of the present leader, so that it resends the command there."""
    channel = sender(one.operation)
    return streams.writes_to_leader(turn, group, channel) and learns_of_leaders(turn, group, channel)


def began_with(group: Group, one: Proposal, leader: int) -> bool:
    """Return True if a channel that does not learn of other leaders sent a proposal to this leader."""
    return dict(group.asked).get(sender(one.operation)) == leader


def majority_reached(turn: Turn, event: MajorityReached) -> None:
    """Append waiting commands once a leader can commit again: its own, and those of channels that it reaches."""
    group, queue = turn.groups.get(event.queue), turn.queues.get(event.queue)
    if group is not None and group.number == event.group and queue is not None and queue.master == event.node:
        offer_in_sight(turn, event.queue, event.node)
        if sends_at_once(turn, group):
            set_unsent_aside(turn, turn.groups.own(event.queue))


def links_healed(turn: Turn) -> None:
    """Let channels resend their commands after links work again.

    Channels that never lost the connection learn of the leader now; the others resend when they publish next
    (`rabbit_fifo_client:handle_ra_event`; a 3.10.8 cluster did so).
    """
    for name in sorted(turn.groups):
        for _side in turn.each_side():
            queue = turn.queues.get(name)
            if queue is not None and queue.has_group and queue.master != NOWHERE and turn.is_here(queue.master):
                offer_in_sight(turn, name, queue.master, arrives=True)
        if name in turn.queues:
            set_unsent_aside(turn, turn.groups.own(name))


def offer_in_sight(turn: Turn, name: str, leader: int, *, arrives: bool = False) -> None:
    """Append to the leader's log the commands of channels that know this leader and reach it.

    The leader's side of the partition is current. With `arrives`, links work again, and commands that were sent to it
    before arrive too.
    """
    group = turn.groups.own(name)
    hearing = [one for one in group.waiting if learns_of_leader(turn, group, one)]
    hearing += [one for one in group.waiting if arrives and began_with(group, one, leader)]
    chosen = {one.number for one in hearing if is_in_sight(turn, group, one)}
    offer_again(turn, group, leader, lambda one: one.number in chosen)


def channels_gone(turn: Turn, node: int) -> None:
    """End the channels at a node, which resend no commands any more."""
    for name in sorted(turn.groups.keys() & turn.queues.keys()):
        group = turn.groups.own(name)
        for enqueuer in fifo.of(turn.queues[name]).enqueuers:
            if enqueuer.channel[1] == node:
                limits.unregister(turn, name, enqueuer.channel)
        group.waiting = tuple(replace(one, node=GONE) if one.node == node else one for one in group.waiting)
        drop_orphans(turn, group)


def log_cut(turn: Turn, event: LogCut) -> None:
    """Drop commands that no log has any more and no channel resends."""
    if event.queue in turn.groups:
        drop_orphans(turn, turn.groups.own(event.queue))
        if event.queue in turn.queues:
            set_unsent_aside(turn, turn.groups.own(event.queue))


def lost_sight(turn: Turn, nodes: Iterable[int]) -> None:
    """Let the leaders on the current side suspect the consumers on nodes that this side has lost."""
    for name in sorted(turn.groups):
        queue = turn.queues.get(name)
        if queue is not None and queue.type == QUORUM and queue.up and turn.is_here(queue.master):
            for node in nodes:
                put(turn, name, NodeSuspected(name, node), NOWHERE)


def suspect_unreached(turn: Turn, name: str, leader: int) -> None:
    """Let a new leader suspect the consumers on nodes of other sides that it does not reach.

    If the links work again, its monitors connect to them, whatever the nodes' records say.
    """
    nodes = {turn.consumers[consumer].node for consumer in turn.queues[name].consumers}
    given_up = [node for node in sorted(nodes) if turn.runs_anywhere(node) and not turn.is_here(node)]
    for node in [node for node in given_up if not turn.linked(leader, node)]:
        put(turn, name, NodeSuspected(name, node), NOWHERE)


def look_for_channels(turn: Turn, name: str, leader: int) -> None:
    """Let a new leader monitor all channels that the queue knows.

    It finds channels gone whose nodes are up and reachable, and suspects those on other nodes.
    """

    def is_reached(node: int) -> bool:
        return reachability.is_up(turn, node) and turn.linked(node, leader)

    let_go_of_dead(turn, name, is_reached)
    for node in sorted({one.node for one in dead_ones(turn, name)}):
        if not is_reached(node):
            suspect(turn, name, node)


def dead_ones(turn: Turn, name: str) -> list[Consumer]:
    """Return consumers that died with their nodes and that the queue still knows, except those reported already."""
    waiting = [one.operation for one in turn.groups[name].waiting]
    reported = {one.consumer for one in waiting if isinstance(one, ChannelDown)}
    mine = [one for one in consumers_of(turn.consumers, name) if one.state == "closed"]
    return [one for one in mine if one.name not in reported and consuming.is_known(turn, one)]


def node_back(turn: Turn, node: int) -> None:
    """Let the leaders that reach a node look for the consumers there again."""
    for name in sorted(turn.groups):
        if name in turn.queues and turn.queues[name].has_group:
            see_again(turn, name, node)


def see_again(turn: Turn, name: str, node: int) -> None:
    """Serve the suspected consumers on a node that the leader reaches again; report those that died with it."""
    master, suspected = turn.queues[name].master, fifo.of(turn.queues[name]).suspected
    there = [one for one in suspected if turn.consumers[one].node == node]
    if not there or master == NOWHERE or not turn.runs_anywhere(node) or not turn.linked(node, master):
        return
    put(turn, name, NodeReached(name, node), NOWHERE)
    for consumer in dead_ones(turn, name):
        if consumer.name in there:
            put(turn, name, ChannelDown(name, node, consumer=consumer.name, reason=NO_PROCESS), NOWHERE)


def purge(turn: Turn, node: int) -> None:
    """Drop all channels at a node that is no longer a member (`rabbit_fifo:make_purge_nodes`).

    Leaders do that within 5 s.
    """
    for name in sorted(turn.groups):
        if name in turn.queues:
            let_go_of_dead(turn, name, node.__eq__)


def let_go_of_dead(turn: Turn, name: str, chosen: Callable[[int], bool]) -> None:
    """Report the channels that died with one of the chosen nodes, so that their messages are returned."""
    for consumer in dead_ones(turn, name):
        if chosen(consumer.node):
            put(turn, name, ChannelDown(name, consumer.node, consumer=consumer.name, reason=NO_PROCESS), NOWHERE)


def in_reach(turn: Turn) -> None:
    """Let leaders look again for all consumers that they suspect."""
    for name in sorted(turn.groups):
        suspected = fifo.of(turn.queues[name]).suspected if name in turn.queues else ()
        for node in sorted({turn.consumers[consumer].node for consumer in suspected}):
            see_again(turn, name, node)


def abreast(turn: Turn, event: MembersAbreast) -> None:
    """Let members that have caught up deliver what the last leader could not."""
    if event.queue in turn.queues and turn.queues[event.queue].has_group:
        consuming.deliver_missing(turn, event.queue)
