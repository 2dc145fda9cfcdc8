"""The replicas' copies of the queue, for a trial: `hawb.engine.classic.copies`.

A mirror holds of the queue's content what was taken `since` it joined.
"""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel import windows
from hawb.study.kernel.record_rules import is_synchronised
from hawb.study.kernel.state import AFTER, COUNT, FIRST_NODE, is_running


@inner
def holds_all(t, q, node):
    """Return True if a mirror holds all that the master holds."""
    return windows.count_between(t.content, 0, t.since[node]) == 0


@inner
def begin_copy(t, q, node):
    """Start a mirror, empty, which lags behind nothing."""
    t.since[node] = q.taken
    q.lagging &= ~(1 << node)


@inner
def note_silent(t, q):
    """Do nothing: in a whole network the master reaches every mirror."""


@inner
def purge_copies(t, q, bits):
    """Empty mirrors of what they had received."""
    for node in range(t.setup.nodes):
        if bits >> node & 1:
            t.since[node] = purged_at(t, node)


@inner
def purged_at(t, node):
    """Return the message after which a mirror that is emptied now holds all."""
    return t.queue.taken


@inner
def fill_copies(t, q, bits):
    """Give mirrors all that the master holds, after a synchronisation."""
    for node in range(t.setup.nodes):
        if bits >> node & 1:
            t.since[node] = 0
            t.book.bytes_replicated += q.sync_messages * t.setup.size_bytes


@inner
def delete_copies(t, q, bits):
    """Delete nodes' copies; those that lagged no longer do."""
    q.lagging &= ~bits


@inner
def leave_on_disks(t, q, bits):
    """Do nothing about the disks of mirrors that are gone, which no trial reads."""
    q.lagging &= ~bits


@inner
def lose(t, after, last):
    """Lose for good the messages after `after` up to `last`."""
    windows.copy(t.content, t.lost, after, last)
    windows.remove(t.content, after, last)


@inner
def inherit(t, q, promoted, living, gone, entry):
    """Make the promoted mirror's copy the queue's; the other mirrors keep what they held of it."""
    lose(t, 0, t.since[promoted])
    for node in range(t.setup.nodes):
        if living >> node & 1:
            t.since[node] = 0 if is_synchronised(t, q, node) else max(t.since[node], t.since[promoted])
    windows.clear(t.unwritten)


@inner
def keep_masters_copy(t, q, gone, entry):
    """Keep what is on the disk of the master's node of a queue without a master process; the rest is lost."""
    if not t.setup.persistent or t.moment.virgin >> q.master & 1 or is_running(t, q.master):
        lose(t, 0, q.taken)
    for k in range(1, t.unwritten[0, 0] + 1):
        lose(t, t.unwritten[k, 0], t.unwritten[k, 1])
    windows.clear(t.unwritten)


@inner
def keep_orphaned_mirrors(t, q, bits):
    """Do nothing: no mirror that waited for the master stays."""


@inner
def lose_unwritten(t, node):
    """Note the messages that a master on a host without power had not yet answered for: they are not on its disk."""
    if t.queue.master != node:
        return
    windows.clear(t.unwritten)
    for k in range(t.moment.awaiting):
        row = t.awaiting[k]
        if row[FIRST_NODE + t.queue.master] > t.moment.now_us:
            windows.add(t.unwritten, row[AFTER], row[AFTER] + row[COUNT])
