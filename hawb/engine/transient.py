"""Queues that are not durable: what of their records outlives their nodes.

Source: `rabbit_amqqueue:on_node_down`, `rabbit_vhost:recover`, `rabbit_mirror_queue_misc:slaves_to_start_on_failure`.
"""

from __future__ import annotations

from hawb.engine import queues, strays
from hawb.engine.classic.record_ports import is_replicated
from hawb.engine.state import Queue
from hawb.engine.turn import Turn


def remains(t: Turn, q: Queue) -> bool:
    """Whether a queue that nobody serves is still known: one that is not durable as long as any node runs, if it is
    replicated or its process has crashed."""
    return q.durable or ((is_replicated(q) or q.crashed >> q.master & 1 == 1) and bool(t.running()))


def spared(t: Turn, q: Queue) -> int:
    """Who takes over starts mirrors, but not on the nodes of the dead, though one may be back: the master of a queue
    that is not durable is not started there either. As bits."""
    back = q.abandoned and not q.durable and t.is_running(q.master)
    return int(back) << q.master


def remove(t: Turn, q: Queue) -> None:
    """A queue goes with its node."""
    queues.remove(t, q.name, "node_down")


def go_with_node(t: Turn, q: Queue) -> None:
    """The node is back of a master that does not start again. Its record was kept by its policy alone: without that, it
    goes with what the node left behind, and nobody tells mirrors that wait for their master, nor who publishes to
    them."""
    if not is_replicated(q):
        strays.leave(t, q)
        remove(t, q)


def forget(t: Turn) -> None:
    """With the last node their records go too."""
    for name in t.queue_names():
        if t.queues[name].abandoned and not t.queues[name].durable:
            remove(t, t.queues[name])
