"""What a cluster is made of while stories are searched, beside what any trial has (`hawb.study.kernel.state`).

A search asks which states later steps tell apart (`hawb.engine.keys.state_key`), which trials do not: what is on the
disks of nodes that are down, which records those remember, which mirrors could be recovered. There are few messages, so
a set of them is bits: each stands for a piece of the queue's numbers that no set cuts in two, the last ones for the
messages that the search publishes, one by one.
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
    show_nodes,
)
from hawb.study.kernel.state import (
    BOOK,
    CONSUMER,
    FIRST_NODE,
    MOMENT,
    NOBODY,
    NODE,
    SETUP,
    is_running,
    record,
)

MOST_NODES = 5
MOST_SIDES = MOST_NODES + 1
MOST_PIECES, MOST_GIVEN = 62, 24
"""How many pieces of a queue's numbers there may be, and how many of them when a search begins."""
MOST_PLANNED, MOST_UNCONFIRMED, MOST_WAITING, MOST_KINDS = 40, 12, 6, 4
OWN_KIND = MOST_KINDS - 1
"""The kind of the messages that the search publishes."""
REMEMBERED = MOST_SIDES
"""The place of what the first node remembers; before it stand the records of sides that are not in focus."""

QUEUE = record(
    "master up stopped awaits_master absent mirrored mirrors synchronised recoverable"
    " dead_gm_members dead_gm_synchronised orphaned_gm depth_unknown lagging"
    " copies redelivered unwritten uncounted stored starts syncing sync_mirrors sync_number sync_began_us sync_due_us"
    " waiting stalled"
)
"""What a side knows of the queue. `copies` are the nodes that have one, as bits; `stored` what its batches have, of
which `starts` are the first; `uncounted` the piece after which deliveries are not counted, and one more."""
LEDGER = record("confirmed lost refused removed left")
NOTES = record("remembers pieces given begun counts_deliveries renames")
"""Which nodes remember records, as bits; how many pieces there are, and were at first; how many synchronisations have
begun since a step; whether queues count deliveries (`hawb.rules.profiles`),
and whether no rule looks at nodes' names (`hawb.engine.keys.state_key`)."""
LISTS = ("mirrors", "synchronised", "recoverable", "lagging", "lag_from", "contents")

SEARCHED = np.dtype(
    [
        ("setup", SETUP), ("moment", MOMENT), ("queue", QUEUE), ("ledger", LEDGER), ("notes", NOTES), ("net", NET),
        ("consumer", CONSUMER), ("book", BOOK), ("nodes", NODE, (MOST_NODES,)),
        *((name, np.int64, (MOST_NODES,)) for name in (
            "cut", "lost_links", "suspected", "listed", "available", "free", "asked", *LISTS,
        )),
        *((name, np.int64, (MOST_SIDES + 1,)) for name in ("born", "order")), ("kept_side", np.int64, (MOST_SIDES,)),
        ("stalled", np.int64, (MOST_NODES + 1, 2)),
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

Of each node beside what a trial has: the links over which it was `suspected`. Of the queue, as a side knows it: its
`recoverable` mirrors and those that are `lagging`, in their orders, from which piece on these lag, and what each node
has (`contents`; of a node without a copy nothing). `kept` and all whose names begin so are the records of the other
sides, and behind them what nodes that are down remember. `born` says in which order sides came to be, and `order` is
for one answer only. `begun` are synchronisations since the last step: when, and how long they take. Of the first pieces
`counts` and `sizes` say how many messages each is, and of how many bytes each; `kinds` are pieces of messages of one
kind; all that the search publishes is of the last."""

PUBLISHED_BYTES = 1024
"""How large a message is that the search publishes (`hawb.scenario.verbs.Publish`)."""


@inner
def put_aside(t, place, number):
    """Copies the records of the side in focus to a place, as those of the side of that number."""
    t.kept_side[place] = number
    remember_at(t, place)


@inner
def remember_at(t, place):
    """Copies the records of the side in focus to a place."""
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
    """Puts the side in focus whose records are kept at a place. What no side knows for itself stays as it is."""
    show(t, place)
    t.net.focus, t.kept_side[place] = t.kept_side[place], NO_SIDE
    show_nodes(t)


@inner
def show(t, place):
    """Copies the records that are kept at a place to where those of the side in focus are."""
    stalled = t.queue.stalled
    t.queue = t.kept[place]
    t.queue.stalled = stalled
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
    """Writes into `order` the numbers of all sides, that of the first running node first, then the oldest; how many
    there are."""
    first, count = first_running(t), 0
    shown = FIRST_SIDE if first == NOBODY else t.nodes[first].side
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
    """Whether a side comes before another of a smaller number. One that was not born before is the youngest."""
    if number == shown or other == shown:
        return number == shown
    return t.born[number] != 0 and (t.born[other] == 0 or t.born[number] < t.born[other])


@inner
def renumber(t):
    """A turn of the engine begins: it goes through sides in their order, and looks from the first one."""
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
    """Gives sides the numbers of their places in the order. What is planned on one that is gone has none."""
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
    """A side's place in the order, from 1 on; NO_SIDE for one that is not there."""
    for k in range(count):
        if t.order[k] == number:
            return k + 1
    return NO_SIDE


# Sets of messages


@inner
def count(t, some):
    """How many messages are in a set."""
    total = k = 0
    while some >> k:
        if some >> k & 1:
            total += t.counts[k] if k < t.notes.given else 1
        k += 1
    return total


@inner
def bytes_of(t, some):
    """How many bytes of message bodies are in a set."""
    total = k = 0
    while some >> k:
        if some >> k & 1:
            total += t.counts[k] * t.sizes[k] if k < t.notes.given else PUBLISHED_BYTES
        k += 1
    return total


@inner
def content(t):
    """What the queue holds."""
    return t.contents[t.queue.master]


@inner
def elsewhere(t):
    """What other sides than the one in focus have in the queue."""
    some = 0
    for place in range(MOST_SIDES):
        if t.kept_side[place] != NO_SIDE:
            some |= t.kept_contents[place, t.kept[place].master]
    return some


# Copies


@inner
def put_copy(t, node, some):
    """A node has a copy that holds so much."""
    t.contents[node] = some
    t.queue.copies |= 1 << node


@inner
def delete_copies(t, bits):
    """Nodes have no copies any more."""
    t.queue.copies &= ~bits
    for node in range(t.setup.nodes):
        if bits >> node & 1:
            t.contents[node] = 0


@inner
def lost_from_disks(t, bits):
    """Those of some nodes, which have lost their replicas, on whose disks nothing would be found: the copy was deleted
    because the node still runs, or went with the disk."""
    gone = bits & t.moment.virgin
    for node in range(t.setup.nodes):
        gone |= (bits & 1 << node) * int(is_running(t, node))
    return gone


@inner
def bits_of_list(nodes, count):
    """The first nodes of a list, as bits."""
    bits = 0
    for k in range(count):
        bits |= 1 << nodes[k]
    return bits
