"""What a node that comes up finds, and what the queue makes of it:
`hawb.engine.cluster.booting_ports`, for a whole network."""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel.node_ports import focus_on, focused, sides
from hawb.study.kernel.replicas import load_record, remove_from_queue, return_to
from hawb.study.kernel.state import REPLICA_GONE, move_row


@inner
def say_refused(t, node):
    """Nobody is told that a node may not boot."""


@inner
def store_starts(t, node):
    """No trial has the members of the metadata store, only how many of them there are."""


@inner
def settle_stalled(t):
    """What others had still to settle is settled, on each side."""
    focus = focused(t)
    if take_deaths(t):
        for side in sides(t):
            if focus_on(t, side):
                remove_from_queue(t, t.queue, True)
        focus_on(t, focus)


@inner
def take_deaths(t):
    """Takes out of what is stalled that replicas have died; whether that was waiting."""
    left = 0
    for k in range(t.queue.stalled):
        if t.stalled[k, 0] != REPLICA_GONE:
            move_row(t.stalled, k, left)
            left += 1
    found = left < t.queue.stalled
    t.queue.stalled = left
    return found


@inner
def find_records(t, node, found):
    """A node that comes up has the records of the node that it has found: there are no others."""


@inner
def return_to_queues(t, node, others):
    """What the queue makes of a node that is back among others, or alone."""
    if not others:
        load_record(t, t.queue, node)
    return_to(t, t.queue, node)
