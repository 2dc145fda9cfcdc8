"""A queue's record of its processes that have crashed; `crashes` says how they crash.

Source: `rabbit_amqqueue_sup`, `rabbit_mirror_queue_mode_exactly`, `rabbit_mirror_queue_slave:init_it`.
"""

from __future__ import annotations

from hawb.engine.classic.record_ports import is_replicated
from hawb.engine.core.state import Queue
from hawb.engine.core.turn import Turn
from hawb.engine.queues import transient
from hawb.engine.queues.access import leaves_memory
from hawb.rules.policies import HaMode


def fall_with_node(t: Turn, q: Queue) -> bool:
    """Whether the node is gone on which a queue's process crashed for good: then the queue is down like any other."""
    if not q.failed or t.is_running(q.master):
        return False
    q.failed, q.absent = False, leaves_memory(t, q)
    if not q.durable and not is_replicated(q):
        transient.remove(t, q)
    return True


def has_room(_: Turn, q: Queue) -> bool:
    """Whether the record in memory counts no mirror that never started, so that exactly asks for no other."""
    return not q.awaits_master or q.failed or not q.crashed >> q.master & 1


def forget_crashes(_: Turn, q: Queue, node: int) -> None:
    """A node that is back has no process that has crashed."""
    q.crashed &= ~(1 << node)
    q.crashes = tuple(pair for pair in q.crashes if pair[0] != node)


def crash_beside_itself(t: Turn, q: Queue) -> bool:
    """Whether a master's process crashes at each attempt to start with its node. Where the record on the node's disk
    names it as a mirror too, as that of an heir may, and ha-mode exactly keeps it as one, it would start a mirror
    beside itself; what it has written by then names none (a 3.10.8 cluster)."""
    exactly = is_replicated(q) and q.mirroring.mode == HaMode.EXACTLY
    if not exactly or q.master not in q.mirrors_on_disk[: q.mirroring.count - 1]:
        return False
    q.crashed, q.mirrors_on_disk = q.crashed | 1 << q.master, ()
    t.emit("process_crashed", node=q.master, queue=q.name, final=True)
    return True
