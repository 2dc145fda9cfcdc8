"""Ports of a group, its channels and its nodes in a search, where they differ from those of a trial.

Links may be cut, nodes silent and disks lost. They are `ports`, `inputs` and `enqueuers` of `hawb.engine.raft_groups`,
and `hawb.engine.quorum.visibility`, for sets of messages as bits.
"""

from __future__ import annotations

from hawb.engine.raft_groups import enqueuers, unregistered
from hawb.study.compiled import Binding, inner
from hawb.study.kernel import quorum_search_channels
from hawb.study.kernel.asking import ASKING, is_in_sight, offer_again
from hawb.study.kernel.quorum_group import withdraw
from hawb.study.kernel.quorum_search_state import (
    MOST_TERMS,
)
from hawb.study.kernel.quorum_state import (
    AFTER_OF,
    CLIENT,
    DUE,
    ENQUEUE,
    NUMBER_OF,
    REJECTED,
)
from hawb.study.kernel.state import (
    CONFIRMS_DUE,
    look_from,
    next_number,
    schedule,
)

UNREGISTERED = Binding(enqueuers.PORTS_OF_SEARCHES, quorum_search_channels, ASKING)
learns_of_leaders, gets_to_leader, note_sender, note_taken = map(UNREGISTERED.of, (
    unregistered.learns_of_leaders, unregistered.gets_to_leader, unregistered.note_sender, unregistered.note_taken,
))  # fmt: skip

NOT_SENT = 1 << 62
"""In place of messages: a leader's own proposal."""

# Members


@inner
def recorded(t, g):
    """Return the members in the queue's record, as bits; 0 for the metadata store, which has none."""
    return 0 if g.store else t.setup.members


@inner
def begin_member(t, g, node, members):
    """Raise OverflowError: no member comes back that has lost its disk."""
    raise OverflowError("a member that comes back with an empty disk")


@inner
def last_sent(t, first, last):
    """Return the last entry of a message that begins with `first`: all that a log of a search has fits into one."""
    return last


@inner
def row_of_term(t, store, term):
    """Return the row of `terms` with the beginning of a term."""
    return term % MOST_TERMS + store * MOST_TERMS


@inner
def crown(t, g, leader):
    """Record the election of a leader, which has all that was ever committed.

    No member comes back that has lost its disk. Raise OverflowError if it lacks a committed entry, or for too high a
    term.
    """
    if leader.last_index - 1 < g.applied or leader.term > g.last_term:
        raise OverflowError("a leader that lacks what is committed, or of a term for which there is no room")
    if g.store:
        return
    t.contents[leader.id] = t.contents[g.holder]
    g.copies |= 1 << leader.id
    g.holder = leader.id


@inner
def note_abreast(t, g, abreast):
    """Give members that have caught up what the queue holds."""
    if not g.store and abreast != g.abreast:
        g.abreast = abreast
        for node in range(t.setup.nodes):
            if abreast >> node & 1:
                t.contents[node] = t.contents[g.holder]
    return False


# Channels


@inner
def messages_of(p):
    """Return the messages of a proposal; NOT_SENT if it has none."""
    return p.after if p.asks == ENQUEUE else NOT_SENT


@inner
def is_chosen(p, by):
    """Return True if a proposal is for some of these messages; NONE stands for all."""
    return messages_of(p) & by != 0


@inner
def sent_by_informed(t):
    """Return the waiting messages of channels that a new leader informs, and NOT_SENT for what a leader proposes."""
    some = 0
    for row in range(t.queue.waiting):
        if learns_of_leaders(t, t.queue, t.waiting[row].channel):
            some |= messages_of(t.waiting[row])
    return some


@inner
def sent_over(t, channel):
    """Return the waiting messages that were sent over a channel."""
    some = 0
    for row in range(t.queue.waiting):
        if t.waiting[row].asks == ENQUEUE and t.waiting[row].client == channel:
            some |= t.waiting[row].after
    return some


@inner
def offer_what_is_in_sight(t, leader, arrives):
    """Offer a leader, whose side is the current one, the proposals that it receives.

    With `arrives`, links work again, and what was sent to this leader before arrives too.
    """
    some, informed = 0, sent_by_informed(t)
    for row in range(t.queue.waiting):
        p = t.waiting[row]
        knows = messages_of(p) & informed != 0 or (arrives and p.asks == ENQUEUE and t.asks[p.channel] == leader + 1)
        if knows and is_in_sight(t, t.queue, p):
            some |= messages_of(p)
    offer_again(t, t.queue, leader, some)


@inner
def refuse_orphan(t, g, p):
    """Count the messages of a proposal as refused: they were never taken, since their client's node is gone."""
    if p.asks == ENQUEUE and g.pending & p.after:
        g.pending &= ~p.after
        t.ledger.refused |= p.after


@inner
def set_aside(t, g, p):
    """Count the message of a proposal as refused, while its channel keeps it."""
    if p.asks == ENQUEUE and g.pending & p.after:
        g.pending &= ~p.after
        t.ledger.refused |= p.after


@inner
def take_up(t, g, p):
    """Make the message of a proposal that was set aside pending again: its channel sends it to a leader."""
    if p.asks == ENQUEUE and not g.pending & p.after:
        g.pending |= p.after
        t.ledger.refused &= ~p.after


@inner
def reject_first(t, g, p, most):
    """Let a channel reject the one message of a proposal to its publisher."""
    node, some, number = p.node, p.after, p.number
    look_from(t, node)
    withdraw(t, g, number)
    g.pending &= ~some
    t.ledger.refused |= some
    answer(t, node, some, 1, 0)


@inner
def answer(t, client, some, rejected, delay_us):
    """Answer messages that a channel sent, after `delay_us`."""
    for k in range(t.moment.awaiting):
        row = t.awaiting[k]
        if row[CLIENT] == client and row[AFTER_OF] & some:
            row[NUMBER_OF], row[DUE], row[REJECTED] = next_number(t), t.moment.now_us + delay_us, rejected
            schedule(t, delay_us, CONFIRMS_DUE, row[NUMBER_OF], client)
