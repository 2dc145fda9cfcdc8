"""Nodes that lose their disks, and come back as others: `hawb.engine.cluster.membership`, as `hawb.study.repairs` asks
for it.

A queue without mirrors goes with its node, and its clients declare it again. What else a disk takes along is rare: what
an heir has of a mirrored queue, records from which a node is made to boot, and all that would have to wait for a node
that does not answer. A trial in which it happens is handed over: the engine plays it instead (`hawb.study.trial_rows`).
"""

from __future__ import annotations

from types import SimpleNamespace

from hawb.engine.cluster import lost_disks
from hawb.study.compiled import Binding, inner
from hawb.study.kernel.going_down import kill, miss_late, start_nodes
from hawb.study.kernel.network_rules import NETWORK
from hawb.study.kernel.node_rules import answers
from hawb.study.kernel.state import (
    count_times,
    hand_to_engine,
    is_running,
    look_from_outside,
    running_bits,
)


@inner
def keep_sides(t, entry):
    """In a whole network there is one side, whose records stay."""


lose_disks = Binding(["drop_unheld"], SimpleNamespace(drop_unheld=keep_sides), NETWORK).of(lost_disks.lose_disks)


@inner
def lose_nodes(t, bits):
    """The disks of nodes are lost, and what runs there with them."""
    kill(t, bits)
    t.moment.virgin |= bits
    look_from_outside(t)
    lose_disks(t, bits, 0, 0)


@inner
def replace(t, node):
    """An empty node comes back as another, where one runs that answers. A lone one begins anew."""
    running = running_bits(t)
    if t.setup.nodes == 1:
        t.moment.virgin, t.nodes[node].believes = 0, 0
    elif not answers(t):
        hand_to_engine(t)
    elif running:
        forget_node(t, node)
        t.moment.virgin &= ~(1 << node)
        t.nodes[node].believes = running
        start_nodes(t, 1 << node)


@inner
def forget_node(t, node):
    """`rabbitmqctl forget_cluster_node`: the others have no such node any more. A queue without mirrors that waited for
    it is gone; its consumer was told when it fell, or waits."""
    miss_late(t, node)
    if t.queue.master == node and (t.setup.mirrored or t.queue.waiting):
        hand_to_engine(t)
    elif t.queue.master == node:
        t.queue.gone = t.queue.absent = 1


@inner
def declare_again(t, node):
    """A client at a node declares the queue again, empty, and there."""
    if not is_running(t, node) or not answers(t):
        hand_to_engine(t)
        return
    queue = t.queue
    queue.master, queue.up, queue.stopped, queue.awaits_master, queue.absent, queue.gone = node, 1, 0, 0, 0, 0
    count_times(t)
