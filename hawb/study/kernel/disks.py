"""Nodes that lose their disks, and join again as new ones.

This is `hawb.engine.cluster.membership`, as `hawb.study.repairs` uses it. A queue without mirrors is lost with its
node, and its clients declare it again. Other consequences of a lost disk are rare: what a promotion candidate has of a
mirrored queue, records from which a node is forced to boot, and all that would have to wait for a node that does not
answer. A trial with one of them falls back to the engine (`hawb.study.trial_rows`).
"""

from __future__ import annotations

from types import SimpleNamespace

from hawb.engine.cluster import lost_disks
from hawb.study.compiled import Binding, inner
from hawb.study.kernel.going_down import kill, notice_pending_down, start_nodes
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
    """Do nothing: a whole network has one side, whose records stay."""


lose_disks = Binding(["drop_unheld"], SimpleNamespace(drop_unheld=keep_sides), NETWORK).of(lost_disks.lose_disks)


@inner
def lose_nodes(t, bits):
    """Lose the disks of nodes, and what runs on them."""
    kill(t, bits)
    t.moment.virgin |= bits
    look_from_outside(t)
    lose_disks(t, bits, 0, 0)


@inner
def replace(t, node):
    """Let an empty node join as another, if a node runs that answers. A lone node starts as a new cluster."""
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
    """Run `rabbitmqctl forget_cluster_node`.

    A queue without mirrors that waited for the node is gone; its consumer was cancelled when the queue went down, or
    waits.
    """
    notice_pending_down(t, node)
    if t.queue.master == node and (t.setup.mirrored or t.queue.waiting):
        hand_to_engine(t)
    elif t.queue.master == node:
        t.queue.gone = t.queue.absent = 1


@inner
def declare_again(t, node):
    """Let a client at a node declare the queue again, empty, on that node."""
    if not is_running(t, node) or not answers(t):
        hand_to_engine(t)
        return
    queue = t.queue
    queue.master, queue.up, queue.stopped, queue.awaits_master, queue.absent, queue.gone = node, 1, 0, 0, 0, 0
    count_times(t)
