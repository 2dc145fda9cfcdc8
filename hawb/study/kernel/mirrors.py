"""Replicas of a mirrored queue while it lives: `hawb.engine.mirroring` and `synchronisation`."""

from __future__ import annotations

from hawb.engine import chance
from hawb.rules import selection
from hawb.study.compiled import inner, rule, with_arrays
from hawb.study.kernel import windows
from hawb.study.kernel.answers import forget_replicas
from hawb.study.kernel.deliveries import deliver, park, release
from hawb.study.kernel.metadata import stall
from hawb.study.kernel.state import (
    ADDING,
    AUTOMATIC_SYNC,
    MANUAL_SYNC,
    MIRROR_JOINS,
    MOST_NODES,
    POLICY_TAKES_EFFECT,
    REPLICA_GONE,
    RETURNING,
    SYNC_FINISHED,
    count_times,
    follows,
    is_alive,
    is_mirror,
    is_running,
    is_synchronised,
    link_us,
    linked,
    listed,
    move_row,
    next_number,
    running_bits,
    schedule,
    shuffle,
    unschedule,
    without,
)

SHUFFLE_MIRRORS = chance.SHUFFLE_MIRRORS
ALL, EXACTLY, NODES = selection.ALL, selection.EXACTLY, selection.NODES
CODE = 3 * MOST_NODES + 1
"""How many bits a list of nodes takes as a number."""

wanted_replicas = rule(selection.wanted_replicas)


@inner
def mirror_bits(t):
    """The nodes of mirrors, as bits."""
    bits = 0
    for k in range(t.queue.mirrors):
        bits |= 1 << t.mirrors[k]
    return bits


@with_arrays
def wanted(t, available):
    """The replicas that the policy asks for among the `available` nodes (bits), the wanted master first. The list holds
    until somebody asks again."""
    queue, setup = t.queue, t.setup
    if not setup.mirrored:
        t.asked[0] = queue.master
        return t.asked[:1]
    free = listed(t.free, available & ~mirror_bits(t) & ~(1 << queue.master))
    if setup.mode == EXACTLY:
        shuffle(t, free, SHUFFLE_MIRRORS, next_number(t))
    return asked(t, available, free)


@with_arrays
def asked(t, available, free):
    """What the rule says, or has said of the same before: its lists cost more than all else that an event does."""
    queue, setup = t.queue, t.setup
    mirrors, synchronised = t.mirrors[: queue.mirrors], t.synchronised[: queue.synchronised]
    about = code(mirrors) << MOST_NODES | available, (code(synchronised) << 3 | queue.master) << CODE | code(free)
    said = t.asked_before[(about[0] ^ about[1] * 31) % len(t.asked_before)]
    if said[0] != about[0] or said[1] != about[1]:
        found = wanted_replicas(
            setup.mode, setup.count, t.listed[: setup.listed], queue.master, mirrors, synchronised,
            listed(t.available, available), free,
        )  # fmt: skip
        for k in range(len(found)):
            t.asked[k] = found[k]
        said[0], said[1], said[2] = about[0], about[1], code(t.asked[: len(found)])
    return decoded(t.asked, said[2])


@inner
def code(nodes):
    """A list of nodes as one number: three bits for each, the last one lowest, below a bit that ends it."""
    number = 1
    for node in nodes:
        number = number << 3 | node
    return number


@with_arrays
def decoded(nodes, number):
    """The list of a code, written into `nodes`."""
    count = 0
    while number >> 3 * (count + 1):
        count += 1
    for k in range(count):
        nodes[k] = number >> 3 * (count - 1 - k) & 7
    return nodes[:count]


# Joining


@inner
def add_mirrors(t, returning):
    """Starts the mirrors that policy asks for and that are missing."""
    for node in wanted(t, running_bits(t)):
        if node != t.queue.master and not is_mirror(t, node):
            schedule(t, link_us(t, t.queue.master, node), MIRROR_JOINS, node, returning)


@inner
def join(t, node, returning):
    """A mirror joins, empty whatever it held before, and is synchronised at once if the queue is empty."""
    queue = t.queue
    if not t.setup.mirrored or is_mirror(t, node) or (queue.up and node == queue.master) or not is_running(t, node):
        return
    if not queue.up and not queue.abandoned:
        if returning:
            stall(t, MIRROR_JOINS, node)
        return
    if queue.up and not linked(t, queue.master, node):
        return
    replicas = mirror_bits(t) | 1 << queue.master | 1 << node
    if node not in wanted(t, replicas):
        return
    enlist(t, node)
    if queue.unburied:
        schedule(t, 0, REPLICA_GONE)
    synchronise_drained(t)
    if returning:
        note_returned(t, node)
    schedule(t, 0, AUTOMATIC_SYNC)


@inner
def note_returned(t, node):
    """Who could be recovered offline once a node is back no trial asks."""


@inner
def enlist(t, node):
    """Adds an empty mirror at the end of the list."""
    queue = t.queue
    queue.mirrors = without(t.mirrors, queue.mirrors, 1 << node)
    t.mirrors[queue.mirrors] = node
    queue.mirrors += 1
    t.since[node] = queue.taken
    queue.depth_unknown = 0
    unbury(t, node)


@inner
def unbury(t, node):
    """A node is none any more of the dead that the record counts."""
    left = 0
    for k in range(t.queue.unburied):
        if t.unburied[k, 0] != node:
            move_row(t.unburied, k, left)
            left += 1
    t.queue.unburied = left


@inner
def holds_all(t, node):
    """Whether a mirror holds all that the master holds."""
    return windows.common(t.content, 0, t.since[node]) == 0


@inner
def synchronise_drained(t):
    """Marks the mirrors that hold all that the master holds. Each goes to the head of the list. Under ha-mode nodes
    this is when a master that is not listed leaves."""
    queue = t.queue
    if not queue.up or queue.syncing:
        return
    found = False
    for k in range(queue.mirrors):
        node = t.mirrors[k]
        known = not queue.depth_unknown >> node & 1
        if known and not is_synchronised(t, node) and follows(t, node) and holds_all(t, node):
            for other in range(queue.synchronised, 0, -1):
                t.synchronised[other] = t.synchronised[other - 1]
            t.synchronised[0] = node
            queue.synchronised += 1
            found = True
    if found and t.setup.mode == NODES and t.setup.mirrored and wanted(t, running_bits(t))[0] != queue.master:
        drop_master(t)


# Leaving


@inner
def drop_master(t):
    """The master is taken away, and the rest is a failover like any other."""
    end_master(t, 0)
    schedule(t, 0, REPLICA_GONE)


@inner
def strike_mirrors(t, bits):
    """Takes mirrors off the record."""
    queue = t.queue
    queue.mirrors = without(t.mirrors, queue.mirrors, bits)
    queue.synchronised = without(t.synchronised, queue.synchronised, bits)
    queue.lagging &= ~bits


@inner
def drop_mirrors(t, bits):
    """Mirrors leave and delete their copies."""
    strike_mirrors(t, bits)
    forget_replicas(t, bits)


@inner
def end_master(t, stopped):
    """The master's process ends; a synchronisation ends with it."""
    t.queue.up, t.queue.stopped = 0, stopped
    if t.queue.syncing:
        abort_sync(t)
    count_times(t)


@inner
def abort_sync(t):
    """Ends a synchronisation early: the mirrors are left empty, and have lost count of the master's depth."""
    queue = t.queue
    unschedule(t, SYNC_FINISHED, queue.sync_number)
    left = queue.sync_mirrors & mirror_bits(t)
    for node in range(t.setup.nodes):
        if left >> node & 1:
            t.since[node] = purged_at(t, node)
    queue.syncing, queue.depth_unknown = 0, queue.depth_unknown | left
    count_times(t)
    if queue.up:
        schedule(t, 0, POLICY_TAKES_EFFECT, 0)
        release(t)
        deliver(t, False)


@inner
def purged_at(t, node):
    """After which message a mirror holds all that empties itself now."""
    return t.queue.taken


# What policy asks for


@inner
def take_effect(t, how):
    """The master brings its mirrors in line with its policy: adds those that are missing, then drops the surplus, if it
    has not just taken over."""
    queue = t.queue
    if not queue.up or queue.syncing:
        return
    if not t.setup.mirrored:
        if not how & ADDING:
            drop_mirrors(t, mirror_bits(t))
        return
    add_mirrors(t, how & RETURNING)
    if not how & ADDING:
        drop_surplus(t)
    schedule(t, 0, AUTOMATIC_SYNC)


@inner
def drop_surplus(t):
    """Drops replicas that policy no longer asks for."""
    queue = t.queue
    keep = wanted(t, running_bits(t))
    surplus = 0
    for k in range(queue.mirrors):
        if t.mirrors[k] not in keep and is_alive(t, t.mirrors[k]):
            surplus |= 1 << t.mirrors[k]
    if surplus:
        drop_mirrors(t, surplus)
    if queue.master not in keep:
        drop_master(t)


# Explicit synchronisation


@inner
def sync_us(setup, messages):
    """How long it takes to send so many messages: `hawb.engine.sync_effort`, for messages of one size."""
    batches = -(-messages // setup.sync_batch_size)
    size_bytes = messages * setup.size_bytes
    longest_us = max(
        messages * 1_000_000 // setup.sync_messages_per_s, size_bytes * 1_000_000 // setup.network_bytes_per_s
    )
    if setup.sync_bytes_per_s:
        longest_us = max(longest_us, size_bytes * 1_000_000 // setup.sync_bytes_per_s)
    return longest_us + batches * setup.link_us


@inner
def synchronise(t):
    """ha-sync-mode automatic looks whether there is something to do."""
    if t.queue.up and not t.queue.syncing and t.setup.mirrored and t.setup.sync_automatic:
        begin_sync(t)


@inner
def synchronise_by_hand(t):
    """rabbitmqctl sync_queue reaches the queue's master, which looks at it when it has nothing else to synchronise."""
    if t.queue.up and t.setup.mirrored:
        if t.queue.syncing:
            park(t, MANUAL_SYNC, t.queue.master, t.queue.master, 0, 0)
        else:
            begin_sync(t)


@inner
def begin_sync(t):
    """Begins a synchronisation of all mirrors that need one."""
    queue = t.queue
    invited = 0
    for k in range(queue.mirrors):
        if not is_synchronised(t, t.mirrors[k]) and is_running(t, t.mirrors[k]):
            invited |= 1 << t.mirrors[k]
    if not invited:
        return
    queue.syncing, queue.sync_mirrors, queue.sync_number = 1, invited, next_number(t)
    queue.sync_messages = windows.size(t.content)
    count_times(t)
    duration_us = sync_us(t.setup, queue.sync_messages)
    queue.sync_due_us = t.moment.now_us + duration_us
    schedule(t, duration_us, SYNC_FINISHED, queue.sync_number)


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
    for node in range(t.setup.nodes):
        if took_part >> node & 1:
            t.since[node] = 0
            t.book.bytes_replicated += queue.sync_messages * t.setup.size_bytes
    queue.syncing, queue.depth_unknown = 0, queue.depth_unknown & ~took_part
    count_times(t)
    synchronise_drained(t)
    schedule(t, 0, POLICY_TAKES_EFFECT, 0)
    release(t)
    deliver(t, False)


@inner
def leave_sync(t, dead):
    """Mirrors that died leave a synchronisation; without others it ends."""
    queue = t.queue
    queue.sync_mirrors &= ~dead
    if not queue.sync_mirrors:
        abort_sync(t)
    elif queue.sync_due_us <= t.moment.now_us:
        schedule(t, 0, SYNC_FINISHED, queue.sync_number)
