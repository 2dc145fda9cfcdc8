"""The engine's part of a failover: clients of the queue, and the record on disk.

These functions are ports beside `ports`; the kernel's are in `hawb.study.kernel.failover_ports`.

Source: `rabbit_mirror_queue_slave`, `rabbit_amqqueue:on_node_down`, `rabbit_vhost:recover`.
"""

from __future__ import annotations

from hawb.engine.classic import crash_record
from hawb.engine.clients import subscriptions
from hawb.engine.cluster import metadata
from hawb.engine.core.state import Queue, bits_of, nodes_of
from hawb.engine.core.turn import Turn
from hawb.engine.queues import limits, transient


def listed(_: Turn, bits: int) -> list[int]:
    """Return the nodes of a set as a list in their order, as rules take them."""
    return nodes_of(bits)


def defer_if_blocked(t: Turn, q: Queue, kind: type) -> bool:
    """Defer an event of the queue if a node that counts as running does not answer; return True if it was deferred."""
    return metadata.defer_if_blocked(t, kind(q.name))


# The record


def disk_record(_: Turn, q: Queue) -> tuple[int, ...]:
    """Return the mirrors that the record on disk names."""
    return q.mirrors_on_disk


def on_disk_record(_: Turn, q: Queue) -> int:
    """Return the mirrors that the record on disk names, as bits."""
    return bits_of(q.mirrors_on_disk)


def keep_disk_record(_: Turn, q: Queue, recorded: tuple[int, ...]) -> None:
    """Restore the record on disk, which no node has written."""
    q.mirrors_on_disk = recorded


def is_there(t: Turn, q: Queue) -> bool:
    """Return True if the queue has not been removed."""
    return q.name in t.queues


def not_promotable_bits(_: Turn, q: Queue) -> int:
    """Return the mirrors that end with their master, as bits."""
    return q.not_promotable


# Clients


def detach(t: Turn, q: Queue) -> None:
    """Do nothing: each consumer keeps its deliveries from the old master with it."""


def follow_new_master(t: Turn, q: Queue, was: int) -> None:
    """Move the consumers of the master at node `was` to the new master, or cancel them."""
    subscriptions.follow_new_master(t, q.name, was)


def lose_master(t: Turn, q: Queue) -> None:
    """Let the consumers wait for a master, or cancel them."""
    subscriptions.lose_master(t, q.name)


def adopt_limits(t: Turn, q: Queue) -> None:
    """Apply the limits of the record to a master that starts."""
    limits.adopt(t, q.name, starting=True)


# A node that is back


def may_return(t: Turn, q: Queue) -> bool:
    """Return True if the master's process starts with its node."""
    if not q.durable:
        transient.go_with_node(t, q)
        return False
    return not crash_record.crash_beside_itself(t, q)


def meet(t: Turn, q: Queue, node: int) -> None:
    """Drop mirrors from the list of recoverable ones as the running nodes report to each other that they are up.

    Each running node is dropped unless its mirror is synchronised, and so is `node`, which is back. A node that runs
    alone is not dropped (`rabbit_amqqueue:maybe_clear_recoverable_node`, `rabbit_node_monitor:notify_node_up`).
    """
    met = t.running() if len(t.running()) > 1 else []
    q.recoverable = tuple(
        mirror for mirror in q.recoverable if mirror not in met or (mirror in q.synchronised and mirror != node)
    )


PORTS = (
    "COPIED", "LOST_WITH_MASTER", "listed", "defer_if_blocked", "promote_orphaned_mirror", "is_alone",
    "not_promotable_bits", "disk_record", "on_disk_record", "keep_disk_record", "leaves_memory", "excluded",
    "fall_with_node", "has_room", "forget_crashes", "remains", "remove", "is_there", "leave_orphaned_mirrors",
    "answer_waiting", "answer_unheld", "keep_waiting", "detach", "follow_new_master", "lose_master", "adopt_limits",
    "note_promotion", "meet", "may_return",
)  # fmt: skip
"""The names of the ports, which each kernel implements. Some stand in modules of their own: crashes, queues that are
not durable, orphaned mirrors, waiting publishes and counters."""
