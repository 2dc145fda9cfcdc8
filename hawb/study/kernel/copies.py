"""What the replicas of the queue hold, for a trial: `hawb.engine.classic.copies`. A mirror holds of the queue's content
what was taken `since` it came."""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel import windows
from hawb.study.kernel.record_rules import is_synchronised
from hawb.study.kernel.state import AFTER, COUNT, FIRST_NODE, is_running


@inner
def holds_all(t, q, node):
    """Whether a mirror holds all that the master holds."""
    return windows.count_between(t.content, 0, t.since[node]) == 0


@inner
def begin_copy(t, q, node):
    """A mirror begins, empty, and lags behind nothing."""
    t.since[node] = q.taken
    q.lagging &= ~(1 << node)


@inner
def note_silent(t, q):
    """In a whole network the master reaches every mirror."""


@inner
def purge_copies(t, q, bits):
    """Mirrors throw away what they had received."""
    for node in range(t.setup.nodes):
        if bits >> node & 1:
            t.since[node] = purged_at(t, node)


@inner
def purged_at(t, node):
    """After which message a mirror holds all that empties itself now."""
    return t.queue.taken


@inner
def fill_copies(t, q, bits):
    """Mirrors have received all that the master holds, in a synchronisation."""
    for node in range(t.setup.nodes):
        if bits >> node & 1:
            t.since[node] = 0
            t.book.bytes_replicated += q.sync_messages * t.setup.size_bytes


@inner
def delete_copies(t, q, bits):
    """Who has no mirror has nothing; those that lag are forgotten."""
    q.lagging &= ~bits


@inner
def leave_on_disks(t, q, bits):
    """What is on disks of mirrors that are gone nobody asks."""
    q.lagging &= ~bits


@inner
def lose(t, after, last):
    """What the queue had taken after `after` up to `last` is gone for good."""
    windows.copy(t.content, t.lost, after, last)
    windows.strike_out(t.content, after, last)


@inner
def inherit(t, q, promoted, living, gone, entry):
    """The promoted mirror's copy is the queue's, and other mirrors hold of it what they held."""
    lose(t, 0, t.since[promoted])
    for node in range(t.setup.nodes):
        if living >> node & 1:
            t.since[node] = 0 if is_synchronised(t, q, node) else max(t.since[node], t.since[promoted])
    windows.clear(t.unwritten)


@inner
def keep_masters_copy(t, q, gone, entry):
    """A queue that nobody serves has what is on the disk of its master's node; the rest is lost."""
    if not t.setup.persistent or t.moment.virgin >> q.master & 1 or is_running(t, q.master):
        lose(t, 0, q.taken)
    for k in range(1, t.unwritten[0, 0] + 1):
        lose(t, t.unwritten[k, 0], t.unwritten[k, 1])
    windows.clear(t.unwritten)


@inner
def keep_orphaned_mirrors(t, q, bits):
    """No mirror that waited for the master stays."""


@inner
def lose_unwritten(t, node):
    """A host has lost power: messages that a master on it had not yet answered for are not on its disk."""
    if t.queue.master != node:
        return
    windows.clear(t.unwritten)
    for k in range(t.moment.awaiting):
        row = t.awaiting[k]
        if row[FIRST_NODE + t.queue.master] > t.moment.now_us:
            windows.add(t.unwritten, row[AFTER], row[AFTER] + row[COUNT])
