"""The record of a cluster in a search, beside that of any trial (`hawb.study.kernel.state`).

A search asks which states later steps distinguish (`hawb.engine.keys.state_key`), which trials do not: the disks of
nodes that are down, the records that those remember, the recoverable mirrors. There are few messages, so a set of them
is bits: each stands for a piece of the queue's numbers that no set cuts in two, the last ones for the messages that the
search publishes, one by one.
"""

from __future__ import annotations

import numpy as np

from hawb.study.compiled import inner
from hawb.study.kernel.partitioned_state import (
    FIRST_SIDE,
    NET,
    NO_SIDE,
    SIDE,
    copy_list,
    copy_rows,
    first_running,
    focus_on,
    is_side,
    keep_view,
    show_nodes,
    take_view,
)
from hawb.study.kernel.state import (
    BOOK,
    CONSUMER,
    FIRST_NODE,
    MOMENT,
    NODE,
    NONE,
    SETUP,
    is_running,
    record,
)

MOST_NODES = 5
MOST_SIDES = MOST_NODES + 1
MOST_PIECES, MOST_GIVEN = 62, 24
"""The most pieces of a queue's numbers, and the most of them when a search begins."""
MOST_PLANNED, MOST_UNCONFIRMED, MOST_WAITING, MOST_KINDS = 40, 12, 6, 4
OWN_KIND = MOST_KINDS - 1
"""The kind of the messages that the search publishes."""
REMEMBERED = MOST_SIDES
"""The place of what the first node remembers, behind the records of the other sides."""

QUEUE = record(
    "master up stopped awaits_master absent mirrored mirrors synchronised recoverable"
    " dead_gm_members dead_gm_synchronised orphaned_gm depth_unknown lagging"
    " copies redelivered unwritten uncounted stored starts syncing sync_mirrors sync_number sync_began_us sync_due_us"
    " waiting waiting_changes"
)
"""A side's record of the queue. `copies` are the nodes that have one, as bits; `stored` its batches' messages, of which
`starts` are the first; `uncounted` the piece after which deliveries are not counted, and one more."""
LEDGER = record("confirmed lost refused removed left")
NOTES = record("remembers pieces given begun counts_deliveries renames")
"""The nodes that remember records, as bits; the number of pieces, now and at first; the number of synchronisations
begun since a step; whether queues count deliveries (`hawb.rules.profiles`), and whether no rule depends on nodes' names
(`hawb.engine.keys.state_key`)."""
LISTS = ("mirrors", "synchronised", "recoverable", "lagging", "lag_from", "contents")

SEARCHED = np.dtype(
    [
        ("setup", SETUP), ("moment", MOMENT), ("queue", QUEUE), ("ledger", LEDGER), ("notes", NOTES), ("net", NET),
        ("consumer", CONSUMER), ("book", BOOK), ("nodes", NODE, (MOST_NODES,)),
        *((name, np.int64, (MOST_NODES,)) for name in (
            "cut", "lost_links", "suspected", "listed", "available", "free", "asked", *LISTS,
        )),
        *((name, np.int64, (MOST_SIDES + 1,)) for name in ("born", "order")), ("kept_side", np.int64, (MOST_SIDES,)),
        ("waiting_changes", np.int64, (MOST_NODES + 1, 2)),
        ("agenda", np.int64, (MOST_PLANNED, SIDE + 1)), ("waiting", np.int64, (MOST_WAITING, 8)),
        ("awaiting", np.int64, (MOST_UNCONFIRMED, FIRST_NODE + MOST_NODES)),
        ("unanswered", np.int64, (1, FIRST_NODE + MOST_NODES)),
        ("begun", np.int64, (MOST_SIDES, 2)), ("asked_before", np.int64, (1, 3)),
        ("counts", np.int64, (MOST_GIVEN,)), ("sizes", np.int64, (MOST_GIVEN,)), ("kinds", np.int64, (MOST_KINDS,)),
        ("kept", QUEUE, (MOST_SIDES + MOST_NODES,)),
        *((f"kept_{name}", np.int64, (MOST_SIDES + MOST_NODES, MOST_NODES)) for name in LISTS),
        ("kept_waiting", np.int64, (MOST_SIDES + MOST_NODES, MOST_WAITING, 8)),
    ]
)  # fmt: skip
"""One cluster while stories are searched, in one piece of memory.

Each node has, beside a trial's fields, the links over which it was `suspected`. The queue, as a side knows it, has its
`recoverable` mirrors and those that are `lagging`, in their orders, from which piece on these lag, and each node's copy
(`contents`; empty without one). `kept` and all fields whose names begin so are the records of the other sides, and
behind them what nodes that are down remember. `born` has the order in which sides were made, and `order` is for one
call only. `begun` are synchronisations since the last step: when they began, and how long they take. For the first
pieces `counts` and `sizes` are the number of messages in each, and the bytes of each message; `kinds` are pieces of
messages of one kind; all that the search publishes is of the last."""

PUBLISHED_BYTES = 1024
"""The size of a message that the search publishes (`hawb.scenario.verbs.Publish`)."""


@inner
def put_aside(t, place, number):
    """Copy the records of the current side to a place, as those of the side of that number."""
    t.kept_side[place] = number
    remember_at(t, place)
    keep_view(t, place)


@inner
def remember_at(t, place):
    """Copy the records of the current side to a place."""
    t.kept[place] = t.queue
    copy_list(t.mirrors, t.kept_mirrors[place])
    copy_list(t.synchronised, t.kept_synchronised[place])
    copy_list(t.recoverable, t.kept_recoverable[place])
    copy_list(t.lagging, t.kept_lagging[place])
    copy_list(t.lag_from, t.kept_lag_from[place])
    copy_list(t.contents, t.kept_contents[place])
    copy_rows(t.waiting, t.kept_waiting[place], t.queue.waiting)


@inner
def take_up(t, place):
    """Make the side current whose records are kept at a place.

    Fields that are the same for all sides stay as they are.
    """
    show(t, place)
    take_view(t, place)
    t.net.focus, t.kept_side[place] = t.kept_side[place], NO_SIDE
    show_nodes(t)


@inner
def show(t, place):
    """Copy the records that are kept at a place to those of the current side."""
    waiting_changes = t.queue.waiting_changes
    t.queue = t.kept[place]
    t.queue.waiting_changes = waiting_changes
    copy_list(t.kept_mirrors[place], t.mirrors)
    copy_list(t.kept_synchronised[place], t.synchronised)
    copy_list(t.kept_recoverable[place], t.recoverable)
    copy_list(t.kept_lagging[place], t.lagging)
    copy_list(t.kept_lag_from[place], t.lag_from)
    copy_list(t.kept_contents[place], t.contents)
    copy_rows(t.kept_waiting[place], t.waiting, t.queue.waiting)


# Sides in their order


@inner
def order_sides(t):
    """Write the numbers of all sides into `order`, that of the first running node first, then the oldest.

    Return their number.
    """
    first, count = first_running(t), 0
    shown = FIRST_SIDE if first == NONE else t.nodes[first].side
    for number in range(1, t.net.last_side + 1):
        if is_side(t, number):
            at = count
            while at > 0 and comes_before(t, number, t.order[at - 1], shown):
                t.order[at] = t.order[at - 1]
                at -= 1
            t.order[at] = number
            count += 1
    return count


@inner
def comes_before(t, number, other, shown):
    """Return True if a side comes before another of a smaller number. A side without a birth is the youngest."""
    if number == shown or other == shown:
        return number == shown
    return t.born[number] != 0 and (t.born[other] == 0 or t.born[number] < t.born[other])


@inner
def renumber(t):
    """Renumber sides as at the beginning of an engine's turn, which starts from the first one."""
    count = order_sides(t)
    last = 0
    for k in range(len(t.born)):
        last = max(last, t.born[k])
    for number in range(1, t.net.last_side + 1):
        if is_side(t, number) and t.born[number] == 0:
            last += 1
            t.born[number] = last
    if count > 1 or t.net.focus != FIRST_SIDE:
        renumber_all(t, count)
    t.net.last_side = count
    focus_on(t, FIRST_SIDE)


@inner
def renumber_all(t, count):
    """Give sides the numbers of their places in the order. Events of a side that is gone get none."""
    for node in range(t.setup.nodes):
        t.nodes[node].side = place_in_order(t, count, t.nodes[node].side)
    for row in range(t.moment.agenda):
        t.agenda[row, SIDE] = place_in_order(t, count, t.agenda[row, SIDE])
    for place in range(MOST_SIDES):
        t.kept_side[place] = place_in_order(t, count, t.kept_side[place])
    t.net.focus = place_in_order(t, count, t.net.focus)
    for k in range(count):
        t.order[k] = t.born[t.order[k]]
    for k in range(len(t.born)):
        t.born[k] = t.order[k - 1] if 0 < k <= count else 0


@inner
def place_in_order(t, count, number):
    """Return a side's place in the order, from 1 on; NO_SIDE for one that is not there."""
    for k in range(count):
        if t.order[k] == number:
            return k + 1
    return NO_SIDE


# Sets of messages


@inner
def count(t, some):
    """Return how many messages are in a set."""
    total = k = 0
    while some >> k:
        if some >> k & 1:
            total += t.counts[k] if k < t.notes.given else 1
        k += 1
    return total


@inner
def bytes_of(t, some):
    """Return how many bytes of message bodies are in a set."""
    total = k = 0
    while some >> k:
        if some >> k & 1:
            total += t.counts[k] * t.sizes[k] if k < t.notes.given else PUBLISHED_BYTES
        k += 1
    return total


@inner
def content(t):
    """Return what the queue holds."""
    return t.contents[t.queue.master]


@inner
def elsewhere(t):
    """Return what other sides than the current one have in the queue."""
    some = 0
    for place in range(MOST_SIDES):
        if t.kept_side[place] != NO_SIDE:
            some |= t.kept_contents[place, t.kept[place].master]
    return some


# Copies


@inner
def put_copy(t, node, some):
    """Give a node a copy with these messages."""
    t.contents[node] = some
    t.queue.copies |= 1 << node


@inner
def delete_copies(t, bits):
    """Delete nodes' copies."""
    t.queue.copies &= ~bits
    for node in range(t.setup.nodes):
        if bits >> node & 1:
            t.contents[node] = 0


@inner
def lost_from_disks(t, bits):
    """Return those of nodes that have lost their replicas on whose disks no copy would be found, as bits.

    The copy was deleted because the node still runs, or went with the disk.
    """
    gone = bits & t.moment.virgin
    for node in range(t.setup.nodes):
        gone |= (bits & 1 << node) * int(is_running(t, node))
    return gone


@inner
def bits_of_list(nodes, count):
    """Return the first nodes of a list, as bits."""
    bits = 0
    for k in range(count):
        bits |= 1 << nodes[k]
    return bits
