"""What clients answer to deliveries: basic.ack and basic.nack.

Source: `rabbit_channel`, `rabbit_classic_queue`, `rabbit_amqqueue_process`, `rabbit_fifo`. After a failover
acknowledgements of what the old master had sent go nowhere before 3.9 (`settle`).
"""

from __future__ import annotations

from msgspec.structs import replace

from hawb.engine import dead_letters, fifo, runs
from hawb.engine.clients import Consumer
from hawb.engine.consuming import come_back, deliver, put_back, reached
from hawb.engine.contents import take_out
from hawb.engine.operations import Settle
from hawb.engine.runs import EMPTY, Runs
from hawb.engine.single_active import step_back
from hawb.engine.state import QUORUM, Parked
from hawb.engine.turn import Turn


def settle(turn: Turn, operation: Settle) -> None:
    """basic.ack or basic.nack reaches the queue: first for what the consumer still believes it holds from a master that
    is gone, then for what it holds. From 3.9 on a channel sends its answers to whoever is master by then
    (`rabbit_classic_queue:settle`), and those for what that has sent to the same channel again count; the client
    believes that it holds the second deliveries, too."""
    consumer = turn.consumers[operation.consumer]
    queue = turn.queues.get(consumer.queue)
    quorum = queue is not None and queue.type == QUORUM
    has = arrived(turn, consumer)
    count = runs.size(consumer.stale) + runs.size(has) if operation.count is None else operation.count
    stale = runs.head(consumer.stale, count)
    counts = turn.settings.profile.late_answers_count and not quorum and not operation.unheard
    late = runs.common(stale, consumer.held) if counts else EMPTY
    early = runs.union(consumer.settled_early, late)
    ordered = runs.head(has, count - runs.size(stale))
    answered = runs.normal(ordered)
    numbers = runs.union(late, runs.minus(answered, early))
    if numbers and reached(turn, operation) is None:
        return
    turn.change_consumer(
        consumer.name,
        stale=runs.minus(consumer.stale, stale),
        settled_early=runs.minus(early, answered),
        held=runs.minus(consumer.held, numbers),
    )
    if ignored := runs.union(runs.minus(stale, late), runs.common(answered, early)):
        ignore_stale(turn, consumer, ignored, operation.verdict)
    if numbers:
        VERDICTS[operation.verdict](turn, consumer.queue, consumer.name, ordered if quorum else numbers)
    if quorum:
        step_back(turn, consumer.name, activates=operation.verdict != "requeue")
    if come_back(turn, consumer.name) or operation.verdict == "requeue" or quorum:
        deliver(turn, consumer.queue)


def unheard(parked: Parked) -> Parked:
    """What waits for a queue whose master is gone: answers were sent to that one, and reach nobody
    (`rabbit_classic_queue:settle`)."""
    if not isinstance(parked.operation, Settle):
        return parked
    return replace(parked, operation=replace(parked.operation, unheard=True))


def arrived(turn: Turn, consumer: Consumer) -> Runs:
    """What a client holds of the present master's deliveries, as it believes, in their order: what did not arrive it
    does not know."""
    gap = fifo.missing(turn, consumer)
    return runs.within(consumer.in_sequence, runs.minus(runs.normal(consumer.in_sequence), gap))


def ignore_stale(turn: Turn, consumer: Consumer, numbers: Runs, verdict: str) -> None:
    """The process that waited for this answer is gone: an acknowledgement says something to nobody."""
    turn.emit("acknowledgement_ignored", queue=consumer.queue, consumer=consumer.name, ids=numbers)
    if verdict == "ack":
        note_acknowledged(turn, consumer.queue, numbers)


def note_acknowledged(turn: Turn, name: str, numbers: Runs) -> None:
    """Books what a client said."""
    turn.book(name, acknowledged=runs.union(turn.account(name).acknowledged, numbers))


def acknowledge(turn: Turn, name: str, consumer: str, numbers: Runs) -> None:
    """Messages were dealt with and leave the queue. With automatic acknowledgement it is the channel that says so, and
    the client nothing."""
    numbers = runs.normal(numbers)
    if numbers:
        turn.emit("messages_acknowledged", queue=name, consumer=consumer or None, ids=numbers)
        if not (consumer in turn.consumers and turn.consumers[consumer].automatic):
            note_acknowledged(turn, name, numbers)
        take_out(turn, name, numbers, "acknowledged")


def reject(turn: Turn, name: str, consumer: str, numbers: Runs) -> None:
    """Messages are given up by a client and leave the queue."""
    numbers = runs.normal(numbers)
    turn.emit("messages_rejected", queue=name, consumer=consumer, ids=numbers)
    dead_letters.let_go(turn, name, numbers, dead_letters.REJECTED)


def requeue(turn: Turn, name: str, consumer: str, numbers: Runs) -> None:
    """Messages go back to their place."""
    fifo.overpay(turn, name, consumer, put_back(turn, name, numbers, "nack"))


VERDICTS = {"ack": acknowledge, "reject": reject, "requeue": requeue}
"""What basic.ack, and basic.nack without and with requeue, do to messages."""
