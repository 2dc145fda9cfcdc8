"""The ports of a failover (`hawb.engine.classic.failover_ports`), for a trial.

Its queue is durable, no process crashes, and the record on disk names no mirrors.
"""

from __future__ import annotations

from hawb.study.compiled import inner, with_arrays
from hawb.study.kernel import deliveries, node_rules, state
from hawb.study.kernel.deliveries import subscribe
from hawb.study.kernel.mailbox import is_awaited
from hawb.study.kernel.publishing import note_master_gone
from hawb.study.kernel.silence import nothing
from hawb.study.kernel.state import (
    ACTIVE,
    CANCELLED,
    COPIED,
    ENDED,
    HOW,
    KIND,
    LACKED_BY,
    LOST_WITH_MASTER,
    PUBLISH,
    RESUME,
    A,
    B,
    C,
    D,
    is_running,
    move_row,
    schedule,
)

__all__ = ["COPIED", "LOST_WITH_MASTER"]

detach_consumer, defer_change, listed_in = deliveries.detach, node_rules.defer_if_blocked, state.listed


@with_arrays
def listed(t, bits):
    """Return the nodes of a set, in their order, as rules take them."""
    return listed_in(t.available, bits)


@inner
def defer_if_blocked(t, q, kind):
    """Make a change of the queue wait for a node that does not answer, if there is one; return True if it waits."""
    return defer_change(t, (kind, 0))


@inner
def leaves_memory(t, q):
    """Return True if the record is on disks only once the master's node is down."""
    return not t.setup.mirrored and not t.setup.keeps_records


@inner
def always(*_):
    """Return True: a trial's queue is durable, and no process crashes."""
    return True


has_room = remains = is_there = may_return = always
disk_record = on_disk_record = keep_disk_record = nothing
"""The record on disk names no mirrors."""
excluded = remove = fall_with_node = forget_crashes = nothing
"""The queue is durable, and no process crashes."""
leave_orphaned_mirrors = promote_orphaned_mirror = is_alone = not_promotable_bits = answer_waiting = nothing
"""Policy does not change, so no mirror stays on the record of a master that does not know it."""
adopt_limits = nothing
"""The queue has no limits."""

# Operations that wait for a master


@inner
def answer_unheld(t, q, holders, ended):
    """Let waiting publishes fail that none of the mirrors `holders` has, since it was not there when they were sent."""
    how = LOST_WITH_MASTER | ENDED if ended and t.setup.orphaned_mirrors_confirm else LOST_WITH_MASTER
    left = 0
    for k in range(q.waiting):
        row = t.waiting[k]
        if row[KIND] == PUBLISH and not holders & ~(row[C] >> LACKED_BY):
            schedule(t, 0, PUBLISH, row[A], row[B], row[C] & HOW | how, row[D])
        else:
            move_row(t.waiting, k, left)
            left += 1
    q.waiting = left


@inner
def keep_waiting(t, q, how):
    """Update what waits for a queue whose master is gone: answers are lost.

    Messages are copied to the mirrors, or lost.
    """
    note_master_gone(t, how)


# Clients


@inner
def detach(t, q):
    """Make what the consumer held of the master stale."""
    detach_consumer(t)


@inner
def wants_to_go_on(t):
    """Return True if the consumer's channel is there, and its client wants messages."""
    return t.consumer.state == ACTIVE and is_running(t, t.consumer.node)


@inner
def follow_new_master(t, q, was):
    """Let the consumer's channel consume again without informing the client."""
    if wants_to_go_on(t):
        subscribe(t)


@inner
def lose_master(t, q):
    """Let the consumer wait for a master, or cancel it."""
    if wants_to_go_on(t):
        if is_awaited(t, q):
            schedule(t, 0, RESUME, t.consumer.subscription, t.consumer.node, 0, t.consumer.client)
        else:
            t.consumer.state = CANCELLED


@inner
def note_promotion(t, q, synchronised):
    """Count a promotion of a mirror, synchronised or not."""
    t.book.promotions += 1
    t.book.unsynchronised_promotions += not synchronised


@inner
def meet(t, q, node):
    """Do nothing: no trial uses recoverable mirrors."""
