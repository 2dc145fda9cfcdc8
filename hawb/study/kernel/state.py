"""The record of a trial: named arrays of whole numbers, and the agenda.

Sets of nodes are bits. Times are in microseconds; NEVER stands for none. Everything that the engine numbers
(`Turn.next_number`) is numbered here too, because draws are keyed by these numbers.
"""

from __future__ import annotations

import numpy as np

from hawb.study.compiled import inner, with_arrays
from hawb.study.design import NODES
from hawb.study.draws import below
from hawb.study.environment import HOURS

NEVER = 1 << 62
NONE = -1

RUNNING, STOPPING, DOWN, BOOTING, WAITING, PAUSED = range(6)
"""A node's status."""

CLOSED, ACTIVE, CANCELLED = range(3)
"""A consumer's state."""

REACTION, TIMER = 1, 2
"""Priorities on the agenda."""

(
    SHUT_DOWN, STOPPED, NODE_GONE, BOOT, BOOT_GIVES_UP, LOOK_AROUND, MIRROR_JOINS, POLICY_TAKES_EFFECT, AUTOMATIC_SYNC,
    SYNC_FINISHED, DEPTH_FELL, REPLICA_GONE, CONFIRMS_DUE, DELIVERY_ARRIVES, GIVE_UP, CONSUMER_CLOSES,
    NODE_DRAINS, REBALANCE, DECLARE, LINKS_TIME_OUT, PUBLISH, SETTLE, CONSUME, RESUME, MANUAL_SYNC,
) = range(25)  # fmt: skip
"""The kinds of events. The last five may wait in the queue's mailbox."""

TIME, PRIORITY, NUMBER, KIND, A, B, C, D = range(8)
"""The columns of agenda and mailbox; the meaning of the last four depends on the kind."""

COPIED, LOST_WITH_MASTER, WITHOUT_CHANNEL, ENDED, LACKED_BY = 1, 2, 4, 8, 4
"""Bits of a PUBLISH in column C: mirrors have it already; its master died with it; its channel is gone; the last mirror
that had it ended by itself, which its channel takes for a confirm. While it waits for a queue without a master, mirrors
that joined later are above these four bits."""
HOW = (1 << LACKED_BY) - 1
"""All four."""


def record(names: str, **records: np.dtype) -> np.dtype:
    """Return a record type of whole numbers, and of other `records`."""
    return np.dtype([*((name, np.int64) for name in names.split()), *records.items()])


SETUP = record(
    "nodes seed mirrored mode count promote_on_shutdown promote_on_failure sync_automatic late_answers_count"
    " lone_boot_rounds keeps_records khepri consumes_again orphaned_mirrors_confirm"
    " handling heals link_us network_bytes_per_s fsync_us stop_us start_us boot_retry_us"
    " sync_messages_per_s sync_batch_size sync_bytes_per_s size_bytes persistent confirms automatic ticktime_us"
    " client_local consume_ticks consume_us prefetch deadline_us listed preferred election_us"
    " between_us awaits await_timeout_us syncs_by_hand drains rebalances maintenance_us upgrade_us"
)
"""The settings. Rates are so many ticks in so many microseconds; `listed` is the number of nodes in the list of that
name, `prefetch` is NEVER if a classic queue's consumer has none, `preferred` are bits, `handling` is what nodes that
see few others wait for. The last eight are the procedure of planned work."""

NODE = record("status believes boots awaits drained may_boot_alone silent side")
"""A node (`hawb.engine.core.state.Node`)."""
QUEUE = record(
    "master up stopped awaits_master absent mirrors synchronised dead_gm_members dead_gm_synchronised orphaned_gm"
    " depth_unknown taken"
    " syncing sync_mirrors sync_number sync_messages sync_due_us waiting waiting_changes gone lagging lag_from"
)
BOOK = record(
    "published refused refused_confirmed nacked promotions unsynchronised_promotions bytes_replicated"
    " down_us down_since syncing_us syncing_since metadata_down_us metadata_down_since outages"
    " unconfirmed_us unconfirmed_since undelivered_us undelivered_since"
)
CLOCK = record("start_us per_ticks per_us")
"""The clock of a client (`hawb.engine.clients.client_state.Clock`)."""
PUBLISHER = record("closed node ticks blocked number client", clock=CLOCK)
CONSUMER = record("state subscribed subscription node ticks handed blocked wanted client", clock=CLOCK)
"""A publisher and a consumer; `client` is the node that they prefer, 0 if they are the only ones."""
MOMENT = record(
    "now_us counter agenda awaiting unanswered sent poll_us hour bursts virgin handed forgotten without_member"
)
WORK = record("left away coming from_us asked_us down_us")

NUMBERED, AT, ANSWERED, START_US, PER_TICKS, PER_US, TICK, AFTER, COUNT, FIRST_NODE = range(10)
"""The columns of `awaiting` and `unanswered`."""
SENDER = START_US
"""The column with a batch's publisher, in place of a clock."""

MOST_NODES = len(NODES)
MOST_PLANNED, MOST_WAITING, MOST_WINDOWS = 257, 65, 1028
"""The numbers of rows of tables. None fills whole pages of memory: otherwise the first rows of all tables, which are
used most, would share one set of the processor's cache."""
TRIAL = np.dtype(
    [
        ("setup", SETUP), ("moment", MOMENT), ("queue", QUEUE), ("book", BOOK), ("publisher", PUBLISHER),
        ("consumer", CONSUMER), ("work", WORK), ("rates", np.int64, (2, HOURS, 2)), ("nodes", NODE, (MOST_NODES,)),
        *((name, np.int64, (MOST_NODES,)) for name in ("wanted", "mirrors", "synchronised", "since", "listed")),
        *((name, np.int64, (MOST_WINDOWS, 2)) for name in (
            "content", "stale", "early", "late", "has", "confirmed", "delivered", "delivered_twice", "lost",
        )),
        ("unwritten", np.int64, (MOST_WAITING + 1, 2)),
        ("waiting_changes", np.int64, (MOST_NODES + 1, 2)),
        ("agenda", np.int64, (MOST_PLANNED, 8)), ("waiting", np.int64, (MOST_WAITING, 8)),
        *((name, np.int64, (MOST_WAITING, FIRST_NODE + MOST_NODES)) for name in ("awaiting", "unanswered")),
        ("sent", np.int64, (MOST_WAITING, 3)),
        *((name, np.int64, (MOST_NODES,)) for name in ("available", "free", "asked")),
        ("asked_before", np.int64, (61, 3)),
    ]
)  # fmt: skip
"""One trial, in one piece of memory.

Each node has its state and beliefs, and is `wanted` unless something keeps it down. The queue has its mirrors, and
those that are synchronised, in their orders; the message after which each mirror holds all (`since`); what it holds,
what a master that lost power had not written, and what the consumer believes to hold (`deliveries`), as `windows`; and
what waits for nodes that do not answer (`metadata`). Bits, too, are the nodes whose disks are empty (`virgin`), those
that the cluster has `forgotten`, and those on which a quorum queue is to get a member again (`without_member`); `disks`
decides when the queue is `gone`, and when the trial is `handed` to the engine. The agenda, the mailbox, and what is
under way to the consumer are rows, the last ones of (number of the delivery, after, last).

`awaiting` are batches, and `unanswered` messages of publishers, that wait for replicas' answers: rows (number, node,
answered, the clock's start_us and its ticks in so many microseconds, tick, after, count), then for each node when it
answers, or how long after the tick. `rates` are what is published, without and with a burst, by the hour. `late` and
`has` are for one call only, `available`, `free` and `asked` for one call of the policy's rule, and `asked_before` is
the cache of its results (`mirror_ports.wanted`)."""

WORDS_BEFORE_TABLES = TRIAL.fields["content"][1] // 8
"""The number of words before a trial's tables; their counts there are the numbers of rows in use."""


# Numbers and the agenda


@inner
def next_number(t):
    """Return a number never given before in this trial."""
    t.moment.counter += 1
    return t.moment.counter


@inner
def put_on_agenda(t, delay_us, priority, kind, a, b, c, d):
    """Put an event on the agenda."""
    row = t.moment.agenda
    if row == len(t.agenda):
        raise OverflowError("more is planned than a trial has room for")
    t.agenda[row, TIME] = t.moment.now_us + delay_us
    t.agenda[row, PRIORITY], t.agenda[row, NUMBER], t.agenda[row, KIND] = priority, next_number(t), kind
    t.agenda[row, A], t.agenda[row, B], t.agenda[row, C], t.agenda[row, D] = a, b, c, d
    t.moment.agenda += 1


@inner
def schedule(t, delay_us, kind, a=0, b=0, c=0, d=0):
    """Put a reaction on the agenda."""
    put_on_agenda(t, delay_us, REACTION, kind, a, b, c, d)


@inner
def earliest(t):
    """Return the row of the next event, by time, then priority, then number; NONE if there is none."""
    best, time_us, priority, number = NONE, NEVER, TIMER, 0
    for row in range(t.moment.agenda):
        planned = t.agenda[row]
        if best == NONE or planned[TIME] < time_us or (planned[TIME] == time_us and (
            planned[PRIORITY] < priority or (planned[PRIORITY] == priority and planned[NUMBER] < number)
        )):
            best, time_us, priority, number = row, planned[TIME], planned[PRIORITY], planned[NUMBER]
    return best


@inner
def row_due_us(t, row):
    """Return when the event in a row is due; NEVER for NONE."""
    return NEVER if row == NONE else t.agenda[row, TIME]


@inner
def next_due_us(t):
    """Return when the next event is due; NEVER if there is none."""
    return row_due_us(t, earliest(t))


@inner
def remove_row(t, row):
    """Remove a row from the agenda."""
    t.moment.agenda -= 1
    move_row(t.agenda, t.moment.agenda, row)


@inner
def hand_to_engine(t):
    """Let the trial fall back to the engine (`hawb.study.trial_rows`)."""
    t.moment.handed = 1


@inner
def unschedule(t, kind, a):
    """Unschedule all events of a kind about `a`; return True if there were any."""
    found = False
    for row in range(t.moment.agenda - 1, -1, -1):
        if t.agenda[row, KIND] == kind and t.agenda[row, A] == a:
            remove_row(t, row)
            found = True
    return found


@inner
def move_row(rows, row, to):
    """Copy a row over another."""
    if row != to:
        for column in range(rows.shape[1]):
            rows[to, column] = rows[row, column]


@inner
def is_planned(t, kind):
    """Return True if an event of a kind is scheduled."""
    for row in range(t.moment.agenda):
        if t.agenda[row, KIND] == kind:
            return True
    return False


# Functions with another version for a network whose links may fail (`partitioned_state`)


@inner
def linked(t, a, b):
    """Return True if messages between two nodes arrive."""
    return True


@inner
def is_here(t, node):
    """Return True if a node belongs to the current side."""
    return True


@inner
def runs_anywhere(t, node):
    """Return True if a node runs, on whatever side."""
    return t.nodes[node].status == RUNNING


@inner
def look_from(t, node):
    """Make the side of a node the current one."""


@inner
def look_from_outside(t):
    """Make the side the current one on which commands act that name no node."""


# Functions with another version for clients on every node (`many_clients_state`)


@inner
def clients(t):
    """Return the nodes that clients prefer: the first."""
    return range(1)


@inner
def look_at(t, client):
    """Make the consumer that prefers a node the current one."""


# Facts


@inner
def is_running(t, node):
    """Return True if a node runs, on the current side."""
    return t.nodes[node].status == RUNNING


@inner
def follows(t, node):
    """Return True if messages from the master reach the mirror at a node."""
    return is_running(t, node) and linked(t, t.queue.master, node)


@inner
def running_bits(t):
    """Return the running nodes, as bits."""
    bits = 0
    for node in range(t.setup.nodes):
        if is_running(t, node):
            bits |= 1 << node
    return bits


@with_arrays
def listed(nodes, bits):
    """Return the nodes of a set, in their order, written into `nodes`.

    Rules take lists, and a new one costs more than all that is done with it.
    """
    count = node = 0
    while bits >> node:
        nodes[count] = node
        count += bits >> node & 1
        node += 1
    return nodes[:count]


@inner
def link_us(t, a, b):
    """Return how long a message takes from one node to another, in microseconds."""
    return 0 if a == b else t.setup.link_us


@inner
def is_among(nodes, count, node):
    """Return True if a node is among the first `count`."""
    for k in range(count):
        if nodes[k] == node:
            return True
    return False


@inner
def without_nodes(nodes, count, bits):
    """Remove the nodes of a set from a list; return how many are left."""
    left = 0
    for k in range(count):
        if not bits >> nodes[k] & 1:
            nodes[left] = nodes[k]
            left += 1
    return left


@inner
def shuffle(t, nodes, purpose, trial):
    """Put `nodes` into the random order of `hawb.engine.core.randomness.shuffled`."""
    for i in range(len(nodes) - 1, 0, -1):
        j = below(i + 1, t.setup.seed, purpose, trial, len(nodes) - 1 - i)
        nodes[i], nodes[j] = nodes[j], nodes[i]


@inner
def count_times(t):
    """Start or stop counting the time without a master, and the time of synchronisations."""
    count_times_of(t, t.queue.up, t.queue.syncing)


@inner
def count_times_of(t, up, syncing):
    """Do the same, given whether the queue has a master and synchronises."""
    book, now_us = t.book, t.moment.now_us
    if up and book.down_since != NEVER:
        book.down_us, book.down_since = book.down_us + now_us - book.down_since, NEVER
    elif not up and book.down_since == NEVER:
        book.down_since, book.outages = now_us, book.outages + 1
    if not syncing and book.syncing_since != NEVER:
        book.syncing_us, book.syncing_since = book.syncing_us + now_us - book.syncing_since, NEVER
    elif syncing and book.syncing_since == NEVER:
        book.syncing_since = now_us
