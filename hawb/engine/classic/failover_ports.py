"""What a failover of a classic queue needs of a turn beside `ports`: what becomes of its clients, and of what they have
sent. For the kernel it is in `hawb.study.kernel.failover_ports`.

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
    """The nodes of a set, in their order, as rules take them."""
    return nodes_of(bits)


def stall(t: Turn, q: Queue, kind: type) -> bool:
    """Whether something of the queue has to wait for a node that does not answer; then it does."""
    return metadata.stall(t, kind(q.name))


# The record


def disk_record(_: Turn, q: Queue) -> tuple[int, ...]:
    """The mirrors that the record on disk names."""
    return q.mirrors_on_disk


def on_disk_record(_: Turn, q: Queue) -> int:
    """The same as a set."""
    return bits_of(q.mirrors_on_disk)


def keep_disk_record(_: Turn, q: Queue, recorded: tuple[int, ...]) -> None:
    """The record on disk is as it was: nobody has written it."""
    q.mirrors_on_disk = recorded


def is_there(t: Turn, q: Queue) -> bool:
    """Whether the queue has not been removed."""
    return q.name in t.queues


def not_promotable_bits(_: Turn, q: Queue) -> int:
    """The mirrors that end with their master."""
    return q.not_promotable


# Clients


def detach(t: Turn, q: Queue) -> None:
    """Consumers still hold what the master had sent, as far as they know: each has that with it."""


def follow_new_master(t: Turn, q: Queue, was: int) -> None:
    """Consumers of the master at node `was` go on with the new one, or are cancelled."""
    subscriptions.follow_new_master(t, q.name, was)


def lose_master(t: Turn, q: Queue) -> None:
    """Consumers wait for a master, or are cancelled."""
    subscriptions.lose_master(t, q.name)


def adopt_limits(t: Turn, q: Queue) -> None:
    """A master that begins goes by what the record says."""
    limits.adopt(t, q.name, starting=True)


# A node that is back


def may_return(t: Turn, q: Queue) -> bool:
    """Whether the master's process starts with its node."""
    if not q.durable:
        transient.go_with_node(t, q)
        return False
    return not crash_record.crash_beside_itself(t, q)


def meet(t: Turn, q: Queue, node: int) -> None:
    """A node that is up and the other running ones tell each other so, and each strikes out of those that could be
    recovered offline whoever has no synchronised mirror. One that is up alone nobody strikes out
    (`rabbit_amqqueue:maybe_clear_recoverable_node`, `rabbit_node_monitor:notify_node_up`)."""
    met = t.running() if len(t.running()) > 1 else []
    q.recoverable = tuple(
        mirror for mirror in q.recoverable if mirror not in met or (mirror in q.synchronised and mirror != node)
    )


PORTS = (
    "COPIED", "STRUCK", "listed", "stall", "promote_orphaned_mirror", "is_alone", "not_promotable_bits",
    "disk_record", "on_disk_record", "keep_disk_record", "leaves_memory", "spared", "fall_with_node", "has_room",
    "forget_crashes", "remains", "remove", "is_there", "leave_orphaned_mirrors", "answer_waiting", "answer_unheld",
    "keep_waiting", "detach", "follow_new_master", "lose_master", "adopt_limits", "note_promotion", "meet",
    "may_return",
)  # fmt: skip
"""The names of what others have to have: what stands here, and what becomes of crashes, of queues that are not durable,
of mirrors and publishes that wait for a master, and of what is counted, which stands in modules of their own."""
