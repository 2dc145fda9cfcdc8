"""What becomes of messages while stories are searched: `hawb.engine.core.bookkeeping` and `confirms` for sets that are
bits."""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel.answers import await_nobody, await_replicas, reserve_row
from hawb.study.kernel.node_rules import can_tell
from hawb.study.kernel.search_state import content, elsewhere
from hawb.study.kernel.state import (
    AFTER,
    ANSWERED,
    AT,
    CONFIRMS_DUE,
    COUNT,
    FIRST_NODE,
    NEVER,
    NUMBERED,
    next_number,
    schedule,
)


@inner
def lose(t, some):
    """Messages are lost for good, unless another side still has them."""
    t.ledger.lost |= some & ~elsewhere(t)


@inner
def give_up(t, some):
    """A side has given up messages: what no side has any more is lost, but for what has left the queue on another in an
    orderly way."""
    gone = some & ~elsewhere(t) & ~content(t)
    t.ledger.removed |= gone & t.ledger.left
    lose(t, gone & ~t.ledger.left)


@inner
def reclaim(t, some):
    """What is served from now on is neither lost nor has it left the queue."""
    t.ledger.left |= some & t.ledger.removed
    t.ledger.lost &= ~some
    t.ledger.removed &= ~some


@inner
def await_answers(t, client, piece, taken, answered):
    """A channel waits for the replicas that a message was sent to; for nobody where no queue took it, and `answered` is
    what it is told then."""
    reserve_row(t.awaiting, t.moment.awaiting)
    row = t.awaiting[t.moment.awaiting]
    t.moment.awaiting += 1
    row[NUMBERED], row[AT], row[ANSWERED], row[AFTER], row[COUNT] = next_number(t), client, answered, piece, 1
    due_us = t.moment.now_us
    if taken:
        await_replicas(t, row, client, 1, t.moment.now_us)
        for node in range(t.setup.nodes):
            if row[FIRST_NODE + node] != NEVER:
                due_us = max(due_us, row[FIRST_NODE + node])
    else:
        await_nobody(t, row)
    schedule(t, due_us - t.moment.now_us, CONFIRMS_DUE, row[NUMBERED], client)


@inner
def tell(t, node, some, _count, confirmed):
    """Messages are confirmed to a client at a node, or not."""
    if confirmed and can_tell(t, node):
        t.ledger.confirmed |= some


@inner
def forget_in_each(t, node):
    """No publisher sends one message after the other."""


@inner
def deliver(t, flowing):
    """Nobody consumes."""


@inner
def close(t):
    """Nobody consumes."""


@inner
def count_times(t):
    """How long the queue has no master does not matter."""
