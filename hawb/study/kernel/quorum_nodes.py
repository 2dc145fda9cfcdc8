"""Nodes that go and come with members of a quorum queue: what is otherwise than in `nodes`."""

from __future__ import annotations

from hawb.raft.member import LEADER
from hawb.study.compiled import inner
from hawb.study.kernel.channels import client_gone
from hawb.study.kernel.node_rules import decide_who_pauses, is_up, pause
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
    STOPPED,
    STOPPING,
    is_running,
    move_row,
    schedule,
    unschedule,
)


@inner
def kill(t, bits):
    """Nodes die without warning, all at the same moment."""
    known = struck = 0
    for node in range(t.setup.nodes):
        if bits >> node & 1 and t.nodes[node].status != DOWN:
            struck |= 1 << node
            known |= int(is_up(t, node)) << node
            t.nodes[node].status, t.nodes[node].awaits = DOWN, 0
    for node in range(t.setup.nodes):
        if struck >> node & 1:
            member_down(t)
        if known >> node & 1:
            schedule(t, t.setup.link_us, NODE_GONE, node)


@inner
def shut_down(t, node):
    """The broker ends on a node."""
    if is_running(t, node):
        t.nodes[node].status = STOPPING
        member_down(t)
        schedule(t, t.setup.link_us, NODE_GONE, node)
        schedule(t, t.setup.stop_us, STOPPED, node, t.nodes[node].boots)


@inner
def notice_gone(t, gone):
    """Whoever still took a node for running learns that it is gone."""
    for node in range(t.setup.nodes):
        if is_running(t, node):
            t.nodes[node].believes &= ~(1 << gone)
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
def meet_late(t, node):
    """Peers that had not noticed a node go notice it as it comes up."""
    if unschedule(t, NODE_GONE, node):
        notice_gone(t, node)


@inner
def return_to_queues(t, node, others):
    """A node's member joins its group, and leaders see it again."""
    member_up(t, node)
    node_back(t, node)
