"""Nodes that go and come with members of a quorum queue: what is otherwise than in `nodes`."""

from __future__ import annotations

from hawb.raft.member import LEADER
from hawb.study.compiled import inner, with_parts
from hawb.study.kernel import nodes
from hawb.study.kernel.channels import client_gone
from hawb.study.kernel.nodes import decide_who_pauses, look_again, pause
from hawb.study.kernel.quorum import channel_down, consumer_lost, drop_orphans, node_back
from hawb.study.kernel.quorum_state import AT_NODE, GONE
from hawb.study.kernel.raft_host import member_down, member_up, stop_member
from hawb.study.kernel.raft_log import is_member
from hawb.study.kernel.raft_timers import call_elections
from hawb.study.kernel.state import (
    CLOSED,
    DOWN,
    NEVER,
    NOBODY,
    NODE_GONE,
    RUNNING,
    STOPPED,
    STOPPING,
    is_running,
    move_row,
    running_bits,
    schedule,
    unschedule,
)


@inner
def kill(t, bits):
    """Nodes die without warning, all at the same moment."""
    known = struck = 0
    for node in range(t.setup.nodes):
        if bits >> node & 1 and t.status[node] != DOWN:
            struck |= 1 << node
            known |= int(t.status[node] in (RUNNING, STOPPING)) << node
            t.status[node], t.awaits[node] = DOWN, 0
    for node in range(t.setup.nodes):
        if struck >> node & 1:
            member_down(t)
        if known >> node & 1:
            schedule(t, t.setup.link_us, NODE_GONE, node)


@inner
def shut_down(t, node):
    """The broker ends on a node."""
    if is_running(t, node):
        t.status[node] = STOPPING
        member_down(t)
        schedule(t, t.setup.link_us, NODE_GONE, node)
        schedule(t, t.setup.stop_us, STOPPED, node, t.boots[node])


@inner
def notice_gone(t, gone):
    """Whoever still took a node for running learns that it is gone."""
    for node in range(t.setup.nodes):
        if is_running(t, node):
            t.believes[node] &= ~(1 << gone)
    decide_who_pauses(t)
    client_gone(t, gone)
    channels_gone(t, gone)
    call_elections(t)
    if t.consumer.node == gone and t.consumer.state != CLOSED:
        consumer_lost(t)
    pause(t)


@inner
def channels_gone(t, node):
    """The channels at a node are gone: nobody sends again what they have asked."""
    left = 0
    for k in range(t.queue.registered):
        if t.registered[k, 1] != node:
            move_row(t.registered, k, left)
            left += 1
    t.queue.registered = left
    for row in range(t.queue.waiting):
        if t.waiting[row, AT_NODE] == node:
            t.waiting[row, AT_NODE] = GONE
    drop_orphans(t)


@inner
def drain(t, node):
    """A node in maintenance mode closes its clients' connections, and its member stops."""
    if not is_running(t, node):
        return
    client_gone(t, node)
    for k in range(t.queue.registered):
        if t.registered[k, 1] == node and t.registered[k, 2] != NOBODY:
            t.registered[k, 2] = NEVER
    if t.consumer.node == node and t.consumer.state != CLOSED:
        channel_down(t)
    if is_member(t, node) and (t.members[node].role == LEADER or t.setup.drain_stops_members):
        stop_member(t, node)


@inner
def come_up(t, node):
    """A node joins its cluster, and its member the group."""
    if unschedule(t, NODE_GONE, node):
        notice_gone(t, node)
    others = running_bits(t)
    t.status[node], t.believes[node], t.awaits[node], t.drained[node] = RUNNING, others, 0, 0
    for other in range(t.setup.nodes):
        if others >> other & 1:
            t.believes[other] |= 1 << node
    member_up(t, node)
    node_back(t, node)
    look_again(t)


boot = with_parts(nodes.boot, {nodes.come_up: come_up})
