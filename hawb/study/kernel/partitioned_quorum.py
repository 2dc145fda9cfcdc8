"""Ports and functions of a quorum queue's trial where links may fail, in place of those for a whole network.

These are `visibility`, `resending` and `out_of_reach` of `hawb.engine.quorum`, and `stopping_ports` and
`network_ports` of `hawb.engine.cluster`.
"""

from __future__ import annotations

from hawb.engine.quorum import resending
from hawb.study.compiled import inner
from hawb.study.kernel import channels, fifo, host_ports, quorum, windows
from hawb.study.kernel.asking import is_in_sight, offer_again, set_unsent_aside
from hawb.study.kernel.enqueuers import node_of
from hawb.study.kernel.fifo import lose_hand, put_behind, stretch, take_delivery
from hawb.study.kernel.hosting import latest_leader
from hawb.study.kernel.node_ports import focus_on, focused, sides
from hawb.study.kernel.node_rules import sees
from hawb.study.kernel.partitioned_quorum_state import DELIVERY, FROM_NODE, SENT_BY, TO_NODE
from hawb.study.kernel.partitioned_state import NO_SIDE, place_of_side
from hawb.study.kernel.quorum import ask_for, consumer_lost, node_back
from hawb.study.kernel.quorum_links import hosted, reached, see_members
from hawb.study.kernel.quorum_nodes import refresh_groups
from hawb.study.kernel.quorum_state import ENQUEUE, LEADER_SOUGHT, SUSPECTS
from hawb.study.kernel.state import (
    CLOSED,
    DELIVERY_ARRIVES,
    NEVER,
    NONE,
    TIMER,
    is_here,
    look_from,
    move_row,
    put_on_agenda,
    schedule,
)

PATIENCE_US = resending.PATIENCE_US
IN_SIGHT = -3
"""In place of a channel: the proposals that a leader receives."""

client_gone_at, connection_ends = channels.client_gone, quorum.connection_fails
commits, waits_behind, loses = host_ports.take_committed, quorum.wait_behind, fifo.lose

# Leaders


@inner
def look_from_leader(t, node):
    """Make the side of the latest leader current that is linked to a node, if there is one; NONE stands for any."""
    leader = latest_leader(t, t.queue, hosted(t, t.queue) if node == NONE else reached(t, t.queue, node))
    if leader != NONE:
        look_from(t, leader)


@inner
def take_committed(t, g, output):
    """Add newly committed proposals to those to execute, with the member that has committed them."""
    before = g.committed
    last = commits(t, g, output)
    for k in range(before, g.committed):
        t.committed_by[k] = output.source
    return last


@inner
def look_from_committer(t, k):
    """Make the side of the member current that has committed a proposal."""
    look_from(t, t.committed_by[k])


@inner
def count_times(t, g):
    """Start or stop counting the time for which the queue is out of service on all sides."""
    if g.store:
        return
    book, now_us, up = t.book, t.moment.now_us, g.up
    for place in range(len(t.kept_side)):
        up |= int(t.kept_side[place] != NO_SIDE) & t.kept_up[place]
    if up and book.down_since != NEVER:
        book.down_us, book.down_since = book.down_us + now_us - book.down_since, NEVER
    elif not up and book.down_since == NEVER and g.led:
        book.down_since = now_us
    g.led |= up


# Proposals


@inner
def wait_behind(t, asks, node, channel, after, count):
    """Add a proposal behind all others that wait; return its row."""
    proposal = waits_behind(t, asks, node, channel, after, count)
    proposal.aside = proposal.chosen = 0
    return proposal


@inner
def is_chosen(p, by):
    """Return True if a channel has sent a proposal, or a leader receives it (IN_SIGHT); NONE stands for all."""
    return by == NONE or p.channel == by or (by == IN_SIGHT and p.chosen == 1)


@inner
def offer_in_sight(t, leader):
    """Offer a leader, whose side is the current one, the proposals that it receives."""
    for row in range(t.queue.waiting):
        t.waiting[row].chosen = int(is_in_sight(t, t.queue, t.waiting[row]))
    offer_again(t, t.queue, leader, IN_SIGHT)


@inner
def refuse(t, p, count):
    """Count messages of a proposal as refused, unless they were set aside and count as refused already."""
    if not p.aside:
        t.book.refused += count


@inner
def set_aside(t, g, p):
    """Count the messages of a proposal as refused, while their channel keeps them."""
    if p.asks == ENQUEUE and not p.aside:
        p.aside = 1
        t.book.refused += p.count


@inner
def take_up(t, g, p):
    """Make the messages of a proposal that was set aside pending again: their channel sends them to a leader."""
    if p.asks == ENQUEUE and p.aside:
        p.aside = 0
        t.book.refused -= p.count


@inner
def pending(t):
    """Return how many messages are not decided yet, without those that were set aside."""
    count = 0
    for row in range(t.queue.waiting):
        if t.waiting[row].asks == ENQUEUE and not t.waiting[row].aside:
            count += t.waiting[row].count
    return count


# Channels that look for a leader


@inner
def seek_leader_later(t, node, channel, count):
    """Set the timer of a channel if the messages that it sends now are the first beyond the soft limit."""
    has = pending_of(t, channel)
    if t.setup.resends and t.net.severed and has - count <= t.setup.soft_limit < has:
        put_on_agenda(t, PATIENCE_US, TIMER, LEADER_SOUGHT, node, channel, 0, 0)


@inner
def pending_of(t, channel):
    """Return how many messages a channel has pending."""
    count = 0
    for row in range(t.queue.waiting):
        p = t.waiting[row]
        if p.asks == ENQUEUE and p.channel == channel and p.node == node_of(channel):
            count += p.count
    return count


@inner
def seek_leader(t, node, channel):
    """Send all pending messages again to the leader that the channel finds; without a leader set the timer again."""
    if pending_of(t, channel) < t.setup.soft_limit:
        return
    if t.queue.master == NONE:
        put_on_agenda(t, PATIENCE_US, TIMER, LEADER_SOUGHT, node, channel, 0, 0)
    else:
        offer_again(t, t.queue, t.queue.master, channel)


# Clients


@inner
def client_gone(t, node):
    """Close the connections of a node that is gone, or takes no clients any more."""
    t.net.connected &= ~(1 << node)
    client_gone_at(t, node)


@inner
def connection_fails(t, node):
    """End the consumer's connection to a node with an error."""
    t.net.connected &= ~(1 << node)
    connection_ends(t, node)


@inner
def clients_gone(t, gone, dead):
    """Close the consumer with its node. A leader on this side suspects clients of nodes on another side."""
    for node in range(t.setup.nodes):
        if dead >> node & 1:
            t.net.connected &= ~(1 << node)
            if t.consumer.node == node and t.consumer.state != CLOSED:
                consumer_lost(t)
        elif gone >> node & 1 and t.queue.up and is_here(t, t.queue.master):
            ask_for(t, SUSPECTS, NONE, NONE, node, 0)


# Deliveries behind cut links


@inner
def hold_up(t, sender):
    """Keep the messages in `hand` under way: the link between their sender and the client is cut."""
    row = t.net.under_way
    if row == len(t.under_way) or t.moment.sent + t.hand[0, 0] > len(t.sent):
        raise OverflowError("more is on its way than a trial has room for")
    t.net.held_up, t.net.under_way = t.net.held_up + 1, row + 1
    t.under_way[row, DELIVERY], t.under_way[row, SENT_BY] = -t.net.held_up, sender
    t.under_way[row, FROM_NODE], t.under_way[row, TO_NODE] = sender, t.consumer.node
    for k in range(1, t.hand[0, 0] + 1):
        row = t.moment.sent
        t.sent[row, 0], t.sent[row, 1], t.sent[row, 2] = -t.net.held_up, t.hand[k, 0], t.hand[k, 1]
        t.moment.sent += 1


@inner
def send_what_waited(t):
    """Deliver what was under way a link's latency later, each delivery by itself."""
    for k in range(t.net.under_way):
        schedule(t, t.setup.link_us, DELIVERY_ARRIVES, t.under_way[k, SENT_BY])
        for row in range(t.moment.sent):
            if t.sent[row, 0] == t.under_way[k, DELIVERY]:
                t.sent[row, 0] = t.moment.counter
    t.net.under_way = 0


@inner
def give_up_what_waited(t):
    """Update the leaders after links have been given up, and lose deliveries under way on them."""
    refresh_groups(t)
    left = 0
    for k in range(t.net.under_way):
        if sees(t, t.under_way[k, FROM_NODE], t.under_way[k, TO_NODE]):
            move_row(t.under_way, k, left)
            left += 1
        else:
            take_delivery(t, t.under_way[k, DELIVERY])
            lose_hand(t)
    t.net.under_way = left


# Messages that were returned while the consumer lives


@inner
def stale_count(t):
    """Return for how many messages that the queue has returned the consumer has still to answer."""
    return windows.total(t.stale)


@inner
def answer_stale(t, count):
    """Let the consumer's first answers be for stale messages; return how many answers are left."""
    while count > 0 and t.stale[0, 0]:
        after, last = windows.take_first(t.stale, count)
        count -= last - after
    return count


@inner
def note_stale(t):
    """Note that a consumer that lives still believes to hold what it has received and the queue is about to return."""
    if t.consumer.state != CLOSED:
        for k in range(1, t.held[0, 0] + 1):
            after, end = t.held[k, 0], t.held[k, 1]
            while after < end:
                last, known = stretch(t, after, end)
                if known:
                    put_behind(t.stale, after, last)
                after = last


@inner
def forget_stale(t):
    """Drop stale messages: the channel that would answer for them is gone."""
    windows.clear(t.stale)


@inner
def carry_stale(t):
    """Let the channel that takes a consumer's name answer for its stale messages in the order of their numbers."""
    windows.clear(t.fresh)
    windows.copy_all(t.stale, t.fresh)
    windows.clear(t.stale)
    windows.copy_all(t.fresh, t.stale)


@inner
def lose(t, after, last):
    """Note messages that do not arrive, which the queue still has."""
    loses(t, after, last)
    windows.remove(t.stale, after, last)


@inner
def late_answers(t, count):
    """Return for how many of the next `count` stale messages an answer counts, since they were delivered again."""
    if not t.setup.late_answers_count or not t.stale[0, 0]:
        return 0
    windows.clear(t.fresh)
    windows.copy_all(t.held, t.fresh)
    found = 0
    for k in range(1, t.stale[0, 0] + 1):
        after, last = t.stale[k, 0], min(t.stale[k, 1], t.stale[k, 0] + count)
        count -= max(0, last - after)
        found += windows.count_between(t.fresh, after, last)
    return found


# Links that work again


@inner
def in_reach(t):
    """Let members reach each other again, channels send again, and leaders see the consumer that they suspect."""
    see_members(t)
    focus = focused(t)
    for side in sides(t):
        if focus_on(t, side) and t.queue.master != NONE and is_here(t, t.queue.master):
            offer_in_sight(t, t.queue.master)
    focus_on(t, focus)
    set_unsent_aside(t, t.queue)
    if t.consumer.suspected:
        node_back(t, t.consumer.node)


@inner
def drop_side(t, side, entry):
    """Drop a side's view."""
    t.kept_side[place_of_side(t, side)] = NO_SIDE
    t.net.sides -= 1
    count_times(t, t.queue)
