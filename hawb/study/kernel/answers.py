"""Publishers' confirms: `hawb.engine.clients.confirms` and `steady_confirms` for one queue."""

from __future__ import annotations

from hawb.engine.classic import confirming
from hawb.engine.clients.steady import ticks
from hawb.study.compiled import inner, rule
from hawb.study.kernel import windows
from hawb.study.kernel.node_rules import is_believed, receives_answers
from hawb.study.kernel.record_rules import is_mirror
from hawb.study.kernel.state import (
    AFTER,
    ANSWERED,
    AT,
    CONFIRMS_DUE,
    COUNT,
    FIRST_NODE,
    KIND,
    NEVER,
    NUMBERED,
    PER_TICKS,
    PER_US,
    PUBLISH,
    SENDER,
    START_US,
    TICK,
    WITHOUT_CHANNEL,
    B,
    C,
    follows,
    is_here,
    move_row,
    next_number,
    schedule,
)

NOT_ASKED = -1
"""In place of the time of a replica whose answer is not awaited."""
NOT_TAKEN = -1
"""In place of the first message of a batch that no queue took."""
EVERY = 0
"""In place of a batch's number."""

ticks_beyond, answer_us = rule(ticks.ticks_beyond), rule(confirming.answer_us)


@inner
def answer_publisher(t, node, after, count, confirmed):
    """Confirm messages that the queue had taken to a client at a node, or nack them."""
    if t.setup.confirms and receives_answers(t, node):
        if confirmed:
            windows.add(t.confirmed, after, after + count)
        else:
            t.book.nacked += count


@inner
def answer_refused(t, node, count, answered):
    """Answer messages that no queue takes: they are confirmed if the queue was not looked for."""
    if t.setup.confirms and receives_answers(t, node):
        if answered:
            t.book.refused_confirmed += count
        else:
            t.book.nacked += count


@inner
def await_replicas(t, row, client, count, from_us):
    """Write into a row when each replica answers: so long after `from_us`.

    A replica that is down without having been noticed never answers.
    """
    await_none(t, row)
    about = count, t.setup.size_bytes, t.setup.persistent
    for node in range(t.setup.nodes):
        if node == t.queue.master or is_mirror(t, t.queue, node):
            if node == t.queue.master or follows(t, node):
                row[FIRST_NODE + node] = from_us + answer_us(t, t.queue, node, client, *about)
            elif is_believed(t, node):
                row[FIRST_NODE + node] = NEVER


@inner
def await_none(t, row):
    """Await no replica's answer."""
    for column in range(FIRST_NODE, FIRST_NODE + t.setup.nodes):
        row[column] = NOT_ASKED


@inner
def last_answer_us(t, row):
    """Return the time of the last awaited answer; NOT_ASKED if there are none."""
    last_us = row[FIRST_NODE]
    for column in range(FIRST_NODE + 1, FIRST_NODE + t.setup.nodes):
        last_us = max(last_us, row[column])
    return last_us


@inner
def reserve_row(rows, count):
    """Raise OverflowError if there is no room for one more row."""
    if count >= len(rows):
        raise OverflowError("more waits to be confirmed than a trial has room for")


# Batches


@inner
def await_batch(t, client, publisher, after, count, answered):
    """Let a publisher's channel wait for the replicas that a batch was sent to.

    `after` is NOT_TAKEN if no queue took it; it waits for no replica then, and `answered` is the client's answer.
    """
    reserve_row(t.awaiting, t.moment.awaiting)
    row = t.awaiting[t.moment.awaiting]
    t.moment.awaiting += 1
    row[NUMBERED], row[AT], row[ANSWERED], row[AFTER], row[COUNT] = next_number(t), client, answered, after, count
    row[SENDER] = publisher
    await_none(t, row)
    due_us = t.moment.now_us
    if after != NOT_TAKEN:
        await_replicas(t, row, client, count, t.moment.now_us)
        for node in range(t.setup.nodes):
            if row[FIRST_NODE + node] != NEVER:
                due_us = max(due_us, row[FIRST_NODE + node])
    schedule(t, due_us - t.moment.now_us, CONFIRMS_DUE, row[NUMBERED], client)


@inner
def settle_batches(t, number):
    """Answer the clients of those batches, or of the one with a number, whose replicas have all answered."""
    left = 0
    for k in range(t.moment.awaiting):
        row = t.awaiting[k]
        chosen = is_here(t, row[AT]) if number == EVERY else row[NUMBERED] == number
        if chosen and last_answer_us(t, row) <= t.moment.now_us:
            answered = row[ANSWERED] == 1 or last_answer_us(t, row) != NOT_ASKED
            if row[AFTER] == NOT_TAKEN:
                answer_refused(t, row[AT], row[COUNT], answered)
            else:
                answer_publisher(t, row[AT], row[AFTER], row[COUNT], answered)
        else:
            move_row(t.awaiting, k, left)
            left += 1
    t.moment.awaiting = left


# Single messages of a publisher


@inner
def await_each(t, p, count, lag_us):
    """Let a publisher's channel wait for answers to its last `count` messages, which the queue has just taken."""
    last = t.moment.unanswered - 1
    reserve_row(t.unanswered, last + 1)
    row = t.unanswered[last + 1]
    row[NUMBERED], row[AT], row[ANSWERED] = p.number, p.node, 0
    clock = p.clock
    row[START_US], row[PER_TICKS], row[PER_US] = clock.start_us, clock.per_ticks, clock.per_us
    row[TICK], row[AFTER], row[COUNT] = p.ticks - count + 1, t.queue.taken - count, count
    await_replicas(t, row, p.node, 1, lag_us)
    if last >= 0 and goes_on(t, t.unanswered[last], row):
        t.unanswered[last, COUNT] += count
    else:
        t.moment.unanswered += 1


@inner
def goes_on(t, row, more):
    """Return True if messages continue a row, and wait for the same answers."""
    for column in range(FIRST_NODE + t.setup.nodes):
        if column not in (TICK, AFTER, COUNT) and row[column] != more[column]:
            return False
    return row[TICK] + row[COUNT] == more[TICK] and row[AFTER] + row[COUNT] == more[AFTER]


@inner
def answered_for(t, row, delay_us):
    """Return how many messages of a row a replica with that delay has answered."""
    if delay_us == NEVER:
        return 0
    time_us = t.moment.now_us - delay_us
    return min(row[COUNT], ticks_beyond(row[START_US], row[PER_TICKS], row[PER_US], time_us, row[TICK] - 1))


@inner
def settle_each(t):
    """Confirm the messages that all replicas have answered by now."""
    left = 0
    for k in range(t.moment.unanswered):
        row = t.unanswered[k]
        heard = answered_for(t, row, last_answer_us(t, row)) if is_here(t, row[AT]) else 0
        if heard:
            answer_publisher(t, row[AT], row[AFTER], heard, True)
        if heard < row[COUNT]:
            row[TICK], row[AFTER], row[COUNT] = row[TICK] + heard, row[AFTER] + heard, row[COUNT] - heard
            move_row(t.unanswered, k, left)
            left += 1
    t.moment.unanswered = left


@inner
def forget_in_each(t, node):
    """Stop waiting for a replica: split each row into messages that it had answered, and the rest."""
    k = 0
    while k < t.moment.unanswered:
        row = t.unanswered[k]
        if row[FIRST_NODE + node] != NOT_ASKED and is_here(t, row[AT]):
            heard = answered_for(t, row, row[FIRST_NODE + node])
            if 0 < heard < row[COUNT]:
                split_row(t, k, heard)
            if heard > 0:
                row[ANSWERED] = 1
            row[FIRST_NODE + node] = NOT_ASKED
        k += 1
    settle_forgotten(t)


@inner
def split_row(t, k, heard):
    """Split a row into its first `heard` messages and the rest."""
    reserve_row(t.unanswered, t.moment.unanswered)
    for other in range(t.moment.unanswered, k, -1):
        move_row(t.unanswered, other - 1, other)
    first, rest = t.unanswered[k], t.unanswered[k + 1]
    first[COUNT] = heard
    rest[TICK], rest[AFTER], rest[COUNT] = rest[TICK] + heard, rest[AFTER] + heard, rest[COUNT] - heard
    t.moment.unanswered += 1


@inner
def settle_forgotten(t):
    """Confirm messages that wait for no replica any more if one had answered, and nack them otherwise."""
    left = 0
    for k in range(t.moment.unanswered):
        row = t.unanswered[k]
        if last_answer_us(t, row) == NOT_ASKED:
            answer_publisher(t, row[AT], row[AFTER], row[COUNT], row[ANSWERED] == 1)
        else:
            move_row(t.unanswered, k, left)
            left += 1
    t.moment.unanswered = left


# Replicas and clients that go


@inner
def forget_replicas(t, bits):
    """Stop waiting, on the current side, for replicas that are gone."""
    for k in range(t.moment.awaiting):
        row = t.awaiting[k]
        for node in range(t.setup.nodes):
            if bits >> node & 1 and row[FIRST_NODE + node] != NOT_ASKED and is_here(t, row[AT]):
                if row[FIRST_NODE + node] <= t.moment.now_us:
                    row[ANSWERED] = 1
                row[FIRST_NODE + node] = NOT_ASKED
    settle_batches(t, EVERY)
    for node in range(t.setup.nodes):
        if bits >> node & 1:
            forget_in_each(t, node)


@inner
def client_gone(t, node):
    """Drop the waits of publishers whose node is gone, and mark their waiting publishes."""
    for k in range(t.queue.waiting):
        if t.waiting[k, KIND] == PUBLISH and t.waiting[k, B] == node:
            t.waiting[k, C] |= WITHOUT_CHANNEL
    t.moment.awaiting = without_client(t.awaiting, t.moment.awaiting, node)
    t.moment.unanswered = without_client(t.unanswered, t.moment.unanswered, node)


@inner
def without_client(rows, count, node):
    """Remove the rows of clients at a node; return the number of rows left."""
    left = 0
    for k in range(count):
        if rows[k, AT] != node:
            move_row(rows, k, left)
            left += 1
    return left


@inner
def unheard(t, p, node):
    """Return for how many of a publisher's messages a replica will not answer."""
    count = 0
    for k in range(t.moment.unanswered):
        row = t.unanswered[k]
        if row[NUMBERED] == p.number and row[FIRST_NODE + node] == NEVER:
            count += row[COUNT]
    for k in range(t.moment.awaiting):
        row = t.awaiting[k]
        if row[SENDER] == p.number and row[FIRST_NODE + node] == NEVER:
            count += row[COUNT]
    return count
