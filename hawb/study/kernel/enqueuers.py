"""Channels that publish, which the queue gets to know first: `hawb.engine.enqueuers` for a queue without limits."""

from __future__ import annotations

from hawb.engine import enqueuers
from hawb.study.compiled import inner
from hawb.study.kernel.channels import answer
from hawb.study.kernel.host_ports import hosted, is_planned
from hawb.study.kernel.quorum_group import is_from, row_of, withdraw
from hawb.study.kernel.quorum_state import (
    AT_NODE,
    GONE,
    MAJORITY_REACHED,
    OWNER,
    PROPOSAL,
    PUT_AFTER,
    PUT_COUNT,
    REGISTRATION_GIVEN_UP,
    SENT_BY,
)
from hawb.study.kernel.raft_log import bits_in
from hawb.study.kernel.state import (
    KIND,
    NEVER,
    NOBODY,
    PUBLISH,
    REACTION,
    TIMER,
    D,
    is_running,
    link_us,
    move_row,
    next_number,
    put,
    schedule,
)

BEYOND_TICKTIME_US = enqueuers.BEYOND_TICKTIME_US


# Channels that are to be known


@inner
def is_registered(t, owner):
    """Whether the queue knows a publisher's channel, as far as it has to."""
    if not t.setup.registers:
        return True
    for k in range(t.queue.registered):
        if t.registered[k, 0] == owner:
            return t.registered[k, 2] == NOBODY
    return False


@inner
def registration(t, owner, node):
    """Which row says what is known of a publisher's channel: its number, its node, and NOBODY once the queue knows it;
    or else the leader that it asks."""
    for k in range(t.queue.registered):
        if t.registered[k, 0] == owner:
            return k
    if t.queue.registered > len(t.registered) // 2:
        forget_channels(t)
    row = t.queue.registered
    if row == len(t.registered):
        raise OverflowError("more channels than a trial has room for")
    t.registered[row, 0], t.registered[row, 1], t.registered[row, 2] = owner, node, NEVER
    t.queue.registered += 1
    return row


@inner
def forget_channels(t):
    """Channels of publishers that are gone, and of which nothing is on its way."""
    left = 0
    for k in range(t.queue.registered):
        if is_needed(t, t.registered[k, 0]):
            move_row(t.registered, k, left)
            left += 1
    t.queue.registered = left


@inner
def is_needed(t, owner):
    """Whether a publisher is there, or something of it is on its way."""
    if owner == t.publisher.number:
        return True
    for row in range(t.queue.waiting):
        if is_from(t.waiting[row], owner):
            return True
    for row in range(t.moment.agenda):
        if t.agenda[row, KIND] == PUBLISH and t.agenda[row, D] == owner:
            return True
    return False


@inner
def register(t, owner, node):
    """A leader that can commit makes a channel known to the queue."""
    if t.setup.registers and not is_registered(t, owner) and not asks_in_vain(t, owner):
        t.registered[registration(t, owner, node), 2] = NOBODY


@inner
def asks_in_vain(t, owner):
    """Whether a channel asks the leader that there was for its version, whose node is down."""
    if not t.setup.asks_leader_first:
        return False
    for k in range(t.queue.registered):
        if t.registered[k, 0] == owner and t.registered[k, 2] >= 0 and t.registered[k, 2] != NEVER:
            return not is_running(t, t.registered[k, 2])
    return not is_running(t, t.queue.holder)


@inner
def registration_us(t, owner):
    """How long a channel waits to be known: it asks one member after the other that it reaches."""
    if asks_in_vain(t, owner):
        return 0
    return bits_in(hosted(t, t.queue)) * (t.setup.ticktime_us + BEYOND_TICKTIME_US)


@inner
def await_registration(t, owner, node):
    """A channel waits to be known, with the first message that it wants to send."""
    first = NOBODY
    for row in range(t.queue.waiting):
        if is_from(t.waiting[row], owner) and t.waiting[row, AT_NODE] != GONE:
            first = row
            break
    if first != NOBODY and not is_planned(t, t.queue, REGISTRATION_GIVEN_UP, t.waiting[first, PROPOSAL]):
        number, patience_us = t.waiting[first, PROPOSAL], registration_us(t, owner)
        put(t, patience_us, TIMER if patience_us else REACTION, REGISTRATION_GIVEN_UP, number, 0, 0, 0)
        if patience_us and t.queue.up:
            schedule(t, link_us(t, t.waiting[first, AT_NODE], t.queue.master), MAJORITY_REACHED, t.queue.master)
    known = t.registered[registration(t, owner, node)]
    if known[2] == NEVER:
        known[2] = t.queue.holder


@inner
def registration_given_up(t, number):
    """Nobody has made a channel known in time: the message that waited for it is rejected, and the channel tries again
    with the next, where it has nobody to ask with all of them."""
    row = row_of(t, number)
    if row == NOBODY or is_registered(t, t.waiting[row, OWNER]):
        return
    proposal = t.waiting[row]
    owner, node, client = proposal[OWNER], proposal[AT_NODE], proposal[SENT_BY]
    after, count = proposal[PUT_AFTER], proposal[PUT_COUNT]
    failed = min(1, count) if registration_us(t, owner) else count
    t.book.refused += failed
    if failed == count:
        withdraw(t, row)
    answer(t, node, after, failed, 1, 0)
    if failed < count:
        proposal[PROPOSAL], proposal[PUT_AFTER], proposal[PUT_COUNT] = next_number(t), after + failed, count - failed
    await_registration(t, owner, client)
