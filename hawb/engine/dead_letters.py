"""Messages that a queue gives up, and where they go from there.

Source: `rabbit_amqqueue_process` (`with_dlx`, `dead_letter_msgs`), `rabbit_dead_letter`. A message that expires, is
rejected for good or dropped for want of room is published again to the queue's dead letter exchange, with the queue's
routing key for it or the keys it came with. The queue itself publishes it and waits for no answer: what does not
arrive is gone. Without an exchange, or where there is none of that name, the message is dropped.

A message is not sent to a queue where it died before, unless a client rejected it since: such a cycle would not end.
"""

from __future__ import annotations

from itertools import groupby

from msgspec import Struct

from hawb.engine import exchanges, runs
from hawb.engine.contents import in_order, pieces, take_out
from hawb.engine.events import DeadLetters
from hawb.engine.naming import split_queue
from hawb.engine.runs import Runs
from hawb.engine.state import Batch, Queue
from hawb.engine.turn import Turn

EXPIRED, REJECTED, MAXLEN = "expired", "rejected", "maxlen"

DROPPED = {EXPIRED: "expired", REJECTED: "rejected", MAXLEN: "dropped"}
"""What the ledger calls messages that are given up and go nowhere, by the reason."""


class Letter(Struct, frozen=True):
    """What a dead letter takes along."""

    size_bytes: int
    persistent: bool
    priority: int | None
    deaths: tuple[tuple[str, str], ...]
    routing_keys: tuple[str, ...]


def let_go(turn: Turn, name: str, numbers: Runs, reason: str) -> None:
    """Messages leave the queue; its dead letter exchange gets them, if there is one."""
    queue = turn.queues[name]
    sent = send(turn, queue, in_order(queue, numbers), queue.batches, reason)
    take_out(turn, name, numbers, "dead_lettered" if sent else DROPPED[reason])


def send(turn: Turn, queue: Queue, ordered: Runs, batches: tuple[Batch, ...], reason: str) -> bool:
    """Publishes messages of `batches` to the queue's dead letter exchange, in their order; False if there is none."""
    exchange = queue.limits_in_effect.dead_letter_exchange
    if exchange is None or not exchanges.exists(turn, queue.vhost, exchange):
        return False
    posts = [(count, letter, *destinations(turn, queue, exchange, letter, reason))
             for count, letter in letters(queue, ordered, batches, reason)]  # fmt: skip
    entry = turn.emit(
        "messages_dead_lettered", queue=queue.name, ids=runs.normal(ordered), reason=reason, exchange=exchange,
        targets=sorted({target for _, _, targets, _ in posts for target in targets}),
        cycles=sorted({target for *_, cycles in posts for target in cycles}),
    )  # fmt: skip
    for count, letter, targets, _ in posts:
        for target in targets:
            post(turn, queue, target, count, letter, entry)
    return True


def letters(queue: Queue, ordered: Runs, batches: tuple[Batch, ...], reason: str) -> list[tuple[int, Letter]]:
    """The messages as letters, those next to each other that are alike together."""
    own_key = queue.limits_in_effect.dead_letter_routing_key
    _, short = split_queue(queue.name)

    def letter(piece: tuple[int, int, Batch]) -> Letter:
        batch = piece[2]
        keys = (batch.routing_keys or (short,)) if own_key is None else (own_key,)
        before = tuple(death for death in batch.deaths if death != (short, reason))
        return Letter(batch.size_bytes, batch.persistent, batch.priority, ((short, reason), *before), keys)

    alike = groupby(pieces(batches, ordered), key=letter)
    return [(sum(last - first + 1 for first, last, _ in group), one) for one, group in alike]


def destinations(
    turn: Turn, queue: Queue, exchange: str, letter: Letter, reason: str
) -> tuple[list[str], list[str]]:
    """The queues that a letter goes to, and those that it is bound to but kept from."""
    found = exchanges.routed(turn, queue.vhost, exchange, letter.routing_keys)
    kept = [target for target in found if reason != REJECTED and is_cycle(target, letter.deaths)]
    return [target for target in found if target not in kept], kept


def is_cycle(target: str, deaths: tuple[tuple[str, str], ...]) -> bool:
    """Whether a message died in `target` before and no client has rejected it since."""
    _, short = split_queue(target)
    names = [name for name, _ in deaths]
    return short in names and all(reason != REJECTED for _, reason in deaths[: names.index(short) + 1])


def post(turn: Turn, queue: Queue, target: str, count: int, letter: Letter, entry: int) -> None:
    """Sends letters on their way to a queue."""
    found = turn.queues[target]
    delay_us = turn.link_us(queue.master, found.master) if found.up and not turn.flowing else 0
    turn.schedule(
        delay_us,
        DeadLetters(
            target, queue.master, count=count, size_bytes=letter.size_bytes, persistent=letter.persistent,
            priority=letter.priority, deaths=letter.deaths, routing_keys=letter.routing_keys,
            flowing=turn.flowing,
        ),
        entry,
    )  # fmt: skip
