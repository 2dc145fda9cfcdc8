"""What a node that comes up finds, and what the queue makes of it:
`hawb.engine.booting.arrival`, for a whole network."""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel.failover import bury, recover
from hawb.study.kernel.metadata import unstall_deaths
from hawb.study.kernel.mirrors import mirror_bits, strike_mirrors, wanted
from hawb.study.kernel.nodes import notice_if_gone
from hawb.study.kernel.state import MIRROR_JOINS, link_us, schedule


@inner
def may_join(t, node):
    """Whether a node that boots is one of the cluster, for the others and for itself."""
    return not t.moment.virgin >> node & 1


@inner
def say_refused(t, node):
    """Nobody is told that a node may not boot."""


@inner
def meet_late(t, node):
    """Peers that had not noticed a node go notice it as it comes up, and what they had still to settle is settled."""
    notice_if_gone(t, node)
    settle_stalled(t)


@inner
def settle_stalled(t):
    """What others had still to settle is settled."""
    if unstall_deaths(t):
        bury(t, 1)


@inner
def find_records(t, node, found):
    """A node that comes up has the records of the node that it has found: there are no others."""


@inner
def return_to_queues(t, node, others):
    """What the queue makes of a node that is back among others, or alone."""
    queue = t.queue
    if not others and queue.master != node:
        queue.unburied, queue.hollow, queue.absent, queue.mirrors, queue.synchronised = 0, 0, 1, 0, 0
    return_to_queue(t, node)


@inner
def return_to_queue(t, node):
    """What the queue makes of a node that is back."""
    queue = t.queue
    if queue.absent and queue.master != node:
        return
    strike_mirrors(t, 1 << node)
    if queue.master == node:
        if not queue.up:
            recover(t)
        return
    if t.setup.mirrored:
        replicas = mirror_bits(t) | 1 << queue.master | 1 << node
        if node in wanted(t, replicas):
            schedule(t, link_us(t, queue.master, node), MIRROR_JOINS, node, 1)
