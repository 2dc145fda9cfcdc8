"""The ports of nodes that go down: what ends with them, for a trial of a classic queue.

This is `hawb.engine.cluster.stopping_ports`.
"""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel import copies
from hawb.study.kernel.answers import client_gone
from hawb.study.kernel.deliveries import close
from hawb.study.kernel.record_rules import mirror_bits
from hawb.study.kernel.replicas import end_master, remove_from_queue, shut_down_master
from hawb.study.kernel.silence import nothing
from hawb.study.kernel.state import CLOSED, NODE_GONE, NONE, SHUT_DOWN, STOPPED, put_on_agenda, schedule, unschedule

KILLED, LOST_POWER = range(2)
"""The causes for which a node goes down at once, which only a trace would show."""

lose_unwritten = copies.lose_unwritten
"""Lose the messages that a node had not written to disk."""
say_stopping = say_stopped = say_paused = say_down = say_nodes_down = give_masters_away = nothing
"""There is no trace, and the kernel plays no release whose nodes give masters away as they are drained."""


@inner
def remember(t, node):
    """Do nothing: in a trial no node boots from the records that it remembers."""


# Scheduling


@inner
def schedule_node_down(t, node, delay_us, priority):
    """Schedule that the other nodes notice, after `delay_us`, that a node went down."""
    put_on_agenda(t, delay_us, priority, NODE_GONE, node, 0, 0, 0)


@inner
def cancel_node_down(t, node):
    """Unschedule that other nodes notice that a node went down; return True if it was scheduled."""
    return unschedule(t, NODE_GONE, node)


@inner
def will_have_stopped(t, node):
    """Schedule the end of a node's shutdown."""
    schedule(t, t.setup.stop_us, STOPPED, node, t.nodes[node].boots)


@inner
def fall_silent(t, node):
    """Do nothing: there are no members of quorum queues to suspect the node."""


# What ends with a node


@inner
def members_down(t):
    """Do nothing: there are no members of quorum queues."""


@inner
def members_noticed_down(t):
    """Do nothing: there are no members of quorum queues."""


@inner
def has_master(t, node):
    """Return True if the queue's master runs on a node."""
    return t.queue.up and t.queue.master == node


@inner
def end_masters(t, node, how):
    """End the master with its node."""
    if has_master(t, node):
        end_master(t, t.queue, False)


@inner
def shut_down_masters(t, node):
    """Shut down the master on a node in a controlled way."""
    if has_master(t, node):
        shut_down_master(t, t.queue)


@inner
def close_masters_consumers(t, node):
    """Close the consumer at a stopping node of the master on it; return True if there was one.

    The node stops afterwards.
    """
    closes = has_master(t, node) and t.consumer.node == node and t.consumer.state != CLOSED
    if closes:
        close(t)
        schedule(t, 0, SHUT_DOWN, node)
    return closes


@inner
def disconnect(t, node):
    """Close the clients' connections of a node that is drained."""
    client_gone(t, node)
    if t.consumer.node == node:
        close(t)


@inner
def stop_members(t, node):
    """Do nothing: there are no members of quorum queues."""


# What the remaining nodes notice


@inner
def publishers_gone(t, dead):
    """Close the channels at nodes that went down: they never receive the confirms of what they sent."""
    for node in range(t.setup.nodes):
        if dead >> node & 1:
            client_gone(t, node)


@inner
def remove_dead_replicas(t, gone, dead):
    """Let the queue remove replicas on gone nodes."""
    orphaned_gm = 1 << t.queue.orphaned_gm if t.queue.orphaned_gm != NONE else 0
    if (mirror_bits(t, t.queue) | 1 << t.queue.master | orphaned_gm) & gone:
        remove_from_queue(t, t.queue, False)


@inner
def clients_gone(t, gone, dead):
    """Close the consumer with its node."""
    if t.consumer.node != NONE and dead >> t.consumer.node & 1:
        close(t)
