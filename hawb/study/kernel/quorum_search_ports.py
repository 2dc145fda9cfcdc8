"""What a group, its channels and its nodes need while stories are searched, where that is otherwise than in a trial:
links may be cut, nodes silent and disks lost. `ports`, `inputs` and `enqueuers` of `hawb.engine.raft_groups`,
and `hawb.engine.quorum.visibility`, for sets of messages that are bits."""

from __future__ import annotations

from hawb.engine.raft_groups import inputs
from hawb.study.compiled import inner
from hawb.study.kernel.asking import drop_orphans, is_in_sight, offer_again, set_unsent_aside
from hawb.study.kernel.channels import client_gone
from hawb.study.kernel.disks import keep_sides
from hawb.study.kernel.hosting import call_elections, level, look_around, member_down, member_up, refresh
from hawb.study.kernel.node_ports import focus_on, focused, sides
from hawb.study.kernel.quorum import ask_for
from hawb.study.kernel.quorum_group import withdraw
from hawb.study.kernel.quorum_nodes import suspect_no_more
from hawb.study.kernel.quorum_search_state import (
    has_node,
    link_bit,
    remember_at,
    with_node,
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
    NOBODY,
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

SUSPICION_US = inputs.SUSPICION_US
NOT_SENT = 1 << 62
"""In place of messages: what a leader has noticed itself."""

# Members and whom they reach


@inner
def is_member(t, g, node):
    """Whether the group has a member on a node, whether that runs or not."""
    return g.present >> node & 1 == 1


@inner
def hosted(t, g, *_):
    """The nodes whose members run, on whatever side."""
    bits = 0
    for node in range(t.setup.nodes):
        bits |= int(runs_anywhere(t, node)) << node
    return bits & g.present & ~g.stopped


@inner
def reached(t, g, node):
    """Those of them that get what is sent at a node."""
    bits = hosted(t, g)
    return bits & ~t.cut[node]


@inner
def in_sight(t, g):
    """Those of them that are reached from a running node of the side in focus."""
    here, running, seen = hosted(t, g), running_bits(t), 0
    for node in range(t.setup.nodes):
        if here >> node & 1 and running & ~t.cut[node]:
            seen |= 1 << node
    return seen


@inner
def last_sent(t, first, last):
    """The last entry of a message that begins with `first`: all that a log of a search has goes into one."""
    return last


@inner
def row_of_term(t, store, term):
    """The row of `terms` that says where a term begins."""
    return term % len(t.terms)


@inner
def crown(t, g, leader):
    """A member has been elected, which has all that was ever committed: no member comes back that has lost its disk."""
    if leader.last_index - 1 < g.applied or leader.term > t.notes.last_term:
        raise OverflowError("a leader that lacks what is committed, or of a term for which there is no room")
    t.contents[leader.id] = t.contents[g.holder]
    g.copies |= 1 << leader.id
    g.holder = leader.id


@inner
def note_abreast(t, g, abreast):
    """Those members hold what the queue does."""
    if abreast != g.abreast:
        g.abreast = abreast
        for node in range(t.setup.nodes):
            if abreast >> node & 1:
                t.contents[node] = t.contents[g.holder]
    return False


# Channels


@inner
def is_known(t, g, channel):
    """Whether the queue knows a channel, which is told by its node."""
    return has_node(g.known, channel)


@inner
def note_known(t, g, channel):
    """The queue gets to know a channel."""
    g.known = with_node(without_node(g.known, channel), channel)


@inner
def whom_it_asks(t, g, channel):
    """The node of the leader that a channel asks for its version; NOBODY where no channel does."""
    if not t.setup.asks_leader_first:
        return NOBODY
    return t.asks[channel] - 1 if t.asks[channel] else last_leader(t, g)


@inner
def note_asked(t, g, channel):
    """A channel goes on asking the leader that there is now, or was last."""
    if t.setup.asks_leader_first and not t.asks[channel]:
        t.asks[channel] = last_leader(t, g) + 1


@inner
def last_leader(t, g):
    """The leader that the records of the side in focus name: the one that it knows, or the last there was."""
    return g.holder if g.master == NOBODY else g.master


@inner
def silent_us(t, a, b):
    """How long it takes until the connection of two nodes, between which a link drops everything, is given up; 0 where
    it is by now."""
    for row in range(t.moment.agenda):
        if t.agenda[row, KIND] == LINKS_TIME_OUT:
            return t.agenda[row, TIME] - t.moment.now_us
    return 0


@inner
def messages_of(p):
    """The messages that a proposal is for; NOT_SENT where it is for none."""
    return p.after if p.asks == ENQUEUE else NOT_SENT


@inner
def is_chosen(p, by):
    """Whether a proposal is for some of these messages; NOBODY stands for all."""
    return messages_of(p) & by != 0


@inner
def sent_over(t, channel):
    """The messages that wait and were sent over a channel."""
    some = 0
    for row in range(t.queue.waiting):
        if t.waiting[row].asks == ENQUEUE and t.waiting[row].client == channel:
            some |= t.waiting[row].after
    return some


@inner
def offer_what_is_in_sight(t, leader):
    """What a leader, whose side is in focus, hears of gets to it."""
    some = 0
    for row in range(t.queue.waiting):
        if is_in_sight(t, t.queue, t.waiting[row]):
            some |= messages_of(t.waiting[row])
    offer_again(t, t.queue, leader, some)


@inner
def refuse_orphan(t, g, p):
    """The messages of a proposal were never taken, since their client's node is gone."""
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
    """Let the message of a proposal that was set aside be pending again: its channel sends it to a leader."""
    if p.asks == ENQUEUE and not g.pending & p.after:
        g.pending |= p.after
        t.ledger.refused &= ~p.after


@inner
def reject_first(t, g, p, most):
    """A channel does not send the one message of a proposal, and says so to its publisher."""
    node, some, number = p.node, p.after, p.number
    look_from(t, node)
    withdraw(t, g, number)
    g.pending &= ~some
    t.ledger.refused |= some
    answer(t, node, some, 1, 0)


@inner
def answer(t, client, some, rejected, delay_us):
    """The queue has decided about messages that a channel sent, whose answer arrives so much later."""
    for k in range(t.moment.awaiting):
        row = t.awaiting[k]
        if row[CLIENT] == client and row[AFTER_OF] & some:
            row[NUMBER_OF], row[DUE], row[REJECTED] = next_number(t), t.moment.now_us + delay_us, rejected
            schedule(t, delay_us, CONFIRMS_DUE, row[NUMBER_OF], client)


# Nodes and clients that go


@inner
def members_down(t):
    """Members are gone, noticed or not."""
    member_down(t, t.queue)


@inner
def members_missed(t):
    """Somebody is known to be gone."""
    call_elections(t, t.queue)


@inner
def remember(t, node):
    """A node that goes down keeps the records as they are now."""
    look_from(t, node)
    remember_at(t, node)
    t.notes.remembers |= 1 << node


@inner
def channels_gone(t, node):
    """The channels at a node are gone: nobody sends again what they have asked."""
    t.queue.known = without_node(t.queue.known, node)
    for row in range(t.queue.waiting):
        if t.waiting[row].node == node:
            t.waiting[row].node = GONE
    drop_orphans(t, t.queue)


@inner
def clients_gone(t, gone, dead):
    """Connections to nodes are gone, with what waits in them. Of nodes on another side leaders take clients for out of
    reach."""
    for node in range(t.setup.nodes):
        if dead >> node & 1:
            t.net.connected &= ~(1 << node)
            t.asks[node] = 0
            forget_held_back(t, node)
        elif gone >> node & 1 and t.queue.up and is_here(t, t.queue.master):
            ask_for(t, SUSPECTS, NOBODY, NOBODY, node, 0)


@inner
def forget_held_back(t, node):
    """What waited in a node's channels never gets to the queue."""
    left = 0
    for k in range(t.queue.held_back):
        if t.held_back[k] != node:
            t.held_back[left] = t.held_back[k]
            left += 1
    t.queue.held_back = left


@inner
def lose_disk_of(t, node):
    """The disk of a node that is down is lost."""
    look_from(t, node)
    t.moment.virgin |= 1 << node
    t.notes.remembers &= ~(1 << node)
    if is_member(t, t.queue, node):
        t.queue.present &= ~(1 << node)
        t.queue.drawn_for = NOBODY
        schedule(t, 0, LOG_CUT)
        refresh(t, t.queue)
        level(t, t.queue)
    keep_sides(t, 0)


@inner
def return_to_queues(t, node, others):
    """A node's member joins its group; what the node remembered does not matter any more. Raises OverflowError where
    the first node to come up has none, so that the queue's record is on disks alone
    (`hawb.engine.cluster.booting_ports.load_group_record`)."""
    if not others and not is_member(t, t.queue, node):
        raise OverflowError("the queue's record is on disks alone")
    t.notes.remembers &= ~(1 << node)
    suspect_no_more(t, node)
    member_up(t, t.queue, node)


# Links


@inner
def suspect_later(t, links):
    """Links, or the nodes at their ends, have fallen silent; it takes a while until that is suspected."""
    put_on_agenda(t, SUSPICION_US, TIMER, LINKS_SUSPECTED, links, 0, 0, 0)
    refresh(t, t.queue)


@inner
def fall_silent(t, node):
    """A node says nothing any more, and those that run hear nothing."""
    links = 0
    for other in range(t.setup.nodes):
        links |= link_bit(node, other) * int(is_running(t, other))
    suspect_later(t, links)


@inner
def be_silent(t, ends):
    """Members hear nothing over these links."""
    links = 0
    for a in range(t.setup.nodes):
        for b in range(a + 1, t.setup.nodes):
            links |= link_bit(a, b) * (ends[a] >> b & 1)
    suspect_later(t, links)


@inner
def suspect(t, links):
    """The failure detector has heard nothing over these links for long enough, as far as they are still silent."""
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
    """Members reach each other again, and channels that had not lost sight of anybody learn who leads."""
    for node in range(t.setup.nodes):
        t.suspected[node] = 0
    look_around(t, t.queue)
    focus = focused(t)
    for side in sides(t):
        if focus_on(t, side) and t.queue.master != NOBODY and is_here(t, t.queue.master):
            offer_what_is_in_sight(t, t.queue.master)
    focus_on(t, focus)
    set_unsent_aside(t, t.queue)


@inner
def give_up_what_waited(t):
    """Who leads depends on links that have been given up."""
    refresh(t, t.queue)


@inner
def drop_side(t, side, entry):
    """A side's view is gone."""
    for place in range(len(t.kept_side)):
        if t.kept_side[place] == side:
            t.kept_side[place] = 0
    t.net.sides -= 1


@inner
def publishers_gone(t, dead):
    """Channels at nodes that are gone will never hear what became of what they sent, and nobody sends it again."""
    for node in range(t.setup.nodes):
        if dead >> node & 1:
            client_gone(t, node)
            channels_gone(t, node)
