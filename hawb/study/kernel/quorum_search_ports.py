"""Ports of a group, its channels and its nodes in a search, where they differ from those of a trial.

Links may be cut, nodes silent and disks lost. They are `ports`, `inputs` and `enqueuers` of `hawb.engine.raft_groups`,
and `hawb.engine.quorum.visibility`, for sets of messages as bits.
"""

from __future__ import annotations

from hawb.engine.raft_groups import enqueuers, inputs, unregistered
from hawb.study.compiled import Binding, inner
from hawb.study.kernel import quorum_search_channels
from hawb.study.kernel.asking import ASKING, drop_orphans, is_in_sight, offer_again, set_unsent_aside
from hawb.study.kernel.channels import client_gone
from hawb.study.kernel.disks import keep_sides
from hawb.study.kernel.hosting import call_elections, level, look_around, member_down, member_up, refresh
from hawb.study.kernel.node_ports import focus_on, focused, sides
from hawb.study.kernel.quorum import ask_for
from hawb.study.kernel.quorum_group import withdraw
from hawb.study.kernel.quorum_nodes import suspect_no_more
from hawb.study.kernel.quorum_search_state import (
    link_bit,
    remember_at,
    without_node,
)
from hawb.study.kernel.quorum_state import (
    AFTER_OF,
    CLIENT,
    DUE,
    ENQUEUE,
    GONE,
    LINKS_SUSPECTED,
    LOG_CUT,
    NUMBER_OF,
    REJECTED,
    SUSPECTS,
)
from hawb.study.kernel.state import (
    CONFIRMS_DUE,
    KIND,
    LINKS_TIME_OUT,
    NONE,
    TIME,
    TIMER,
    is_here,
    is_running,
    linked,
    look_from,
    next_number,
    put_on_agenda,
    running_bits,
    runs_anywhere,
    schedule,
)

UNREGISTERED = Binding(enqueuers.PORTS_OF_SEARCHES, quorum_search_channels, ASKING)
hears_of_leaders, gets_to_leader, note_sender, note_taken = map(UNREGISTERED.of, (
    unregistered.hears_of_leaders, unregistered.gets_to_leader, unregistered.note_sender, unregistered.note_taken,
))  # fmt: skip

SUSPICION_US = inputs.SUSPICION_US
NOT_SENT = 1 << 62
"""In place of messages: a leader's own proposal."""

# Members


@inner
def is_member(t, g, node):
    """Return True if the group has a member on a node, whether it runs or not."""
    return g.present >> node & 1 == 1


@inner
def hosted(t, g, *_):
    """Return the nodes whose members run, on whatever side, as bits."""
    bits = 0
    for node in range(t.setup.nodes):
        bits |= int(runs_anywhere(t, node)) << node
    return bits & g.present & ~g.stopped


@inner
def reached(t, g, node):
    """Return the nodes whose members run and are reached from a node, as bits."""
    bits = hosted(t, g)
    return bits & ~t.cut[node]


@inner
def in_sight(t, g):
    """Return the nodes whose members run and are reached from a running node of the current side, as bits."""
    here, running, seen = hosted(t, g), running_bits(t), 0
    for node in range(t.setup.nodes):
        if here >> node & 1 and running & ~t.cut[node]:
            seen |= 1 << node
    return seen


@inner
def last_sent(t, first, last):
    """Return the last entry of a message that begins with `first`: all that a log of a search has fits into one."""
    return last


@inner
def row_of_term(t, store, term):
    """Return the row of `terms` with the beginning of a term."""
    return term % len(t.terms)


@inner
def crown(t, g, leader):
    """Record the election of a leader, which has all that was ever committed.

    No member comes back that has lost its disk. Raise OverflowError if it lacks a committed entry, or for too high a
    term.
    """
    if leader.last_index - 1 < g.applied or leader.term > t.notes.last_term:
        raise OverflowError("a leader that lacks what is committed, or of a term for which there is no room")
    t.contents[leader.id] = t.contents[g.holder]
    g.copies |= 1 << leader.id
    g.holder = leader.id


@inner
def note_abreast(t, g, abreast):
    """Give members that have caught up what the queue holds."""
    if abreast != g.abreast:
        g.abreast = abreast
        for node in range(t.setup.nodes):
            if abreast >> node & 1:
                t.contents[node] = t.contents[g.holder]
    return False


# Channels


@inner
def silent_us(t, a, b):
    """Return the time until the connection of two nodes over a cut link is given up; 0 if it has been."""
    for row in range(t.moment.agenda):
        if t.agenda[row, KIND] == LINKS_TIME_OUT:
            return t.agenda[row, TIME] - t.moment.now_us
    return 0


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
        if hears_of_leaders(t, t.queue, t.waiting[row].channel):
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


# Nodes and clients that are gone


@inner
def members_down(t):
    """Update the group after a node went down, noticed or not."""
    member_down(t, t.queue)


@inner
def members_noticed_down(t):
    """Let members without a leader set their election timers, after a node was noticed as down."""
    call_elections(t, t.queue)


@inner
def remember(t, node):
    """Keep the current records for a node that goes down."""
    look_from(t, node)
    remember_at(t, node)
    t.notes.remembers |= 1 << node


@inner
def channels_gone(t, node):
    """Drop the channels at a node: their proposals are not sent again."""
    t.queue.known = without_node(t.queue.known, node)
    for row in range(t.queue.waiting):
        if t.waiting[row].node == node:
            t.waiting[row].node = GONE
    drop_orphans(t, t.queue)


@inner
def clients_gone(t, gone, dead):
    """Close connections to nodes that are gone, with what waits in them.

    Leaders suspect clients of nodes on another side.
    """
    for node in range(t.setup.nodes):
        if dead >> node & 1:
            t.net.connected &= ~(1 << node)
            t.asks[node] = 0
            drop_awaiting_registration(t, node)
        elif gone >> node & 1 and t.queue.up and is_here(t, t.queue.master):
            ask_for(t, SUSPECTS, NONE, NONE, node, 0)


@inner
def drop_awaiting_registration(t, node):
    """Drop what waited in a node's channels."""
    left = 0
    for k in range(t.queue.awaiting_registration):
        if t.awaiting_registration[k] != node:
            t.awaiting_registration[left] = t.awaiting_registration[k]
            left += 1
    t.queue.awaiting_registration = left


@inner
def lose_disk_of(t, node):
    """Lose the disk of a node that is down."""
    look_from(t, node)
    t.moment.virgin |= 1 << node
    t.notes.remembers &= ~(1 << node)
    if is_member(t, t.queue, node):
        t.queue.present &= ~(1 << node)
        t.queue.drawn_for = NONE
        schedule(t, 0, LOG_CUT)
        refresh(t, t.queue)
        level(t, t.queue)
    keep_sides(t, 0)


@inner
def return_to_queues(t, node, others):
    """Start a node's member, and drop what the node remembered.

    Raise OverflowError if the first node to boot has none, so that the queue's record is on disks only
    (`hawb.engine.cluster.booting_ports.load_group_record`).
    """
    if not others and not is_member(t, t.queue, node):
        raise OverflowError("the queue's record is on disks alone")
    t.notes.remembers &= ~(1 << node)
    suspect_no_more(t, node)
    member_up(t, t.queue, node)


# Links


@inner
def suspect_later(t, links):
    """Schedule the suspicion of links, or of nodes at their ends, that have fallen silent."""
    put_on_agenda(t, SUSPICION_US, TIMER, LINKS_SUSPECTED, links, 0, 0, 0)
    refresh(t, t.queue)


@inner
def fall_silent(t, node):
    """Cut off a node without power: neither it nor the running nodes receive anything from each other."""
    links = 0
    for other in range(t.setup.nodes):
        links |= link_bit(node, other) * int(is_running(t, other))
    suspect_later(t, links)


@inner
def be_silent(t, ends):
    """Let members receive nothing over these links."""
    links = 0
    for a in range(t.setup.nodes):
        for b in range(a + 1, t.setup.nodes):
            links |= link_bit(a, b) * (ends[a] >> b & 1)
    suspect_later(t, links)


@inner
def suspect(t, links):
    """Let the failure detector suspect the nodes at the ends of these links, as far as the links are still silent."""
    found = 0
    for a in range(t.setup.nodes):
        for b in range(a + 1, t.setup.nodes):
            talk = linked(t, a, b) and runs_anywhere(t, a) and runs_anywhere(t, b)
            if links & link_bit(a, b) and not talk:
                t.suspected[a] |= 1 << b
                t.suspected[b] |= 1 << a
                found = 1
    if found:
        call_elections(t, t.queue)


@inner
def in_reach(t):
    """Let members reach each other again, and inform channels that had not lost sight of any node about leaders."""
    for node in range(t.setup.nodes):
        t.suspected[node] = 0
    look_around(t, t.queue)
    focus = focused(t)
    for side in sides(t):
        if focus_on(t, side) and t.queue.master != NONE and is_here(t, t.queue.master):
            offer_what_is_in_sight(t, t.queue.master, True)
    focus_on(t, focus)
    set_unsent_aside(t, t.queue)


@inner
def give_up_what_waited(t):
    """Update the leader after links have been given up."""
    refresh(t, t.queue)


@inner
def drop_side(t, side, entry):
    """Drop a side's view."""
    for place in range(len(t.kept_side)):
        if t.kept_side[place] == side:
            t.kept_side[place] = 0
    t.net.sides -= 1


@inner
def publishers_gone(t, dead):
    """Close the channels at nodes that went down: they receive no confirms, and send nothing again."""
    for node in range(t.setup.nodes):
        if dead >> node & 1:
            client_gone(t, node)
            channels_gone(t, node)
