"""Confirms to publishers of a quorum queue.

This is `hawb.engine.clients.confirms` and `steady_confirms`, where the queue answers in place of replicas.
"""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel import windows
from hawb.study.kernel.answers import reserve_row, ticks_beyond
from hawb.study.kernel.node_ports import focus_on, focused, sides
from hawb.study.kernel.node_rules import receives_answers
from hawb.study.kernel.quorum_state import (
    AFTER_OF,
    CLIENT,
    CLOCK_PER_US,
    CLOCK_TICKS,
    CLOCK_US,
    COUNT_OF,
    DELAY,
    DUE,
    FROM_AFTER,
    FROM_TICK,
    HOW_MANY,
    NUMBER_OF,
    OF_NODE,
    OF_PUBLISHER,
    REJECTED,
    WHOSE,
)
from hawb.study.kernel.state import CONFIRMS_DUE, NEVER, is_here, move_row, next_number, schedule


@inner
def answer_publisher(t, node, after, count, confirmed):
    """Confirm messages to a client at a node, or nack them."""
    if t.setup.confirms and receives_answers(t, node):
        if confirmed:
            windows.add(t.confirmed, after, after + count)
        else:
            t.book.nacked += count


# Batches


@inner
def await_batch(t, client, publisher, after, count):
    """Let a channel wait for the queue's answer to a batch."""
    reserve_row(t.awaiting, t.moment.awaiting)
    row = t.awaiting[t.moment.awaiting]
    t.moment.awaiting += 1
    row[NUMBER_OF], row[CLIENT], row[WHOSE], row[AFTER_OF], row[COUNT_OF] = (
        next_number(t), client, publisher, after, count
    )  # fmt: skip
    row[DUE], row[REJECTED] = NEVER, 0
    schedule(t, 0, CONFIRMS_DUE, row[NUMBER_OF], client)


@inner
def settle_batch(t, number):
    """Apply the queue's answer to a batch that has arrived at the queue, if it has answered."""
    for k in range(t.moment.awaiting):
        row = t.awaiting[k]
        if row[NUMBER_OF] == number and row[DUE] <= t.moment.now_us:
            answer_publisher(t, row[CLIENT], row[AFTER_OF], row[COUNT_OF], not row[REJECTED])
            for other in range(k, t.moment.awaiting - 1):
                move_row(t.awaiting, other + 1, other)
            t.moment.awaiting -= 1
            return


@inner
def answer(t, client, after, count, rejected, delay_us):
    """Answer messages that a channel sent, after `delay_us`."""
    k, last = 0, after + count
    while k < t.moment.awaiting:
        row = t.awaiting[k]
        first, end = row[AFTER_OF], row[AFTER_OF] + row[COUNT_OF]
        if row[CLIENT] != client or end <= after or last <= first:
            k += 1
            continue
        k = decide(t, k, max(first, after), min(end, last), rejected, t.moment.now_us + delay_us)
    answer_steady(t, client, after, last, rejected, t.moment.now_us + delay_us)


@inner
def decide(t, k, after, last, rejected, due_us):
    """Note the answer to a part of a batch; messages before and after it go on waiting. Return the next row."""
    row = t.awaiting[k]
    first, end, was_due = row[AFTER_OF], row[AFTER_OF] + row[COUNT_OF], row[DUE]
    row[NUMBER_OF], row[AFTER_OF], row[COUNT_OF] = next_number(t), after, last - after
    row[DUE], row[REJECTED] = due_us, rejected
    schedule(t, max(0, due_us - t.moment.now_us), CONFIRMS_DUE, row[NUMBER_OF], row[CLIENT])
    if after == first and last == end:
        return k + 1
    if after != first and last != end:
        raise OverflowError("an answer to the midst of a batch")
    reserve_row(t.awaiting, t.moment.awaiting)
    for other in range(t.moment.awaiting, k + 1, -1):
        move_row(t.awaiting, other - 1, other)
    rest = t.awaiting[k + 1]
    move_row(t.awaiting, k, k + 1)
    rest[NUMBER_OF], rest[DUE], rest[REJECTED] = next_number(t), was_due, 0
    rest[AFTER_OF] = last if after == first else first
    rest[COUNT_OF] = end - first - (last - after)
    t.moment.awaiting += 1
    return k + 2


# Single messages of a steady publisher


@inner
def await_each(t, p, after, count, delay_us):
    """Let a publisher's channel wait for answers to its next `count` messages, each so long after its tick."""
    last = t.moment.unanswered - 1
    reserve_row(t.unanswered, last + 1)
    row = t.unanswered[last + 1]
    row[OF_PUBLISHER], row[OF_NODE], row[CLOCK_US] = p.number, p.node, p.clock.start_us
    row[CLOCK_TICKS], row[CLOCK_PER_US] = p.clock.per_ticks, p.clock.per_us
    row[FROM_TICK], row[FROM_AFTER] = p.ticks - count + 1, after
    row[HOW_MANY], row[DELAY] = count, delay_us
    if last >= 0 and goes_on(t.unanswered[last], row):
        t.unanswered[last, HOW_MANY] += count
    else:
        t.moment.unanswered += 1


@inner
def goes_on(row, more):
    """Return True if further messages follow those of a row and wait for the same answers: they join the row."""
    for column in (OF_PUBLISHER, CLOCK_US, CLOCK_TICKS, CLOCK_PER_US, DELAY):
        if row[column] != more[column]:
            return False
    return (
        row[FROM_TICK] + row[HOW_MANY] == more[FROM_TICK] and row[FROM_AFTER] + row[HOW_MANY] == more[FROM_AFTER]
    )


@inner
def hear(t):
    """Confirm the messages that have been answered by now, on each side."""
    focus = focused(t)
    for side in sides(t):
        if focus_on(t, side):
            settle_each(t)
    focus_on(t, focus)


@inner
def settle_each(t):
    """Confirm the messages of the current side's publishers that have been answered by now."""
    left = 0
    for k in range(t.moment.unanswered):
        row = t.unanswered[k]
        heard = 0
        if row[DELAY] != NEVER and is_here(t, row[OF_NODE]):
            time_us, had = t.moment.now_us - row[DELAY], row[FROM_TICK] - 1
            heard = ticks_beyond(row[CLOCK_US], row[CLOCK_TICKS], row[CLOCK_PER_US], time_us, had)
            heard = min(row[HOW_MANY], heard)
        if heard:
            answer_publisher(t, row[OF_NODE], row[FROM_AFTER], heard, True)
        if heard < row[HOW_MANY]:
            shorten(row, heard)
            move_row(t.unanswered, k, left)
            left += 1
    t.moment.unanswered = left


@inner
def shorten(row, count):
    """Remove the first `count` messages from a row."""
    row[FROM_TICK] += count
    row[FROM_AFTER] += count
    row[HOW_MANY] -= count


@inner
def answer_steady(t, client, after, last, rejected, due_us):
    """Answer messages of steady publishers.

    Messages that the queue has taken are answered together, when the last of them is answered.
    """
    k = 0
    while k < t.moment.unanswered:
        row = t.unanswered[k]
        first, end = row[FROM_AFTER], row[FROM_AFTER] + row[HOW_MANY]
        if row[OF_NODE] == client and first < last and after < end and row[DELAY] == NEVER:
            if first < after:
                split_row(t, k, after - first)
            else:
                if last < end:
                    split_row(t, k, last - first)
                if rejected:
                    answer_publisher(t, client, first, row[HOW_MANY], False)
                    row[HOW_MANY] = 0
                else:
                    answer_row(row, due_us)
        k += 1
    left = 0
    for k in range(t.moment.unanswered):
        if t.unanswered[k, HOW_MANY]:
            move_row(t.unanswered, k, left)
            left += 1
    t.moment.unanswered = left


@inner
def split_row(t, k, count):
    """Split a row into its first `count` messages and the rest."""
    reserve_row(t.unanswered, t.moment.unanswered)
    for other in range(t.moment.unanswered, k, -1):
        move_row(t.unanswered, other - 1, other)
    t.unanswered[k, HOW_MANY] = count
    shorten(t.unanswered[k + 1], count)
    t.moment.unanswered += 1


@inner
def answer_row(row, due_us):
    """Let a row be answered as a whole at `due_us`."""
    last_us = row[CLOCK_US] - (-(row[FROM_TICK] + row[HOW_MANY] - 1) * row[CLOCK_PER_US] // row[CLOCK_TICKS])
    row[CLOCK_US], row[CLOCK_TICKS], row[CLOCK_PER_US] = last_us - 1, row[HOW_MANY], 1
    row[FROM_TICK], row[DELAY] = 1, due_us - last_us


# Clients that go


@inner
def client_gone(t, node):
    """Drop the waits of publishers whose node is gone."""
    left = 0
    for k in range(t.moment.awaiting):
        if t.awaiting[k, CLIENT] != node:
            move_row(t.awaiting, k, left)
            left += 1
    t.moment.awaiting, left = left, 0
    for k in range(t.moment.unanswered):
        if t.unanswered[k, OF_NODE] != node:
            move_row(t.unanswered, k, left)
            left += 1
    t.moment.unanswered = left


@inner
def undecided(t):
    """Return how many of the publisher's messages the queue has not answered."""
    count = 0
    for k in range(t.moment.unanswered):
        if t.unanswered[k, OF_PUBLISHER] == t.publisher.number and t.unanswered[k, DELAY] == NEVER:
            count += t.unanswered[k, HOW_MANY]
    for k in range(t.moment.awaiting):
        if t.awaiting[k, WHOSE] == t.publisher.number and t.awaiting[k, DUE] == NEVER:
            count += t.awaiting[k, COUNT_OF]
    return count
