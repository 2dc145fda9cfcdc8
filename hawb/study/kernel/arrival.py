"""The ports of booting nodes (`hawb.engine.cluster.booting_ports`), for a network without cut links."""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel.node_ports import focus_on, focused, sides
from hawb.study.kernel.replicas import load_record, remove_from_queue, return_to
from hawb.study.kernel.state import REPLICA_GONE, move_row


@inner
def say_refused(t, node):
    """Do nothing: there is no trace."""


@inner
def store_starts(t, node):
    """Do nothing: without Khepri there is no metadata store."""


@inner
def run_pending_removals(t):
    """Run the pending removals of replicas, on each side."""
    focus = focused(t)
    if take_deaths(t):
        for side in sides(t):
            if focus_on(t, side):
                remove_from_queue(t, t.queue, True)
        focus_on(t, focus)


@inner
def take_deaths(t):
    """Remove the pending removals of replicas from what waits; return True if there were any."""
    left = 0
    for k in range(t.queue.waiting_changes):
        if t.waiting_changes[k, 0] != REPLICA_GONE:
            move_row(t.waiting_changes, k, left)
            left += 1
    found = left < t.queue.waiting_changes
    t.queue.waiting_changes = left
    return found


@inner
def find_records(t, node, found):
    """Do nothing: a whole network has one side."""


@inner
def return_to_queues(t, node, others):
    """Let the queue react to a node that is back, beside the nodes `others` (bits) or alone."""
    if not others:
        load_record(t, t.queue, node)
    return_to(t, t.queue, node)
