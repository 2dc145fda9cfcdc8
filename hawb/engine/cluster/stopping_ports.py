"""The ports of `hawb.engine.cluster.stopping`: what ends with a node, and what other nodes notice when.

Source: `rabbit_node_monitor`, `rabbit_amqqueue:on_node_down`.
"""

from __future__ import annotations

from hawb.engine.classic import copies
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
"""The causes for which a node goes down at once."""

# Trace


def say_stopping(t: Turn, node: int) -> None:
    """Record that a paused node is to stop."""
    t.because = t.emit("node_stopping", node=node)


def say_stopped(t: Turn, node: int) -> None:
    """Record that a node's broker has stopped."""
    t.because = t.emit("node_stopped", node=node)


def say_paused(t: Turn, node: int) -> None:
    """Record that a node's broker has stopped by itself."""
    t.emit("node_paused", node=node)


def say_down(t: Turn, node: int, how: str) -> None:
    """Record that a node went down at once, which nothing within the cluster caused."""
    t.because = None
    t.because = t.emit(how, node=node)


def say_nodes_down(t: Turn, gone: int) -> None:
    """Record that the running nodes of the current side notice that nodes are gone."""
    first, watchers = t.because, t.settings.named(t.running())
    for node in nodes_of(gone):
        t.because = t.emit("node_down_noticed", node=node, because=first, by=watchers)


# Scheduling


def schedule_node_down(t: Turn, node: int, delay_us: int, priority: int) -> None:
    """Schedule that the other nodes notice, after `delay_us`, that a node went down."""
    t.schedule(delay_us, NodeGoneNoticed(node), priority=priority)


def cancel_node_down(t: Turn, node: int) -> bool:
    """Take a node's failure detection off the agenda; return True if it was scheduled.

    What happens next has the same cause as the failure detection had.
    """
    event = NodeGoneNoticed(node)
    t.because = t.cause_of(event)
    return t.unschedule(event)


def will_have_stopped(t: Turn, node: int) -> None:
    """Schedule the end of a node's shutdown."""
    t.schedule(t.setup.stop_us, Stopped(node, t.nodes[node].boots))


# What ends with a node


def masters_on(turn: Turn, node: int) -> list[str]:
    """Return the names of the classic queues whose master runs on a node, in alphabetical order."""
    return [
        name
        for name in turn.queue_names()
        if (queue := turn.queues[name]).master == node and queue.up and queue.type == CLASSIC
    ]


def end_masters(t: Turn, node: int, how: str) -> None:
    """End the masters on a node that went down."""
    for name in masters_on(t, node):
        t.emit("master_down", node=node, queue=name, reason=how)
        end_master(t, t.own(name), False)


def shut_down_masters(t: Turn, node: int) -> None:
    """Shut down the masters on a node in a controlled way."""
    for name in masters_on(t, node):
        shut_down_master(t, t.own(name))


def close_masters_consumers(t: Turn, node: int) -> bool:
    """Close the consumers at a stopping node of masters on it; return True if there were any.

    The node stops afterwards.
    """
    masters = masters_on(t, node)
    theirs = [one for one in t.consumers.values()
              if one.state != "closed" and one.node == node and one.queue in masters]  # fmt: skip
    if theirs:
        connections.close_consumers(t, theirs, NODE_DOWN)
        t.schedule(0, ShutDown(node))
    return bool(theirs)


def disconnect(t: Turn, node: int) -> None:
    """Close the clients' connections of a node that is drained."""
    confirms.client_gone(t, node, "connection_closed")
    close_clients(t, node, "drained")


def give_masters_away(t: Turn, node: int) -> None:
    """Give away a drained node's masters of mirrored queues, where the release does so.

    Each goes to a random running node that is not being drained, whether that has a replica or not.
    """
    peers = [other for other in t.running() if other != node and not t.nodes[other].drained]
    if not t.settings.profile.drain_moves_masters or not peers:
        return
    for name in masters_on(t, node):
        if is_replicated(t.queues[name]):
            draw = randomness.below(len(peers), t.settings.seed, randomness.DRAIN_DESTINATION, t.next_number(), 0)
            t.schedule(0, TransferLeadership(name, peers[draw]))


def lose_unwritten(t: Turn, node: int) -> None:
    """Lose the messages that a node had not written to disk."""
    for name in t.queue_names():
        copies.lose_unwritten(t, name, node)


def fall_silent(t: Turn, node: int) -> None:
    """Cut off a node without power: neither it nor the running nodes receive anything from each other."""
    inputs.links_silent(t, [(min(node, other), max(node, other)) for other in t.running()])


# What the remaining nodes notice


def publishers_gone(t: Turn, dead: int) -> None:
    """Close the channels at nodes that went down. They never receive confirms for the messages that they sent."""
    for node in nodes_of(dead):
        confirms.client_gone(t, node)
        visibility.channels_gone(t, node)


def remove_dead_replicas(t: Turn, gone: int, dead: int) -> None:
    """Let queues remove replicas on gone nodes, and channels stop waiting for orphaned mirrors on them."""
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
    """Return the nodes whose loss a queue acts on, as bits."""
    return bits_of({queue.master, queue.orphaned_gm, *queue.mirrors} - {NOWHERE}) | queue.orphaned_group


def clients_gone(t: Turn, gone: int, dead: int) -> None:
    """Close the clients of nodes that went down.

    Of clients on another side only exclusive queues end, and their consumers are suspected; with Khepri those queues
    stay.
    """
    for node in nodes_of(gone):
        if dead >> node & 1:
            close_clients(t, node, NODE_DOWN)
        else:
            if not t.setup.khepri:
                close_exclusive_queues(t, node)
            visibility.lost_sight(t, [node])
        alarms.node_gone(t, node)


def close_clients(turn: Turn, node: int, reason: str) -> None:
    """Close the connections of clients at a node, with their consumers and exclusive queues.

    With Khepri the exclusive queues of a node stay that had no time to delete them (`hawb.engine.queues.transient`).
    """
    connections.node_gone(turn, node)
    theirs = (consumer for consumer in turn.consumers.values() if consumer.node == node)
    connections.close_consumers(turn, theirs, reason)
    if not (turn.setup.khepri and turn.nodes[node].status == DOWN):
        close_exclusive_queues(turn, node)


def close_exclusive_queues(turn: Turn, node: int) -> None:
    """Delete the exclusive queues of connections to a node."""
    for name in turn.queue_names():
        owner, vhost = turn.queues[name].owner, turn.queues[name].vhost
        if owner is not None and owner[1] == node:
            lifecycle.connection_gone(turn, owner, vhost)


PORTS = (
    "KILLED", "LOST_POWER", "remember", "say_stopping", "say_stopped", "say_paused", "say_down",
    "say_nodes_down", "schedule_node_down", "cancel_node_down", "will_have_stopped", "end_masters", "shut_down_masters",
    "close_masters_consumers", "members_down", "members_noticed_down", "lose_unwritten", "fall_silent",
    "publishers_gone", "remove_dead_replicas", "clients_gone", "disconnect", "stop_members", "give_masters_away",
)  # fmt: skip
"""The ports that engine and kernel both implement."""
