"""Mirrors of a queue whose master runs: which ones policy asks for, how they join, become synchronised and leave.

Source: `rabbit_mirror_queue_misc`, `rabbit_mirror_queue_slave`. `hawb.rules.mirror_placement` decides which
replicas the policy asks for; `failover` handles dead replicas.
"""

from __future__ import annotations

from hawb.engine.classic.copies import begin_copy, delete_copies, holds_all, note_silent, purge_copies
from hawb.engine.classic.journal import (
    BY_POLICY,
    CANCELLED,
    JOINED,
    MASTER_DOWN,
    say_master_down,
    say_mirror_added,
    say_mirrors_removed,
    say_sync_ended,
    say_synchronised,
)
from hawb.engine.classic.ports import (
    ADDING,
    ALL_REPLICAS,
    AT_HAND,
    AUTOMATIC_SYNC,
    LEAVE_UNSYNCHRONISED,
    NO_RECORD,
    NODES,
    POLICY_TAKES_EFFECT,
    REPLICA_GONE,
    RETURNING,
    catch_up_on_limits,
    count_times,
    defer_join,
    deliver,
    forget_replicas,
    join_later,
    lack_waiting,
    note_recoverable,
    note_returned,
    plan,
    release,
    startable_bits,
    stop_sync,
    wanted,
)
from hawb.engine.classic.record import alive_bits, is_mirror, is_synchronised, mirror_bits
from hawb.engine.classic.record_ports import mirroring_of, mirrors, put_first_synchronised, put_last, remove_mirrors
from hawb.engine.cluster.node_ports import is_running, linked, running_bits
from hawb.engine.core.state import Queue
from hawb.engine.core.turn import Turn

SHARED = True  # the kernel of studies compiles this module

# Joining


def add_mirrors(t: Turn, q: Queue, returning: int, recorded: tuple[int, ...], excluded: int) -> None:
    """Start the mirrors that policy asks for and that are missing; each joins after a link latency.

    No mirror starts where the queue's process has just crashed, nor at a node of `excluded` (bits). `returning` is
    nonzero if a node boots meanwhile, and `recorded` is the record on disk if it names mirrors that are dead.
    """
    for node in wanted(t, q, startable_bits(t, q) & ~excluded, recorded):
        if node != q.master and not is_mirror(t, q, node):
            join_later(t, q, node, returning, recorded)


def join(t: Turn, q: Queue, node: int, returning: bool, recorded: bool) -> None:
    """Add an empty mirror; it deletes what is on its node's disk. If the queue is empty, it is synchronised at once.

    It does not join while the master is down and undetected: the next master decides which mirrors it wants, and the
    mirror of a node that has booted waits until then. A mirror that finds dead replicas in the record acts on their
    deaths (`rabbit_mirror_queue_slave:handle_go`).
    """
    is_replica = is_mirror(t, q, node) or (q.up and node == q.master)
    if not mirroring_of(t, q).mirrored or is_replica or not is_running(t, node):
        return
    undecided = not q.up and not q.awaits_master
    if undecided and returning:
        defer_join(t, q, node, returning, recorded)
    if undecided or (q.up and not linked(t, q.master, node)):
        return
    if not recorded and node not in wanted(t, q, mirror_bits(t, q) | 1 << q.master | 1 << node, NO_RECORD):
        return
    enlist(t, q, node)
    if q.awaits_master:
        lack_waiting(t, q, node)
    if q.dead_gm_members:
        plan(t, q, 0, REPLICA_GONE, 0, 0, AT_HAND)
    synchronise_drained(t, q, JOINED)
    if returning:
        note_returned(t, q, node)
    plan(t, q, 0, AUTOMATIC_SYNC, 0, 0, AT_HAND)


def enlist(t: Turn, q: Queue, node: int) -> None:
    """Add an empty mirror at the end of the record's list."""
    put_last(t, q, node)
    note_recoverable(t, q)
    q.depth_unknown = 0
    q.dead_gm_members &= ~(1 << node)
    q.dead_gm_synchronised &= ~(1 << node)
    begin_copy(t, q, node)
    note_silent(t, q)
    say_mirror_added(t, q, node)


def synchronise_drained(t: Turn, q: Queue, how: str) -> None:
    """Mark the mirrors that hold all messages of the master as synchronised, the last one first in the list.

    Under ha-mode nodes, a master that the policy does not list may leave then.
    """
    if not q.up or q.syncing:
        return
    found = 0
    for node in mirrors(t, q):
        reached = is_running(t, node) and linked(t, q.master, node)
        if not is_synchronised(t, q, node) and not q.depth_unknown >> node & 1 and reached and holds_all(t, q, node):
            found |= 1 << node
    if not found:
        return
    say_synchronised(t, q, found, how)
    for node in mirrors(t, q):
        if found >> node & 1:
            put_first_synchronised(t, q, node)
    note_recoverable(t, q)
    leave_if_unlisted(t, q)


def leave_if_unlisted(t: Turn, q: Queue) -> None:
    """Drop a master that ha-mode nodes does not list, once a mirror is synchronised.

    This is `rabbit_mirror_queue_misc:maybe_drop_master_after_sync`.
    """
    asked = mirroring_of(t, q)
    if asked.mirrored and asked.mode == NODES and wanted(t, q, running_bits(t), NO_RECORD)[0] != q.master:
        drop_master(t, q, BY_POLICY)


# What policy asks for


def take_effect(t: Turn, q: Queue, how: int, excluded: int) -> None:
    """Bring the mirrors in line with the queue's policy: add missing ones, then drop surplus replicas.

    A master that synchronises does so afterwards, and a queue without a master does so once it has one. A mirror that
    was just promoted (`how` has ADDING) adds missing mirrors and keeps surplus ones
    (`rabbit_mirror_queue_misc:slaves_to_start_on_failure`; 3.8.9 and 3.10.8 clusters did so).
    """
    if not q.up or q.syncing:
        return
    if not mirroring_of(t, q).mirrored:
        if not how & ADDING:
            drop_mirrors(t, q, ALL_REPLICAS, BY_POLICY)
        return
    add_mirrors(t, q, how & RETURNING, NO_RECORD, excluded)
    if not how & ADDING:
        drop_surplus(t, q)
    if not how & LEAVE_UNSYNCHRONISED:
        plan(t, q, 0, AUTOMATIC_SYNC, 0, 0, AT_HAND)


def drop_surplus(t: Turn, q: Queue) -> None:
    """Drop the replicas that policy no longer asks for.

    Those that died unnoticed are removed once their node counts as down.
    """
    kept = 0
    for node in wanted(t, q, running_bits(t), NO_RECORD):
        kept |= 1 << node
    surplus = mirror_bits(t, q) & alive_bits(t, q) & ~kept
    if surplus:
        drop_mirrors(t, q, surplus, BY_POLICY)
    if not kept >> q.master & 1:
        drop_master(t, q, BY_POLICY)


# Leaving


def drop_master(t: Turn, q: Queue, reason: str) -> None:
    """End the master's process and delete its copy; the rest is a failover like any other."""
    entry = say_master_down(t, q, reason)
    end_master(t, q, False)
    plan(t, q, 0, REPLICA_GONE, 0, 0, entry)


def drop_mirrors(t: Turn, q: Queue, bits: int, reason: str) -> None:
    """Remove mirrors from the record and delete their copies."""
    say_mirrors_removed(t, q, bits, reason)
    gone = mirror_bits(t, q) & bits
    remove_mirrors(t, q, gone)
    note_recoverable(t, q)
    delete_copies(t, q, gone)
    forget_replicas(t, q, gone)


def end_master(t: Turn, q: Queue, stopped: bool) -> None:
    """End the master's process, and with it a synchronisation, whose mirrors are left empty.

    What becomes of the queue is decided later (`failover.remove_from_queue`).
    """
    q.up, q.stopped = False, stopped
    if q.syncing:
        abort_sync(t, q, MASTER_DOWN)
    count_times(t, q)


def abort_sync(t: Turn, q: Queue, reason: str) -> None:
    """End a synchronisation early: its mirrors are left empty and lose count of the master's depth.

    See `rabbit_mirror_queue_sync:slave`. A cancelled synchronisation does not start again by itself.
    """
    say_sync_ended(t, q, reason)
    left = q.sync_mirrors & mirror_bits(t, q)
    stop_sync(t, q)
    purge_copies(t, q, left)
    q.depth_unknown |= left
    count_times(t, q)
    if q.up:
        plan(t, q, 0, POLICY_TAKES_EFFECT, LEAVE_UNSYNCHRONISED if reason == CANCELLED else 0, 0, AT_HAND)
        release(t, q)
        catch_up_on_limits(t, q)
        deliver(t, q)
