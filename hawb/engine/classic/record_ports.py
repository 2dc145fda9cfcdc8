"""The queue's record, as far as the kernel stores it otherwise.

Its lists of nodes are RabbitMQ's: mirrors oldest first, synchronised ones newest first. A change of mirrors writes the
record to disk without any mirrors (`q.mirrors_on_disk`).
"""

from __future__ import annotations

from hawb.engine.core.state import Queue
from hawb.engine.core.turn import Turn
from hawb.rules.policies import HaMode, Mirroring, Promote, SyncMode

NO_MIRRORS = Mirroring(
    mode=HaMode.ALL, count=None, nodes=(), sync_mode=SyncMode.MANUAL, sync_batch_size=None,
    promote_on_shutdown=Promote.WHEN_SYNCED, promote_on_failure=Promote.ALWAYS, mirrored=False,
)  # fmt: skip
"""The mirroring of a queue whose policy asks for none. A mirror that is left may be promoted."""

is_alive = Turn.alive
"""Return True if the process of the replica at a node runs."""


def is_replicated(q: Queue) -> bool:
    """Return True if policy asks for mirrors. Exclusive queues never have any."""
    return q.mirroring is not None and q.owner is None


def mirroring_of(_: Turn, q: Queue) -> Mirroring:
    """Return the mirroring that policy asks for; NO_MIRRORS if it asks for none."""
    return q.mirroring if is_replicated(q) else NO_MIRRORS


def is_absent(_: Turn, q: Queue) -> bool:
    """Return True if only disks have the record."""
    return q.absent and not q.failed


def mirrors(_: Turn, q: Queue) -> tuple[int, ...]:
    """Return the mirrors, oldest first."""
    return q.mirrors


def synchronised(_: Turn, q: Queue) -> tuple[int, ...]:
    """Return the mirrors that the record counts as synchronised, newest first."""
    return q.synchronised


def put_last(_: Turn, q: Queue, node: int) -> None:
    """Add a mirror to the record as the youngest one."""
    q.mirrors = (*(mirror for mirror in q.mirrors if mirror != node), node)
    q.mirrors_on_disk = ()


def put_first_synchronised(_: Turn, q: Queue, node: int) -> None:
    """Mark a mirror as the one that became synchronised last."""
    q.synchronised = (node, *q.synchronised)
    q.mirrors_on_disk = ()


def remove_mirrors(_: Turn, q: Queue, bits: int) -> None:
    """Remove mirrors from the record."""
    if any(bits >> node & 1 for node in q.mirrors):
        q.mirrors = tuple(node for node in q.mirrors if not bits >> node & 1)
        q.synchronised = tuple(node for node in q.synchronised if not bits >> node & 1)
        q.mirrors_on_disk = ()


def forget_synchronised(_: Turn, q: Queue) -> None:
    """Mark all mirrors as not synchronised."""
    if q.synchronised:
        q.synchronised, q.mirrors_on_disk = (), ()


PORTS = (
    "is_alive", "mirroring_of", "is_absent", "mirrors", "synchronised", "put_last", "put_first_synchronised",
    "remove_mirrors", "forget_synchronised",
)  # fmt: skip
"""The names of the ports, which each kernel implements."""
