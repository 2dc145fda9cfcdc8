"""Explicit synchronisation: the master sends its messages in batches, and the queue is blocked meanwhile.

Source: `rabbit_mirror_queue_sync`, `rabbit_mirror_queue_master:sync_mirrors`. Synchronised mirrors decline; the others
purge their copies and receive all messages. The slowest mirror sets the pace. A synchronisation that ends early leaves
its mirrors empty (`mirrors.abort_sync`). `sync_effort` says how long it takes, `held_sync` how a memory alarm blocks
it.
"""

from __future__ import annotations

from hawb.engine.classic.copies import fill_copies
from hawb.engine.classic.journal import MIRRORS_GONE, SYNCHRONISED, say_sync_finished, say_sync_not_needed
from hawb.engine.classic.mirrors import abort_sync, synchronise_drained
from hawb.engine.classic.ports import (
    AT_HAND,
    POLICY_TAKES_EFFECT,
    SYNC_FINISHED,
    catch_up_on_limits,
    count_times,
    defer_sync,
    deliver,
    is_held,
    is_overdue,
    leave_out,
    plan,
    release,
    start_sync,
    stop_sync,
)
from hawb.engine.classic.record import is_synchronised
from hawb.engine.classic.record_ports import is_alive, mirroring_of, mirrors
from hawb.engine.cluster.node_ports import is_running, linked
from hawb.engine.core.state import Queue
from hawb.engine.core.turn import Turn

SHARED = True  # the kernel of studies compiles this module


def synchronise(t: Turn, q: Queue) -> None:
    """Start a synchronisation if ha-sync-mode is automatic and a mirror needs it.

    Called when a mirror joins, a policy changes or a master is new.
    """
    asked = mirroring_of(t, q)
    if q.up and not q.syncing and asked.mirrored and asked.sync_automatic:
        begin(t, q)


def synchronise_by_hand(t: Turn, q: Queue, node: int) -> None:
    """Start the synchronisation that `rabbitmqctl sync_queue` asks for, after the one in progress if there is one."""
    if not q.up or not mirroring_of(t, q).mirrored:
        return
    if q.syncing:
        defer_sync(t, q, node)
    elif not begin(t, q):
        say_sync_not_needed(t, q)


def begin(t: Turn, q: Queue) -> bool:
    """Start a synchronisation; return False if all running mirrors are synchronised already."""
    invited = 0
    for node in mirrors(t, q):
        invited |= int(is_running(t, node) and not is_synchronised(t, q, node)) << node
    if invited:
        start_sync(t, q, invited)
    return invited != 0


def finish(t: Turn, q: Queue, number: int) -> None:
    """End a synchronisation whose last batch has arrived: its mirrors hold all messages of the master.

    While one of them does not answer, it goes on until that node counts as down or answers again.
    """
    if not q.syncing or q.sync_number != number:
        return
    took_part = 0
    for node in mirrors(t, q):
        if q.sync_mirrors >> node & 1 and is_alive(t, q, node):
            took_part |= 1 << node
            if not linked(t, q.master, node):
                return
    say_sync_finished(t, q, took_part)
    fill_copies(t, q, took_part)
    stop_sync(t, q)
    q.depth_unknown &= ~took_part
    count_times(t, q)
    synchronise_drained(t, q, SYNCHRONISED)
    plan(t, q, 0, POLICY_TAKES_EFFECT, 0, 0, AT_HAND)
    release(t, q)
    catch_up_on_limits(t, q)
    deliver(t, q)


def leave_sync(t: Turn, q: Queue, dead: int) -> None:
    """Remove dead mirrors from a synchronisation, which ends if none is left.

    While a memory alarm blocks it, it ends only when it continues.
    """
    leave_out(t, q, dead)
    if not q.sync_mirrors and not is_held(t, q):
        abort_sync(t, q, MIRRORS_GONE)
    else:
        finish_late(t, q)


def finish_late(t: Turn, q: Queue) -> None:
    """End a synchronisation that waited for a mirror which did not answer, if the rest of it is done."""
    if q.syncing and is_overdue(t, q):
        plan(t, q, 0, SYNC_FINISHED, q.sync_number, 0, AT_HAND)
