"""What replicas of classic queues need of a turn while their queue lives: all that is otherwise where their rules are
compiled, beside what replicas hold (`copies`) and what the record says of them (`record_ports`).

Here is what the engine has for it; for the kernel it is in `hawb.study.kernel.mirror_ports`. What a port promises is
said here for both. `q` is the queue's record, written to in place.
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
from hawb.rules import promotion, selection
from hawb.rules.policies import HaMode, Mirroring

NODES = selection.NODES
AT_HAND = None
"""In place of the entry behind what is planned: the one at hand."""

RETURNING, ADDING, LEAVE_UNSYNCHRONISED = 1, 2, 4
"""How policy takes effect: while a node boots; by a master that has just taken over, which drops nobody; without a look
at what there is to synchronise."""

REPLICA_GONE, AUTOMATIC_SYNC, POLICY_TAKES_EFFECT, SYNC_FINISHED = (
    ReplicaGone, AutomaticSync, PolicyTakesEffect, SyncFinished
)  # fmt: skip
"""What may be planned of a queue."""

ALL_REPLICAS = -1
"""All nodes, as a set."""

NO_RECORD: tuple[int, ...] = ()
"""A record on disk that names no mirrors."""

# What policy asks for


def wanted(t: Turn, q: Queue, available: int, recorded: tuple[int, ...] = NO_RECORD) -> list[int]:
    """The replicas that the queue's policy asks for among the `available` nodes, the wanted master first. The mirrors
    are those of the record, or where dead ones are among them those that are `recorded` on disk."""
    mirroring, mirrors = mirroring_of(t, q), recorded or q.mirrors
    if not mirroring.mirrored:
        return [q.master]
    there = nodes_of(available)
    free = tuple(node for node in there if node != q.master and node not in mirrors)
    return selection.wanted_replicas(
        int(mirroring.mode), mirroring.count, listed_by(t, mirroring), q.master, mirrors, q.synchronised, there,
        shuffled(t, free) if mirroring.mode == HaMode.EXACTLY else free,
    )  # fmt: skip


def listed_by(t: Turn, mirroring: Mirroring) -> list[int]:
    """The policy's nodes that this cluster knows, in the policy's order."""
    return [t.settings.node(name) for name in mirroring.nodes if name in t.settings.names]


def shuffled(t: Turn, nodes: tuple[int, ...]) -> tuple[int, ...]:
    """`nodes` in random order."""
    return randomness.shuffled(nodes, t.settings.seed, randomness.SHUFFLE_MIRRORS, t.next_number(), 0)


def startable_bits(t: Turn, q: Queue) -> int:
    """The running nodes where a mirror may be started: not those where the queue's process has crashed."""
    return bits_of(t.running()) & ~q.crashed


# The record


def note_recoverable(t: Turn, q: Queue) -> None:
    """The record's list of mirrors that could be recovered offline follows a change of the mirrors."""
    q.recoverable = tuple(promotion.recoverable_mirrors(q.recoverable, on_record(q), t.running()))


def on_record(q: Queue) -> tuple[int, ...]:
    """The mirrors as the record has them, which names one that refused to take over as well."""
    return q.mirrors if q.orphaned_gm < 0 else (q.orphaned_gm, *(node for node in q.mirrors if node != q.orphaned_gm))


def note_returned(t: Turn, q: Queue, node: int) -> None:
    """A mirror on a node that is back has joined, and the running nodes tell each other that they are up. Unless it is
    synchronised, a mirror on any of them that is not counts as not recoverable, until the queue's mirrors change again
    (`rabbit_amqqueue:maybe_clear_recoverable_node`, `rabbit_node_monitor:notify_node_up`)."""
    if node not in q.synchronised:
        q.recoverable = tuple(one for one in q.recoverable if one in q.synchronised or not t.is_running(one))


# What is to happen


def plan(t: Turn, q: Queue, delay_us: int, kind: type[Struct], about: int, more: int, because: int | None) -> None:
    """Something of the queue is to happen: `about` and `more` say what, as far as its kind has fields for it."""
    fields = (about, more)[: len(kind.__struct_fields__) - 1]
    t.schedule(delay_us, kind(q.name, *fields), because)


def join_later(t: Turn, q: Queue, node: int, returning: int, recorded: tuple[int, ...]) -> None:
    """A mirror is started at a node, and joins after a link's latency."""
    t.schedule(t.link_us(q.master, node), MirrorJoins(q.name, node, bool(returning), node in recorded))


def stall_join(t: Turn, q: Queue, node: int, returning: int, recorded: int) -> None:
    """A mirror that is started waits with it while a node that counts as running does not answer."""
    metadata.stall(t, MirrorJoins(q.name, node, bool(returning), bool(recorded)))


# A synchronisation


def start_sync(t: Turn, q: Queue, invited: int) -> None:
    """A synchronisation of mirrors begins."""
    sync_course.start(t, q, [node for node in q.mirrors if invited >> node & 1])


def stop_sync(t: Turn, q: Queue) -> None:
    """A synchronisation is over, and what it would have come to is not planned any more."""
    sync_course.unplan(t, q)
    q.sync = None


def leave_out(_: Turn, q: Queue, dead: int) -> None:
    """Mirrors take no part any more in a synchronisation."""
    sync_course.leave_out(q, dead)


def is_held(_: Turn, q: Queue) -> bool:
    """Whether a memory alarm holds a synchronisation."""
    return q.sync.held_us is not None


def is_overdue(t: Turn, q: Queue) -> bool:
    """Whether a synchronisation that nothing holds should have ended by now."""
    return q.sync.held_us is None and q.sync.began_us + q.sync.effort.duration_us <= t.now_us


def defer_sync(t: Turn, q: Queue, node: int) -> None:
    """A synchronisation that the master at a node was asked for by hand waits for the one that is under way."""
    defer(t, q, ManualSync(q.name, node))


# Who waits, and what is counted


def lack_waiting(_: Turn, q: Queue, node: int) -> None:
    """A mirror that joins while nobody serves the queue has nothing of what publishers sent before: their channels sent
    it to those that were there by then (`rabbit_channel:deliver_to_queues`)."""
    q.waiting = tuple(
        replace(one, operation=replace(one.operation, lacked_by=tuple(sorted({*one.operation.lacked_by, node}))))
        if isinstance(one.operation, Publish) else one for one in q.waiting
    )  # fmt: skip


def forget_replicas(t: Turn, q: Queue, bits: int) -> None:
    """Replicas are gone: no channel of the side in focus waits for them any more."""
    confirms.forget_replicas(t, q.name, nodes_of(bits))


def release(t: Turn, q: Queue) -> None:
    """Everything that waited tries again, in its order."""
    release_waiting(t, q.name)


def deliver(t: Turn, q: Queue) -> None:
    """Consumers get what there is for them."""
    consuming.deliver(t, q.name)


def catch_up_on_limits(t: Turn, q: Queue) -> None:
    """A queue that served nobody is not longer than it may be."""
    limits.drop_excess(t, q.name)


def count_times(t: Turn, q: Queue) -> None:
    """Counts from now on, or no longer, that the queue has no master, and that it synchronises."""
    bookkeeping.count_times(t, q.name)


PORTS = (
    "NODES", "AT_HAND", "RETURNING", "ADDING", "LEAVE_UNSYNCHRONISED", "REPLICA_GONE", "AUTOMATIC_SYNC",
    "POLICY_TAKES_EFFECT", "SYNC_FINISHED", "ALL_REPLICAS", "NO_RECORD", "wanted", "startable_bits",
    "note_recoverable", "note_returned", "plan", "join_later", "stall_join", "start_sync", "stop_sync", "leave_out",
    "is_held", "is_overdue", "defer_sync", "lack_waiting", "forget_replicas", "release", "deliver",
    "catch_up_on_limits",
    "count_times",
)  # fmt: skip
"""The names of what others have to have."""
