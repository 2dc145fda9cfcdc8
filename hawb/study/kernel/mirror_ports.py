"""What replicas need of the kernel while their queue lives: `hawb.engine.classic.ports`, for a trial."""

from __future__ import annotations

from hawb.engine.classic import ports
from hawb.engine.core import randomness
from hawb.rules import selection
from hawb.study.compiled import inner, rule, with_arrays
from hawb.study.kernel import answers, deliveries, state, windows
from hawb.study.kernel.deliveries import defer
from hawb.study.kernel.node_rules import stall
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

SHUFFLE_MIRRORS, EXACTLY = randomness.SHUFFLE_MIRRORS, selection.EXACTLY
CODE = 3 * MOST_NODES + 1
"""How many bits a list of nodes takes as a number."""

forget_answers, count_time = answers.forget_replicas, state.count_times
release_waiting, deliver_ready = deliveries.release, deliveries.deliver
wanted_replicas = rule(selection.wanted_replicas)

# What policy asks for


@with_arrays
def wanted(t, q, available, recorded):
    """The replicas that the policy asks for among the `available` nodes, the wanted master first. The list holds until
    somebody asks again."""
    if not t.setup.mirrored:
        t.asked[0] = q.master
        return t.asked[:1]
    free = listed(t.free, available & ~mirror_bits(t, q) & ~(1 << q.master))
    if t.setup.mode == EXACTLY:
        shuffle(t, free, SHUFFLE_MIRRORS, next_number(t))
    return asked(t, q, available, free)


@with_arrays
def asked(t, q, available, free):
    """What the rule says, or has said of the same before: its lists cost more than all else that an event does."""
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


@inner
def startable_bits(t, q):
    """The running nodes: no process crashes."""
    return running_bits(t)


# What trials do not ask


@inner
def note_recoverable(t, q):
    """Who could be recovered offline no trial asks."""


@inner
def note_returned(t, q, node):
    """The same once a node is back."""


@inner
def catch_up_on_limits(t, q):
    """No queue has a limit."""


# What is to happen


@inner
def plan(t, q, delay_us, kind, about, more, because):
    """Something of the queue is to happen."""
    schedule(t, delay_us, kind, about, more)


@inner
def join_later(t, q, node, returning, recorded):
    """A mirror is started at a node, and joins after a link's latency."""
    schedule(t, link_us(t, q.master, node), MIRROR_JOINS, node, returning)


@inner
def stall_join(t, q, node, returning, recorded):
    """A mirror that is started waits with it while a node that counts as running does not answer."""
    stall(t, (MIRROR_JOINS, node))


# A synchronisation


@inner
def start_sync(t, q, invited):
    """A synchronisation of mirrors begins."""
    q.syncing, q.sync_mirrors, q.sync_number = True, invited, next_number(t)
    q.sync_messages = windows.total(t.content)
    count_times(t, q)
    duration_us = sync_us(t.setup, q.sync_messages)
    q.sync_due_us = t.moment.now_us + duration_us
    schedule(t, duration_us, SYNC_FINISHED, q.sync_number)


@inner
def sync_us(setup, messages):
    """How long it takes to send so many messages: `hawb.engine.classic.sync_effort`, for messages of one size."""
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
    """A synchronisation is over, and its end is not planned any more."""
    unschedule(t, SYNC_FINISHED, q.sync_number)
    q.syncing = False


@inner
def leave_out(t, q, dead):
    """Mirrors take no part any more in a synchronisation."""
    q.sync_mirrors &= ~dead


@inner
def is_held(t, q):
    """No alarm holds a synchronisation."""
    return False


@inner
def is_overdue(t, q):
    """Whether a synchronisation should have ended by now."""
    return q.sync_due_us <= t.moment.now_us


@inner
def defer_sync(t, q, node):
    """A synchronisation that is asked for by hand waits for the one that is under way."""
    defer(t, MANUAL_SYNC, node, node, 0, 0)


# Who waits, and what is counted


@inner
def lack_waiting(t, q, node):
    """A mirror that joins while nobody serves the queue has nothing of what publishers sent before."""
    for k in range(q.waiting):
        if t.waiting[k, KIND] == PUBLISH:
            t.waiting[k, C] |= 1 << LACKED_BY + node


@inner
def forget_replicas(t, q, bits):
    """Replicas are gone: no channel of the side in focus waits for them any more."""
    forget_answers(t, bits)


@inner
def release(t, q):
    """Everything that waited tries again, in its order."""
    release_waiting(t)


@inner
def deliver(t, q):
    """The consumer gets what there is for it."""
    deliver_ready(t, False)


@inner
def count_times(t, q):
    """Counts from now on, or no longer, that the queue has no master, and that it synchronises."""
    count_time(t)
