"""Dead letters: messages that a queue gives up, and where they go from there.

Source: `rabbit_amqqueue_process` (`with_dlx`, `dead_letter_msgs`), `rabbit_dead_letter`. A message that expires, is
rejected without requeue or dropped because of a limit is published to the queue's dead letter exchange, with the
queue's routing key for it or the message's own keys. The queue itself publishes it and waits for no confirm: a letter
that does not arrive is lost. Without an exchange, or if the exchange does not exist, the message is dropped.

A message is not sent to a queue where it died before, unless a client rejected it since: such a cycle would not end.

A quorum queue's leader does the same when the command that gives the message up is committed, and has one more reason:
a message that was returned too often. (3.8.9 sends messages that are rejected together in reverse order.) With the
strategy at-least-once (`rabbit_fifo_dlx`, `rabbit_fifo_dlx_worker`, from 3.10 on) the message stays in the queue, out
of reach for consumers, until every target has confirmed it. A letter without a target, or with a target that cannot
confirm, is sent again after SETTLE_TIMEOUT_US. A new leader does not know what the last one had sent and sends every
unconfirmed letter again. (Not simulated: that worker's limit of 32 messages under way, and targets that reject.)
"""

from __future__ import annotations

from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from hawb.engine.core import runs
from hawb.engine.core.events import LettersConfirmed, LettersRetried
from hawb.engine.core.naming import split_queue
from hawb.engine.core.operations import DeadLetters
from hawb.engine.core.runs import EMPTY, Runs
from hawb.engine.core.state import Batch, Queue
from hawb.engine.core.turn import TIMER, Turn
from hawb.engine.queues import exchanges
from hawb.engine.queues.contents import in_order, pieces, take_out
from hawb.engine.quorum import fifo

EXPIRED, REJECTED, MAXLEN, DELIVERY_LIMIT = "expired", "rejected", "maxlen", "delivery_limit"

DROPPED = {EXPIRED: "expired", REJECTED: "rejected", MAXLEN: "dropped", DELIVERY_LIMIT: "dropped"}
"""The ledger's word for messages that are given up without a dead letter exchange, by the reason."""

SETTLE_TIMEOUT_US = 180_000_000
"""The delay before a dead letter is sent again (dead_letter_worker_publisher_confirm_timeout)."""


class Letter(Struct, frozen=True):
    """The properties that a dead letter keeps of its message."""

    size_bytes: int
    persistent: bool
    priority: int | None
    deaths: tuple[tuple[str, str], ...]
    routing_keys: tuple[str, ...]


def let_go(turn: Turn, name: str, numbers: Runs, reason: str) -> None:
    """Take messages out of the queue and send them to its dead letter exchange, if there is one.

    Under at-least-once they leave the queue only when they are confirmed.
    """
    queue = turn.queues[name]
    if fifo.keeps_dead_letters(queue) and reason != MAXLEN:
        keep(turn, name, in_order(queue, numbers), reason)
        return
    sent = send(turn, queue, in_order(queue, numbers), queue.batches, reason)
    if not sent and reason == DELIVERY_LIMIT:
        turn.emit("messages_dropped", queue=name, ids=numbers, reason=reason)
    take_out(turn, name, numbers, "dead_lettered" if sent else DROPPED[reason])


def has_exchange(turn: Turn, queue: Queue) -> bool:
    """Return True if a queue has a dead letter exchange that exists."""
    exchange = fifo.limits_of(queue).dead_letter_exchange
    return exchange is not None and exchanges.exists(turn, queue.vhost, exchange)


def send(turn: Turn, queue: Queue, ordered: Runs, batches: tuple[Batch, ...], reason: str) -> bool:
    """Publish messages of `batches` to the queue's dead letter exchange, in their order.

    Return False if there is none.
    """
    exchange = fifo.limits_of(queue).dead_letter_exchange
    if not has_exchange(turn, queue):
        return False
    posts = [(runs.size(these), letter, *destinations(turn, queue, exchange, letter, reason))
             for these, letter in letters(queue, ordered, batches, reason)]  # fmt: skip
    entry = turn.emit(
        "messages_dead_lettered", queue=queue.name, ids=runs.normal(ordered), reason=reason, exchange=exchange,
        targets=sorted({target for _, _, targets, _ in posts for target in targets}),
        cycles=sorted({target for *_, cycles in posts for target in cycles}),
    )  # fmt: skip
    for count, letter, targets, _ in posts:
        for target in targets:
            post(turn, queue, target, count, letter, entry)
    return True


def letters(queue: Queue, ordered: Runs, batches: tuple[Batch, ...], reason: str) -> list[tuple[Runs, Letter]]:
    """Return messages with their letters; neighbours with equal letters are one pair."""
    own_key = fifo.limits_of(queue).dead_letter_routing_key
    _, short = split_queue(queue.name)

    def letter(piece: tuple[int, int, Batch]) -> Letter:
        batch = piece[2]
        keys = (batch.routing_keys or (short,)) if own_key is None else (own_key,)
        before = tuple(death for death in batch.deaths if death != (short, reason))
        return Letter(batch.size_bytes, batch.persistent, batch.priority, ((short, reason), *before), keys)

    alike = groupby(pieces(batches, ordered), key=letter)
    return [(tuple((first, last) for first, last, _ in group), one) for one, group in alike]


def destinations(
    turn: Turn, queue: Queue, exchange: str, letter: Letter, reason: str
) -> tuple[list[str], list[str]]:
    """Return the queues that receive a dead letter, and the bound queues that do not, because of a cycle."""
    found = exchanges.routed(turn, queue.vhost, exchange, letter.routing_keys)
    kept = [target for target in found if reason != REJECTED and is_cycle(target, letter.deaths)]
    return [target for target in found if target not in kept], kept


def is_cycle(target: str, deaths: tuple[tuple[str, str], ...]) -> bool:
    """Return True if a message died in `target` before and no client has rejected it since."""
    _, short = split_queue(target)
    names = [name for name, _ in deaths]
    return short in names and all(reason != REJECTED for _, reason in deaths[: names.index(short) + 1])


def post(
    turn: Turn, queue: Queue, target: str, count: int, letter: Letter, entry: int, at_least_once: bool = False
) -> None:
    """Schedule the arrival of letters at a queue."""
    found = turn.queues[target]
    delay_us = turn.link_us(queue.master, found.master) if found.up and not turn.flowing else 0
    turn.schedule(
        delay_us,
        DeadLetters(
            target, queue.master, count=count, size_bytes=letter.size_bytes, persistent=letter.persistent,
            priority=letter.priority, deaths=letter.deaths, routing_keys=letter.routing_keys,
            flowing=turn.flowing, at_least_once=at_least_once,
        ),
        entry,
    )  # fmt: skip


# At least once


def keep(turn: Turn, name: str, ordered: Runs, reason: str) -> None:
    """Keep a quorum queue's dead messages until their targets have confirmed them."""
    queue, numbers = turn.queues[name], runs.normal(ordered)
    known = fifo.checked_out(queue, runs.minus(numbers, queue.unacknowledged))
    known = replace(
        known, counts=fifo.without(known.counts, numbers), discards=(*known.discards, (reason, ordered))
    )
    turn.change_queue(
        name, fifo=known,
        unacknowledged=runs.minus(queue.unacknowledged, numbers), redelivered=runs.minus(queue.redelivered, numbers),
    )  # fmt: skip
    forward(turn, name, numbers)


def forward(turn: Turn, name: str, numbers: Runs) -> None:
    """Send waiting dead letters to those of their targets that have not received them."""
    queue = turn.queues[name]
    exchange = fifo.limits_of(queue).dead_letter_exchange
    known = exchange is not None and exchanges.exists(turn, queue.vhost, exchange)
    under_way, stuck = EMPTY, runs.common(numbers, fifo.discarded(queue))
    for reason, waiting in fifo.of(queue).discards if known else ():
        for these, letter in letters(queue, runs.within(waiting, stuck), queue.batches, reason):
            if sent_to_all(turn, name, exchange, these, letter, reason):
                under_way = runs.union(under_way, runs.normal(these))
    stuck = runs.minus(stuck, under_way)
    timing = turn.settings.timing
    if under_way:
        delay_us = 2 * timing.link_latency_us + timing.fsync_us
        turn.schedule(delay_us, LettersConfirmed(name, queue.master, under_way))
    if stuck:
        turn.schedule(SETTLE_TIMEOUT_US, LettersRetried(name, queue.master, stuck), priority=TIMER)


def sent_to_all(turn: Turn, name: str, exchange: str, these: Runs, letter: Letter, reason: str) -> bool:
    """Send equal letters to the targets that can confirm them; return True if there are targets and all of them can."""
    queue = turn.queues[name]
    targets, cycles = destinations(turn, queue, exchange, letter, reason)
    had = dict(fifo.of(queue).confirmed)
    open_to = [target for target in targets if turn.queues[target].up]
    lacking = {target: runs.minus(runs.normal(these), had.get(target, EMPTY)) for target in open_to}
    entry = turn.emit(
        "messages_dead_lettered", queue=name, ids=runs.normal(these), reason=reason, exchange=exchange,
        targets=sorted(target for target in open_to if lacking[target]), cycles=sorted(cycles),
    )  # fmt: skip
    for target in open_to:
        if lacking[target]:
            post(turn, queue, target, runs.size(lacking[target]), letter, entry, at_least_once=True)
            had[target] = runs.union(had.get(target, EMPTY), lacking[target])
    fifo.change(turn, name, confirmed=tuple(sorted(had.items())))
    return bool(targets) and open_to == targets


def retry(turn: Turn, event: LettersRetried) -> None:
    """Send waiting dead letters again."""
    queue = turn.queues.get(event.queue)
    if queue is not None and queue.up and queue.master == event.node:
        forward(turn, event.queue, event.numbers)


def start_over(turn: Turn, name: str) -> None:
    """Let a new leader send every unconfirmed dead letter."""
    if fifo.of(turn.queues[name]).discards:
        fifo.change(turn, name, confirmed=())
        forward(turn, name, fifo.discarded(turn.queues[name]))


def settle(turn: Turn, event: LettersConfirmed) -> None:
    """Take confirmed dead letters out of the queue, if the leader that received the confirms still leads."""
    queue = turn.queues.get(event.queue)
    if queue is not None and queue.up and queue.master == event.node:
        take_out(turn, event.queue, runs.common(event.numbers, fifo.discarded(queue)), "dead_lettered")


def forget_letters(turn: Turn, name: str) -> None:
    """Drop waiting dead letters."""
    gone = fifo.discarded(turn.queues[name])
    if gone:
        turn.emit("messages_dropped", queue=name, ids=gone, reason="other_strategy")
        take_out(turn, name, gone, "dropped")
