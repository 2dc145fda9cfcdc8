"""What goes and comes with nodes where members of a quorum queue are: what is otherwise than in `departure` and
`arrival`."""

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
    NOBODY,
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
    """Members are gone, noticed or not."""
    note_hosts(t)
    if t.setup.khepri:
        member_down(t, t.store)
    member_down(t, t.queue)


@inner
def members_missed(t):
    """Somebody is known to be gone."""
    if t.setup.khepri:
        call_elections(t, t.store)
    call_elections(t, t.queue)


@inner
def fall_silent(t, node):
    """A node says nothing any more; it takes a while until those that run suspect it."""
    put_on_agenda(t, SUSPICION_US, TIMER, LINKS_SUSPECTED, node, running_bits(t), 0, 0)
    if t.setup.khepri:
        refresh(t, t.store)
    refresh(t, t.queue)


@inner
def suspect(t, node, others):
    """The failure detectors of `others`, as bits, have heard nothing of a node for long enough, as far as it is still
    silent."""
    found = False
    for other in range(t.setup.nodes):
        if others >> other & 1 and not (runs_anywhere(t, node) and runs_anywhere(t, other)):
            t.suspected[node] |= 1 << other
            t.suspected[other] |= 1 << node
            found = True
    if found:
        members_missed(t)


@inner
def suspect_no_more(t, node):
    """A node is up."""
    t.suspected[node] = 0
    for other in range(t.setup.nodes):
        t.suspected[other] &= ~(1 << node)


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
    """Its member stops: one that leads if there is another node to lead, one that follows but in 3.8.9. In 4.3 that one
    stops once the others have been asked who leads, which for a lone queue takes no time."""
    if is_member(t, t.queue, node):
        leads = t.members[node].role == LEADER
        if not leads and t.setup.drain_awaits_elections:
            schedule(t, 0, FOLLOWERS_STOP, node, t.nodes[node].boots)
        elif (leads and takes_leaders(t, node)) or (not leads and t.setup.drain_stops_members):
            stop_member(t, t.queue, node)


@inner
def followers_stop(t, node, boots):
    """A node that is still drained stops its member, which follows."""
    if t.nodes[node].drained and t.nodes[node].boots == boots and runs_anywhere(t, node):
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
    plays on: the queue's record is on disks alone then, but for Khepri's
    (`hawb.engine.cluster.booting_ports.load_group_record`)."""
    if not others and not is_member(t, t.queue, node) and not t.setup.khepri:
        hand_to_engine(t)
    note_hosts(t)
    suspect_no_more(t, node)
    if t.setup.khepri:
        look_around(t, t.store)
    member_up(t, t.queue, node)
    node_back(t, node)
