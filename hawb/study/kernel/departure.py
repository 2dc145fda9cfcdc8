"""What ends with a node, and what of it others learn when: `hawb.engine.cluster.stopping_ports`, for a trial of a
classic queue."""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel import copies
from hawb.study.kernel.answers import client_gone
from hawb.study.kernel.deliveries import close
from hawb.study.kernel.record_rules import mirror_bits
from hawb.study.kernel.replicas import end_master, remove_from_queue, shut_down_master
from hawb.study.kernel.silence import nothing
from hawb.study.kernel.state import CLOSED, NOBODY, NODE_GONE, SHUT_DOWN, STOPPED, put_on_agenda, schedule, unschedule

KILLED, LOST_POWER = range(2)
"""How a node goes from one moment to the next, of which nobody is told."""

lose_unwritten = copies.lose_unwritten
"""What a node had not written is on no disk."""
say_stopping = say_stopped = say_paused = say_struck = say_missed = give_masters_away = nothing
"""Nobody is told, and there are no releases whose nodes give masters away as they are drained."""


@inner
def remember(t, node):
    """A node that goes keeps the records as they are now: in a trial none boots from them."""


# What is to happen


@inner
def be_missed(t, node, delay_us, priority):
    """In a while others notice that a node is gone."""
    put_on_agenda(t, delay_us, priority, NODE_GONE, node, 0, 0, 0)


@inner
def withdraw_missed(t, node):
    """Whether others are still to notice that a node is gone. If so that is not to happen any more."""
    return unschedule(t, NODE_GONE, node)


@inner
def will_have_stopped(t, node):
    """In a while a node's broker has stopped."""
    schedule(t, t.setup.stop_us, STOPPED, node, t.nodes[node].boots)


@inner
def fall_silent(t, node):
    """A node says nothing any more: there are no members of quorum queues that would suspect it."""


# What goes with a node


@inner
def members_down(t):
    """Members of quorum queues are gone, noticed or not: there are none."""


@inner
def members_missed(t):
    """Somebody is known to be gone: members of quorum queues there are none."""


@inner
def has_master(t, node):
    """Whether the queue's master runs on a node."""
    return t.queue.up and t.queue.master == node


@inner
def end_masters(t, node, how):
    """The master is gone with its node."""
    if has_master(t, node):
        end_master(t, t.queue, False)


@inner
def shut_down_masters(t, node):
    """The master on a node ends in an orderly way."""
    if has_master(t, node):
        shut_down_master(t, t.queue)


@inner
def close_masters_consumers(t, node):
    """Whether the master on a node that stops has its consumer there: it is closed first, and then the node stops."""
    closes = has_master(t, node) and t.consumer.node == node and t.consumer.state != CLOSED
    if closes:
        close(t)
        schedule(t, 0, SHUT_DOWN, node)
    return closes


@inner
def disconnect(t, node):
    """A node that is drained closes its clients' connections."""
    client_gone(t, node)
    if t.consumer.node == node:
        close(t)


@inner
def stop_members(t, node):
    """It has no members of quorum queues."""


# What those learn that are left


@inner
def publishers_gone(t, dead):
    """Channels at nodes that are gone will never hear what became of what they sent."""
    for node in range(t.setup.nodes):
        if dead >> node & 1:
            client_gone(t, node)


@inner
def remove_dead_replicas(t, gone, dead):
    """The queue learns that replicas of it are gone."""
    orphaned_gm = 1 << t.queue.orphaned_gm if t.queue.orphaned_gm != NOBODY else 0
    if (mirror_bits(t, t.queue) | 1 << t.queue.master | orphaned_gm) & gone:
        remove_from_queue(t, t.queue, False)


@inner
def clients_gone(t, gone, dead):
    """The consumer is gone with its node."""
    if t.consumer.node != NOBODY and dead >> t.consumer.node & 1:
        close(t)
