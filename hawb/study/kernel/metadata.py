"""Changes of the cluster's metadata while a node that lost power is not missed: `hawb.engine.metadata`.

`stalled` holds rows (kind, node) of what waits until all nodes that count as running answer again.
"""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel.node_rules import answers
from hawb.study.kernel.state import MIRROR_JOINS, REPLICA_GONE, move_row, next_number, schedule


@inner
def stall(t, kind, node):
    """Lets a change wait if it has to, once; whether it does."""
    if answers(t):
        return False
    for k in range(t.queue.stalled):
        if t.stalled[k, 0] == kind and t.stalled[k, 1] == node:
            return True
    next_number(t)
    t.stalled[t.queue.stalled, 0], t.stalled[t.queue.stalled, 1] = kind, node
    t.queue.stalled += 1
    return True


@inner
def release_stalled(t):
    """A node was missed: what has waited is tried again."""
    if t.queue.stalled and answers(t):
        for k in range(t.queue.stalled):
            schedule(t, 0, t.stalled[k, 0], t.stalled[k, 1], int(t.stalled[k, 0] == MIRROR_JOINS))
        t.queue.stalled = 0


@inner
def unstall_deaths(t):
    """Takes out that replicas have died; whether that was waiting."""
    left = 0
    for k in range(t.queue.stalled):
        if t.stalled[k, 0] != REPLICA_GONE:
            move_row(t.stalled, k, left)
            left += 1
    found = left < t.queue.stalled
    t.queue.stalled = left
    return found
