"""Queues that are not durable: how long their records outlive their nodes.

With Khepri a record, also of an exclusive queue, stays until the node is back or forgotten, whichever nodes run.

Source: `rabbit_amqqueue:on_node_down`, `rabbit_vhost:recover`, `rabbit_mirror_queue_misc:slaves_to_start_on_failure`;
with Khepri `rabbit_amqqueue:on_node_up`, `rabbit_khepri:init` (delete_transient_queues_on_node) and a 4.3.6 cluster.
"""

from __future__ import annotations

from hawb.engine.classic import orphaned_mirrors
from hawb.engine.classic.record_ports import is_replicated
from hawb.engine.core.state import Queue
from hawb.engine.core.turn import Turn
from hawb.engine.queues import lifecycle


def remains(t: Turn, q: Queue) -> bool:
    """Return True if the record of a queue without a running master stays.

    A durable queue's record always stays, and with Khepri any. Another one stays only while any node runs, and only if
    the queue is replicated or its process has crashed.
    """
    if q.durable or t.setup.khepri:
        return True
    return (is_replicated(q) or q.crashed >> q.master & 1 == 1) and bool(t.running())


def excluded(t: Turn, q: Queue) -> int:
    """Return the node of a master that went down and is back, as bits.

    A new master starts no mirror there, just as the master of a queue that is not durable does not start again.
    """
    back = q.awaits_master and not q.durable and t.is_running(q.master)
    return int(back) << q.master


def remove(t: Turn, q: Queue) -> None:
    """Delete a queue with its node."""
    lifecycle.remove(t, q.name, "node_down")


def go_with_node(t: Turn, q: Queue) -> None:
    """Handle the return of a node whose master does not start again, since its queue is not durable.

    Only its policy kept the queue's record. Without a policy that mirrors, the record is deleted too, and neither
    mirrors that wait for their master nor publishers are informed.
    """
    if not is_replicated(q):
        orphaned_mirrors.leave_orphaned_mirrors(t, q)
        remove(t, q)


def forget(t: Turn) -> None:
    """Delete the records of such queues with the last node."""
    if t.setup.khepri:
        return
    for name in t.queue_names():
        if t.queues[name].awaits_master and not t.queues[name].durable:
            remove(t, t.queues[name])
