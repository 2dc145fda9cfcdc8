"""Nodes of a quorum queue that lose their disks, and join again as new ones: the differences from `disks`.

This is `hawb.engine.cluster.membership` and `hawb.engine.raft_groups.member_changes`, as `hawb.study.repairs` uses
them. A trial falls back to the engine where a node has to be forced to boot without Khepri, or is to be forgotten while
Khepri has no majority.
"""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel.going_down import kill, notice_pending_down, start_nodes
from hawb.study.kernel.hosting import (
    add_member,
    lose_member,
    remove_member_of_forgotten,
    remove_member_of_store,
    replace_member_of_store,
)
from hawb.study.kernel.node_rules import defer_if_blocked
from hawb.study.kernel.quorum import lose_channels_of
from hawb.study.kernel.quorum_state import NODE_FORGOTTEN
from hawb.study.kernel.raft_log import bits_in, is_member
from hawb.study.kernel.state import (
    DOWN,
    MOST_NODES,
    NONE,
    hand_to_engine,
    is_running,
    look_from,
    look_from_outside,
    running_bits,
    runs_anywhere,
)
from hawb.study.kernel.upkeep import idle


@inner
def lose_nodes(t, bits):
    """Lose the disks of nodes, and what runs on them."""
    kill(t, bits)
    for node in range(t.setup.nodes):
        if bits >> node & 1:
            look_from_outside(t)
            t.moment.virgin |= 1 << node
            lose_members_at(t, node)


@inner
def lose_members_at(t, node):
    """Lose what members at a node had on its disk."""
    if t.setup.khepri and is_member(t, t.store, node):
        lose_member(t, t.store, node)
    if is_member(t, t.queue, node):
        lose_member(t, t.queue, node)


@inner
def force_boot(t):
    """Run `rabbitmqctl force_boot` at the first node that has its disk, which with Khepri is a plain start."""
    if not t.setup.khepri:
        hand_to_engine(t)
    able = idle(t) & ~t.moment.virgin
    start_nodes(t, able & -able)


@inner
def replace(t, node):
    """Let the running nodes forget an empty node, which joins as another. A lone node starts as a new cluster."""
    if t.setup.nodes == 1:
        t.moment.virgin, t.nodes[node].believes = 0, 0
    elif running_bits(t):
        look_from_outside(t)
        note_missing_member(t, node)
        if not t.moment.forgotten >> node & 1:
            forget_node(t, node, first_running(t))
        if t.moment.forgotten >> node & 1:
            look_from_outside(t)
            join(t, node)


@inner
def note_missing_member(t, node):
    """Note that the queue is to get a member again on an empty node, if it has one there."""
    t.moment.without_member |= 1 << node & t.queue.recorded


@inner
def join(t, node):
    """Run `rabbitmqctl join_cluster` at an empty node, and boot it; with Khepri only if that has a majority."""
    if t.setup.khepri and not t.store.up:
        return
    t.moment.virgin &= ~(1 << node)
    t.moment.forgotten &= ~(1 << node)
    t.nodes[node].believes = running_bits(t)
    if t.setup.khepri:
        replace_member_of_store(t, t.store, node)
    start_nodes(t, 1 << node)


@inner
def first_running(t):
    """Return the first running node, of which there is one."""
    node = 0
    while not runs_anywhere(t, node):
        node += 1
    return node


@inner
def node_forgotten(t, change):
    """Run `rabbitmqctl forget_cluster_node` that has waited."""
    forget_node(t, change % MOST_NODES, change // MOST_NODES)


@inner
def forget_node(t, node, origin):
    """Run `rabbitmqctl forget_cluster_node`, on a command sent to `origin`.

    With Khepri the queue loses its member on the node before the cluster forgets the node.
    """
    look_from(t, origin)
    if not is_running(t, origin) or t.moment.forgotten >> node & 1:
        return
    if t.setup.khepri:
        if not t.store.up:
            hand_to_engine(t)
            return
        lose_member_of_forgotten(t, node)
    if defer_if_blocked(t, (NODE_FORGOTTEN, origin * MOST_NODES + node)) or t.nodes[node].status != DOWN:
        return
    notice_pending_down(t, node)
    t.moment.forgotten |= 1 << node
    if t.setup.khepri and t.store.master != NONE and bits_in(t.store.present) > 1:
        remove_member_of_store(t, t.store, t.store.master, node)
    bequeath(t, node)
    lose_members_at(t, node)
    lose_channels_of(t, node)
    if not t.setup.khepri:
        lose_member_of_forgotten(t, node)


@inner
def bequeath(t, node):
    """Do nothing: a quorum queue is on no single node."""


@inner
def lose_member_of_forgotten(t, node):
    """Let the queue lose its member on a node that is forgotten, in a release in which it does."""
    if t.setup.shrinks and t.queue.recorded >> node & 1:
        remove_member_of_forgotten(t, t.queue, node)


@inner
def restore_queue(t):
    """Run `rabbitmq-queues add_member` at nodes that run again, unless the queue has members there again."""
    for node in range(t.setup.nodes):
        if t.moment.without_member >> node & 1 and runs_anywhere(t, node):
            if t.queue.recorded >> node & 1:
                t.moment.without_member &= ~(1 << node)
            elif t.queue.up:
                look_from_outside(t)
                add_member(t, t.queue, t.queue.master, node)
