"""A classic queue without a master or promotion candidate, until the master's node is back.

Source: `rabbit_amqqueue:on_node_down`, `rabbit_amqqueue:recover`, `rabbit_mirror_queue_master:init_with_existing_bq`.
"""

from __future__ import annotations

from hawb.engine.classic.copies import delete_copies, keep_masters_copy, keep_orphaned_mirrors
from hawb.engine.classic.failover_ports import adopt_limits, detach, disk_record, lose_master, on_disk_record
from hawb.engine.classic.journal import JOINED, blame, say_mirrors_replaced, say_queue_down, say_queue_recovered
from hawb.engine.classic.mirrors import add_mirrors, synchronise_drained
from hawb.engine.classic.orphaned_mirrors import leave_orphaned_mirrors
from hawb.engine.classic.ports import AT_HAND, POLICY_TAKES_EFFECT, count_times, deliver, forget_replicas, plan, release
from hawb.engine.classic.record import alive_bits, mirror_bits, mirrors_await_master
from hawb.engine.classic.record_ports import forget_synchronised, mirrors, remove_mirrors
from hawb.engine.classic.waiting_publishes import LOST_WITH_MASTER, answer_unheld
from hawb.engine.classic.waiting_publishes import answer as answer_waiting
from hawb.engine.classic.waiting_publishes import keep as keep_waiting
from hawb.engine.cluster.node_ports import is_running
from hawb.engine.core.state import NOWHERE, Queue
from hawb.engine.core.turn import Turn
from hawb.engine.queues.access import leaves_memory
from hawb.engine.queues.transient import remains, remove

SHARED = True  # the kernel of studies compiles this module


def await_master(t: Turn, q: Queue, reason: str) -> None:
    """Take the queue down until its master's node is back, because no replica may become master.

    A durable queue keeps what is on that node's disk. Mirrors that join meanwhile are never promoted: no master has
    died since they joined. A queue that is not durable is removed, unless it is replicated: its record then stays as
    long as any node runs (`rabbit_amqqueue:on_node_down`), names a master that does not come back, and can only be
    deleted.
    """
    entry = say_queue_down(t, q, reason)
    living = alive_bits(t, q) & mirror_bits(t, q)
    gone = (mirror_bits(t, q) | 1 << q.master) & ~living
    forget_replicas(t, q, gone)
    detach(t, q)
    keep_masters_copy(t, q, gone, entry)
    forget_synchronised(t, q)
    keep_waiting(t, q, 0 if living else LOST_WITH_MASTER)
    q.awaits_master, q.absent = True, leaves_memory(t, q) and not is_running(t, q.master)
    blame(t, entry)
    if remains(t, q):
        release(t, q)
        lose_master(t, q)
    else:
        remove(t, q)


def answer_lost_publishes(t: Turn, q: Queue, ended: bool) -> None:
    """Answer for waiting messages that no running mirror has; `ended` is True if the last one ended by itself."""
    holders = alive_bits(t, q) & mirror_bits(t, q) if mirrors_await_master(t, q) else 0
    answer_unheld(t, q, holders, ended)


def recover(t: Turn, q: Queue, returning: int) -> None:
    """Start the master from its node's disk: the node is back (`returning`), or its crashed process is.

    Mirrors that policy asks for join empty on the nodes that run, in the policy's order
    (`rabbit_mirror_queue_master:init_with_existing_bq`).
    """
    on_disk = disk_record(t, q)
    leave_orphaned_mirrors(t, q)
    replace_mirrors(t, q)
    answer_lost_publishes(t, q, False)
    q.up, q.awaits_master, q.absent, q.orphaned_gm = True, False, False, NOWHERE
    q.dead_gm_members = q.dead_gm_synchronised = 0
    say_queue_recovered(t, q, returning)
    count_times(t, q)
    adopt_limits(t, q)
    synchronise_drained(t, q, JOINED)
    add_mirrors(t, q, returning, on_disk, 0)
    if len(mirrors(t, q)) == 0:
        plan(t, q, 0, POLICY_TAKES_EFFECT, returning, 0, AT_HAND)
    release(t, q)
    deliver(t, q)


def replace_mirrors(t: Turn, q: Queue) -> None:
    """Keep the mirrors in the master's record on disk, and remove those that joined while the master's node was down.

    The master overwrites the present record with its own; other mirrors then join if policy asks for them
    (`rabbit_amqqueue:internal_declare`, `amqqueue:reset_mirroring_and_decorators`). The mirrors that stay keep the
    messages that channels sent them while there was no master.
    """
    left = mirror_bits(t, q) & alive_bits(t, q) & on_disk_record(t, q)
    gone = mirror_bits(t, q) & ~left
    say_mirrors_replaced(t, q, gone, left)
    remove_mirrors(t, q, gone)
    forget_synchronised(t, q)
    delete_copies(t, q, gone)
    keep_orphaned_mirrors(t, q, left)
    forget_replicas(t, q, gone)
    if left:
        answer_waiting(t, q, left)
