"""What a node that comes up finds, and what the queue makes of it:
`hawb.engine.booting.arrival`, for a whole network."""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel.metadata import unstall_deaths
from hawb.study.kernel.replicas import bury, load_record, return_to


@inner
def may_join(t, node):
    """Whether a node that boots is one of the cluster, for the others and for itself."""
    return not t.moment.virgin >> node & 1


@inner
def say_refused(t, node):
    """Nobody is told that a node may not boot."""


@inner
def settle_stalled(t):
    """What others had still to settle is settled."""
    if unstall_deaths(t):
        bury(t, t.queue, True)


@inner
def find_records(t, node, found):
    """A node that comes up has the records of the node that it has found: there are no others."""


@inner
def return_to_queues(t, node, others):
    """What the queue makes of a node that is back among others, or alone."""
    if not others:
        load_record(t, t.queue, node)
    return_to(t, t.queue, node)
