"""Queues that are not durable: how far their records outlive their nodes.

With Khepri they do so until the node is back or forgotten, exclusive ones among them, whoever else runs.

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
    """Whether a queue that no node serves is still known: a durable queue always, and with Khepri any; another only
    while any node runs, and if it is replicated or its process has crashed."""
    if q.durable or t.setup.khepri:
        return True
    return (is_replicated(q) or q.crashed >> q.master & 1 == 1) and bool(t.running())


def spared(t: Turn, q: Queue) -> int:
    """The dead master's node, as bits, if it is back: a new master starts no mirror there, just as the master of a
    queue that is not durable is not started again."""
    back = q.awaits_master and not q.durable and t.is_running(q.master)
    return int(back) << q.master


def remove(t: Turn, q: Queue) -> None:
    """A queue goes with its node."""
    lifecycle.remove(t, q.name, "node_down")


def go_with_node(t: Turn, q: Queue) -> None:
    """The node of a master is back, which does not start again since its queue is not durable. Only its policy kept the
    queue's record: without a policy that mirrors, the record goes too, and nobody tells mirrors that wait for their
    master, nor publishers."""
    if not is_replicated(q):
        orphaned_mirrors.leave_orphaned_mirrors(t, q)
        remove(t, q)


def forget(t: Turn) -> None:
    """Forgets the records of such queues with the last node."""
    if t.setup.khepri:
        return
    for name in t.queue_names():
        if t.queues[name].awaits_master and not t.queues[name].durable:
            remove(t, t.queues[name])
