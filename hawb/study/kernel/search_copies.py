"""The replicas' copies of the queue in a search, which distinguishes more than a trial.

This is `hawb.engine.classic.copies` for sets as bits, including the disks of nodes that are down.
"""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel.links import replica_answers
from hawb.study.kernel.record_rules import is_mirror, is_synchronised
from hawb.study.kernel.search_books import lose, reclaim
from hawb.study.kernel.search_state import content, delete_copies, lost_from_disks, put_copy
from hawb.study.kernel.state import AFTER, FIRST_NODE, NONE, is_among, link_us, linked, without_nodes


@inner
def put_copies(t, bits, some):
    """Give nodes copies with these messages."""
    for node in range(t.setup.nodes):
        if bits >> node & 1:
            put_copy(t, node, some)


@inner
def holds_all(t, q, node):
    """Return True if a mirror holds all that the master holds."""
    return q.copies >> node & 1 == 1 and t.contents[node] == content(t)


@inner
def begin_copy(t, q, node):
    """Start a mirror, empty, which lags behind nothing."""
    put_copy(t, node, 0)
    q.lagging = without_nodes(t.lagging, q.lagging, 1 << node)


@inner
def note_silent(t, q):
    """Note from which message on mirrors that the master does not reach lack what it gets."""
    for k in range(q.mirrors):
        node = t.mirrors[k]
        if not is_among(t.lagging, q.lagging, node) and not linked(t, q.master, node):
            t.lagging[q.lagging], t.lag_from[node] = node, t.notes.pieces
            q.lagging += 1


@inner
def purge_copies(t, q, bits):
    """Empty mirrors of what they had received."""
    put_copies(t, bits, 0)


@inner
def fill_copies(t, q, bits):
    """Give mirrors all that the master holds, after a synchronisation."""
    put_copies(t, bits, content(t))


@inner
def delete(t, q, bits):
    """Delete nodes' copies."""
    delete_copies(t, bits)


@inner
def leave_on_disks(t, q, bits):
    """Keep, of replicas that are gone, what would be found on their nodes' disks."""
    delete_copies(t, lost_from_disks(t, bits))


@inner
def had_all(t, q, node, living):
    """Return True if a surviving mirror was synchronised, and the old master had reached it."""
    return living >> node & 1 == 1 and is_synchronised(t, q, node) and not is_among(t.lagging, q.lagging, node)


@inner
def lag_from_the_first(t, q, promoted, living, left):
    """Let synchronised mirrors that the promoted one does not reach lag from the first message; return how many lag."""
    for node in range(t.setup.nodes):
        out_of_reach = living >> node & 1 == 1 and is_synchronised(t, q, node) and not linked(t, promoted, node)
        if out_of_reach and not is_among(t.lagging, left, node):
            t.lagging[left], t.lag_from[node] = node, 0
            left += 1
    return left


@inner
def inherit(t, q, promoted, living, gone, entry):
    """Make the promoted mirror's copy the queue's; messages that only the old master held are lost.

    Surviving mirrors keep what they held of it, and hold all of it if they were synchronised. The promoted mirror holds
    what these do if the master had not reached it.
    """
    behind, near = is_among(t.lagging, q.lagging, promoted), NONE
    for node in range(t.setup.nodes - 1, -1, -1):
        if had_all(t, q, node, living) and linked(t, promoted, node):
            near = node
    if behind and near != NONE:
        put_copy(t, promoted, t.contents[near])
        replica_answers(t, promoted, link_us(t, q.master, promoted))
    for k in range(q.lagging):
        node = t.lagging[k]
        if living >> node & 1 == 1 and node != promoted and is_synchronised(t, q, node) and linked(t, promoted, node):
            replica_answers(t, node, link_us(t, promoted, node))
    held, missing = t.contents[promoted], content(t) & ~t.contents[promoted]
    for node in range(t.setup.nodes):
        if living >> node & 1:
            sent = is_synchronised(t, q, node) and linked(t, promoted, node)
            put_copy(t, node, held if sent else t.contents[node] & held)
    put_copy(t, promoted, held)
    delete_copies(t, lost_from_disks(t, gone))
    left = 0
    for k in range(q.lagging):
        if not linked(t, promoted, t.lagging[k]):
            t.lagging[left] = t.lagging[k]
            left += 1
    if behind and near == NONE:
        left = lag_from_the_first(t, q, promoted, living, left)
    q.lagging, q.redelivered, q.unwritten, q.uncounted = left, held, 0, 0
    lose(t, missing)
    reclaim(t, held)


@inner
def keep_masters_copy(t, q, gone, entry):
    """Keep what is on the disk of the master's node of a queue without a master process; the rest is lost."""
    before = content(t)
    delete_copies(t, lost_from_disks(t, gone))
    kept = content(t) & ~q.unwritten
    put_copy(t, q.master, kept)
    lose(t, before & ~kept)
    q.uncounted = uncounted(t, q, before & ~kept & ~q.redelivered)
    q.redelivered, q.unwritten = q.redelivered & kept if q.stopped else kept, 0


@inner
def uncounted(t, q, never):
    """Return the piece from which on a master that comes back forgets its deliveries, and one more; 0 for none.

    `never` are the pieces that were never delivered.
    """
    piece = q.uncounted
    if not (q.stopped and t.notes.counts_deliveries):
        return 0
    if not piece and never:
        while not never >> piece & 1:
            piece += 1
        piece += 1
    return piece


@inner
def keep_orphaned_mirrors(t, q, bits):
    """Keep no mirror that waited for the master."""
    q.lagging = 0


@inner
def lose_unwritten(t, node):
    """Remove from a host without power what its replica had not yet answered for: it is not on its disk."""
    late = 0
    for k in range(t.moment.awaiting):
        row = t.awaiting[k]
        if row[FIRST_NODE + node] - link_us(t, node, t.queue.master) > t.moment.now_us:
            late |= row[AFTER]
    if node == t.queue.master:
        t.queue.unwritten = late
    elif is_mirror(t, t.queue, node):
        t.contents[node] &= ~late
