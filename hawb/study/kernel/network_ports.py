"""The ports of links and partitions (`hawb.engine.cluster.network_ports`), for the kernel.

It is for a trial of a classic queue in a network whose links may fail. No links are cut while others are.
"""

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
    is_earlier,
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
    NONE,
    NUMBER,
    TIMER,
    B,
    clients,
    count_times,
    hand_to_engine,
    link_us,
    look_at,
    move_row,
    next_number,
    put_on_agenda,
    schedule,
    unschedule,
)

__all__ = ["is_here"]
"""The ports from other modules."""

# Records of the current side


@inner
def queue_names(t):
    """Return the names of the current side's queues: one."""
    return range(1)


@inner
def classic_names(t):
    """Return the names of the current side's classic queues."""
    return queue_names(t)


@inner
def own(t, name):
    """Return the record of a queue."""
    return t.queue


# Cut links


@inner
def are_cut(t):
    """Return True if any link drops its messages."""
    return t.net.severed == 1


@inner
def break_links(t, ends, number):
    """Let links drop all messages from now on; `number` identifies this cut."""
    t.net.severed, t.net.cut_number = 1, number
    for node in range(t.setup.nodes):
        t.cut[node] |= ends[node]


@inner
def be_silent(t, ends):
    """Do nothing: there are no members of quorum queues."""


@inner
def time_out_later(t, number):
    """Schedule that the links of a cut are given up when net_ticktime is over."""
    put_on_agenda(t, t.setup.ticktime_us, TIMER, LINKS_TIME_OUT, number, 0, 0, 0)


@inner
def mend_links(t):
    """Mend all links; return the number of their cut."""
    t.net.severed = 0
    for node in range(t.setup.nodes):
        t.cut[node] = 0
    return t.net.cut_number


@inner
def withdraw_time_outs(t, number):
    """Unschedule the time-out of a cut on the current side."""
    unschedule(t, LINKS_TIME_OUT, number)


@inner
def receive_late(t, q):
    """Let mirrors that were not noticed as gone receive what was under way to them, and answer."""
    late, q.lagging = q.lagging, 0
    for k in range(q.mirrors):
        if late >> t.mirrors[k] & 1 and is_alive(t, q, t.mirrors[k]):
            replica_answers(t, t.mirrors[k], link_us(t, q.master, t.mirrors[k]))


@inner
def send_what_waited(t):
    """Deliver what was under way a link's latency later, each delivery by itself."""
    for client in clients(t):
        look_at(t, client)
        if t.net.deliveries:
            schedule(t, t.setup.link_us, DELIVERY_ARRIVES, t.net.sender, client)
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
    """Drop what was under way."""
    windows.clear(t.held_up)
    t.net.deliveries = 0


# Links given up after net_ticktime


@with_arrays
def cut_as(t, number):
    """Return the links of a cut that are still cut."""
    for node in range(t.setup.nodes):
        t.lost_links[node] = t.cut[node] if number == t.net.cut_number else 0
    return t.lost_links


@inner
def give_up_what_waited(t):
    """Drop deliveries under way on links that have been given up."""
    for client in clients(t):
        look_at(t, client)
        if t.net.deliveries and not sees(t, t.net.sender, t.net.receiver):
            forget_held_up(t)


# One side becomes several


@inner
def split_off(t, group, old):
    """Give a group of nodes records and scheduled events of its own, as those of their old side."""
    next_number(t)
    t.net.last_side, t.net.sides = t.net.last_side + 1, t.net.sides + 1
    put_aside(t, place_of_side(t, NO_SIDE), t.net.last_side)
    for node in range(t.setup.nodes):
        if group >> node & 1:
            t.nodes[node].side = t.net.last_side
    show_nodes(t)
    row = next_of_side(t, old, NONE)
    while row != NONE:
        plan_again(t, row)
        row = next_of_side(t, old, row)


@inner
def next_of_side(t, side, behind):
    """Return the row of a side's next event without a node, behind another in time; NONE if there is none."""
    best = NONE
    for row in range(t.moment.agenda):
        is_next = behind == NONE or is_earlier(t.agenda[behind], t.agenda[row])
        is_next &= best == NONE or is_earlier(t.agenda[row], t.agenda[best])
        if is_next and t.agenda[row, SIDE] == side and is_of_side(t.agenda[row, KIND]):
            best = row
    return best


@inner
def plan_again(t, row):
    """Schedule an event of a side on the last side, too."""
    if t.moment.agenda == len(t.agenda):
        raise OverflowError("more is planned than a trial has room for")
    again = t.moment.agenda
    move_row(t.agenda, row, again)
    t.agenda[again, NUMBER], t.agenda[again, SIDE] = next_number(t), t.net.last_side
    t.moment.agenda += 1


@inner
def keep_own_waiting(t, q):
    """Drop waiting operations of clients on another side, which wait there."""
    k = 0
    while k < q.waiting:
        if is_here(t, t.waiting[k, B]):
            k += 1
        else:
            unschedule(t, GIVE_UP, t.waiting[k, NUMBER])
            q.waiting = drop_row(t.waiting, q.waiting, k)


@inner
def lose_sight(t, q):
    """Remove a consumer on another side."""
    if not is_here(t, t.consumer.node):
        t.consumer.subscribed = t.consumer.handed = 0
    deliver(t, False, 0)


# Several sides become one


@inner
def bring_back(t, q, old):
    """Take a master for which this side waits from the disk of its node, which was on another side."""
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
    """Remove a node's copy from the side that it has left."""
    place = place_of_side(t, old)
    if t.kept[place].master == node:
        windows.clear(t.here)
        windows.copy_all(t.kept_content[place], t.here)
        windows.clear(t.kept_content[place])
        t.kept_handed[place] = 0
        give_up(t, t.here)


@inner
def can_go(t, side):
    """Return True if there is a side of that number, and another one."""
    return t.net.sides > 1 and partitioned_state.is_side(t, side)


@inner
def look_elsewhere(t, side):
    """Make another side the current one, if it is this."""
    for other in range(1, t.net.last_side + 1):
        if t.net.focus == side and other != side:
            focus_on(t, other)


@inner
def drop_side(t, side, entry):
    """Drop a side's records, and the messages and queues that only they have."""
    place = place_of_side(t, side)
    t.kept_side[place] = NO_SIDE
    t.net.sides -= 1
    count_times(t)
    give_up(t, t.kept_content[place])


# Lost disks


@inner
def has_copy(t, q, node):
    """Return True if a node has a copy of the queue. The disks of mirrors that are gone are not read."""
    return q.master == node


@inner
def lose_content(t, q, why):
    """Lose all messages of the queue, which waits for its master's node."""
    lose(t, 0, q.taken)


# Trace, and what no trial has

say_timed_out = say_partitioned = say_out_of_reach = say_taken_over = nothing
say_rejoined = remembers = restore_records = reclaim_records = nothing
"""No node is forced to boot from records that others have outlived."""


@inner
def take_in(t, best, side):
    """Do nothing: in a trial a cluster with Khepri has one side."""


@inner
def in_reach(t):
    """Do nothing: there are no members of quorum queues."""


@inner
def note_suspects(t, ends):
    """Do nothing: there are no members of quorum queues."""


@inner
def forget_recoverable(t, q):
    """Do nothing: no trial uses recoverable mirrors."""
