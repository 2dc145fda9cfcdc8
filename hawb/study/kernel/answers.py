"""What publishers are told about their messages: `hawb.engine.clients.confirms` and `steady_confirms` for one queue."""

from __future__ import annotations

from hawb.engine.classic import confirming
from hawb.engine.clients.steady import beats
from hawb.study.compiled import inner, rule
from hawb.study.kernel import windows
from hawb.study.kernel.node_rules import can_tell, is_believed
from hawb.study.kernel.record_rules import is_mirror
from hawb.study.kernel.state import (
    AFTER,
    ANSWERED,
    AT,
    BEAT,
    CONFIRMS_DUE,
    COUNT,
    FIRST_NODE,
    KIND,
    NEVER,
    NUMBERED,
    ORPHANED,
    PER_BEATS,
    PER_US,
    PUBLISH,
    SENDER,
    START_US,
    B,
    C,
    follows,
    is_here,
    move_row,
    next_number,
    schedule,
)

NOT_ASKED = -1
"""In place of the time of a replica that is not waited for."""
NOT_TAKEN = -1
"""In place of the first message of a batch that no queue took."""
EVERY = 0
"""In place of a batch's number."""

beats_beyond, answer_us = rule(beats.beats_beyond), rule(confirming.answer_us)


@inner
def tell(t, node, after, count, confirmed):
    """Messages that the queue had taken are confirmed to a client at a node, or not."""
    if t.setup.confirms and can_tell(t, node):
        if confirmed:
            windows.add(t.confirmed, after, after + count)
        else:
            t.book.nacked += count


@inner
def tell_refused(t, node, count, answered):
    """Messages that no queue takes are answered: confirmed where nobody looked for the queue."""
    if t.setup.confirms and can_tell(t, node):
        if answered:
            t.book.refused_confirmed += count
        else:
            t.book.nacked += count


@inner
def await_replicas(t, row, client, count, from_us):
    """Writes into a row when each replica answers: so long after `from_us`, and never who is dead and not missed."""
    await_nobody(t, row)
    about = count, t.setup.size_bytes, t.setup.persistent
    for node in range(t.setup.nodes):
        if node == t.queue.master or is_mirror(t, t.queue, node):
            if node == t.queue.master or follows(t, node):
                row[FIRST_NODE + node] = from_us + answer_us(t, t.queue, node, client, *about)
            elif is_believed(t, node):
                row[FIRST_NODE + node] = NEVER


@inner
def await_nobody(t, row):
    """Nobody's answer is waited for."""
    for column in range(FIRST_NODE, FIRST_NODE + t.setup.nodes):
        row[column] = NOT_ASKED


@inner
def last_answer_us(t, row):
    """The last of the answers that are waited for; NOT_ASKED if there are none."""
    last_us = row[FIRST_NODE]
    for column in range(FIRST_NODE + 1, FIRST_NODE + t.setup.nodes):
        last_us = max(last_us, row[column])
    return last_us


@inner
def reserve_row(rows, count):
    """There has to be room for one more row."""
    if count >= len(rows):
        raise OverflowError("more waits to be confirmed than a trial has room for")


# Batches


@inner
def await_batch(t, client, publisher, after, count, answered):
    """A publisher's channel waits for the replicas that a batch was sent to; for nobody where no queue took it (`after`
    is NOT_TAKEN then), and `answered` is what it is told."""
    reserve_row(t.awaiting, t.moment.awaiting)
    row = t.awaiting[t.moment.awaiting]
    t.moment.awaiting += 1
    row[NUMBERED], row[AT], row[ANSWERED], row[AFTER], row[COUNT] = next_number(t), client, answered, after, count
    row[SENDER] = publisher
    await_nobody(t, row)
    due_us = t.moment.now_us
    if after != NOT_TAKEN:
        await_replicas(t, row, client, count, t.moment.now_us)
        for node in range(t.setup.nodes):
            if row[FIRST_NODE + node] != NEVER:
                due_us = max(due_us, row[FIRST_NODE + node])
    schedule(t, due_us - t.moment.now_us, CONFIRMS_DUE, row[NUMBERED], client)


@inner
def settle_batches(t, number):
    """Tells the clients of those batches, or of the one with a number, whose replicas have all answered."""
    left = 0
    for k in range(t.moment.awaiting):
        row = t.awaiting[k]
        chosen = is_here(t, row[AT]) if number == EVERY else row[NUMBERED] == number
        if chosen and last_answer_us(t, row) <= t.moment.now_us:
            answered = row[ANSWERED] == 1 or last_answer_us(t, row) != NOT_ASKED
            if row[AFTER] == NOT_TAKEN:
                tell_refused(t, row[AT], row[COUNT], answered)
            else:
                tell(t, row[AT], row[AFTER], row[COUNT], answered)
        else:
            move_row(t.awaiting, k, left)
            left += 1
    t.moment.awaiting = left


# Single messages of the publisher


@inner
def await_each(t, count, lag_us):
    """The publisher's channel waits for answers to its last `count` messages, which the queue has just taken."""
    publisher, last = t.publisher, t.moment.unanswered - 1
    reserve_row(t.unanswered, last + 1)
    row = t.unanswered[last + 1]
    row[NUMBERED], row[AT], row[ANSWERED] = publisher.number, publisher.node, 0
    clock = publisher.clock
    row[START_US], row[PER_BEATS], row[PER_US] = clock.start_us, clock.per_beats, clock.per_us
    row[BEAT], row[AFTER], row[COUNT] = publisher.beats - count + 1, t.queue.taken - count, count
    await_replicas(t, row, publisher.node, 1, lag_us)
    if last >= 0 and goes_on(t, t.unanswered[last], row):
        t.unanswered[last, COUNT] += count
    else:
        t.moment.unanswered += 1


@inner
def goes_on(t, row, more):
    """Whether messages go on as others ended, and wait for the same."""
    for column in range(FIRST_NODE + t.setup.nodes):
        if column not in (BEAT, AFTER, COUNT) and row[column] != more[column]:
            return False
    return row[BEAT] + row[COUNT] == more[BEAT] and row[AFTER] + row[COUNT] == more[AFTER]


@inner
def answered_for(t, row, delay_us):
    """For how many of a row a replica with that delay has answered."""
    if delay_us == NEVER:
        return 0
    time_us = t.moment.now_us - delay_us
    return min(row[COUNT], beats_beyond(row[START_US], row[PER_BEATS], row[PER_US], time_us, row[BEAT] - 1))


@inner
def settle_each(t):
    """What all replicas have answered for by now is confirmed."""
    left = 0
    for k in range(t.moment.unanswered):
        row = t.unanswered[k]
        heard = answered_for(t, row, last_answer_us(t, row)) if is_here(t, row[AT]) else 0
        if heard:
            tell(t, row[AT], row[AFTER], heard, True)
        if heard < row[COUNT]:
            row[BEAT], row[AFTER], row[COUNT] = row[BEAT] + heard, row[AFTER] + heard, row[COUNT] - heard
            move_row(t.unanswered, k, left)
            left += 1
    t.moment.unanswered = left


@inner
def forget_in_each(t, node):
    """Nobody waits for a replica any more: what it had answered for, and the rest, which may have nobody left."""
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
    """A row becomes two: its first `heard` messages, and behind them the rest."""
    reserve_row(t.unanswered, t.moment.unanswered)
    for other in range(t.moment.unanswered, k, -1):
        move_row(t.unanswered, other - 1, other)
    first, rest = t.unanswered[k], t.unanswered[k + 1]
    first[COUNT] = heard
    rest[BEAT], rest[AFTER], rest[COUNT] = rest[BEAT] + heard, rest[AFTER] + heard, rest[COUNT] - heard
    t.moment.unanswered += 1


@inner
def settle_forgotten(t):
    """Those that wait for nobody any more are confirmed if somebody had answered, and nacked otherwise."""
    left = 0
    for k in range(t.moment.unanswered):
        row = t.unanswered[k]
        if last_answer_us(t, row) == NOT_ASKED:
            tell(t, row[AT], row[AFTER], row[COUNT], row[ANSWERED] == 1)
        else:
            move_row(t.unanswered, k, left)
            left += 1
    t.moment.unanswered = left


# Replicas and clients that go


@inner
def forget_replicas(t, bits):
    """Replicas are gone: no channel of the side in focus waits for them any more."""
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
    """The node of publishers is gone: they never hear, nor of what waits for its queue."""
    for k in range(t.queue.waiting):
        if t.waiting[k, KIND] == PUBLISH and t.waiting[k, B] == node:
            t.waiting[k, C] |= ORPHANED
    t.moment.awaiting = without_client(t.awaiting, t.moment.awaiting, node)
    t.moment.unanswered = without_client(t.unanswered, t.moment.unanswered, node)


@inner
def without_client(rows, count, node):
    """Takes the rows of clients at a node out; how many are left."""
    left = 0
    for k in range(count):
        if rows[k, AT] != node:
            move_row(rows, k, left)
            left += 1
    return left


@inner
def unheard(t, node):
    """For how many of the publisher's messages a replica will not answer."""
    count = 0
    for k in range(t.moment.unanswered):
        row = t.unanswered[k]
        if row[NUMBERED] == t.publisher.number and row[FIRST_NODE + node] == NEVER:
            count += row[COUNT]
    for k in range(t.moment.awaiting):
        row = t.awaiting[k]
        if row[SENDER] == t.publisher.number and row[FIRST_NODE + node] == NEVER:
            count += row[COUNT]
    return count
