"""What goes and comes with nodes where members of a quorum queue are: what is otherwise than in `departure` and
`arrival`."""

from __future__ import annotations

from hawb.raft.member import LEADER
from hawb.study.compiled import inner
from hawb.study.kernel.asking import drop_orphans
from hawb.study.kernel.channels import client_gone
from hawb.study.kernel.enqueuers import node_of
from hawb.study.kernel.host_ports import note_hosts
from hawb.study.kernel.hosting import call_elections, member_down, member_up, stop_member
from hawb.study.kernel.quorum import channel_down, consumer_lost, node_back
from hawb.study.kernel.quorum_state import GONE
from hawb.study.kernel.raft_log import is_member
from hawb.study.kernel.state import CLOSED, NEVER, NOBODY, hand_to_engine, is_running, move_row


@inner
def members_down(t):
    """Members are gone, noticed or not."""
    note_hosts(t)
    member_down(t, t.queue)


@inner
def members_missed(t):
    """Somebody is known to be gone."""
    call_elections(t, t.queue)


@inner
def publishers_gone(t, dead):
    """Channels at nodes that are gone will never hear what became of what they sent, and nobody sends it again."""
    for node in range(t.setup.nodes):
        if dead >> node & 1:
            client_gone(t, node)
            channels_gone(t, node)


@inner
def channels_gone(t, node):
    """The channels at a node are gone: nobody sends again what they have asked."""
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
    """The consumer is gone with its node."""
    if t.consumer.state != CLOSED and dead >> t.consumer.node & 1:
        consumer_lost(t)


@inner
def disconnect(t, node):
    """A node that is drained closes its clients' connections."""
    client_gone(t, node)
    for k in range(t.queue.registered):
        if node_of(t.registered[k, 0]) == node and t.registered[k, 1] != NOBODY:
            t.registered[k, 1] = NEVER
    if t.consumer.node == node and t.consumer.state != CLOSED:
        channel_down(t)


@inner
def stop_members(t, node):
    """Its member stops: one that leads if there is another node to lead, one that follows but in 3.8.9."""
    if is_member(t, t.queue, node):
        leads = t.members[node].role == LEADER
        if (leads and takes_leaders(t, node)) or (not leads and t.setup.drain_stops_members):
            stop_member(t, t.queue, node)


@inner
def takes_leaders(t, node):
    """Whether any other node runs and is not drained."""
    for other in range(t.setup.nodes):
        if other != node and is_running(t, other) and not t.nodes[other].drained:
            return True
    return False


@inner
def return_to_queues(t, node, others):
    """A node's member joins its group, and leaders see it again. Where the first node to come up has none the engine
    plays on: the queue's record is on disks alone then (`hawb.engine.booting.arrival.load_group_record`)."""
    if not others and not is_member(t, t.queue, node):
        hand_to_engine(t)
    note_hosts(t)
    member_up(t, t.queue, node)
    node_back(t, node)
