"""The content of a queue: which messages are ready, in which order, and how they leave every replica.

Source: `rabbit_variable_queue`, `rabbit_priority_queue`. A message comes after those of higher priority and after older
ones of its own, whether it goes to a consumer, is dropped because of a limit or expires; a requeued message returns to
its place in that order. Only queues with x-max-priority have priorities: a higher one counts as the highest, none as 0.

The order of a quorum queue's messages is in `hawb.engine.quorum.fifo`.

(Not simulated: the master of a priority queue reports only how many messages it drops, so that an unsynchronised mirror
may drop other ones. In hawb every replica drops the same messages.)
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import reduce

from msgspec.structs import replace

from hawb.engine.core import bookkeeping, runs
from hawb.engine.core.events import DepthFell, MirrorMiscounts
from hawb.engine.core.runs import Runs
from hawb.engine.core.state import QUORUM, Batch, Queue
from hawb.engine.core.turn import Turn
from hawb.engine.quorum import fifo


def ready(queue: Queue) -> Runs:
    """Return the messages that may be sent to a consumer."""
    if queue.has_group:
        return fifo.ready(queue)
    return runs.minus(queue.content, queue.unacknowledged)


def in_order(queue: Queue, numbers: Runs) -> Runs:
    """Return messages in delivery order, as runs that are sorted only within a priority."""
    if queue.has_group:
        return fifo.in_order(queue, numbers)
    highest = dict(queue.arguments).get("x-max-priority")
    if highest is None or not numbers:
        return numbers
    levels: dict[int, list[tuple[int, int]]] = {}
    for batch in queue.batches:
        levels.setdefault(min(batch.priority or 0, highest), []).append((batch.first, batch.last))
    by_level = (runs.common(numbers, runs.normal(levels[level])) for level in sorted(levels, reverse=True))
    return reduce(runs.chain, by_level)


def first(queue: Queue, numbers: Runs, count: int) -> Runs:
    """Return the first `count` of the messages in delivery order."""
    return runs.normal(runs.head(in_order(queue, numbers), count))


def pieces(batches: tuple[Batch, ...], pairs: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int, Batch]]:
    """Yield messages as (first, last, batch of `batches` that holds them), in the order of `pairs`."""
    firsts = [batch.first for batch in batches]
    for number, last in pairs:
        at = bisect_right(firsts, number) - 1
        while number <= last:
            batch = batches[at]
            end = min(last, batch.last)
            yield number, end, batch
            number, at = end + 1, at + 1


def counted_bytes(queue: Queue, batch: Batch) -> int:
    """Return the bytes of each message of a batch that count for a queue's limits."""
    return batch.size_bytes + (0 if queue.quorum_settings is None else queue.quorum_settings.properties_bytes)


def size_bytes(queue: Queue, numbers: Runs) -> int:
    """Return the bytes of messages that count for limits."""
    found = pieces(queue.batches, numbers)
    return sum((end - number + 1) * counted_bytes(queue, batch) for number, end, batch in found)


def united(some: tuple[Batch, ...], others: tuple[Batch, ...]) -> tuple[Batch, ...]:
    """Return the batches that two sides know of one queue, in the order of their numbers.

    A batch may have grown on one side since the partition. Batches behind it exist on that side alone, since a number
    is given once.
    """
    longest: dict[int, Batch] = {}
    for batch in (*some, *others):
        known = longest.get(batch.first)
        if known is None or batch.last > known.last:
            longest[batch.first] = batch
    return tuple(longest[first] for first in sorted(longest))


def with_batch(batches: tuple[Batch, ...], new: Batch) -> tuple[Batch, ...]:
    """Return `batches` with another one, or with the last one extended if the new one continues it.

    A quorum queue may take messages later than others with higher numbers; batches stand in the order of their numbers.
    """
    if batches and new.first <= batches[-1].last:
        return reduce(_going_on, sorted((*batches, new), key=lambda one: one.first), ())
    return _going_on(batches, new)


def _going_on(batches: tuple[Batch, ...], new: Batch) -> tuple[Batch, ...]:
    if batches and replace(batches[-1], first=new.first, last=new.last) == new and batches[-1].last + 1 == new.first:
        return (*batches[:-1], replace(new, first=batches[-1].first))
    return (*batches, new)


def without(batches: tuple[Batch, ...], numbers: Runs) -> tuple[Batch, ...]:
    """Return `batches` without some numbers.

    A quorum queue dates messages by the time of their commit; until then they have no time to live.
    """
    if not batches or not numbers or batches[-1].last < numbers[0][0]:
        return batches
    return tuple(
        batch if (first, last) == (batch.first, batch.last) else replace(batch, first=first, last=last)
        for batch in batches
        for first, last in runs.minus(((batch.first, batch.last),), numbers)
    )


def take_out(turn: Turn, name: str, numbers: Runs, reason: str) -> None:
    """Take messages out of every replica of the queue, and out of the ledger for `reason`."""
    if turn.queues[name].overcounted:
        report_dropped(turn, name, numbers, reason)
    drop(turn, name, numbers)
    bookkeeping.remove(turn, name, numbers, reason)


def report_dropped(turn: Turn, name: str, numbers: Runs, reason: str) -> None:
    """Let a master report to its mirrors how many ready messages it dropped and how many are left.

    A mirror that counts some of them as delivered has fewer, drops too few and stops with an error, unless they are
    still to be acknowledged, as dead letters are (`rabbit_mirror_queue_slave:process_instruction` of drop,
    `update_delta`).
    """
    queue = turn.queues[name]
    if reason != "dead_lettered" and runs.minus(numbers, queue.unacknowledged):
        for node, _ in queue.overcounted:
            if node in queue.synchronised and turn.follows(queue, node):
                turn.schedule(turn.link_us(queue.master, node), MirrorMiscounts(name, node))
    count_as_delivered(turn, name, numbers)


def count_as_delivered(turn: Turn, name: str, numbers: Runs) -> None:
    """Correct the count of mirrors that already counted messages as delivered which the master has delivered now."""
    left = ((node, runs.minus(counted, numbers)) for node, counted in turn.queues[name].overcounted)
    turn.change_queue(name, overcounted=tuple(pair for pair in left if pair[1]))


def drop(turn: Turn, name: str, numbers: Runs) -> None:
    """Drop messages from every replica; a mirror may become synchronised by it."""
    queue = turn.queues[name]
    contents = tuple(
        content if content is None or not turn.follows(queue, node) else runs.minus(content, numbers)
        for node, content in enumerate(queue.contents)
    )
    oldest = min(lowest(content or ()) for content in (*contents, queue.pending))
    turn.change_queue(
        name,
        fifo=fifo.dropped(queue, numbers) if queue.type == QUORUM else None,
        contents=contents,
        unacknowledged=runs.minus(queue.unacknowledged, numbers),
        redelivered=runs.minus(queue.redelivered, numbers),
        batches=tuple(batch for batch in queue.batches if batch.last >= oldest),
    )
    if len(queue.synchronised) < len(queue.mirrors):
        turn.schedule(0, DepthFell(name))


def lowest(numbers: Runs) -> float:
    """Return the smallest number; infinity if there is none."""
    return numbers[0][0] if numbers else float("inf")
