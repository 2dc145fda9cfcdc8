"""What ends with a node, and what of it others learn when: what `hawb.engine.cluster.stopping` needs of a turn.

Source: `rabbit_node_monitor`, `rabbit_amqqueue:on_node_down`.
"""

from __future__ import annotations

from hawb.engine.classic import disks
from hawb.engine.classic.failover import remove_from_queue, shut_down_master
from hawb.engine.classic.mirrors import end_master
from hawb.engine.clients import confirms, connections
from hawb.engine.cluster import alarms
from hawb.engine.core import randomness
from hawb.engine.core.events import NodeGoneNoticed, ShutDown, Stopped, TransferLeadership
from hawb.engine.core.operations import NODE_DOWN
from hawb.engine.core.state import CLASSIC, DOWN, NOWHERE, Queue, bits_of, nodes_of
from hawb.engine.core.turn import Turn
from hawb.engine.queues import lifecycle, transient
from hawb.engine.queues.access import is_replicated
from hawb.engine.quorum import visibility
from hawb.engine.raft_groups import inputs

KILLED, LOST_POWER = "node_killed", "node_lost_power"
"""How a node goes from one moment to the next."""

# What is told


def say_stopping(t: Turn, node: int) -> None:
    """A node that has paused is to stop."""
    t.because = t.emit("node_stopping", node=node)


def say_stopped(t: Turn, node: int) -> None:
    """A node's broker has stopped."""
    t.because = t.emit("node_stopped", node=node)


def say_paused(t: Turn, node: int) -> None:
    """A node's broker has stopped by itself."""
    t.emit("node_paused", node=node)


def say_struck(t: Turn, node: int, how: str) -> None:
    """A node is gone, because of nothing within the cluster."""
    t.because = None
    t.because = t.emit(how, node=node)


def say_missed(t: Turn, gone: int) -> None:
    """The running nodes of the side in focus notice that others are gone."""
    first, watchers = t.because, t.settings.named(t.running())
    for node in nodes_of(gone):
        t.because = t.emit("node_down_noticed", node=node, because=first, by=watchers)


# What is to happen


def be_missed(t: Turn, node: int, delay_us: int, priority: int) -> None:
    """In a while others notice that a node is gone."""
    t.schedule(delay_us, NodeGoneNoticed(node), priority=priority)


def withdraw_missed(t: Turn, node: int) -> bool:
    """Whether others are still to notice that a node is gone. If so that is not to happen any more: what follows does,
    for the same reason."""
    event = NodeGoneNoticed(node)
    t.because = t.cause_of(event)
    return t.unschedule(event)


def will_have_stopped(t: Turn, node: int) -> None:
    """In a while a node's broker has stopped."""
    t.schedule(t.setup.stop_us, Stopped(node, t.nodes[node].boots))


# What goes with a node


def masters_on(turn: Turn, node: int) -> list[str]:
    """The classic queues whose master runs on a node, in alphabetical order."""
    return [
        name
        for name in turn.queue_names()
        if (queue := turn.queues[name]).master == node and queue.up and queue.type == CLASSIC
    ]


def end_masters(t: Turn, node: int, how: str) -> None:
    """The masters on a node are gone with it."""
    for name in masters_on(t, node):
        t.emit("master_down", node=node, queue=name, reason=how)
        end_master(t, t.own(name), False)


def shut_down_masters(t: Turn, node: int) -> None:
    """The masters on a node end in an orderly way."""
    for name in masters_on(t, node):
        shut_down_master(t, t.own(name))


def close_masters_consumers(t: Turn, node: int) -> bool:
    """Whether masters on a node that stops have consumers there: they are closed first, and then the node stops."""
    masters = masters_on(t, node)
    theirs = [one for one in t.consumers.values()
              if one.state != "closed" and one.node == node and one.queue in masters]  # fmt: skip
    if theirs:
        connections.close_consumers(t, theirs, NODE_DOWN)
        t.schedule(0, ShutDown(node))
    return bool(theirs)


def disconnect(t: Turn, node: int) -> None:
    """A node that is drained closes its clients' connections."""
    confirms.client_gone(t, node, "connection_closed")
    close_clients(t, node, "drained")


def give_masters_away(t: Turn, node: int) -> None:
    """A node that is drained gives masters of mirrored queues away where its version does so: each to a random one that
    runs and is not being drained itself, whether that has a replica or not."""
    peers = [other for other in t.running() if other != node and not t.nodes[other].drained]
    if not t.settings.profile.drain_moves_masters or not peers:
        return
    for name in masters_on(t, node):
        if is_replicated(t.queues[name]):
            draw = randomness.below(len(peers), t.settings.seed, randomness.DRAIN_DESTINATION, t.next_number(), 0)
            t.schedule(0, TransferLeadership(name, peers[draw]))


def lose_unwritten(t: Turn, node: int) -> None:
    """What a node had not written is on no disk."""
    for name in t.queue_names():
        disks.lose_unwritten(t, name, node)


def fall_silent(t: Turn, node: int) -> None:
    """A node says nothing any more, and those that run hear nothing."""
    inputs.links_silent(t, [(min(node, other), max(node, other)) for other in t.running()])


# What those learn that are left


def publishers_gone(t: Turn, dead: int) -> None:
    """Channels at nodes that are gone will never hear what became of what they sent."""
    for node in nodes_of(dead):
        confirms.client_gone(t, node)
        visibility.channels_gone(t, node)


def remove_dead_replicas(t: Turn, gone: int, dead: int) -> None:
    """Queues learn that replicas of theirs are gone, and channels that mirrors are which no queue has on its record."""
    cause = t.because
    for name in t.queue_names():
        t.because = cause
        queue = t.queues[name]
        if queue.type == CLASSIC and hearers(queue) & gone:
            remove_from_queue(t, t.own(name), False)
    t.because = cause
    confirms.orphaned_mirrors_gone(t, nodes_of(dead))
    if not t.running():
        transient.forget(t)


def hearers(queue: Queue) -> int:
    """The nodes whose loss a queue acts on, as bits."""
    return bits_of({queue.master, queue.orphaned_gm, *queue.mirrors} - {NOWHERE}) | queue.orphaned_group


def clients_gone(t: Turn, gone: int, dead: int) -> None:
    """Clients of nodes are gone. Of those on another side only exclusive queues are, and consumers are suspected; with
    Khepri the queues stay on record."""
    for node in nodes_of(gone):
        if dead >> node & 1:
            close_clients(t, node, NODE_DOWN)
        else:
            if not t.setup.khepri:
                close_exclusive_queues(t, node)
            visibility.lost_sight(t, [node])
        alarms.node_gone(t, node)


def close_clients(turn: Turn, node: int, reason: str) -> None:
    """Connections of clients at a node are gone, with their consumers and exclusive queues, but with Khepri for those
    of a node that had no time to delete them (`hawb.engine.queues.transient`)."""
    connections.node_gone(turn, node)
    theirs = (consumer for consumer in turn.consumers.values() if consumer.node == node)
    connections.close_consumers(turn, theirs, reason)
    if not (turn.setup.khepri and turn.nodes[node].status == DOWN):
        close_exclusive_queues(turn, node)


def close_exclusive_queues(turn: Turn, node: int) -> None:
    """The exclusive queues of connections to a node go with them."""
    for name in turn.queue_names():
        owner, vhost = turn.queues[name].owner, turn.queues[name].vhost
        if owner is not None and owner[1] == node:
            lifecycle.connection_gone(turn, owner, vhost)


PORTS = (
    "KILLED", "LOST_POWER", "remember", "say_stopping", "say_stopped", "say_paused", "say_struck",
    "say_missed", "be_missed", "withdraw_missed", "will_have_stopped", "end_masters", "shut_down_masters",
    "close_masters_consumers", "members_down", "members_missed", "lose_unwritten", "fall_silent", "publishers_gone",
    "remove_dead_replicas", "clients_gone", "disconnect", "stop_members", "give_masters_away",
)  # fmt: skip
"""The names of what others have to have: what stands here, and what nodes remember and members of quorum queues do."""
