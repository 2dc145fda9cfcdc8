"""Channels that publish, and waiting proposals: `hawb.engine.raft_groups.enqueuers`, for a queue without limits.

A channel is a whole number made of its publisher and its node. `registered` has a row for each: the channel, and NONE
once the queue knows it, or else the node that it asks, or NEVER.
"""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel.channels import answer
from hawb.study.kernel.quorum_group import is_in_log, withdraw
from hawb.study.kernel.quorum_state import ENQUEUE, PROPOSAL_GIVEN_UP, REGISTRATION_GIVEN_UP
from hawb.study.kernel.silence import nothing
from hawb.study.kernel.state import (
    KIND,
    MOST_NODES,
    NEVER,
    NONE,
    PUBLISH,
    REACTION,
    TIMER,
    D,
    look_from,
    move_row,
    next_number,
    put_on_agenda,
)

__all__ = ["PROPOSAL_GIVEN_UP", "REGISTRATION_GIVEN_UP", "is_in_log", "withdraw"]
"""The ports from other modules."""

NO_CHANNEL = NONE
rejects = nothing
"""The queue is never full."""

# Channels


@inner
def channel_at(owner, node):
    """Return a publisher's channel at a node."""
    return owner * MOST_NODES + node


@inner
def node_of(channel):
    """Return the node at which a channel is."""
    return channel % MOST_NODES


@inner
def to_be_known(t, channel):
    """Return a channel if it has to be registered with the queue; NO_CHANNEL otherwise."""
    return channel if t.setup.registers else NO_CHANNEL


@inner
def channel_of(t, p):
    """Return the channel that has to be registered before a proposal reaches a leader; NO_CHANNEL if none has to be."""
    return to_be_known(t, p.channel)


@inner
def is_known(t, g, channel):
    """Return True if the queue knows a channel."""
    for k in range(g.registered):
        if t.registered[k, 0] == channel:
            return t.registered[k, 1] == NONE
    return False


@inner
def note_known(t, g, channel):
    """Register a channel with the queue."""
    t.registered[registration(t, channel), 1] = NONE


@inner
def asked_node(t, g, channel):
    """Return the node of the leader that a channel asks for its version; NONE in a release without that request."""
    if not t.setup.asks_leader_first:
        return NONE
    for k in range(g.registered):
        if t.registered[k, 0] == channel and t.registered[k, 1] >= 0 and t.registered[k, 1] != NEVER:
            return t.registered[k, 1]
    return last_leader(t, g)


@inner
def note_asked(t, g, channel):
    """Note that a channel goes on asking the present leader, or the last one."""
    row = registration(t, channel)
    if t.registered[row, 1] == NEVER:
        t.registered[row, 1] = last_leader(t, g)


@inner
def last_leader(t, g):
    """Return the leader that the current side's records name: the present one, or the last one."""
    return g.holder if g.master == NONE else g.master


@inner
def registration(t, channel):
    """Return the row of a channel's registration, a new one if there is none."""
    for k in range(t.queue.registered):
        if t.registered[k, 0] == channel:
            return k
    if t.queue.registered > len(t.registered) // 2:
        forget_channels(t)
    row = t.queue.registered
    if row == len(t.registered):
        raise OverflowError("more channels than a trial has room for")
    t.registered[row, 0], t.registered[row, 1] = channel, NEVER
    t.queue.registered += 1
    return row


@inner
def forget_channels(t):
    """Drop channels whose publishers are gone, and that have nothing under way."""
    left = 0
    for k in range(t.queue.registered):
        if is_needed(t, t.registered[k, 0]):
            move_row(t.registered, k, left)
            left += 1
    t.queue.registered = left


@inner
def is_needed(t, channel):
    """Return True if a channel's publisher is there, or it has something under way."""
    owner = channel // MOST_NODES
    if owner == t.publisher.number:
        return True
    for row in range(t.queue.waiting):
        if t.waiting[row].channel == channel:
            return True
    for row in range(t.moment.agenda):
        if t.agenda[row, KIND] == PUBLISH and t.agenda[row, D] == owner:
            return True
    return False


# Proposals


@inner
def is_chosen(p, by):
    """Return True if a channel has sent a proposal; NONE stands for all."""
    return by == NONE or p.channel == by


@inner
def plan_giving_up(t, g, p, patience_us):
    """Schedule when a channel gives up the registration for which a message waits."""
    put_on_agenda(t, patience_us, TIMER if patience_us else REACTION, REGISTRATION_GIVEN_UP, p.number, 0, 0, 0)


@inner
def refuse_orphan(t, g, p):
    """Count the messages of a proposal as refused: they were never taken, since their client's node is gone."""
    if p.asks == ENQUEUE:
        refuse(t, p, p.count)


@inner
def refuse(t, p, count):
    """Count messages of a proposal as refused."""
    t.book.refused += count


@inner
def set_aside(t, g, p):
    """Do nothing: no channel of a trial is cut off from a leader, so each sends again what a leader lacks."""


@inner
def take_up(t, g, p):
    """Do nothing: nothing was set aside."""


@inner
def silent_us(t, a, b):
    """Return 0: no link is cut."""
    return 0


@inner
def reject_first(t, g, p, most):
    """Let a channel reject up to `most` messages of a proposal; the rest stays in its place."""
    node, after, count, left = p.node, p.after, min(most, p.count), p.count - min(most, p.count)
    look_from(t, node)
    refuse(t, p, count)
    if not left:
        withdraw(t, g, p.number)
    answer(t, node, after, count, 1, 0)
    if left:
        p.number, p.after, p.count = next_number(t), after + count, left
