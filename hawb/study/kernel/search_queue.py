"""Publishes in a search, and what lags behind mended links.

This is `hawb.engine.clients.publishing` and `hawb.engine.cluster.links`, where they decide what copies hold.
"""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel.deliveries import defer
from hawb.study.kernel.links import replica_answers
from hawb.study.kernel.mailbox import keeps
from hawb.study.kernel.publishing import answer_to_untaken
from hawb.study.kernel.record_ports import is_alive
from hawb.study.kernel.record_rules import is_mirror
from hawb.study.kernel.search_books import await_answers
from hawb.study.kernel.search_state import MOST_PIECES, OWN_KIND, content, put_copy
from hawb.study.kernel.state import (
    COPIED,
    LOST_WITH_MASTER,
    PUBLISH,
    WITHOUT_CHANNEL,
    follows,
    is_running,
    link_us,
    runs_anywhere,
    without_nodes,
)


@inner
def receive_late(t, q):
    """Let mirrors that were not noticed as gone receive what was under way to them, and answer."""
    late, q.lagging = q.lagging, 0
    for k in range(late):
        if is_alive(t, q, t.lagging[k]):
            node = t.lagging[k]
            new = content(t) & -(1 << t.lag_from[node])
            put_copy(t, node, (t.contents[node] | new) & content(t))
    for k in range(late):
        if is_alive(t, q, t.lagging[k]):
            replica_answers(t, t.lagging[k], link_us(t, q.master, t.lagging[k]))


@inner
def forget_recoverable(t, q):
    """Remove nodes that are seen again and have no mirror from the recoverable ones."""
    for node in range(t.setup.nodes):
        if runs_anywhere(t, node) and not is_mirror(t, q, node):
            q.recoverable = without_nodes(t.recoverable, q.recoverable, 1 << node)


@inner
def publish(t, node, how):
    """Deliver a message to the queue, or let it wait for it."""
    if keeps(t, t.queue, node) and not how & LOST_WITH_MASTER:
        defer(t, PUBLISH, 1, node, how, 0)
        return
    if t.notes.pieces == MOST_PIECES:
        raise OverflowError("more is published than a search has room for")
    piece, t.notes.pieces = 1 << t.notes.pieces, t.notes.pieces + 1
    t.kinds[OWN_KIND] |= piece
    asks = is_running(t, node) and not how & WITHOUT_CHANNEL
    taken = (asks or how & COPIED) and not how & LOST_WITH_MASTER and t.queue.up
    if taken:
        store(t, piece, how)
    else:
        t.ledger.refused |= piece
    if asks:
        await_answers(t, node, piece, taken, answer_to_untaken(t, how))


@inner
def store(t, piece, how):
    """Store a message in every replica that it reaches, in a batch with those just before it of its kind."""
    queue = t.queue
    for node in range(t.setup.nodes):
        if node == queue.master or (is_mirror(t, t.queue, node) and follows(t, node)):
            put_copy(t, node, t.contents[node] | piece)
    before = queue.stored & piece >> 1 & t.kinds[OWN_KIND]
    queue.starts |= piece * int(not before)
    queue.stored |= piece
    if how & COPIED:
        queue.redelivered |= piece
