"""Nodes that lose their disks, and come back as others: `hawb.engine.clustering`, as `hawb.study.repairs` asks for it.

A queue without mirrors goes with its node, and its clients declare it again. What else a disk takes along, as what an
heir has of a mirrored queue, or records from which a node is made to boot, is rare, and a trial in which it happens is
handed over: the engine plays it instead (`hawb.study.records`).
"""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel.deliveries import detach, release
from hawb.study.kernel.failover import lose
from hawb.study.kernel.metadata import answers, stall
from hawb.study.kernel.nodes import kill, notice_gone, start
from hawb.study.kernel.state import (
    CANCELLED,
    DOWN,
    NODE_FORGOTTEN,
    NODE_GONE,
    count_times,
    is_running,
    running_bits,
    unschedule,
)


@inner
def hand_over(t):
    """The trial is not played on."""
    t.moment.handed = 1


@inner
def lose_disk(t, bits):
    """The disks of nodes are lost, and what runs there with them. Of a queue that waits for such a node nothing is
    left."""
    kill(t, bits)
    t.moment.virgin |= bits
    if t.queue.abandoned and bits >> t.queue.master & 1:
        lose(t, t.queue.taken)


@inner
def replace(t, node):
    """The others forget an empty node, and it joins as another. A lone one begins anew."""
    if t.setup.nodes == 1:
        t.moment.virgin, t.believes[node] = 0, 0
        return
    running, origin = running_bits(t), 0
    if not running:
        return
    while not running >> origin & 1:
        origin += 1
    forget(t, node, origin)
    if t.moment.strangers >> node & 1:
        join(t, node)


@inner
def forget(t, node, origin):
    """`rabbitmqctl forget_cluster_node`, run on `origin`, about a node without a disk."""
    if not is_running(t, origin) or t.moment.strangers >> node & 1:
        return
    if stall(t, NODE_FORGOTTEN, node, origin) or t.status[node] != DOWN:
        return
    if unschedule(t, NODE_GONE, node):
        notice_gone(t, node)
    t.moment.strangers |= 1 << node
    if t.queue.master == node and t.setup.mirrored:
        hand_over(t)
    elif t.queue.master == node:
        remove(t)


@inner
def forget_late(t, node, origin):
    """The same, after it had to wait."""
    forget(t, node, origin)
    if t.queue.gone:
        hand_over(t)


@inner
def join(t, node):
    """`rabbitmqctl join_cluster`, and a node boots."""
    t.moment.strangers, t.moment.virgin = t.moment.strangers & ~(1 << node), t.moment.virgin & ~(1 << node)
    t.believes[node] = running_bits(t)
    start(t, 1 << node)


@inner
def remove(t):
    """A queue without mirrors is gone, and its consumer is told."""
    t.queue.gone = 1
    release(t)
    if detach(t):
        t.consumer.state = CANCELLED


@inner
def declare(t, node):
    """A client at a node declares the queue again, empty, and there."""
    if not is_running(t, node) or not answers(t):
        hand_over(t)
        return
    queue = t.queue
    queue.master, queue.up, queue.stopped, queue.abandoned, queue.absent, queue.gone = node, 1, 0, 0, 0, 0
    count_times(t)
