"""What a trial is made of in a network that may be cut, beside what any trial has (`hawb.study.kernel.state`).

While nodes do not see each other they go on each side with records of their own. Functions read and write those of the
side in focus (`hawb.engine.core.turn`); those of the others are `kept` meanwhile.
"""

from __future__ import annotations

import numpy as np

from hawb.study.compiled import inner
from hawb.study.kernel import windows
from hawb.study.kernel.state import (
    AUTOMATIC_SYNC,
    CONSUMER_CLOSES,
    DEPTH_FELL,
    GIVE_UP,
    KIND,
    LINKS_TIME_OUT,
    LOOK_AROUND,
    MOST_NODES,
    MOST_PLANNED,
    MOST_WAITING,
    MOST_WINDOWS,
    NOBODY,
    POLICY_TAKES_EFFECT,
    QUEUE,
    REBALANCE,
    REPLICA_GONE,
    RUNNING,
    SYNC_FINISHED,
    TRIAL,
    A,
    move_row,
    put_on_agenda,
    record,
    strike_row,
)

ELSEWHERE = 6
"""The status of a node that runs on another side than the one in focus, beside `state`'s."""
SIDE = 8
"""The column of the agenda that says on which side something was planned."""
FIRST_SIDE, NO_SIDE = 1, 0
"""The number of the side that everybody is on at first, and what stands in place of one. Numbers are given once."""

NET = record("focus sides last_side severed cut_number connected sender receiver deliveries held_now")
"""The number of the side in focus, of how many and the last one; whether links drop everything, and the number of that;
the nodes to which clients have connections, as bits. Between which nodes deliveries are held up, how many, and whether
one is that is being sent."""

MOST_SIDES = MOST_NODES + 1
"""One more than there can be, for the side that leaves the focus as another comes into it."""


def fields() -> list[tuple]:
    """The fields of a trial: what `state.TRIAL` has in its order, with what is new before the tables or behind them."""
    known = [(name, *(TRIAL.fields[name][0].subdtype or (TRIAL.fields[name][0],))) for name in TRIAL.names]
    tables = TRIAL.names.index("content")
    per_side = (MOST_SIDES, MOST_NODES)
    return [
        *known[:tables], ("net", NET), *((name, np.int64, (MOST_NODES,)) for name in ("cut", "lost_links")),
        *((name, np.int64, (MOST_SIDES,)) for name in ("kept_side", "kept_handed", "kept_subscribed")),
        *((name, np.int64, (MOST_PLANNED, SIDE + 1)) if name == "agenda" else (name, *form)
          for name, *form in known[tables:]),
        *((name, np.int64, (MOST_WINDOWS, 2)) for name in ("behind", "held_up", "left", "gone", "here")),
        ("kept", QUEUE, (MOST_SIDES,)),
        *((f"kept_{name}", np.int64, per_side) for name in ("mirrors", "synchronised", "since")),
        *((f"kept_{name}", np.int64, (MOST_SIDES, MOST_WINDOWS, 2)) for name in ("content", "behind")),
        ("kept_unwritten", np.int64, (MOST_SIDES, MOST_WAITING + 1, 2)),
        ("kept_waiting", np.int64, (MOST_SIDES, MOST_WAITING, 8)),
    ]  # fmt: skip


PARTITIONED_TRIAL = np.dtype(fields())
"""One trial, in one piece of memory.

Of each node: to which others its links are `cut`, as bits. What the queue's `lagging`
mirrors, behind such links, hold is what was in the queue when these were cut (`behind`), as far as they had it; its
messages since `lag_from` are on their way to them. `held_up` are messages on their way to the consumer in the same way,
`left` those that have left the queue in an orderly way on one side while another still had them; `gone`, `here` and
`lost_links` are for one answer only. `kept` and all whose names begin so are the records of the sides that are not in
focus, in places
whose sides' numbers are `kept_side`.
"""

WORDS_BEFORE_TABLES = PARTITIONED_TRIAL.fields["content"][1] // 8
"""How many whole numbers of a trial stand before its tables, whose counts say what of them is in use."""


# Nodes and links


@inner
def linked(t, a, b):
    """Whether what one of two nodes sends reaches the other."""
    return not t.cut[a] >> b & 1


@inner
def is_here(t, node):
    """Whether a node belongs to the side in focus."""
    return t.nodes[node].side == t.net.focus


@inner
def runs_anywhere(t, node):
    """Whether a node runs, on whatever side."""
    return t.nodes[node].status == RUNNING or t.nodes[node].status == ELSEWHERE


@inner
def first_running(t):
    """The first node of all that runs; NOBODY if none does."""
    for node in range(t.setup.nodes):
        if runs_anywhere(t, node):
            return node
    return NOBODY


# The side in focus


@inner
def place_of_side(t, number):
    """Where the records of a side are kept; NOBODY if there is no such side, or it is in focus."""
    for place in range(len(t.kept_side)):
        if t.kept_side[place] == number:
            return place
    return NOBODY


@inner
def is_side(t, number):
    """Whether there is a side of that number."""
    return number == t.net.focus or place_of_side(t, number) != NOBODY


@inner
def focus_on(t, number):
    """Puts a side in focus; whether there is one of that number."""
    if number == t.net.focus:
        return True
    place = place_of_side(t, number)
    if number == NO_SIDE or place == NOBODY:
        return False
    put_aside(t, place_of_side(t, NO_SIDE), t.net.focus)
    take_up(t, place)
    return True


@inner
def put_aside(t, place, number):
    """Copies the records of the side in focus to a place, as those of the side of that number."""
    t.kept_side[place], t.kept[place] = number, t.queue
    t.kept_handed[place], t.kept_subscribed[place] = t.consumer.handed, t.consumer.subscribed
    copy_list(t.mirrors, t.kept_mirrors[place])
    copy_list(t.synchronised, t.kept_synchronised[place])
    copy_list(t.since, t.kept_since[place])
    copy_windows(t.content, t.kept_content[place])
    copy_windows(t.behind, t.kept_behind[place])
    copy_windows(t.unwritten, t.kept_unwritten[place])
    copy_rows(t.waiting, t.kept_waiting[place], t.queue.waiting)


@inner
def take_up(t, place):
    """Puts the side in focus whose records are kept at a place. What no side knows for itself stays as it is."""
    taken, stalled = t.queue.taken, t.queue.stalled
    t.queue = t.kept[place]
    t.queue.taken, t.queue.stalled = taken, stalled
    t.consumer.handed, t.consumer.subscribed = t.kept_handed[place], t.kept_subscribed[place]
    copy_list(t.kept_mirrors[place], t.mirrors)
    copy_list(t.kept_synchronised[place], t.synchronised)
    copy_list(t.kept_since[place], t.since)
    copy_windows(t.kept_content[place], t.content)
    copy_windows(t.kept_behind[place], t.behind)
    copy_windows(t.kept_unwritten[place], t.unwritten)
    copy_rows(t.kept_waiting[place], t.waiting, t.queue.waiting)
    t.net.focus, t.kept_side[place] = t.kept_side[place], NO_SIDE
    show_nodes(t)


@inner
def show_nodes(t):
    """Brings nodes' statuses in line with the side in focus."""
    for node in range(t.setup.nodes):
        if runs_anywhere(t, node):
            t.nodes[node].status = RUNNING if is_here(t, node) else ELSEWHERE


@inner
def copy_list(numbers, to):
    """Copies numbers."""
    for k in range(len(numbers)):
        to[k] = numbers[k]


@inner
def copy_rows(rows, to, count):
    """Copies the first rows of a table."""
    for k in range(count):
        for column in range(rows.shape[1]):
            to[k, column] = rows[k, column]


@inner
def copy_windows(rows, to):
    """Copies a set of messages."""
    copy_rows(rows, to, rows[0, 0] + 1)


@inner
def look_from(t, node):
    """Puts the side of a node in focus."""
    focus_on(t, t.nodes[node].side)


@inner
def look_from_outside(t):
    """Puts the side in focus on which everybody acts who names no node: that of the first node that runs."""
    first = first_running(t)
    if first != NOBODY:
        look_from(t, first)
    elif not focus_on(t, FIRST_SIDE):
        focus_on(t, oldest(t))


@inner
def oldest(t):
    """The number of the side that there has been for longest."""
    number = t.net.focus
    for place in range(MOST_SIDES):
        if t.kept_side[place] != NO_SIDE:
            number = min(number, t.kept_side[place])
    return number


# The agenda


@inner
def is_about_queue(kind):
    """Whether an event is one of the queue as such."""
    return kind in (POLICY_TAKES_EFFECT, AUTOMATIC_SYNC, SYNC_FINISHED, DEPTH_FELL, REPLICA_GONE, GIVE_UP)


@inner
def is_of_side(kind):
    """Whether an event happens on the side on which it was planned, and not where a node is."""
    return is_about_queue(kind) or kind in (LOOK_AROUND, REBALANCE, CONSUMER_CLOSES, LINKS_TIME_OUT)


@inner
def put_here(t, delay_us, priority, kind, a, b, c, d):
    """Puts something on the agenda, planned on the side in focus."""
    put_on_agenda(t, delay_us, priority, kind, a, b, c, d)
    t.agenda[t.moment.agenda - 1, SIDE] = t.net.focus


@inner
def unschedule(t, kind, a):
    """Takes all of a kind about `a` off the agenda, of what is of a side those of the side in focus; whether there was
    any."""
    found, of_sides = False, is_of_side(kind)
    for row in range(t.moment.agenda - 1, -1, -1):
        planned = t.agenda[row]
        if planned[KIND] == kind and planned[A] == a and (not of_sides or planned[SIDE] == t.net.focus):
            strike_row(t, row)
            found = True
    return found


@inner
def without_elsewhere(t, some):
    """Takes out of a set of messages what other sides than the one in focus have."""
    for place in range(MOST_SIDES):
        if t.kept_side[place] != NO_SIDE:
            without_messages(some, t.kept_content[place])


@inner
def without_messages(some, others):
    """Takes messages out of a set."""
    for k in range(1, others[0, 0] + 1):
        windows.strike_out(some, others[k, 0], others[k, 1])


@inner
def drop_row(rows, count, row):
    """Takes a row out of a list that keeps its order; how many are left."""
    for k in range(row, count - 1):
        move_row(rows, k + 1, k)
    return count - 1
