"""Nodes with members of a quorum queue that stop and boot: the differences from `departure` and `arrival`."""

from __future__ import annotations

from hawb.engine.raft_groups import inputs
from hawb.raft.member import LEADER
from hawb.study.compiled import inner
from hawb.study.kernel.asking import drop_orphans
from hawb.study.kernel.channels import client_gone
from hawb.study.kernel.enqueuers import node_of
from hawb.study.kernel.host_ports import note_hosts
from hawb.study.kernel.hosting import call_elections, look_around, member_down, member_up, refresh, stop_member
from hawb.study.kernel.quorum import channel_down, consumer_lost, node_back
from hawb.study.kernel.quorum_state import FOLLOWERS_STOP, GONE, LINKS_SUSPECTED
from hawb.study.kernel.raft_log import is_member
from hawb.study.kernel.state import (
    CLOSED,
    NEVER,
    NONE,
    TIMER,
    hand_to_engine,
    is_running,
    move_row,
    put_on_agenda,
    running_bits,
    runs_anywhere,
    schedule,
)

SUSPICION_US = inputs.SUSPICION_US


@inner
def members_down(t):
    """Update the groups after a node went down, noticed or not."""
    note_hosts(t)
    if t.setup.khepri:
        member_down(t, t.store)
    member_down(t, t.queue)


@inner
def members_noticed_down(t):
    """Let members without a leader set their election timers, after a node was noticed as down."""
    if t.setup.khepri:
        call_elections(t, t.store)
    call_elections(t, t.queue)


@inner
def fall_silent(t, node):
    """Schedule that the running nodes suspect a node without power."""
    put_on_agenda(t, SUSPICION_US, TIMER, LINKS_SUSPECTED, node, running_bits(t), 0, 0)
    refresh_groups(t)


@inner
def refresh_groups(t):
    """Update the leaders of the metadata store and of the queue that each side sees."""
    if t.setup.khepri:
        refresh(t, t.store)
    refresh(t, t.queue)


@inner
def suspect(t, node, others):
    """Let the failure detectors of `others`, as bits, suspect a node, as far as it is still silent."""
    found = False
    for other in range(t.setup.nodes):
        if others >> other & 1 and not (runs_anywhere(t, node) and runs_anywhere(t, other)):
            t.suspected[node] |= 1 << other
            t.suspected[other] |= 1 << node
            found = True
    if found:
        members_noticed_down(t)


@inner
def suspect_no_more(t, node):
    """Drop the suspicions of a node that is up."""
    t.suspected[node] = 0
    for other in range(t.setup.nodes):
        t.suspected[other] &= ~(1 << node)


@inner
def publishers_gone(t, dead):
    """Close the channels at nodes that went down: they receive no confirms, and send nothing again."""
    for node in range(t.setup.nodes):
        if dead >> node & 1:
            client_gone(t, node)
            channels_gone(t, node)


@inner
def channels_gone(t, node):
    """Drop the channels at a node: their proposals are not sent again."""
    left = 0
    for k in range(t.queue.registered):
        if node_of(t.registered[k, 0]) != node:
            move_row(t.registered, k, left)
            left += 1
    t.queue.registered = left
    for row in range(t.queue.waiting):
        if t.waiting[row].node == node:
            t.waiting[row].node = GONE
    drop_orphans(t, t.queue)


@inner
def clients_gone(t, gone, dead):
    """Close the consumer with its node."""
    if t.consumer.state != CLOSED and dead >> t.consumer.node & 1:
        consumer_lost(t)


@inner
def disconnect(t, node):
    """Close the clients' connections of a node that is drained."""
    client_gone(t, node)
    for k in range(t.queue.registered):
        if node_of(t.registered[k, 0]) == node and t.registered[k, 1] != NONE:
            t.registered[k, 1] = NEVER
    if t.consumer.node == node and t.consumer.state != CLOSED:
        channel_down(t)


@inner
def stop_members(t, node):
    """Stop a drained node's member: a leader if another node can lead, a follower except in 3.8.9.

    In 4.3 a follower stops once the other members have named the new leader, which for a single queue takes no time.
    """
    if is_member(t, t.queue, node):
        leads = t.members[node].role == LEADER
        if not leads and t.setup.drain_awaits_elections:
            schedule(t, 0, FOLLOWERS_STOP, node, t.nodes[node].boots)
        elif (leads and takes_leaders(t, node)) or (not leads and t.setup.drain_stops_members):
            stop_member(t, t.queue, node)


@inner
def followers_stop(t, node, boots):
    """Stop the following member of a node that is still drained."""
    if t.nodes[node].drained and t.nodes[node].boots == boots and runs_anywhere(t, node):
        stop_member(t, t.queue, node)


@inner
def takes_leaders(t, node):
    """Return True if any other node runs and is not drained."""
    for other in range(t.setup.nodes):
        if other != node and is_running(t, other) and not t.nodes[other].drained:
            return True
    return False


@inner
def return_to_queues(t, node, others):
    """Start a node's member, which leaders see again.

    If the first node to boot has none, the trial falls back to the engine: the queue's record is then on disks only,
    except with Khepri (`hawb.engine.cluster.booting_ports.load_group_record`).
    """
    if not others and not t.queue.recorded >> node & 1 and not t.setup.khepri:
        hand_to_engine(t)
    note_hosts(t)
    start_member(t, node)
    node_back(t, node)


@inner
def start_member(t, node):
    """Start a node's member, after leaders of the metadata store have sent what they could not send before."""
    suspect_no_more(t, node)
    if t.setup.khepri:
        look_around(t, t.store)
    member_up(t, t.queue, node)
