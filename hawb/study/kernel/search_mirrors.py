"""Mirrors while stories are searched: `hawb.engine.mirroring` and `synchronisation`, where they decide what copies hold
and who could be recovered, which trials do not ask."""

from __future__ import annotations

from hawb.rules import promotion
from hawb.study.compiled import inner, rule, with_arrays
from hawb.study.kernel import mirrors
from hawb.study.kernel.answers import forget_replicas
from hawb.study.kernel.deliveries import release
from hawb.study.kernel.mirrors import (
    NODES,
    drop_master,
    mirror_bits,
    unbury,
    wanted,
)
from hawb.study.kernel.search_state import (
    content,
    count,
    delete_copies,
    put_copy,
    size_bytes,
)
from hawb.study.kernel.state import (
    POLICY_TAKES_EFFECT,
    SYNC_FINISHED,
    follows,
    is_among,
    is_running,
    is_synchronised,
    linked,
    listed,
    next_number,
    running_bits,
    schedule,
    unschedule,
    without,
)

take_effect_now = mirrors.take_effect
recoverable_mirrors = rule(promotion.recoverable_mirrors)


# The record


@with_arrays
def note_recoverable(t):
    """The list of mirrors that could be recovered offline follows a change of the mirrors."""
    queue = t.queue
    found = recoverable_mirrors(
        t.recoverable[: queue.recoverable], on_record(t), listed(t.available, running_bits(t))
    )
    for k in range(len(found)):
        t.recoverable[k] = found[k]
    queue.recoverable = len(found)


@with_arrays
def on_record(t):
    """The mirrors as the record has them, which names one that refused to take over as well."""
    count = 0
    if t.queue.hollow:
        t.asked[0], count = t.queue.hollow - 1, 1
    for k in range(t.queue.mirrors):
        if t.mirrors[k] != t.queue.hollow - 1:
            t.asked[count] = t.mirrors[k]
            count += 1
    return t.asked[:count]


@inner
def strike_mirrors(t, bits):
    """Takes mirrors off the record."""
    t.queue.mirrors = without(t.mirrors, t.queue.mirrors, bits)
    t.queue.synchronised = without(t.synchronised, t.queue.synchronised, bits)


@inner
def drop_mirrors(t, bits):
    """Mirrors leave and delete their copies."""
    strike_mirrors(t, bits)
    note_recoverable(t)
    delete_copies(t, bits)
    forget_replicas(t, bits)


@inner
def note_silent(t):
    """Remembers from which message on mirrors that the master does not reach miss what it gets."""
    queue = t.queue
    for k in range(queue.mirrors):
        node = t.mirrors[k]
        if not is_among(t.lagging, queue.lagging, node) and not linked(t, queue.master, node):
            t.lagging[queue.lagging], t.lag_from[node] = node, t.notes.pieces
            queue.lagging += 1


@inner
def note_silent_of(t, _master):
    """The same, of the master that the record names."""
    note_silent(t)


# Mirrors that come


@inner
def note_returned(t, node):
    """A mirror on a node that is back has joined. The mirrors on running nodes that are not synchronised by then cannot
    be recovered offline, unless this one is."""
    if is_synchronised(t, node):
        return
    for other in range(t.setup.nodes):
        if is_running(t, other) and not is_synchronised(t, other):
            t.queue.recoverable = without(t.recoverable, t.queue.recoverable, 1 << other)


@inner
def enlist(t, node):
    """Adds an empty mirror at the end of the list."""
    queue = t.queue
    queue.mirrors = without(t.mirrors, queue.mirrors, 1 << node)
    t.mirrors[queue.mirrors] = node
    queue.mirrors += 1
    note_recoverable(t)
    queue.lagging = without(t.lagging, queue.lagging, 1 << node)
    put_copy(t, node, 0)
    queue.depth_unknown = 0
    unbury(t, node)
    note_silent(t)


@inner
def synchronise_drained(t):
    """Marks the mirrors that hold all that the master holds. Each goes to the head of the list."""
    queue, found = t.queue, False
    if not queue.up or queue.syncing:
        return
    for k in range(queue.mirrors):
        node = t.mirrors[k]
        known = not queue.depth_unknown >> node & 1 and queue.copies >> node & 1
        if known and not is_synchronised(t, node) and follows(t, node) and t.contents[node] == content(t):
            for other in range(queue.synchronised, 0, -1):
                t.synchronised[other] = t.synchronised[other - 1]
            t.synchronised[0] = node
            queue.synchronised += 1
            found = True
    if found:
        note_recoverable(t)
        if t.setup.mode == NODES and t.setup.mirrored and wanted(t, running_bits(t))[0] != queue.master:
            drop_master(t)


@inner
def take_effect(t, how):
    """The master brings its mirrors in line with its policy."""
    if t.queue.up and not t.queue.syncing:
        t.queue.mirrored = t.setup.mirrored
    take_effect_now(t, how)


# Synchronisation


@inner
def begin_sync(t):
    """Begins a synchronisation of all mirrors that need one."""
    queue, invited = t.queue, 0
    for k in range(queue.mirrors):
        if not is_synchronised(t, t.mirrors[k]) and is_running(t, t.mirrors[k]):
            invited |= 1 << t.mirrors[k]
    if not invited:
        return
    queue.syncing, queue.sync_mirrors, queue.sync_number = 1, invited, next_number(t)
    queue.sync_began_us, duration_us = t.moment.now_us, effort_us(t)
    queue.sync_due_us = t.moment.now_us + duration_us
    t.begun[t.notes.begun % len(t.begun), 0] = t.moment.now_us
    t.begun[t.notes.begun % len(t.begun), 1] = duration_us
    t.notes.begun += 1
    schedule(t, duration_us, SYNC_FINISHED, queue.sync_number)


@inner
def effort_us(t):
    """How long it takes to send all that the queue holds: `hawb.engine.sync_effort`."""
    setup, messages, sent_bytes = t.setup, count(t, content(t)), size_bytes(t, content(t))
    longest_us = max(
        messages * 1_000_000 // setup.sync_messages_per_s, sent_bytes * 1_000_000 // setup.network_bytes_per_s
    )
    if setup.sync_bytes_per_s:
        longest_us = max(longest_us, sent_bytes * 1_000_000 // setup.sync_bytes_per_s)
    return longest_us + -(-messages // setup.sync_batch_size) * setup.link_us


@inner
def finish_sync(t, number):
    """The last batch has arrived: the mirrors that took part hold what the master holds."""
    queue = t.queue
    if not queue.syncing or queue.sync_number != number:
        return
    took_part = queue.sync_mirrors & mirror_bits(t) & running_bits(t)
    for node in range(t.setup.nodes):
        if took_part >> node & 1 and not linked(t, queue.master, node):
            return
    unschedule(t, SYNC_FINISHED, number)
    for node in range(t.setup.nodes):
        if took_part >> node & 1:
            put_copy(t, node, content(t))
    queue.syncing, queue.depth_unknown = 0, queue.depth_unknown & ~took_part
    synchronise_drained(t)
    schedule(t, 0, POLICY_TAKES_EFFECT, 0)
    release(t)


@inner
def abort_sync(t):
    """Ends a synchronisation early: the mirrors are left empty, and have lost count of the master's depth."""
    queue = t.queue
    unschedule(t, SYNC_FINISHED, queue.sync_number)
    left = queue.sync_mirrors & mirror_bits(t)
    for node in range(t.setup.nodes):
        if left >> node & 1:
            put_copy(t, node, 0)
    queue.syncing, queue.depth_unknown = 0, queue.depth_unknown | left
    if queue.up:
        schedule(t, 0, POLICY_TAKES_EFFECT, 0)
        release(t)
