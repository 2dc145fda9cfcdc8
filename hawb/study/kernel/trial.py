"""One trial from its beginning to its horizon, and its results."""

from __future__ import annotations

from hawb.study.compiled import inner, with_arrays
from hawb.study.kernel import windows
from hawb.study.kernel.answers import settle_batches
from hawb.study.kernel.boot_order import boot, give_up_boot
from hawb.study.kernel.client_times import begin, unconfirmed_us, undelivered_us
from hawb.study.kernel.deliveries import arrive, close, consume, give_up, resume, settle
from hawb.study.kernel.disks import declare_again
from hawb.study.kernel.flows import flow
from hawb.study.kernel.going_down import drain, node_gone, shut_down, stopped
from hawb.study.kernel.mirror_ports import wanted
from hawb.study.kernel.node_rules import look_around
from hawb.study.kernel.publishing import publish
from hawb.study.kernel.replicas import (
    DRAINED,
    finish_sync,
    join,
    remove_from_queue,
    synchronise,
    synchronise_by_hand,
    synchronise_drained,
    take_effect,
)
from hawb.study.kernel.state import (
    AUTOMATIC_SYNC,
    BOOT,
    BOOT_GIVES_UP,
    CONFIRMS_DUE,
    CONSUME,
    CONSUMER_CLOSES,
    DECLARE,
    DELIVERY_ARRIVES,
    DEPTH_FELL,
    GIVE_UP,
    KIND,
    LOOK_AROUND,
    MANUAL_SYNC,
    MIRROR_JOINS,
    NEVER,
    NODE_DRAINS,
    NODE_GONE,
    NONE,
    NUMBER,
    POLICY_TAKES_EFFECT,
    PUBLISH,
    REPLICA_GONE,
    RESUME,
    RUNNING,
    SETTLE,
    SHUT_DOWN,
    STOPPED,
    SYNC_FINISHED,
    A,
    B,
    C,
    D,
    earliest,
    look_at,
    remove_row,
    row_due_us,
)
from hawb.study.kernel.steady import next_change_us, react
from hawb.study.kernel.upkeep import act, look, look_after, next_us

HANDED_OVER = -1
"""In place of every result of a trial that falls back to the engine."""


@inner
def set_up(t):
    """Set up the cluster and its queue before anything has happened: all nodes run, every mirror is synchronised."""
    all_nodes = (1 << t.setup.nodes) - 1
    for node in range(t.setup.nodes):
        t.nodes[node].status, t.nodes[node].believes, t.wanted[node] = RUNNING, all_nodes & ~(1 << node), 1
    t.moment.poll_us, t.consumer.wanted = 0, 1
    t.book.down_since = t.book.syncing_since = t.book.metadata_down_since = NEVER
    begin(t)
    t.consumer.node = t.publisher.node = NONE
    t.publisher.closed = 1
    t.queue.up, t.queue.orphaned_gm = 1, NONE
    for node in wanted(t, t.queue, all_nodes, 0)[1:]:
        t.mirrors[t.queue.mirrors] = node
        t.queue.mirrors += 1
    t.queue.synchronised = t.queue.mirrors
    for k in range(t.queue.mirrors):
        t.synchronised[k] = t.mirrors[t.queue.mirrors - 1 - k]
    set_up_store(t)
    set_up_clients(t)


@inner
def set_up_clients(t):
    """Do nothing: there is one publisher and one consumer."""


@inner
def clear_clients(t):
    """Do nothing: there is one publisher and one consumer."""


@inner
def set_up_store(t):
    """Do nothing: without Khepri there is no metadata store."""


@inner
def clean_up(t, words, beginning):
    """Clear a trial's memory of the last one."""
    for k in range(len(beginning)):
        words[k] = beginning[k]
    windows.clear(t.content)
    windows.clear(t.stale)
    windows.clear(t.early)
    windows.clear(t.confirmed)
    windows.clear(t.delivered)
    windows.clear(t.delivered_twice)
    windows.clear(t.lost)
    windows.clear(t.unwritten)
    clear_clients(t)


# Events


@inner
def handle(t, number, kind, a, b, c, d):
    """Handle an event with the function that handles it in the engine (`hawb.engine.advance`)."""
    if kind == DEPTH_FELL:
        synchronise_drained(t, t.queue, DRAINED)
    elif kind == CONFIRMS_DUE:
        settle_batches(t, a)
    elif kind == DELIVERY_ARRIVES:
        look_at(t, b)
        arrive(t, number, a)
    elif kind == AUTOMATIC_SYNC:
        synchronise(t, t.queue)
    elif kind == POLICY_TAKES_EFFECT:
        take_effect(t, t.queue, a, b)
    elif kind == MIRROR_JOINS:
        join(t, t.queue, a, b, False)
    elif kind == SYNC_FINISHED:
        finish_sync(t, t.queue, a)
    elif kind == NODE_GONE:
        node_gone(t, a)
    elif kind == NODE_DRAINS:
        drain(t, a)
    elif kind == SHUT_DOWN:
        shut_down(t, a)
    elif kind == STOPPED:
        stopped(t, a, b)
    elif kind == BOOT:
        boot(t, a, b)
    elif kind == BOOT_GIVES_UP:
        give_up_boot(t, a, b)
    elif kind == LOOK_AROUND:
        look_around(t)
    elif kind == REPLICA_GONE:
        remove_from_queue(t, t.queue, False)
    elif kind == PUBLISH:
        publish(t, a, b, c, d)
    elif kind == SETTLE:
        look_at(t, d)
        settle(t, a, c, False)
    elif kind == CONSUME:
        look_at(t, d)
        consume(t, b)
    elif kind == RESUME:
        look_at(t, d)
        resume(t, a, b)
    elif kind == GIVE_UP:
        give_up(t, a)
    elif kind == MANUAL_SYNC:
        synchronise_by_hand(t, t.queue, a)
    elif kind == CONSUMER_CLOSES:
        look_at(t, a)
        close(t)
    elif kind == DECLARE:
        declare_again(t, a)


@inner
def one(t, stop_us):
    """Let the next event happen, or the next change that a flow brings, if it is due before `stop_us`.

    All that flowed before an event is computed first. Return False if nothing is due.
    """
    row, change_us = earliest(t), next_change_us(t)
    time_us, planned, counter = row_due_us(t, row), t.moment.agenda, t.moment.counter
    if min(time_us, change_us) >= stop_us:
        return False
    flow(t, min(time_us, change_us))
    if t.moment.agenda != planned or t.moment.counter != counter:  # what flows may have taken it off the agenda
        row = earliest(t)
    if time_us <= change_us and row_due_us(t, row) == time_us:
        happen(t, row)
    react(t)
    return True


@inner
def happen(t, row):
    """Handle the event in a row."""
    read_message(t, row)
    number, kind = t.agenda[row, NUMBER], t.agenda[row, KIND]
    a, b, c, d = t.agenda[row, A], t.agenda[row, B], t.agenda[row, C], t.agenda[row, D]
    remove_row(t, row)
    handle(t, number, kind, a, b, c, d)


@inner
def read_message(t, row):
    """Do nothing: without a Raft group no event is a message between members."""


@inner
def talk(t, stop_us):
    """Do nothing: a queue without a Raft group has no events that neither clients nor upkeep notice."""


@inner
def hear(t):
    """Do nothing: without a Raft group a flow leads to no answers without delay."""


@inner
def play_until(t, time_us):
    """Handle everything due before `time_us`, and set the time to it. `look` follows each step."""
    while True:
        stop_us = min(time_us, t.moment.poll_us)
        while one(t, stop_us):
            look(t)
            talk(t, min(time_us, t.moment.poll_us))
            stop_us = min(time_us, t.moment.poll_us)
        flow(t, stop_us - 1)
        if next_us(t) >= stop_us:
            hear(t)
            t.moment.now_us = max(t.moment.now_us, stop_us)
            return


@with_arrays
def play(t, history, horizon_us):
    """Play one trial, a row of `state.TRIAL` as `setup.begin_trial` makes it, changed in place.

    `summarise` has its results. Raise OverflowError if a table is too small; any other exception is a fault of the
    kernel.
    """
    set_up(t)
    k = 0
    while True:
        stop_us = min(horizon_us, history[k, 0] if k < len(history) else horizon_us)
        if t.moment.handed:
            return
        play_until(t, stop_us)
        if t.moment.poll_us == t.moment.now_us and t.moment.now_us < stop_us:
            look_after(t)
        elif stop_us == horizon_us:
            return
        else:
            act(t, history[k, 1], history[k, 2])
            k += 1


@with_arrays
def summarise(t, row):
    """Write the results of a trial by now into a row, in the order of `Record`, times in microseconds.

    For a trial that falls back to the engine each number is HANDED_OVER.
    """
    if t.moment.handed:
        for k in range(len(row)):  # for row[:] numba would compile the texts of its errors for seconds
            row[k] = HANDED_OVER
    else:
        write_results(t, row)


@inner
def write_results(t, row):
    """Write the results of a trial that was played to its end."""
    book, now_us = t.book, t.moment.now_us
    lost_confirmed = book.refused_confirmed
    for k in range(1, t.lost[0, 0] + 1):
        lost_confirmed += windows.count_between(t.confirmed, t.lost[k, 0], t.lost[k, 1])
    down_us = book.down_us + (now_us - book.down_since if book.down_since != NEVER else 0)
    syncing_us = book.syncing_us + (now_us - book.syncing_since if book.syncing_since != NEVER else 0)
    row[0], row[1] = book.published, windows.total(t.confirmed) + book.refused_confirmed
    row[2], row[3] = book.nacked, book.refused
    row[4], row[5], row[6] = windows.total(t.lost), lost_confirmed, windows.total(t.delivered_twice)
    row[7], row[8], row[9] = book.promotions, book.unsynchronised_promotions, book.outages
    row[10], row[11], row[12] = unconfirmed_us(t), undelivered_us(t), syncing_us
    row[13], row[14] = metadata_down_us(t), book.bytes_replicated
    row[15], row[16] = messages(t), down_us


@inner
def metadata_down_us(t):
    """Return how long metadata could be changed from no node."""
    since_us = t.book.metadata_down_since
    return t.book.metadata_down_us + (t.moment.now_us - since_us if since_us != NEVER else 0)


@inner
def messages(t):
    """Return how many messages are in the queue."""
    return windows.total(t.content)
