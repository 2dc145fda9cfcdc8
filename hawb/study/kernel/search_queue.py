"""What becomes of the queue while stories are searched: `hawb.engine.failover`, `burial`, `refusal`, `outage`,
`publishing`, `disks` and `links`, where they decide what copies hold, which trials do not ask."""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel import failover
from hawb.study.kernel.answers import forget_replicas
from hawb.study.kernel.deliveries import park, release
from hawb.study.kernel.links import replica_answers
from hawb.study.kernel.mirrors import add_mirrors, mirror_bits
from hawb.study.kernel.publishing import answered, keep
from hawb.study.kernel.search_books import await_answers, lose, reclaim
from hawb.study.kernel.search_mirrors import note_recoverable, note_silent, strike_mirrors, synchronise_drained
from hawb.study.kernel.search_state import MOST_PIECES, OWN_KIND, content, delete_copies, lost_from_disks, put_copy
from hawb.study.kernel.state import (
    ADDING,
    AFTER,
    COPIED,
    FIRST_NODE,
    ORPHANED,
    POLICY_TAKES_EFFECT,
    PUBLISH,
    RETURNING,
    STRUCK,
    SYNC_FINISHED,
    follows,
    is_alive,
    is_mirror,
    is_running,
    is_synchronised,
    keeps,
    link_us,
    linked,
    runs_anywhere,
    schedule,
    without,
)

# Replicas die


@inner
def strike_dead(t, dead):
    """Mirrors that died are on no record any more, and what they had is on their nodes' disks."""
    strike_mirrors(t, dead)
    note_recoverable(t)
    delete_copies(t, lost_from_disks(t, dead))
    forget_replicas(t, dead)


@inner
def leave_mirrors(t, heir, dead):
    """A mirror that refused and others that are dead are mirrors no more. The one has deleted its copy; what the others
    had is on their nodes' disks."""
    strike_mirrors(t, dead | 1 << heir)
    if t.queue.mirrors:
        note_recoverable(t)
    delete_copies(t, 1 << heir | lost_from_disks(t, dead))
    forget_replicas(t, 1 << heir)


@inner
def promote(t, heir):
    """The oldest mirror becomes master with what it holds; what only the old master held is lost."""
    queue = t.queue
    held, missing = t.contents[heir], content(t) & ~t.contents[heir]
    gone = 1 << queue.master
    for k in range(queue.mirrors):
        node = t.mirrors[k]
        if node != heir and is_alive(t, node):
            near = is_synchronised(t, node) and linked(t, heir, node)
            put_copy(t, node, held if near else t.contents[node] & held)
        elif node != heir:
            gone |= 1 << node
    put_copy(t, heir, held)
    queue.mirrors = without(t.mirrors, queue.mirrors, gone | 1 << heir)
    queue.synchronised = without(t.synchronised, queue.synchronised, gone | 1 << heir)
    note_recoverable(t)
    delete_copies(t, lost_from_disks(t, gone))
    left = 0
    for k in range(queue.lagging):
        if not linked(t, heir, t.lagging[k]):
            t.lagging[left] = t.lagging[k]
            left += 1
    queue.lagging, queue.redelivered, queue.unwritten, queue.uncounted = left, held, 0, 0
    queue.master, queue.depth_unknown, queue.up, queue.abandoned, queue.unburied = heir, 0, 1, 0, 0
    queue.hollow = 0
    note_silent(t)
    lose(t, missing)
    reclaim(t, held)
    forget_replicas(t, gone)
    keep(t, COPIED)
    synchronise_drained(t)
    schedule(t, 0, POLICY_TAKES_EFFECT, ADDING)
    release(t)


@inner
def abandon(t):
    """No replica may serve the queue. It waits for its master's node with what is on that node's disk."""
    queue, before = t.queue, content(t)
    living = failover.alive_bits(t) & mirror_bits(t)
    gone = (mirror_bits(t) | 1 << queue.master) & ~living
    forget_replicas(t, gone)
    delete_copies(t, lost_from_disks(t, gone))
    kept = content(t) & ~queue.unwritten
    put_copy(t, queue.master, kept)
    lose(t, before & ~kept)
    queue.uncounted = uncounted(t, before & ~kept & ~queue.redelivered)
    queue.redelivered = queue.redelivered & kept if queue.stopped else kept
    queue.synchronised = queue.unwritten = 0
    keep(t, 0 if living else STRUCK)
    queue.abandoned, queue.absent = 1, int(failover.leaves_memory(t) and not is_running(t, queue.master))
    release(t)


@inner
def uncounted(t, never):
    """From which piece on, and one more, a master that comes back forgets who was sent it, given what never was sent to
    anybody; 0 from none."""
    piece = t.queue.uncounted
    if not (t.queue.stopped and t.notes.counts_deliveries):
        return 0
    if not piece and never:
        while not never >> piece & 1:
            piece += 1
        piece += 1
    return piece


@inner
def recover(t):
    """The master's node is back and nobody took over: the queue is served from its disk, and the mirrors that policy
    asks for join empty, in the place of those that had joined before."""
    queue, before = t.queue, mirror_bits(t)
    delete_copies(t, before)
    queue.mirrors = queue.synchronised = queue.lagging = 0
    forget_replicas(t, before)
    failover.answer_in_vain(t, 0)
    queue.up, queue.abandoned, queue.unburied, queue.hollow, queue.absent = 1, 0, 0, 0, 0
    synchronise_drained(t)
    add_mirrors(t, 1)
    schedule(t, 0, POLICY_TAKES_EFFECT, RETURNING)
    release(t)


@inner
def lose_unwritten(t, node):
    """A host loses power: messages that its replica had not yet answered for are not on its disk."""
    late = 0
    for k in range(t.moment.awaiting):
        row = t.awaiting[k]
        if row[FIRST_NODE + node] - link_us(t, node, t.queue.master) > t.moment.now_us:
            late |= row[AFTER]
    if node == t.queue.master:
        t.queue.unwritten = late
    elif is_mirror(t, node):
        t.contents[node] &= ~late


# Links that work again


@inner
def catch_up(t):
    """Mirrors that nobody had missed yet get what was on its way to them, and answer; who waited goes on. Nodes that
    can be seen again and have no mirror here cannot be recovered."""
    queue = t.queue
    if queue.up:
        late, queue.lagging = queue.lagging, 0
        for k in range(late):
            if is_alive(t, t.lagging[k]):
                node = t.lagging[k]
                new = content(t) & -(1 << t.lag_from[node])
                put_copy(t, node, (t.contents[node] | new) & content(t))
        for k in range(late):
            if is_alive(t, t.lagging[k]):
                replica_answers(t, t.lagging[k])
        if queue.syncing and queue.sync_due_us <= t.moment.now_us:
            schedule(t, 0, SYNC_FINISHED, queue.sync_number)
    release(t)
    if queue.up:
        schedule(t, t.setup.link_us, POLICY_TAKES_EFFECT, 0)
    for node in range(t.setup.nodes):
        if runs_anywhere(t, node) and not is_mirror(t, node):
            queue.recoverable = without(t.recoverable, queue.recoverable, 1 << node)


# What is published


@inner
def publish(t, node, how):
    """A message reaches the queue, or waits for it."""
    if keeps(t, node):
        park(t, PUBLISH, 1, node, how, 0)
        return
    if t.notes.pieces == MOST_PIECES:
        raise OverflowError("more is published than a search has room for")
    piece, t.notes.pieces = 1 << t.notes.pieces, t.notes.pieces + 1
    t.kinds[OWN_KIND] |= piece
    asks = is_running(t, node) and not how & ORPHANED
    taken = (asks or how & COPIED) and not how & STRUCK and t.queue.up
    if taken:
        store(t, piece, how)
    else:
        t.ledger.refused |= piece
    if asks:
        await_answers(t, node, piece, taken, answered(t, how))


@inner
def store(t, piece, how):
    """Every replica that it reaches takes a message, in a batch with those just before it of its kind."""
    queue = t.queue
    for node in range(t.setup.nodes):
        if node == queue.master or (is_mirror(t, node) and follows(t, node)):
            put_copy(t, node, t.contents[node] | piece)
    before = queue.stored & piece >> 1 & t.kinds[OWN_KIND]
    queue.starts |= piece * int(not before)
    queue.stored |= piece
    if how & COPIED:
        queue.redelivered |= piece
