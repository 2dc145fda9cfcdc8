"""Clients' answers to deliveries: basic.ack and basic.nack.

Source: `rabbit_channel`, `rabbit_classic_queue:settle`, `rabbit_amqqueue_process`, `rabbit_queue_consumers`,
`rabbit_fifo`. A client answers in the order in which it got messages, so first for those that it still believes it
holds from masters that are gone. Before 3.9 these answers are dropped. From 3.9 on a channel sends them to the present
master, which takes each to be for the message that has the same place there (`hawb.engine.classic.places`), whichever
consumer has got that message. The master accepts answers only of channels that consume from it or hold a message of it,
and gives each credit only for messages that it has sent to that channel itself. An answer for a message for which it
does not wait changes nothing, except a reject where there is a dead letter exchange: that crashes the master
(`rabbit_variable_queue:lookup_pending_ack`). A 3.10.8 cluster did all of this.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from hawb.engine.classic import places
from hawb.engine.clients import deadlines
from hawb.engine.clients.client_state import Consumer
from hawb.engine.clients.consuming import come_back, deliver, is_sorted, put_back, reached
from hawb.engine.clients.single_active import step_back
from hawb.engine.core import runs
from hawb.engine.core.events import RejectFails
from hawb.engine.core.operations import Settle
from hawb.engine.core.runs import EMPTY, Runs
from hawb.engine.core.state import QUORUM, Queue, WaitingOperation
from hawb.engine.core.turn import Turn
from hawb.engine.queues import dead_letters
from hawb.engine.queues.contents import take_out
from hawb.engine.quorum import fifo


class Answers(Struct, frozen=True):
    """A client's acknowledgements or rejects, and the messages that the queue's master applies them to.

    `said` are the messages that the client answers for, in its order. `heard` are the messages at the same places at
    the master, which it takes instead. `settled` are those of `heard` that were waiting for an answer. `accepts_late`
    is True if the master accepts answers for deliveries of an earlier master.
    """

    said: Runs
    heard: Runs
    settled: Runs
    accepts_late: bool


def settle(turn: Turn, operation: Settle) -> None:
    """Apply basic.ack or basic.nack at the queue, answer by answer.

    If an answer crashes the queue's process, those after it are lost.
    """
    consumer = turn.consumers[operation.consumer]
    if consumer.queue != operation.queue:
        return  # It is of a channel that is gone; another one has its name now.
    queue = turn.queues.get(consumer.queue)
    if queue is not None and queue.type == QUORUM:
        settle_in_quorum_queue(turn, operation)
        return
    left = consumer.unanswered if operation.count is None else min(operation.count, consumer.unanswered)
    while left:
        consumer = turn.consumers[operation.consumer]
        answers = next_answers(turn, operation, consumer, left)
        crashes = operation.verdict == "reject" and fails(turn, consumer.queue, answers)
        if (answers.settled or crashes) and reached(turn, operation) is None:
            return
        if crashes:
            answers = replace(answers, said=next_said(consumer, left))
            turn.schedule(0, RejectFails(consumer.queue, turn.queues[consumer.queue].master))
        note_answers(turn, consumer, answers)
        carry_out(turn, consumer, answers, operation.verdict)
        left -= runs.size(answers.said)
        operation = replace(operation, count=left)


def next_said(consumer: Consumer, count: int) -> Runs:
    """Return the messages that a client's next `count` answers are for."""
    stale, _ = runs.split(consumer.stale, count)
    return stale + runs.split(consumer.in_sequence, count - runs.size(stale))[0]


def next_answers(turn: Turn, operation: Settle, consumer: Consumer, count: int) -> Answers:
    """Return the longest run of a client's next `count` answers that all settle a message, or all settle none.

    The run ends there because a settled message makes room for a delivery, and the queue delivers before it reads the
    next answer. A client with a rate sends its answers together. Its late answers are only for messages that the queue
    has delivered to it again (`hawb.engine.clients.steady.flows`).
    """
    queue, late = turn.queues.get(consumer.queue), min(count, runs.size(consumer.stale))
    own, _ = runs.split(consumer.in_sequence, count - late)
    accepts_late = turn.settings.profile.late_answers_count and not operation.unheard and is_known_to(queue, consumer)
    if consumer.clock is not None:
        stale, _ = runs.split(consumer.stale, late)
        heard = runs.normal(stale + own if accepts_late else own)
        return Answers(stale + own, heard, runs.common(heard, consumer.held), accepts_late)
    stale = runs.split(places.heard(consumer, queue), late)[0] if accepts_late else ((-late, -1),) if late else EMPTY
    waits = consumer.held if queue is None else runs.union(queue.unacknowledged, consumer.held)
    alike, settled = lead(stale + own, waits)
    heard = runs.normal(runs.split(stale + own, alike)[0])
    return Answers(next_said(consumer, alike), heard, settled, accepts_late)


def is_known_to(queue: Queue | None, consumer: Consumer) -> bool:
    """Return True if a queue's process has a record of a client's channel (`rabbit_queue_consumers:subtract_acks`)."""
    return queue is not None and bool(consumer.name in queue.consumers or consumer.held or consumer.uncredited)


def lead(numbers: Runs, known: Runs) -> tuple[int, Runs]:
    """Return the length of the longest start of `numbers` that is in `known` as a whole, or not at all.

    Return also the numbers of that start that are in `known`. A repeated number is not in `known` the second time.
    `numbers` need not be sorted.
    """
    count, found = 0, EMPTY
    for first, last in numbers:
        there = runs.common(((first, last),), runs.minus(known, found))
        begins = bool(there) and there[0][0] == first
        if count and begins != bool(found):
            break
        end = there[0][1] if begins else there[0][0] - 1 if there else last
        count += end - first + 1
        found = runs.union(found, ((first, end),) if begins else EMPTY)
        if end < last:
            break
    return count, found


def fails(turn: Turn, name: str, answers: Answers) -> bool:
    """Return True if the queue's process crashes when these answers are rejects.

    It crashes because it looks up a message for the dead letter exchange, and does not find it.
    """
    return answers.accepts_late and not answers.settled and dead_letters.has_exchange(turn, turn.queues[name])


def note_answers(turn: Turn, consumer: Consumer, answers: Answers) -> None:
    """Record a client's answers: no consumer holds the settled messages any more.

    Another consumer may still believe that it holds some of them.
    """
    said = runs.size(answers.said)
    late = min(said, runs.size(consumer.stale))
    rest = runs.split(consumer.in_sequence, said - late)[1]
    held = runs.minus(consumer.held, answers.settled)
    turn.change_consumer(
        consumer.name,
        stale=runs.split(consumer.stale, late)[1],
        places=runs.split(consumer.places, late)[1],
        held=held,
        deliveries=EMPTY if is_sorted(rest) else rest,
        settled_early=runs.minus(runs.normal(rest), held),
        uncredited=runs.minus(consumer.uncredited, answers.heard),
    )
    for other in turn.consumers_of(consumer.queue):
        if other.name != consumer.name and (taken := runs.common(other.held, answers.settled)):
            turn.change_consumer(
                other.name, held=runs.minus(other.held, taken), settled_early=runs.union(other.settled_early, taken),
                uncredited=runs.union(other.uncredited, taken),
            )  # fmt: skip


def carry_out(turn: Turn, consumer: Consumer, answers: Answers, verdict: str) -> None:
    """Acknowledge, reject or requeue settled messages; answers that settle none change nothing."""
    name, said, settled = consumer.queue, runs.normal(answers.said), answers.settled
    ignored = runs.minus(said, settled) if consumer.clock is not None or not settled else EMPTY
    if ignored:
        turn.emit("acknowledgement_ignored", queue=name, consumer=consumer.name, ids=ignored)
    if not ignored and said != settled:
        turn.emit("answers_misplaced", queue=name, consumer=consumer.name, ids=settled, meant=runs.as_lists(said))
    if verdict == "ack":
        note_acknowledged(turn, name, said)
    if settled:
        VERDICTS[verdict](turn, name, consumer.name, settled)
    if come_back(turn, consumer.name) or verdict == "requeue":
        deliver(turn, name)


def settle_in_quorum_queue(turn: Turn, operation: Settle) -> None:
    """Apply answers at a quorum queue, where they stay valid after a change of the leader.

    Answers for messages that the queue has requeued meanwhile are too late.
    """
    consumer = turn.consumers[operation.consumer]
    has = arrived(turn, consumer)
    count = runs.size(consumer.stale) + runs.size(has) if operation.count is None else operation.count
    stale, left = runs.split(consumer.stale, count)
    ordered = runs.head(has, count - runs.size(stale))
    numbers = runs.normal(ordered)
    if numbers and reached(turn, operation) is None:
        return
    turn.change_consumer(consumer.name, stale=left, held=runs.minus(consumer.held, numbers))
    if stale:
        note_late(turn, consumer, stale)
    if operation.verdict == "ack":
        note_acknowledged(turn, consumer.queue, runs.normal(stale + (EMPTY if consumer.automatic else numbers)))
    if numbers:
        VERDICTS[operation.verdict](turn, consumer.queue, consumer.name, ordered)
    step_back(turn, consumer.name, returned=operation.verdict == "requeue")
    come_back(turn, consumer.name)
    deliver(turn, consumer.queue)


def note_late(turn: Turn, consumer: Consumer, stale: Runs) -> None:
    """Record answers for messages that a quorum queue has requeued before the answers arrived."""
    late = deadlines.answered(turn, consumer.queue, consumer.name, stale)
    if late:
        turn.emit("answers_too_late", queue=consumer.queue, consumer=consumer.name, ids=late)
    others = runs.minus(runs.normal(stale), late)
    if others:
        turn.emit("acknowledgement_ignored", queue=consumer.queue, consumer=consumer.name, ids=others)


def unheard(one: WaitingOperation) -> WaitingOperation:
    """Return a waiting operation after its queue's master is gone: answers sent to that master are lost.

    Source: `rabbit_classic_queue:settle`.
    """
    if not isinstance(one.operation, Settle):
        return one
    return replace(one, operation=replace(one.operation, unheard=True))


def arrived(turn: Turn, consumer: Consumer) -> Runs:
    """Return the present master's deliveries that arrived at a client and that it has not answered, in their order."""
    gap = fifo.missing(turn, consumer)
    return runs.within(consumer.in_sequence, runs.minus(runs.normal(consumer.in_sequence), gap))


def note_acknowledged(turn: Turn, name: str, numbers: Runs) -> None:
    """Enter a client's acknowledgements into the ledger.

    Do not call it for automatic acknowledgements, which the channel sends, not the client.
    """
    turn.book(name, acknowledged=runs.union(turn.account(name).acknowledged, numbers))


def acknowledge(turn: Turn, name: str, consumer: str, numbers: Runs) -> None:
    """Remove acknowledged messages from the queue."""
    numbers = runs.normal(numbers)
    if numbers:
        turn.emit("messages_acknowledged", queue=name, consumer=consumer or None, ids=numbers)
        take_out(turn, name, numbers, "acknowledged")


def reject(turn: Turn, name: str, consumer: str, numbers: Runs) -> None:
    """Remove rejected messages from the queue, to its dead letter exchange if there is one."""
    numbers = runs.normal(numbers)
    turn.emit("messages_rejected", queue=name, consumer=consumer, ids=numbers)
    dead_letters.let_go(turn, name, numbers, dead_letters.REJECTED)


def requeue(turn: Turn, name: str, consumer: str, numbers: Runs) -> None:
    """Requeue messages at their former places in the queue."""
    fifo.overpay(turn, name, consumer, put_back(turn, name, numbers, "nack"))


VERDICTS = {"ack": acknowledge, "reject": reject, "requeue": requeue}
"""The functions for basic.ack, and for basic.nack without and with requeue."""
