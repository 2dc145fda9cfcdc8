"""Confirms for steady publishers: the rule of `confirms`, for messages that come one by one and are kept as runs.

Each replica answers for each message a fixed time after its tick, so that it has always answered for the first messages
of a run. Where a replica goes down a run is split in two: messages for which it had answered, and the rest. A silent
replica receives all that it missed together, and answers for it at one moment: from then on the messages of the run
count as published with its last one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from msgspec.structs import replace

from hawb.engine.clients import answers
from hawb.engine.clients.client_state import NEVER_US, Clock, Publisher, Unanswered
from hawb.engine.clients.steady import ticks
from hawb.engine.cluster.reachability import receives_answers
from hawb.engine.core import runs
from hawb.engine.core.runs import Runs
from hawb.engine.core.state import NOWHERE
from hawb.engine.core.turn import Turn

Parts = tuple[Unanswered, ...]


def wait_for(turn: Turn, name: str, more: Unanswered) -> None:
    """Let a publisher's channel wait for confirms."""
    waiting = turn.publishers[name].unanswered
    last = waiting[-1] if waiting else None
    if last is not None:
        longer = replace(last, count=last.count + more.count)
        if parts(longer, last.count)[1] == more:
            more, waiting = longer, waiting[:-1]
    turn.change_publisher(name, unanswered=(*waiting, more))


def due(turn: Turn, name: str) -> None:
    """Answer a publisher for the messages for which all replicas have answered by now."""
    publisher = turn.publishers[name]
    if not any(answered(run, slowest_us(run), turn.now_us) for run in publisher.unanswered):
        return

    def split(run: Unanswered) -> Parts:
        first, rest = parts(run, answered(run, slowest_us(run), turn.now_us))
        return replace(first, delays_us=(), answered=True), rest

    update(turn, publisher, split)


def slowest_us(run: Unanswered) -> int:
    """Return the microseconds from a message's tick to the answer of the slowest replica that is asked."""
    return max([delay_us for _, delay_us in run.delays_us])


def forget_replicas(turn: Turn, queue: str, nodes: Collection[int]) -> None:
    """Stop waiting for a queue's replicas at `nodes`."""
    for node in nodes:
        each(turn, queue, lambda run, node=node: without(turn, run, node))


def without(turn: Turn, run: Unanswered, node: int) -> Parts:
    """Return a run without the replica at `node`, in parts: messages for which that had answered, and the rest."""
    delay_us = dict(run.delays_us).get(node)
    if delay_us is None:
        return (run,)
    left = tuple(pair for pair in run.delays_us if pair[0] != node)
    first, rest = parts(run, answered(run, delay_us, turn.now_us))
    return replace(first, delays_us=left, answered=True), replace(rest, delays_us=left)


def replica_crashed(turn: Turn, queue: str, node: int) -> None:
    """Nack at once the messages for which a queue's crashed process at `node` had not answered."""

    def split(run: Unanswered) -> Parts:
        parted = without(turn, run, node)
        return parted if len(parted) == 1 else (parted[0], replace(parted[1], delays_us=(), answered=False))

    each(turn, queue, split)


def queue_deleted(turn: Turn, queue: str) -> None:
    """Confirm messages that waited for a queue that a client has deleted."""
    each(turn, queue, lambda run: (replace(run, delays_us=(), answered=True),))


def client_gone(turn: Turn, node: int, reason: str) -> None:
    """Drop the waits of publishers whose node or connection is gone: they get no answer."""
    for publisher in list(turn.publishers.values()):
        if publisher.node == node:
            for run in publisher.unanswered if publisher.mode != "plain" else ():
                answers.say_nothing(turn, publisher.queue, run.numbers, reason)
            turn.change_publisher(publisher.name, unanswered=())


def replica_answers(turn: Turn, queue: str, node: int, due_us: int) -> None:
    """Let a replica that was silent and has received all its messages answer for all of them at `due_us`."""
    each(turn, queue, lambda run: (heard(run, node, due_us),))


def heard(run: Unanswered, node: int, due_us: int) -> Unanswered:
    """Return a run for whose messages a silent replica at `node` answers together, at `due_us`."""
    if (node, NEVER_US) not in run.delays_us:
        return run
    last_us = ticks.due_us(run.clock, run.tick + run.count - 1)
    within_a_us = Clock(last_us - 1, run.count, 1)
    delays_us = tuple((at, due_us - last_us if at == node else us) for at, us in run.delays_us)
    return replace(run, clock=within_a_us, tick=1, delays_us=delays_us)


def group_answers(turn: Turn, queue: str, node: int, numbers: Runs, rejected: Runs, due_us: int) -> None:
    """Answer messages of channels at `node` that a quorum queue has decided; rejected messages are nacked at once."""

    def split(run: Unanswered) -> Parts:
        taken = [heard(part, NOWHERE, due_us) for part in those(run, runs.minus(numbers, rejected))]
        refused = [replace(part, delays_us=(), answered=False) for part in those(run, runs.common(numbers, rejected))]
        others = those(run, runs.minus(run.numbers, numbers))
        return tuple(sorted((*taken, *refused, *others), key=lambda part: part.number))

    for publisher in list(turn.publishers.values()):
        if publisher.queue == queue and publisher.node == node:
            update(turn, publisher, split)


def those(run: Unanswered, numbers: Runs) -> Parts:
    """Return the parts of a run whose messages are among `numbers`."""
    return tuple(
        replace(run, tick=run.tick + first - run.number, number=first, count=last - first + 1)
        for first, last in runs.common(run.numbers, numbers)
    )


def answered(run: Unanswered, delay_us: int, now_us: int) -> int:
    """Return for how many messages of a run a replica with that delay has answered."""
    return min(run.count, ticks.beyond(run.clock, now_us - delay_us, run.tick - 1))


def parts(run: Unanswered, count: int) -> Parts:
    """Return the first `count` messages of a run, and the rest."""
    rest = replace(run, tick=run.tick + count, number=run.number + count, count=run.count - count)
    return replace(run, count=count), rest


def each(turn: Turn, queue: str, split: Callable[[Unanswered], Parts]) -> None:
    """Split the runs for which publishers of a queue wait, on the current side."""
    for publisher in list(turn.publishers.values()):
        if publisher.queue == queue and turn.is_here(publisher.node):
            update(turn, publisher, split)


def update(turn: Turn, publisher: Publisher, split: Callable[[Unanswered], Parts]) -> None:
    """Split the runs for which a publisher waits, and answer those without a replica left to wait for."""
    split_up = [part for run in publisher.unanswered for part in split(run) if part.count]
    turn.change_publisher(publisher.name, unanswered=tuple(part for part in split_up if part.delays_us))
    for part in split_up:
        if not part.delays_us:
            answer(turn, publisher, part.numbers, confirmed=part.answered)


def answer(turn: Turn, publisher: Publisher, numbers: Runs, *, confirmed: bool) -> None:
    """Confirm messages to a publisher or nack them, if it asked for confirms and can receive them."""
    transaction = publisher.mode == "tx"
    if publisher.mode == "plain":
        return
    if not receives_answers(turn, publisher.node):
        answers.say_nothing(turn, publisher.queue, numbers, "client_node_gone")
        return
    answers.answer_publisher(
        turn, publisher.queue, numbers, publisher.name, transaction=transaction, confirmed=confirmed
    )
    if transaction and not confirmed:
        answers.fail(turn, publisher.step, publisher.name)
