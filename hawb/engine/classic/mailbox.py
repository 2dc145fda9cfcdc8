"""What waits at a classic queue, and who waits for it.

Source: `rabbit_amqqueue:retry_wait`, `rabbit_channel:handle_consuming_queue_down_or_eol`.
"""

from __future__ import annotations

from hawb.engine.classic.record import mirrors_await_master
from hawb.engine.classic.record_ports import is_absent, mirroring_of
from hawb.engine.cluster.node_ports import linked

SHARED = True  # the kernel of studies compiles this module


def is_busy(t, q, node):
    """Whether what clients at a node send waits on its way to a queue: it synchronises, nobody knows yet who serves it,
    or its master does not answer."""
    if q.up:
        return q.syncing or not linked(t, node, q.master)
    return not q.awaits_master


def keeps(t, q, node):
    """Whether what clients at a node publish waits at a queue's replicas."""
    return is_busy(t, q, node) or mirrors_await_master(t, q)


def is_stopped(t, q):
    """Whether the record of a queue without replicas says that its process was stopped, so that nobody waits for one. A
    mirrored queue's says so no more once its mirrors have been stopped, too."""
    known = q.awaits_master and q.stopped and not is_absent(t, q)
    return known and not mirroring_of(t, q).mirrored and t.setup.keeps_records


def is_awaited(t, q):
    """Whether a channel that tries to consume again from a queue without a master does not fail at once, but for
    crashes. 4.0, which has no mirrors, does not try."""
    return t.setup.consumes_again and (mirroring_of(t, q).mirrored or not (q.absent or is_stopped(t, q)))
