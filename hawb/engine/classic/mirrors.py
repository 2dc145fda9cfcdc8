"""Mirrors of a classic queue while it lives: which there should be, how they join, count as synchronised and leave.

Source: `rabbit_mirror_queue_misc`, `rabbit_mirror_queue_slave`. Which replicas policy asks for is decided in
`hawb.rules.selection`; what happens when a replica dies is in `failover`.
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
    deliver,
    forget_replicas,
    join_later,
    lack_waiting,
    note_recoverable,
    note_returned,
    plan,
    release,
    stall_join,
    startable_bits,
    stop_sync,
    wanted,
)
from hawb.engine.classic.record import alive_bits, is_mirror, is_synchronised, mirror_bits
from hawb.engine.classic.record_ports import mirroring_of, mirrors, put_first_synchronised, put_last, strike_mirrors
from hawb.engine.cluster.node_ports import is_running, linked, running_bits

SHARED = True  # the kernel of studies compiles this module

# Joining


def add_mirrors(t, q, returning, recorded, spared):
    """Starts the mirrors that policy asks for and that are missing; each joins after a link latency. A node where the
    queue's process has just crashed gets no other in its place, nor does the one that is `spared`. `returning` says
    that a node boots meanwhile, and `recorded` is the record on disk where it names mirrors that are dead."""
    for node in wanted(t, q, startable_bits(t, q) & ~spared, recorded):
        if node != q.master and not is_mirror(t, q, node):
            join_later(t, q, node, returning, recorded)


def join(t, q, node, returning, recorded):
    """A mirror joins, empty whatever it held before, and is synchronised at once if the queue is empty. It does not
    where a master has gone that nobody has missed: whoever is master next looks who is wanted, and a node that has come
    up waits until then. A mirror that finds dead replicas in the record acts on their deaths
    (`rabbit_mirror_queue_slave:handle_go`)."""
    is_replica = is_mirror(t, q, node) or (q.up and node == q.master)
    if not mirroring_of(t, q).mirrored or is_replica or not is_running(t, node):
        return
    undecided = not q.up and not q.awaits_master
    if undecided and returning:
        stall_join(t, q, node, returning, recorded)
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


def enlist(t, q, node):
    """Adds an empty mirror at the end of the record's list."""
    put_last(t, q, node)
    note_recoverable(t, q)
    q.depth_unknown = 0
    q.dead_gm_members &= ~(1 << node)
    q.dead_gm_synchronised &= ~(1 << node)
    begin_copy(t, q, node)
    note_silent(t, q)
    say_mirror_added(t, q, node)


def synchronise_drained(t, q, how):
    """Marks the mirrors that hold all that the master holds. A mirror that becomes synchronised goes to the head of the
    list. Under ha-mode nodes this is when a master that is not listed may leave."""
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


def leave_if_unlisted(t, q):
    """Drops a master that ha-mode nodes does not list, once a mirror is synchronised
    (`rabbit_mirror_queue_misc:maybe_drop_master_after_sync`)."""
    asked = mirroring_of(t, q)
    if asked.mirrored and asked.mode == NODES and wanted(t, q, running_bits(t), NO_RECORD)[0] != q.master:
        drop_master(t, q, BY_POLICY)


# What policy asks for


def take_effect(t, q, how, spared):
    """The master brings its mirrors in line with its policy: missing ones are added first, then surplus replicas
    dropped, the master before mirrors. One that synchronises does so afterwards, and without a master nothing happens
    until one is back. One that has taken over starts mirrors that are missing, and leaves those that policy does not
    ask for any more (`rabbit_mirror_queue_misc:slaves_to_start_on_failure`; seen on 3.8.9 and 3.10.8 clusters)."""
    if not q.up or q.syncing:
        return
    if not mirroring_of(t, q).mirrored:
        if not how & ADDING:
            drop_mirrors(t, q, ALL_REPLICAS, BY_POLICY)
        return
    add_mirrors(t, q, how & RETURNING, NO_RECORD, spared)
    if not how & ADDING:
        drop_surplus(t, q)
    if not how & LEAVE_UNSYNCHRONISED:
        plan(t, q, 0, AUTOMATIC_SYNC, 0, 0, AT_HAND)


def drop_surplus(t, q):
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


def drop_master(t, q, reason):
    """The master is taken away: its copy is deleted and the rest is a failover like any other."""
    entry = say_master_down(t, q, reason)
    end_master(t, q, False)
    plan(t, q, 0, REPLICA_GONE, 0, 0, entry)


def drop_mirrors(t, q, bits, reason):
    """Mirrors leave and delete their copies."""
    say_mirrors_removed(t, q, bits, reason)
    gone = mirror_bits(t, q) & bits
    strike_mirrors(t, q, gone)
    note_recoverable(t, q)
    delete_copies(t, q, gone)
    forget_replicas(t, q, gone)


def end_master(t, q, stopped):
    """The master's process ends. Nobody knows yet what becomes of the queue; a synchronisation ends with it, and the
    mirrors that took part are left empty."""
    q.up, q.stopped = False, stopped
    if q.syncing:
        abort_sync(t, q, MASTER_DOWN)
    count_times(t, q)


def abort_sync(t, q, reason):
    """Ends a synchronisation early: the mirrors purge what they received, and what they had before is gone too. They
    lost count of the master's depth (`rabbit_mirror_queue_sync:slave`). Cancelled, it is not tried again by itself."""
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
