"""What a queue's record says, as far as that is said otherwise where it is compiled.

Its lists of nodes are RabbitMQ's: mirrors oldest first, synchronised ones newest first. Where mirrors change the record
is written to disk without any (`q.mirrors_on_disk`).
"""

from __future__ import annotations

from hawb.engine.core.state import Queue
from hawb.engine.core.turn import Turn
from hawb.rules.policies import HaMode, Mirroring, Promote, SyncMode

NO_MIRRORS = Mirroring(
    mode=HaMode.ALL, count=None, nodes=(), sync_mode=SyncMode.MANUAL, sync_batch_size=None,
    promote_on_shutdown=Promote.WHEN_SYNCED, promote_on_failure=Promote.ALWAYS, mirrored=False,
)  # fmt: skip
"""What applies to a queue that is not mirrored, or no more: a mirror that is left over takes over."""

is_alive = Turn.alive
"""Whether the replica at a node is a running process."""


def is_replicated(q: Queue) -> bool:
    """Whether policy asks for mirrors. Exclusive queues never have any."""
    return q.mirroring is not None and q.owner is None


def mirroring_of(_: Turn, q: Queue) -> Mirroring:
    """What policy asks for in the way of mirrors; NO_MIRRORS where it asks for none."""
    return q.mirroring if is_replicated(q) else NO_MIRRORS


def is_absent(_: Turn, q: Queue) -> bool:
    """Whether only disks have the record."""
    return q.absent and not q.failed


def mirrors(_: Turn, q: Queue) -> tuple[int, ...]:
    """The mirrors, oldest first."""
    return q.mirrors


def synchronised(_: Turn, q: Queue) -> tuple[int, ...]:
    """The mirrors that the record counts as synchronised, newest first."""
    return q.synchronised


def put_last(_: Turn, q: Queue, node: int) -> None:
    """A node has the youngest of the mirrors."""
    q.mirrors = (*(mirror for mirror in q.mirrors if mirror != node), node)
    q.mirrors_on_disk = ()


def put_first_synchronised(_: Turn, q: Queue, node: int) -> None:
    """A mirror is the last that has become synchronised."""
    q.synchronised = (node, *q.synchronised)
    q.mirrors_on_disk = ()


def strike_mirrors(_: Turn, q: Queue, bits: int) -> None:
    """Takes mirrors off the record."""
    if any(bits >> node & 1 for node in q.mirrors):
        q.mirrors = tuple(node for node in q.mirrors if not bits >> node & 1)
        q.synchronised = tuple(node for node in q.synchronised if not bits >> node & 1)
        q.mirrors_on_disk = ()


def forget_synchronised(_: Turn, q: Queue) -> None:
    """No mirror counts as synchronised."""
    if q.synchronised:
        q.synchronised, q.mirrors_on_disk = (), ()


PORTS = (
    "is_alive", "mirroring_of", "is_absent", "mirrors", "synchronised", "put_last", "put_first_synchronised",
    "strike_mirrors", "forget_synchronised",
)  # fmt: skip
"""The names of what others have to have."""
