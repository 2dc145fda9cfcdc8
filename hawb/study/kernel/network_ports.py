"""What links and sides need of the kernel: `hawb.engine.cluster.network_ports`, for a trial of a classic queue in a
network that may be cut. No links are cut while others are."""

from __future__ import annotations

from hawb.study.compiled import inner, with_arrays
from hawb.study.kernel import partitioned_state, windows
from hawb.study.kernel.books import give_up
from hawb.study.kernel.copies import lose
from hawb.study.kernel.deliveries import deliver, note_sent
from hawb.study.kernel.links import replica_answers
from hawb.study.kernel.node_rules import sees
from hawb.study.kernel.partitioned_state import (
    NO_SIDE,
    SIDE,
    drop_row,
    focus_on,
    is_here,
    is_of_side,
    place_of_side,
    put_aside,
    show_nodes,
)
from hawb.study.kernel.record_ports import is_alive
from hawb.study.kernel.silence import nothing
from hawb.study.kernel.state import (
    DELIVERY_ARRIVES,
    GIVE_UP,
    KIND,
    LINKS_TIME_OUT,
    NUMBER,
    TIMER,
    B,
    count_times,
    hand_to_engine,
    link_us,
    move_row,
    next_number,
    put_on_agenda,
    schedule,
    unschedule,
)

__all__ = ["is_here"]
"""The ports that stand elsewhere."""

# Whose records


@inner
def queue_names(t):
    """The queues of the side in focus: one."""
    return range(1)


@inner
def classic_names(t):
    """Those of its queues that are no quorum queues."""
    return queue_names(t)


@inner
def own(t, name):
    """The record of one."""
    return t.queue


# Links that drop everything


@inner
def are_cut(t):
    """Whether any links drop everything."""
    return t.net.severed == 1


@inner
def break_links(t, ends, number):
    """Links drop everything from now on; `number` tells that from other times."""
    t.net.severed, t.net.cut_number = 1, number
    for node in range(t.setup.nodes):
        t.cut[node] |= ends[node]


@inner
def be_silent(t, ends):
    """Members of quorum queues hear nothing over links: there are none."""


@inner
def time_out_later(t, number):
    """What was cut under that number is given up when net_ticktime is over."""
    put_on_agenda(t, t.setup.ticktime_us, TIMER, LINKS_TIME_OUT, number, 0, 0, 0)


@inner
def mend_links(t):
    """All links work again; returns the number under which they were cut."""
    t.net.severed = 0
    for node in range(t.setup.nodes):
        t.cut[node] = 0
    return t.net.cut_number


@inner
def withdraw_time_outs(t, number):
    """What was planned on the side in focus for that number does not happen."""
    unschedule(t, LINKS_TIME_OUT, number)


@inner
def hear_late(t, q):
    """Mirrors that nobody had missed yet get what was on its way to them, and answer."""
    late, q.lagging = q.lagging, 0
    for k in range(q.mirrors):
        if late >> t.mirrors[k] & 1 and is_alive(t, q, t.mirrors[k]):
            replica_answers(t, t.mirrors[k], link_us(t, q.master, t.mirrors[k]))


@inner
def send_what_waited(t):
    """What was on its way arrives a link's latency later, each delivery by itself."""
    if t.net.deliveries:
        schedule(t, t.setup.link_us, DELIVERY_ARRIVES, t.net.sender)
        number = t.moment.counter
        if t.moment.sent + t.held_up[0, 0] > len(t.sent):
            hand_to_engine(t)
            return
        for k in range(1, t.held_up[0, 0] + 1):
            note_sent(t, number, t.held_up[k, 0], t.held_up[k, 1])
        t.moment.counter += t.net.deliveries - 1
        forget_held_up(t)


@inner
def forget_held_up(t):
    """Nothing is on its way any more."""
    windows.clear(t.held_up)
    t.net.deliveries = 0


# Links that are given up


@with_arrays
def cut_as(t, number):
    """The links that were cut under that number, and still are."""
    for node in range(t.setup.nodes):
        t.lost_links[node] = t.cut[node] if number == t.net.cut_number else 0
    return t.lost_links


@inner
def give_up_what_waited(t):
    """Deliveries on links that have been given up do not arrive any more."""
    if t.net.deliveries and not sees(t, t.net.sender, t.net.receiver):
        forget_held_up(t)


# One side becomes several


@inner
def split_off(t, group, old):
    """A group of nodes has records of its own from now on, as they were, and what was planned for them."""
    next_number(t)
    t.net.last_side, t.net.sides = t.net.last_side + 1, t.net.sides + 1
    put_aside(t, place_of_side(t, NO_SIDE), t.net.last_side)
    for node in range(t.setup.nodes):
        if group >> node & 1:
            t.nodes[node].side = t.net.last_side
    show_nodes(t)
    for row in range(t.moment.agenda):
        if t.agenda[row, SIDE] == old and is_of_side(t.agenda[row, KIND]):
            plan_again(t, row)


@inner
def plan_again(t, row):
    """What is planned on a side is planned on the last one, too."""
    if t.moment.agenda == len(t.agenda):
        raise OverflowError("more is planned than a trial has room for")
    again = t.moment.agenda
    move_row(t.agenda, row, again)
    t.agenda[again, NUMBER], t.agenda[again, SIDE] = next_number(t), t.net.last_side
    t.moment.agenda += 1


@inner
def keep_own_waiting(t, q):
    """What clients on another side asked for waits there."""
    k = 0
    while k < q.waiting:
        if is_here(t, t.waiting[k, B]):
            k += 1
        else:
            unschedule(t, GIVE_UP, t.waiting[k, NUMBER])
            q.waiting = drop_row(t.waiting, q.waiting, k)


@inner
def lose_sight(t, q):
    """A consumer on another side is gone from here."""
    if not is_here(t, t.consumer.node):
        t.consumer.subscribed = t.consumer.handed = 0
    deliver(t, False)


# Several sides become one


@inner
def bring_back(t, q, old):
    """The master that a side waits for comes from the disk of its node, which was on another."""
    place = place_of_side(t, old)
    if t.kept[place].master != q.master:
        hand_to_engine(t)
        return
    windows.clear(t.here)
    windows.copy_all(t.content, t.here)
    windows.clear(t.content)
    windows.copy_all(t.kept_content[place], t.content)
    t.consumer.handed = 0
    give_up(t, t.here)


@inner
def leave_side(t, old, node, entry):
    """A node's copy is no part any more of the side that it has left."""
    place = place_of_side(t, old)
    if t.kept[place].master == node:
        windows.clear(t.here)
        windows.copy_all(t.kept_content[place], t.here)
        windows.clear(t.kept_content[place])
        t.kept_handed[place] = 0
        give_up(t, t.here)


@inner
def can_go(t, side):
    """Whether there is a side of that number, and another one."""
    return t.net.sides > 1 and partitioned_state.is_side(t, side)


@inner
def look_elsewhere(t, side):
    """Puts another side than this in focus, if it is."""
    for other in range(1, t.net.last_side + 1):
        if t.net.focus == side and other != side:
            focus_on(t, other)


@inner
def drop_side(t, side, entry):
    """A side's records are gone, and what only they knew of."""
    place = place_of_side(t, side)
    t.kept_side[place] = NO_SIDE
    t.net.sides -= 1
    count_times(t)
    give_up(t, t.kept_content[place])


# Disks that are lost


@inner
def has_copy(t, q, node):
    """Whether a node has a copy of the queue: what is on the disks of mirrors that are gone nobody asks."""
    return q.master == node


@inner
def lose_content(t, q, why):
    """Nothing is left of what the queue holds, which waits for its master's node."""
    lose(t, 0, q.taken)


# What nobody is told, and what no trial has

say_timed_out = say_partitioned = say_out_of_reach = say_taken_over = nothing
remembers = restore_records = reclaim_records = rejoin = nothing
"""No node is made to boot from records that others have outlived, and sides of a cluster with Khepri there are none."""


@inner
def in_reach(t):
    """Nobody suspects anybody any more: there are no members of quorum queues."""


@inner
def note_suspects(t, ends):
    """The nodes at the ends of links suspect each other, which only such members heed."""


@inner
def forget_recoverable(t, q):
    """Who could be recovered offline no trial asks."""
