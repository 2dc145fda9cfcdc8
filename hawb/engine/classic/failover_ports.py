"""The engine's part of a failover: clients, the record on disk, and what the record says about crashed processes.

These functions are ports beside `ports`; the kernel's are in `hawb.study.kernel.failover_ports`. `crashes` says how
processes crash.

Source: `rabbit_mirror_queue_slave`, `rabbit_amqqueue:on_node_down`, `rabbit_vhost:recover`; of crashes
`rabbit_amqqueue_sup`, `rabbit_mirror_queue_mode_exactly` and `rabbit_mirror_queue_slave:init_it`.
"""

from __future__ import annotations

from hawb.engine.classic.record_ports import is_replicated
from hawb.engine.clients import subscriptions
from hawb.engine.cluster import metadata
from hawb.engine.core.state import Queue, bits_of, nodes_of
from hawb.engine.core.turn import Turn
from hawb.engine.queues import limits, transient
from hawb.engine.queues.access import leaves_memory
from hawb.rules.policies import HaMode


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
    return not crash_beside_itself(t, q)


def meet(t: Turn, q: Queue, node: int) -> None:
    """Drop mirrors from the list of recoverable ones as the running nodes report to each other that they are up.

    Each running node is dropped unless its mirror is synchronised, and so is `node`, which is back. A node that runs
    alone is not dropped (`rabbit_amqqueue:maybe_clear_recoverable_node`, `rabbit_node_monitor:notify_node_up`).
    """
    met = t.running() if len(t.running()) > 1 else []
    q.recoverable = tuple(
        mirror for mirror in q.recoverable if mirror not in met or (mirror in q.synchronised and mirror != node)
    )


# Processes that have crashed


def fall_with_node(t: Turn, q: Queue) -> bool:
    """Handle the end of the node on which the queue's process had crashed for good. Return True if it had.

    The queue is then down like any other. If it is neither durable nor mirrored, its record is removed.
    """
    if not q.failed or t.is_running(q.master):
        return False
    q.failed, q.absent = False, leaves_memory(t, q)
    if not q.durable and not is_replicated(q):
        transient.remove(t, q)
    return True


def has_room(_: Turn, q: Queue) -> bool:
    """Return False if ha-mode exactly adds no mirror, since the record counts one that never started."""
    return not q.awaits_master or q.failed or not q.crashed >> q.master & 1


def forget_crashes(_: Turn, q: Queue, node: int) -> None:
    """Clear the crashes on a node that is back."""
    q.crashed &= ~(1 << node)
    q.crashes = tuple(pair for pair in q.crashes if pair[0] != node)


def crash_beside_itself(t: Turn, q: Queue) -> bool:
    """Return True if the master's process crashes whenever its node boots. Record the crash.

    It crashes when it starts a mirror on its own node. That happens under ha-mode exactly if the record on the node's
    disk names the node as a mirror as well, as that of a promoted mirror may. By then the process has written a record
    without mirrors (a 3.10.8 cluster).
    """
    exactly = is_replicated(q) and q.mirroring.mode == HaMode.EXACTLY
    if not exactly or q.master not in q.mirrors_on_disk[: q.mirroring.count - 1]:
        return False
    q.crashed, q.mirrors_on_disk = q.crashed | 1 << q.master, ()
    t.emit("process_crashed", node=q.master, queue=q.name, final=True)
    return True


PORTS = (
    "COPIED", "LOST_WITH_MASTER", "listed", "defer_if_blocked", "promote_orphaned_mirror", "is_alone",
    "not_promotable_bits", "disk_record", "on_disk_record", "keep_disk_record", "leaves_memory", "excluded",
    "fall_with_node", "has_room", "forget_crashes", "remains", "remove", "is_there", "leave_orphaned_mirrors",
    "answer_waiting", "answer_unheld", "keep_waiting", "detach", "follow_new_master", "lose_master", "adopt_limits",
    "note_promotion", "meet", "may_return",
)  # fmt: skip
"""The names of the ports, which each kernel implements. Queues that are not durable, orphaned mirrors, waiting
publishes and counters have modules of their own."""
