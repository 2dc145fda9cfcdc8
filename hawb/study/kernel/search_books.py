"""The fate of messages in a search: `hawb.engine.core.bookkeeping` and `confirms` for sets as bits."""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel.answers import await_none, await_replicas, reserve_row
from hawb.study.kernel.node_rules import receives_answers
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
    """Lose messages for good, unless another side still has them."""
    t.ledger.lost |= some & ~elsewhere(t)


@inner
def give_up(t, some):
    """Give up a side's messages.

    What no side has any more is lost, except messages that were removed from the queue on another side.
    """
    gone = some & ~elsewhere(t) & ~content(t)
    t.ledger.removed |= gone & t.ledger.left
    lose(t, gone & ~t.ledger.left)


@inner
def reclaim(t, some):
    """Count messages that are served from now on as neither lost nor removed."""
    t.ledger.left |= some & t.ledger.removed
    t.ledger.lost &= ~some
    t.ledger.removed &= ~some


@inner
def await_answers(t, client, piece, taken, answered):
    """Let a channel wait for the replicas that a message was sent to.

    If no queue took it, it waits for no replica, and `answered` is the client's answer.
    """
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
        await_none(t, row)
    schedule(t, due_us - t.moment.now_us, CONFIRMS_DUE, row[NUMBERED], client)


@inner
def answer_publisher(t, node, some, _count, confirmed):
    """Confirm messages to a client at a node, or nack them."""
    if confirmed and receives_answers(t, node):
        t.ledger.confirmed |= some


@inner
def forget_in_each(t, node):
    """Do nothing: there is no steady publisher."""


@inner
def deliver(t, flowing, more_room):
    """Do nothing: there is no consumer."""


@inner
def close(t):
    """Do nothing: there is no consumer."""


@inner
def count_times(t):
    """Do nothing: the time without a master does not matter."""
