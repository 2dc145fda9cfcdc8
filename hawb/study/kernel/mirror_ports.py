"""The ports of replicas while their queue is up (`hawb.engine.classic.ports`), for a trial."""

from __future__ import annotations

from hawb.engine.classic import ports
from hawb.engine.core import randomness
from hawb.rules import mirror_placement
from hawb.study.compiled import inner, rule, with_arrays
from hawb.study.kernel import answers, deliveries, state, windows
from hawb.study.kernel.deliveries import defer
from hawb.study.kernel.node_rules import defer_if_blocked
from hawb.study.kernel.record_rules import mirror_bits
from hawb.study.kernel.state import (
    AUTOMATIC_SYNC,
    KIND,
    LACKED_BY,
    MANUAL_SYNC,
    MIRROR_JOINS,
    MOST_NODES,
    POLICY_TAKES_EFFECT,
    PUBLISH,
    REPLICA_GONE,
    SYNC_FINISHED,
    C,
    link_us,
    listed,
    next_number,
    running_bits,
    schedule,
    shuffle,
    unschedule,
)

NODES, ALL_REPLICAS = ports.NODES, ports.ALL_REPLICAS
RETURNING, ADDING, LEAVE_UNSYNCHRONISED = ports.RETURNING, ports.ADDING, ports.LEAVE_UNSYNCHRONISED
AT_HAND, NO_RECORD = 0, 0
__all__ = ["AUTOMATIC_SYNC", "POLICY_TAKES_EFFECT", "REPLICA_GONE", "SYNC_FINISHED"]

SHUFFLE_MIRRORS, EXACTLY = randomness.SHUFFLE_MIRRORS, mirror_placement.EXACTLY
CODE = 3 * MOST_NODES + 1
"""The number of bits of a list of nodes as a number."""

forget_answers, count_time = answers.forget_replicas, state.count_times
release_waiting, deliver_ready = deliveries.release, deliveries.deliver
wanted_replicas = rule(mirror_placement.wanted_replicas)

# Policy


@with_arrays
def wanted(t, q, available, recorded):
    """Return the replicas that the policy asks for among the `available` nodes, the wanted master first.

    The list is valid until the next call.
    """
    if not t.setup.mirrored:
        t.asked[0] = q.master
        return t.asked[:1]
    free = listed(t.free, available & ~mirror_bits(t, q) & ~(1 << q.master))
    if t.setup.mode == EXACTLY:
        shuffle(t, free, SHUFFLE_MIRRORS, next_number(t))
    return asked(t, q, available, free)


@with_arrays
def asked(t, q, available, free):
    """Return the rule's result, from a cache: its lists cost more than all else in an event."""
    mirrors, synchronised = t.mirrors[: q.mirrors], t.synchronised[: q.synchronised]
    about = code(mirrors) << MOST_NODES | available, (code(synchronised) << 3 | q.master) << CODE | code(free)
    said = t.asked_before[(about[0] ^ about[1] * 31) % len(t.asked_before)]
    if said[0] != about[0] or said[1] != about[1]:
        found = wanted_replicas(
            t.setup.mode, t.setup.count, t.listed[: t.setup.listed], q.master, mirrors, synchronised,
            listed(t.available, available), free,
        )  # fmt: skip
        for k in range(len(found)):
            t.asked[k] = found[k]
        said[0], said[1], said[2] = about[0], about[1], code(t.asked[: len(found)])
    return decoded(t.asked, said[2])


@inner
def code(nodes):
    """Return a list of nodes as one number: three bits for each, the last one lowest, below a bit that ends it."""
    number = 1
    for node in nodes:
        number = number << 3 | node
    return number


@with_arrays
def decoded(nodes, number):
    """Return the list of a code, written into `nodes`."""
    count = 0
    while number >> 3 * (count + 1):
        count += 1
    for k in range(count):
        nodes[k] = number >> 3 * (count - 1 - k) & 7
    return nodes[:count]


@inner
def startable_bits(t, q):
    """Return the running nodes, as bits: no process crashes."""
    return running_bits(t)


# What trials do not use


@inner
def note_recoverable(t, q):
    """Do nothing: no trial uses recoverable mirrors."""


@inner
def note_returned(t, q, node):
    """Do nothing: no trial uses recoverable mirrors."""


@inner
def catch_up_on_limits(t, q):
    """Do nothing: the queue has no limit."""


# Scheduling


@inner
def plan(t, q, delay_us, kind, about, more, because):
    """Schedule an event of the queue."""
    schedule(t, delay_us, kind, about, more)


@inner
def join_later(t, q, node, returning, recorded):
    """Start a mirror at a node, which joins after a link's latency."""
    schedule(t, link_us(t, q.master, node), MIRROR_JOINS, node, returning)


@inner
def defer_join(t, q, node, returning, recorded):
    """Let a mirror that is started wait while a node that counts as running does not answer."""
    defer_if_blocked(t, (MIRROR_JOINS, node))


# Synchronisation


@inner
def start_sync(t, q, invited):
    """Start a synchronisation of mirrors."""
    q.syncing, q.sync_mirrors, q.sync_number = True, invited, next_number(t)
    q.sync_messages = windows.total(t.content)
    count_times(t, q)
    duration_us = sync_us(t.setup, q.sync_messages)
    q.sync_due_us = t.moment.now_us + duration_us
    schedule(t, duration_us, SYNC_FINISHED, q.sync_number)


@inner
def sync_us(setup, messages):
    """Return the microseconds of a synchronisation of so many messages.

    This is `hawb.engine.classic.sync_effort`, for messages of one size.
    """
    batches = -(-messages // setup.sync_batch_size)
    size_bytes = messages * setup.size_bytes
    longest_us = max(
        messages * 1_000_000 // setup.sync_messages_per_s, size_bytes * 1_000_000 // setup.network_bytes_per_s
    )
    if setup.sync_bytes_per_s:
        longest_us = max(longest_us, size_bytes * 1_000_000 // setup.sync_bytes_per_s)
    return longest_us + batches * setup.link_us


@inner
def stop_sync(t, q):
    """End a synchronisation, and unschedule its end."""
    unschedule(t, SYNC_FINISHED, q.sync_number)
    q.syncing = False


@inner
def leave_out(t, q, dead):
    """Remove mirrors from a synchronisation."""
    q.sync_mirrors &= ~dead


@inner
def is_held(t, q):
    """Return False: no alarm holds a synchronisation."""
    return False


@inner
def is_overdue(t, q):
    """Return True if a synchronisation should have ended by now."""
    return q.sync_due_us <= t.moment.now_us


@inner
def defer_sync(t, q, node):
    """Let a synchronisation that an operator asks for wait for the one under way."""
    defer(t, MANUAL_SYNC, node, node, 0, 0)


# Waiting operations and counts


@inner
def lack_waiting(t, q, node):
    """Note that a mirror that joins while there is no master lacks what publishers sent before."""
    for k in range(q.waiting):
        if t.waiting[k, KIND] == PUBLISH:
            t.waiting[k, C] |= 1 << LACKED_BY + node


@inner
def forget_replicas(t, q, bits):
    """Stop waiting, on the current side, for replicas that are gone."""
    forget_answers(t, bits)


@inner
def release(t, q):
    """Let everything that waited try again, in its order."""
    release_waiting(t)


@inner
def deliver(t, q):
    """Send what is ready to the consumer."""
    deliver_ready(t, False, 0)


@inner
def count_times(t, q):
    """Start or stop counting the time without a master, and the time of synchronisations."""
    count_time(t)
