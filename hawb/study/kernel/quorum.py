"""Clients' proposals to a quorum queue, and their execution once they are committed.

This is `requests` and `visibility` of `hawb.engine.quorum` for one queue without limits.
"""

from __future__ import annotations

from hawb.engine.classic import confirming
from hawb.engine.raft_groups import registration
from hawb.raft.member import NOWHERE
from hawb.study.compiled import inner, rule
from hawb.study.kernel.asking import ask, end_waiting, has_under_way, is_registered, offer_again, register
from hawb.study.kernel.channels import answer, await_batch, await_each, undecided
from hawb.study.kernel.closing import UNHINDERED, lag_us
from hawb.study.kernel.enqueuers import channel_at, to_be_known
from hawb.study.kernel.fifo import (
    NOT_LATE,
    deliver,
    hold_ended,
    note_row,
    put_behind,
    serve_gone_client,
    settle,
    subscribe,
    suspect_consumer,
    take_back,
    take_late,
    unsubscribe,
)
from hawb.study.kernel.hosting import commit_at_once, enter_at_once, is_led, refresh, takes_flows
from hawb.study.kernel.node_ports import focus_on, focused
from hawb.study.kernel.node_rules import is_up
from hawb.study.kernel.quorum_group import row_of, withdraw
from hawb.study.kernel.quorum_log import cut
from hawb.study.kernel.quorum_state import (
    ABANDONED,
    CHANNEL_DOWN,
    CONNECTION_FAILS,
    CONSUMES,
    ENQUEUE,
    ENQUEUED,
    HOLD_ENDED,
    NO_PROCESS,
    PROPOSAL_GIVEN_UP,
    REACHES,
    SETTLES,
    SUSPECTS,
)
from hawb.study.kernel.raft_log import bits_in
from hawb.study.kernel.state import (
    CLOSED,
    NEVER,
    NONE,
    STOPPING,
    is_here,
    is_running,
    link_us,
    linked,
    look_from,
    next_number,
    runs_anywhere,
    schedule,
)

BEYOND_TICKTIME_US = registration.BEYOND_TICKTIME_US

# Proposals

group_answer_us = rule(confirming.group_answer_us)


@inner
def ask_for(t, asks, node, channel, after, count):
    """Propose something for a channel at `node` (NOWHERE: for the leader itself)."""
    proposal = wait_behind(t, asks, node, channel, after, count)
    if asks == CONSUMES:
        schedule(t, t.setup.ticktime_us + BEYOND_TICKTIME_US, PROPOSAL_GIVEN_UP, proposal.number)
    ask(t, t.queue, proposal)


@inner
def wait_behind(t, asks, node, channel, after, count):
    """Add a proposal behind all others that wait; return its row."""
    row = t.queue.waiting
    if row == len(t.waiting):
        raise OverflowError("more waits for the queue than a trial has room for")
    proposal = t.waiting[row]
    proposal.number, proposal.asks, proposal.node, proposal.client = next_number(t), asks, node, node
    proposal.channel, proposal.after, proposal.count = channel, after, count
    t.queue.waiting += 1
    return proposal


@inner
def give_up_proposal(t, number):
    """End the connection of a client whose subscription has waited long enough."""
    row = row_of(t, number)
    if row != NONE:
        node = t.waiting[row].client
        withdraw(t, t.queue, number)
        schedule(t, 0, CONNECTION_FAILS, node)


@inner
def channel_down(t):
    """Let a leader that is linked to the consumer's node notice that the consumer's channel is gone."""
    t.consumer.state = CLOSED
    focus = focused(t)
    look_from_leader(t, t.consumer.node)
    ask_for(t, CHANNEL_DOWN, NOWHERE, NONE, 0, 0)
    focus_on(t, focus)


@inner
def look_from_leader(t, node):
    """Do nothing: in a whole network there is one side.

    Where links may fail, make the side of the latest leader current that is linked to a node, if there is one. NOWHERE
    stands for any node.
    """


@inner
def consumer_lost(t):
    """Handle the loss of the consumer's node.

    If the node was stopped, the leader learns that the channel is gone. If it died, the leader only knows that it is
    out of reach. Without a leader, the next one finds so.
    """
    node = t.consumer.node
    if is_led(t, t.queue) and t.nodes[node].status == STOPPING:
        channel_down(t)
    else:
        t.consumer.state = CLOSED
        suspect(t, node)


@inner
def is_undecided(t, asks, node):
    """Return True if a leader's observation about a node, or about any (NONE), is not decided yet."""
    for row in range(t.queue.waiting):
        if t.waiting[row].asks == asks and node in (NONE, t.waiting[row].after):
            return True
    return False


@inner
def suspect(t, node):
    """Propose that the leader has lost the connection to the consumer's node."""
    if is_led(t, t.queue) and not is_undecided(t, SUSPECTS, node):
        focus = focused(t)
        look_from_leader(t, NOWHERE)
        ask_for(t, SUSPECTS, NOWHERE, NONE, node, 0)
        focus_on(t, focus)


@inner
def is_known_dead(t):
    """Return True if the consumer died with its node, and the queue still knows it and that is not proposed yet."""
    known = t.consumer.state == CLOSED and (t.consumer.subscribed or t.held[0, 0])
    return known and not is_undecided(t, CHANNEL_DOWN, NONE) and not is_undecided(t, NO_PROCESS, NONE)


@inner
def look_for_channels(t, leader):
    """Let a new leader look for the consumer, and find that it is gone, or its node out of reach."""
    node = t.consumer.node
    if t.consumer.subscribed and not linked(t, leader, node) and runs_anywhere(t, node) and not is_here(t, node):
        ask_for(t, SUSPECTS, NOWHERE, NONE, node, 0)
    if not is_known_dead(t):
        return
    if is_up(t, node) and linked(t, leader, node):
        ask_for(t, NO_PROCESS, NOWHERE, NONE, 0, 0)
    else:
        suspect(t, node)


@inner
def node_back(t, node):
    """Handle a node that is up: a leader that reaches it first takes the consumer there for served again.

    It then finds that the consumer is gone.
    """
    if t.queue.master == NOWHERE or t.consumer.node != node or not t.consumer.suspected:
        return
    if not runs_anywhere(t, node) or not linked(t, node, t.queue.master):
        return
    dead = is_known_dead(t)
    ask_for(t, REACHES, NOWHERE, NONE, node, 0)
    if dead:
        ask_for(t, NO_PROCESS, NOWHERE, NONE, 0, 0)


@inner
def lose_channels_of(t, node):
    """Let the leader find that the consumer is gone that died with a node which is forgotten."""
    if t.consumer.node == node and is_known_dead(t):
        ask_for(t, NO_PROCESS, NOWHERE, NONE, 0, 0)


@inner
def connection_fails(t, node):
    """End the consumer's connection with an error."""
    if t.consumer.node == node and t.consumer.state != CLOSED:
        channel_down(t)


@inner
def hold_ends(t, leader):
    """Propose to take back what a consumer out of reach holds, if the leader still leads."""
    if t.queue.master == leader:
        ask_for(t, HOLD_ENDED, NOWHERE, NONE, 0, 0)


# Publishing


@inner
def is_in_reach(t, node):
    """Return True if what a channel at a node sends reaches a leader that can commit."""
    return t.queue.up == 1 and linked(t, node, t.queue.master)


@inner
def publish(t, count, node, owner):
    """Deliver a batch to the queue's channel."""
    after = t.book.published
    t.book.published += count
    if not is_running(t, node):
        t.book.refused += count
        return
    channel = channel_at(owner, node)
    if is_in_reach(t, node):
        register(t, t.queue, to_be_known(t, channel))
    ask_to_take(t, node, channel, after, count, False)
    if t.setup.confirms:
        await_batch(t, node, owner, after, count)


@inner
def ask_to_take(t, node, channel, after, count, flows):
    """Let a channel send messages, behind what it has sent and is not decided; what `flows` is committed at once."""
    if t.queue.master != NOWHERE and t.queue.waiting:
        offer_again(t, t.queue, t.queue.master, channel)
        look_from(t, node)
    if flows:
        proposal = wait_behind(t, ENQUEUE, node, channel, after, count)
        enter_at_once(t, t.queue, proposal, count, t.setup.size_bytes)
    else:
        ask_for(t, ENQUEUE, node, channel, after, count)
        if not is_in_reach(t, node):
            seek_leader_later(t, node, channel, count)


@inner
def seek_leader_later(t, node, channel, count):
    """Do nothing: in a whole network each leader has, or asks for, what a channel has sent."""


@inner
def come(t, q, p, count, more_room):
    """Deliver messages of the steady publisher to its channel, one by one.

    Those to a queue that can commit are committed by now, behind what the channel has under way.
    """
    publisher, after, channel = t.publisher, t.book.published, channel_at(t.publisher.number, t.publisher.node)
    t.book.published += count
    in_reach = is_in_reach(t, publisher.node)
    if in_reach:
        register(t, t.queue, to_be_known(t, channel))
    flows = in_reach and is_registered(t, t.queue, to_be_known(t, channel)) and takes_flows(t, t.queue)
    if flows and not has_under_way(t, t.queue, channel):
        commit_at_once(t, t.queue, ENQUEUED, count, t.setup.size_bytes)
        cut(t, True)
        put_behind(t.ready, after, after + count)
        answers_us = group_answer_us(t, q, p.node, bits_in(t.queue.recorded) - 1, t.setup.persistent)
        await_each(t, p, after, count, lag_us(t, p) + answers_us)
        return
    ask_to_take(t, publisher.node, channel, after, count, flows)
    await_each(t, p, after, count, NEVER)


@inner
def credit(t, q, p):
    """Return how many more messages the publisher's channel may send; UNHINDERED if there is no limit."""
    return UNHINDERED if is_in_reach(t, p.node) else max(0, t.setup.soft_limit + 1 - undecided(t))


@inner
def answers(t, q, p):
    """Return True if a leader in reach can commit, and has decided all earlier messages of the publisher's channel."""
    return is_in_reach(t, p.node) and (t.setup.confirms == 0 or undecided(t) == 0)


# Committed proposals


@inner
def do_committed(t):
    """Execute committed proposals, one after the other."""
    done = 0
    while done < t.queue.committed:
        entry = t.committed[done]
        look_from_committer(t, done)
        number, asks, client = entry.number, entry.asks, entry.client
        after, count = entry.after, entry.count
        done += 1
        waits = end_waiting(t, t.queue, number)
        if asks == CONSUMES and not waits:
            asks = ABANDONED
        apply(t, asks, client, after, count)
        cut(t, asks == ENQUEUE)
        if done == t.queue.committed:
            t.queue.committed = done = 0
            refresh(t, t.queue)


@inner
def look_from_committer(t, k):
    """Do nothing: in a whole network the leader that has committed a proposal is on the one side."""


@inner
def lose(t, node):
    """Apply the command that the leader no longer sees a node.

    If the consumer died there and the node is back, its return stands behind that in the log.
    """
    back = is_running(t, node)
    if back and not (t.consumer.node == node and is_known_dead(t)):
        return
    suspect_consumer(t, node)
    if back:
        node_back(t, node)


@inner
def apply(t, asks, client, after, count):
    """Execute a committed command."""
    if asks == ENQUEUE:
        behind = take_late(t, after)
        if behind != NOT_LATE:
            t.queue.moved = note_row(t.moved, t.queue.moved, behind, after, after + count)
        put_behind(t.ready, after, after + count)
        answer(t, client, after, count, 0, link_us(t, t.queue.master, client))
        deliver(t, False, 0)
    elif asks == SETTLES:
        settle(t, count, False)
    elif asks == CONSUMES:
        subscribe(t, client)
    elif asks == CHANNEL_DOWN or (asks == NO_PROCESS and t.consumer.state == CLOSED):
        unsubscribe(t)
    elif asks == SUSPECTS:
        lose(t, after)
    elif asks == REACHES:
        take_back(t, after)
    elif asks == HOLD_ENDED:
        hold_ended(t)
    elif asks == NO_PROCESS:
        return
    else:
        serve_gone_client(t)
