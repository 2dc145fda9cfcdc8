"""The engine's part of the rules for classic queues, apart from copies (`copies`) and the record (`record_ports`).

The kernel's part is in `hawb.study.kernel.mirror_ports`. `q` is the queue's record, which these functions write to.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from hawb.engine.classic import sync_course
from hawb.engine.classic.record_ports import mirroring_of
from hawb.engine.clients import confirms, consuming
from hawb.engine.cluster import metadata
from hawb.engine.core import bookkeeping, randomness
from hawb.engine.core.events import AutomaticSync, ManualSync, MirrorJoins, PolicyTakesEffect, ReplicaGone, SyncFinished
from hawb.engine.core.operations import Publish
from hawb.engine.core.state import Queue, bits_of, nodes_of
from hawb.engine.core.turn import Turn
from hawb.engine.queues import limits
from hawb.engine.queues.access import defer
from hawb.engine.queues.access import release as release_waiting
from hawb.rules import mirror_placement, promotion
from hawb.rules.policies import HaMode, Mirroring

NODES = mirror_placement.NODES
AT_HAND = None
"""Passed to `plan` as the cause: the current one."""

RETURNING, ADDING, LEAVE_UNSYNCHRONISED = 1, 2, 4
"""How policy takes effect: while a node boots; at a mirror just promoted, which drops no replica; without a
synchronisation."""

REPLICA_GONE, AUTOMATIC_SYNC, POLICY_TAKES_EFFECT, SYNC_FINISHED = (
    ReplicaGone, AutomaticSync, PolicyTakesEffect, SyncFinished
)  # fmt: skip
"""The events of a queue that rules schedule."""

ALL_REPLICAS = -1
"""All nodes, as a set."""

NO_RECORD: tuple[int, ...] = ()
"""A record on disk that names no mirrors."""

# What policy asks for


def wanted(t: Turn, q: Queue, available: int, recorded: tuple[int, ...] = NO_RECORD) -> list[int]:
    """Return the replicas that policy asks for among the `available` nodes (bits), the wanted master first.

    The present mirrors are those of the record, or `recorded` if the record on disk names mirrors that are dead.
    """
    mirroring, mirrors = mirroring_of(t, q), recorded or q.mirrors
    if not mirroring.mirrored:
        return [q.master]
    there = nodes_of(available)
    free = tuple(node for node in there if node != q.master and node not in mirrors)
    return mirror_placement.wanted_replicas(
        int(mirroring.mode), mirroring.count, listed_by(t, mirroring), q.master, mirrors, q.synchronised, there,
        shuffled(t, free) if mirroring.mode == HaMode.EXACTLY else free,
    )  # fmt: skip


def listed_by(t: Turn, mirroring: Mirroring) -> list[int]:
    """Return the policy's nodes that belong to this cluster, each once, in the policy's order."""
    names = dict.fromkeys(mirroring.nodes)  # a policy may name a node again and again
    return [t.settings.node(name) for name in names if name in t.settings.names]


def shuffled(t: Turn, nodes: tuple[int, ...]) -> tuple[int, ...]:
    """Return `nodes` in random order."""
    return randomness.shuffled(nodes, t.settings.seed, randomness.SHUFFLE_MIRRORS, t.next_number(), 0)


def startable_bits(t: Turn, q: Queue) -> int:
    """Return the running nodes where the queue's process has not crashed, as bits."""
    return bits_of(t.running()) & ~q.crashed


# The record


def note_recoverable(t: Turn, q: Queue) -> None:
    """Update the record's list of mirrors that could be recovered offline after a change of mirrors."""
    q.recoverable = tuple(promotion.recoverable_mirrors(q.recoverable, on_record(q), t.running()))


def on_record(q: Queue) -> tuple[int, ...]:
    """Return the mirrors that the record names, which include one that refused promotion."""
    return q.mirrors if q.orphaned_gm < 0 else (q.orphaned_gm, *(node for node in q.mirrors if node != q.orphaned_gm))


def note_returned(t: Turn, q: Queue, node: int) -> None:
    """Drop unsynchronised mirrors from the list of recoverable ones, since a mirror has joined on a node that is back.

    The running nodes report to each other that they are up. If the new mirror is synchronised, the list stays
    (`rabbit_amqqueue:maybe_clear_recoverable_node`, `rabbit_node_monitor:notify_node_up`).
    """
    if node not in q.synchronised:
        q.recoverable = tuple(one for one in q.recoverable if one in q.synchronised or not t.is_running(one))


# Events


def plan(t: Turn, q: Queue, delay_us: int, kind: type[Struct], about: int, more: int, because: int | None) -> None:
    """Schedule an event of the queue; `about` and `more` are its fields, as far as its type has any."""
    fields = (about, more)[: len(kind.__struct_fields__) - 1]
    t.schedule(delay_us, kind(q.name, *fields), because)


def join_later(t: Turn, q: Queue, node: int, returning: int, recorded: tuple[int, ...]) -> None:
    """Start a mirror at a node; it joins after a link's latency."""
    t.schedule(t.link_us(q.master, node), MirrorJoins(q.name, node, bool(returning), node in recorded))


def defer_join(t: Turn, q: Queue, node: int, returning: int, recorded: int) -> None:
    """Defer a mirror's join while a node that counts as running does not answer."""
    metadata.defer_if_blocked(t, MirrorJoins(q.name, node, bool(returning), bool(recorded)))


# A synchronisation


def start_sync(t: Turn, q: Queue, invited: int) -> None:
    """Start a synchronisation of the `invited` mirrors (bits)."""
    sync_course.start(t, q, [node for node in q.mirrors if invited >> node & 1])


def stop_sync(t: Turn, q: Queue) -> None:
    """End a synchronisation and take its events off the agenda."""
    sync_course.unplan(t, q)
    q.sync = None


def leave_out(_: Turn, q: Queue, dead: int) -> None:
    """Remove dead mirrors from a synchronisation."""
    sync_course.leave_out(q, dead)


def is_held(_: Turn, q: Queue) -> bool:
    """Return True if a memory alarm blocks the synchronisation."""
    return q.sync.held_us is not None


def is_overdue(t: Turn, q: Queue) -> bool:
    """Return True if a synchronisation that no alarm blocks should have ended by now."""
    return q.sync.held_us is None and q.sync.began_us + q.sync.effort.duration_us <= t.now_us


def defer_sync(t: Turn, q: Queue, node: int) -> None:
    """Make a `rabbitmqctl sync_queue` that has reached the master wait for the synchronisation in progress."""
    defer(t, q, ManualSync(q.name, node))


# Clients and counters


def lack_waiting(_: Turn, q: Queue, node: int) -> None:
    """Note that a mirror which joins without a master lacks the messages that wait.

    Channels sent them to the mirrors of that time (`rabbit_channel:deliver_to_queues`).
    """
    q.waiting = tuple(
        replace(one, operation=replace(one.operation, lacked_by=tuple(sorted({*one.operation.lacked_by, node}))))
        if isinstance(one.operation, Publish) else one for one in q.waiting
    )  # fmt: skip


def forget_replicas(t: Turn, q: Queue, bits: int) -> None:
    """Stop the channels of the current partition from waiting for confirms of replicas that are gone."""
    confirms.forget_replicas(t, q.name, nodes_of(bits))


def release(t: Turn, q: Queue) -> None:
    """Let all waiting operations try again, in their order."""
    release_waiting(t, q.name)


def deliver(t: Turn, q: Queue) -> None:
    """Deliver ready messages to the queue's consumers."""
    consuming.deliver(t, q.name)


def catch_up_on_limits(t: Turn, q: Queue) -> None:
    """Apply length limits to a queue that was blocked until now."""
    limits.drop_excess(t, q.name)


def count_times(t: Turn, q: Queue) -> None:
    """Start or stop counting the time that the queue has no master, and the time that it synchronises."""
    bookkeeping.count_times(t, q.name)


PORTS = (
    "NODES", "AT_HAND", "RETURNING", "ADDING", "LEAVE_UNSYNCHRONISED", "REPLICA_GONE", "AUTOMATIC_SYNC",
    "POLICY_TAKES_EFFECT", "SYNC_FINISHED", "ALL_REPLICAS", "NO_RECORD", "wanted", "startable_bits",
    "note_recoverable", "note_returned", "plan", "join_later", "defer_join", "start_sync", "stop_sync", "leave_out",
    "is_held", "is_overdue", "defer_sync", "lack_waiting", "forget_replicas", "release", "deliver",
    "catch_up_on_limits",
    "count_times",
)  # fmt: skip
"""The names of the ports, which each kernel implements."""
