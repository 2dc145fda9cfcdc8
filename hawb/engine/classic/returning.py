"""A node starts again: its classic queues recover, and mirrors join on it.

Source: `rabbit_mirror_queue_misc:on_vhost_up`, `rabbit_amqqueue:recover`.
"""

from __future__ import annotations

from hawb.engine.classic.copies import delete_copies
from hawb.engine.classic.failover_ports import forget_crashes, has_room, may_return, meet
from hawb.engine.classic.outage import recover
from hawb.engine.classic.ports import NO_RECORD, RETURNING, join_later, wanted
from hawb.engine.classic.record import mirror_bits
from hawb.engine.classic.record_ports import mirroring_of, remove_mirrors
from hawb.engine.core.state import NOWHERE, Queue
from hawb.engine.core.turn import Turn

SHARED = True  # the kernel of studies compiles this module


def load_record(t: Turn, q: Queue, node: int) -> None:
    """Read the record of the queue from the disk of the first node that boots.

    The node does not know which processes other nodes had: no mirror joins a queue before its master's node is back
    (`rabbit_amqqueue:recover`, `rabbit_mirror_queue_misc:on_vhost_up`).
    """
    if q.master != node:
        remove_mirrors(t, q, mirror_bits(t, q))
        q.dead_gm_members = q.dead_gm_synchronised = 0
        q.orphaned_gm, q.absent = NOWHERE, True


def return_to(t: Turn, q: Queue, node: int) -> None:
    """Start the queue's master on a node that is back, or replace the node's old mirror by a new one if wanted."""
    if q.absent and q.master != node:
        delete_copies(t, q, 1 << node)
        return
    meet(t, q, node)
    remove_mirrors(t, q, 1 << node)
    forget_crashes(t, q, node)
    if q.master == node:
        if not q.up and may_return(t, q):
            recover(t, q, RETURNING)
        return
    delete_copies(t, q, 1 << node)
    known = mirror_bits(t, q) | 1 << q.master | 1 << node
    if has_room(t, q) and mirroring_of(t, q).mirrored and node in wanted(t, q, known, NO_RECORD):
        join_later(t, q, node, RETURNING, NO_RECORD)
