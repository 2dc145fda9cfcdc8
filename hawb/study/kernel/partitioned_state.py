"""The record of a trial in a network whose links may fail, beside that of any trial (`hawb.study.kernel.state`).

Each group of nodes that see each other continues as a side with records of its own. Functions read and write those of
the current side (`hawb.engine.core.turn`); those of the other sides are `kept` meanwhile.
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
    NONE,
    NUMBER,
    POLICY_TAKES_EFFECT,
    PRIORITY,
    QUEUE,
    REBALANCE,
    REPLICA_GONE,
    RUNNING,
    SYNC_FINISHED,
    TIME,
    TRIAL,
    A,
    move_row,
    put_on_agenda,
    record,
    remove_row,
)

ELSEWHERE = 6
"""The status of a node that runs on another side than the current one, beside `state`'s."""
SIDE = 8
"""The column of the agenda with the side on which an event was scheduled."""
FIRST_SIDE, NO_SIDE = 1, 0
"""The number of the side that all nodes are on at first, and no side. A number is given once."""

NET = record("focus sides last_side severed cut_number connected sender receiver deliveries held_now")
"""The current side's number, the number of sides, and the last side's number; whether links are cut, and the number of
that cut; the nodes to which clients have connections, as bits; between which nodes deliveries are held up, how many,
and whether the one being sent is."""

MOST_SIDES = MOST_NODES + 1
"""One more than there can be, for the old current side while another becomes current."""


def fields() -> list[tuple]:
    """Return the fields of a trial: those of `state.TRIAL` in their order, with new ones among them."""
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

For each node: the nodes to which its links are `cut`, as bits. The queue's `lagging` mirrors, behind such links, hold
what was in the queue when these were cut (`behind`), as far as they had it; its messages since `lag_from` are under
way to them. `held_up` are messages under way to the consumer in the same way, `left` those that have left the queue on
one side while another still had them; `gone`, `here` and `lost_links` are for one call only. `kept` and all fields
whose names begin so are the records of the other sides, in places whose sides' numbers are `kept_side`.
"""

WORDS_BEFORE_TABLES = PARTITIONED_TRIAL.fields["content"][1] // 8
"""The number of words before a trial's tables; their counts there are the numbers of rows in use."""


# Nodes and links


@inner
def linked(t, a, b):
    """Return True if messages between two nodes arrive."""
    return not t.cut[a] >> b & 1


@inner
def is_here(t, node):
    """Return True if a node belongs to the current side."""
    return t.nodes[node].side == t.net.focus


@inner
def runs_anywhere(t, node):
    """Return True if a node runs, on whatever side."""
    return t.nodes[node].status == RUNNING or t.nodes[node].status == ELSEWHERE


@inner
def first_running(t):
    """Return the first of all nodes that runs; NONE if none does."""
    for node in range(t.setup.nodes):
        if runs_anywhere(t, node):
            return node
    return NONE


# The current side


@inner
def stand_on_one_side(t):
    """Put all nodes on one side, at the beginning of a trial."""
    t.net.focus = t.net.last_side = FIRST_SIDE
    t.net.sides = 1
    for node in range(t.setup.nodes):
        t.nodes[node].side = FIRST_SIDE


@inner
def place_of_side(t, number):
    """Return the place of the kept records of a side; NONE if there is no such side, or it is the current one."""
    for place in range(len(t.kept_side)):
        if t.kept_side[place] == number:
            return place
    return NONE


@inner
def is_side(t, number):
    """Return True if there is a side of that number."""
    return number == t.net.focus or place_of_side(t, number) != NONE


@inner
def focus_on(t, number):
    """Make a side the current one; return True if there is one of that number."""
    if number == t.net.focus:
        return True
    place = place_of_side(t, number)
    if number == NO_SIDE or place == NONE:
        return False
    put_aside(t, place_of_side(t, NO_SIDE), t.net.focus)
    take_up(t, place)
    return True


@inner
def put_aside(t, place, number):
    """Copy the records of the current side to a place, as those of the side of that number."""
    t.kept_side[place], t.kept[place] = number, t.queue
    t.kept_handed[place], t.kept_subscribed[place] = t.consumer.handed, t.consumer.subscribed
    copy_list(t.mirrors, t.kept_mirrors[place])
    copy_list(t.synchronised, t.kept_synchronised[place])
    copy_list(t.since, t.kept_since[place])
    copy_windows(t.content, t.kept_content[place])
    copy_windows(t.behind, t.kept_behind[place])
    copy_windows(t.unwritten, t.kept_unwritten[place])
    copy_rows(t.waiting, t.kept_waiting[place], t.queue.waiting)
    keep_view(t, place)


@inner
def keep_view(t, place):
    """Do nothing: without Khepri no side sees a leader of the metadata store."""


@inner
def take_up(t, place):
    """Make the side current whose records are kept at a place.

    Fields that are the same for all sides stay as they are.
    """
    taken, waiting_changes = t.queue.taken, t.queue.waiting_changes
    t.queue = t.kept[place]
    t.queue.taken, t.queue.waiting_changes = taken, waiting_changes
    t.consumer.handed, t.consumer.subscribed = t.kept_handed[place], t.kept_subscribed[place]
    copy_list(t.kept_mirrors[place], t.mirrors)
    copy_list(t.kept_synchronised[place], t.synchronised)
    copy_list(t.kept_since[place], t.since)
    copy_windows(t.kept_content[place], t.content)
    copy_windows(t.kept_behind[place], t.behind)
    copy_windows(t.kept_unwritten[place], t.unwritten)
    copy_rows(t.kept_waiting[place], t.waiting, t.queue.waiting)
    take_view(t, place)
    t.net.focus, t.kept_side[place] = t.kept_side[place], NO_SIDE
    show_nodes(t)


@inner
def take_view(t, place):
    """Do nothing: without Khepri no side sees a leader of the metadata store."""


@inner
def show_nodes(t):
    """Set nodes' statuses to those that the current side sees."""
    for node in range(t.setup.nodes):
        if runs_anywhere(t, node):
            t.nodes[node].status = RUNNING if is_here(t, node) else ELSEWHERE


@inner
def copy_list(numbers, to):
    """Copy numbers."""
    for k in range(len(numbers)):
        to[k] = numbers[k]


@inner
def copy_rows(rows, to, count):
    """Copy the first rows of a table."""
    for k in range(count):
        for column in range(rows.shape[1]):
            to[k, column] = rows[k, column]


@inner
def copy_windows(rows, to):
    """Copy a set of messages."""
    copy_rows(rows, to, rows[0, 0] + 1)


@inner
def look_from(t, node):
    """Make the side of a node the current one."""
    focus_on(t, t.nodes[node].side)


@inner
def look_from_outside(t):
    """Make the side of the first running node the current one, for actions that name no node."""
    first = first_running(t)
    if first != NONE:
        look_from(t, first)
    elif not focus_on(t, FIRST_SIDE):
        focus_on(t, oldest(t))


@inner
def oldest(t):
    """Return the number of the oldest side."""
    number = t.net.focus
    for place in range(len(t.kept_side)):
        if t.kept_side[place] != NO_SIDE:
            number = min(number, t.kept_side[place])
    return number


# The agenda


@inner
def is_about_queue(kind):
    """Return True if an event is about the queue as such."""
    return kind in (POLICY_TAKES_EFFECT, AUTOMATIC_SYNC, SYNC_FINISHED, DEPTH_FELL, REPLICA_GONE, GIVE_UP)


@inner
def is_of_side(kind):
    """Return True if an event happens on the side on which it was scheduled, and not where a node is."""
    return is_about_queue(kind) or kind in (LOOK_AROUND, REBALANCE, CONSUMER_CLOSES, LINKS_TIME_OUT)


@inner
def put_here(t, delay_us, priority, kind, a, b, c, d):
    """Put an event on the agenda, scheduled on the current side."""
    put_on_agenda(t, delay_us, priority, kind, a, b, c, d)
    t.agenda[t.moment.agenda - 1, SIDE] = t.net.focus


@inner
def unschedule(t, kind, a):
    """Unschedule all events of a kind about `a`, those of a side on the current side only.

    Return True if there were any.
    """
    found, of_sides = False, is_of_side(kind)
    for row in range(t.moment.agenda - 1, -1, -1):
        planned = t.agenda[row]
        if planned[KIND] == kind and planned[A] == a and (not of_sides or planned[SIDE] == t.net.focus):
            remove_row(t, row)
            found = True
    return found


@inner
def is_earlier(planned, other):
    """Return True if an event comes before another, by time, then priority, then number."""
    if planned[TIME] != other[TIME]:
        return planned[TIME] < other[TIME]
    if planned[PRIORITY] != other[PRIORITY]:
        return planned[PRIORITY] < other[PRIORITY]
    return planned[NUMBER] < other[NUMBER]


@inner
def without_elsewhere(t, some):
    """Remove from a set of messages what other sides than the current one have."""
    for place in range(MOST_SIDES):
        if t.kept_side[place] != NO_SIDE:
            without_messages(some, t.kept_content[place])


@inner
def without_messages(some, others):
    """Remove messages from a set."""
    for k in range(1, others[0, 0] + 1):
        windows.remove(some, others[k, 0], others[k, 1])


@inner
def drop_row(rows, count, row):
    """Remove a row from a list that keeps its order; return the number of rows left."""
    for k in range(row, count - 1):
        move_row(rows, k + 1, k)
    return count - 1
