"""Which operations and channels wait for a classic queue.

Source: `rabbit_amqqueue:retry_wait`, `rabbit_channel:handle_consuming_queue_down_or_eol`.
"""

from __future__ import annotations

from hawb.engine.classic.record import mirrors_await_master
from hawb.engine.classic.record_ports import is_absent, mirroring_of
from hawb.engine.cluster.node_ports import linked
from hawb.engine.core.state import Queue
from hawb.engine.core.turn import Turn

SHARED = True  # the kernel of studies compiles this module


def is_busy(t: Turn, q: Queue, node: int) -> bool:
    """Return True if operations of clients at a node wait for the queue.

    It synchronises, its master does not answer, or its next master is not decided yet.
    """
    if q.up:
        return q.syncing or not linked(t, node, q.master)
    return not q.awaits_master


def keeps(t: Turn, q: Queue, node: int) -> bool:
    """Return True if messages that clients at a node publish wait for the queue, or at its mirrors."""
    return is_busy(t, q, node) or mirrors_await_master(t, q)


def is_stopped(t: Turn, q: Queue) -> bool:
    """Return True if a queue without replicas is recorded as stopped, so that no channel waits for it.

    The record of a mirrored queue no longer says so once its mirrors have been stopped too.
    """
    known = q.awaits_master and q.stopped and not is_absent(t, q)
    return known and not mirroring_of(t, q).mirrored and t.setup.keeps_records != 0


def is_awaited(t: Turn, q: Queue) -> bool:
    """Return True if a channel's attempt to consume again from a queue without a master does not fail at once.

    Crashes are judged elsewhere. 4.0, which has no mirrors, makes no such attempt.
    """
    return t.setup.consumes_again != 0 and (mirroring_of(t, q).mirrored or not (q.absent or is_stopped(t, q)))
