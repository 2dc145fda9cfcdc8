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
    """Take the queue down like any other if its process crashed for good on a node that is gone; return True if so."""
    if not q.failed or t.is_running(q.master):
        return False
    q.failed, q.absent = False, leaves_memory(t, q)
    if not q.durable and not is_replicated(q):
        transient.remove(t, q)
    return True


def has_room(_: Turn, q: Queue) -> bool:
    """Return False if the record counts a mirror that never started, so that ha-mode exactly asks for no other."""
    return not q.awaits_master or q.failed or not q.crashed >> q.master & 1


def forget_crashes(_: Turn, q: Queue, node: int) -> None:
    """Clear the crashes on a node that is back."""
    q.crashed &= ~(1 << node)
    q.crashes = tuple(pair for pair in q.crashes if pair[0] != node)


def crash_beside_itself(t: Turn, q: Queue) -> bool:
    """Return True if the master's process crashes whenever its node boots; note the crash.

    That happens if the record on the node's disk names the node as a mirror too, as that of a promoted mirror may, and
    ha-mode exactly keeps that mirror: the process would start a mirror beside itself. The record that it has written by
    then names no mirrors (a 3.10.8 cluster).
    """
    exactly = is_replicated(q) and q.mirroring.mode == HaMode.EXACTLY
    if not exactly or q.master not in q.mirrors_on_disk[: q.mirroring.count - 1]:
        return False
    q.crashed, q.mirrors_on_disk = q.crashed | 1 << q.master, ()
    t.emit("process_crashed", node=q.master, queue=q.name, final=True)
    return True
