"""The places that messages have in a replica's own backing queue, which is what an answer to a delivery names.

Source: `rabbit_variable_queue` (`next_seq_id`), `rabbit_mirror_queue_slave:process_instruction`,
`rabbit_mirror_queue_sync:process_batch`. Each replica counts the messages that it gets, from 0 on, in the order in
which they come. The first replicas get the same messages and count alike. A replica that joins later begins anew, and
one that is synchronised counts the messages that it is sent then as new. So a place that one master has told means
another message to the next master, or one that has yet to come, or none.

A message's place is kept as the first replicas count it, over all messages ever published under the queue's name;
`Queue.places` has, for each node that counts otherwise, pieces of numbers and by how much their places are smaller
there. Messages that no replica takes in (refused, discarded, or taken at once by a consumer that acknowledges
automatically: `rabbit_amqqueue_process:attempt_delivery`) have no place, and stand in `Queue.unplaced`.

Left out: in RabbitMQ each level of a queue with x-max-priority counts by itself, here all levels count together;
messages sent before a synchronisation ended early; that after a power loss or a kill a queue's index goes on at its
next segment; messages that flow (`hawb.engine.clients.steady.flows`) and that no replica takes in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hawb.engine.clients.client_state import Consumer
from hawb.engine.core import runs
from hawb.engine.core.runs import Runs
from hawb.engine.core.state import NOWHERE, Queue, Side, State
from hawb.engine.core.turn import Turn

OPEN = 1 << 62
"""The last number of a piece to which all messages still to come belong."""

Piece = tuple[int, int, int]
"""First and last of the numbers that a replica has, and by how much their places are smaller there."""

ALIKE: tuple[Piece, ...] = ((1, OPEN, 0),)
"""The pieces of a replica that counts like the first ones."""


def join(turn: Turn, name: str, node: int) -> None:
    """Notes that a replica begins, without any message."""
    queue, coming = turn.queues[name], turn.numbers.get(name, 0) + 1
    change(turn, name, node, ((coming, OPEN, place(queue, coming) - queue.began - 1),))


def synchronise(turn: Turn, name: str, nodes: Iterable[int]) -> None:
    """Notes that replicas have been sent all messages that their master holds, in its order."""
    queue, coming = turn.queues[name], turn.numbers.get(name, 0) + 1
    for node in nodes:
        following = place(queue, coming) - pieces_of(queue, node)[-1][2]
        pieces = []
        for first, last in queue.content:
            pieces.append((first, last, place(queue, first) - following))
            following += last - first + 1
        change(turn, name, node, (*pieces, (coming, OPEN, place(queue, coming) - following)))


def change(turn: Turn, name: str, node: int, pieces: tuple[Piece, ...]) -> None:
    """Notes how a replica counts, where that matters."""
    if not turn.settings.profile.late_answers_count:
        return
    others = tuple(pair for pair in turn.queues[name].places if pair[0] != node)
    own = () if all(shift == 0 for _, _, shift in pieces) else ((node, pieces),)
    if own or others != turn.queues[name].places:
        turn.change_queue(name, places=tuple(sorted(others + own)))


def skip(turn: Turn, name: str, numbers: Runs) -> None:
    """Notes that no replica takes these messages in."""
    queue = turn.queues.get(name)
    if numbers and queue is not None and not queue.has_group and not turn.flowing:
        turn.change_queue(name, unplaced=runs.union(queue.unplaced, numbers))


def pieces_of(queue: Queue, node: int) -> tuple[Piece, ...]:
    """The pieces that say how a replica counts."""
    return dict(queue.places).get(node, ALIKE)


def place(queue: Queue, number: int) -> int:
    """The place of a message for the first replicas; for a message without one, the place of the next that has one."""
    return number - runs.size(runs.common(queue.unplaced, ((1, number - 1),)))


def numbers_from(queue: Queue, first: int, last: int) -> Iterator[tuple[int, int]]:
    """The messages that have the places `first` to `last` for the first replicas, messages to come included."""
    for gap_first, gap_last in queue.unplaced:
        if gap_first <= first:
            first, last = first + gap_last - gap_first + 1, last + gap_last - gap_first + 1
        elif gap_first <= last:
            yield first, gap_first - 1
            first, last = gap_last + 1, last + gap_last - gap_first + 1
    yield first, last


def told(queue: Queue, node: int, numbers: Runs) -> Runs:
    """The places of messages that the replica at a node has delivered, in their order, one for one."""

    def places(first: int, last: int, shift: int) -> Iterator[tuple[int, int]]:
        at = place(queue, first) - shift
        yield at, at + last - first

    return translated(numbers, ((first, last, shift, places) for first, last, shift in pieces_of(queue, node)))


def meant(queue: Queue, node: int, places: Runs) -> Runs:
    """The messages that places mean to the replica at a node, in their order, one for one; negative for none."""

    def numbers(first: int, last: int, shift: int) -> Iterator[tuple[int, int]]:
        return numbers_from(queue, first + shift, last + shift)

    pieces = ((place(queue, first) - shift, last if last == OPEN else place(queue, last) - shift, shift, numbers)
              for first, last, shift in pieces_of(queue, node))  # fmt: skip
    return translated(places, pieces)


def outdated(consumer: Consumer, queue: Queue | None, master: int) -> dict[str, Runs]:
    """The deliveries of a client that become stale with its queue's master at a node. A client with a rate has each
    message once (`hawb.engine.clients.steady.flows`)."""
    held = consumer.in_sequence
    if consumer.clock is not None:
        return {"stale": runs.normal(consumer.stale + held)}
    stale = {"stale": runs.chain(consumer.stale, held)}
    if queue is None or not (queue.places or consumer.places):
        return stale
    before = consumer.places or told(queue, NOWHERE, consumer.stale)
    return stale | {"places": runs.chain(before, told(queue, master, held))}


def heard(consumer: Consumer, queue: Queue) -> Runs:
    """The messages that its queue's master takes a client's answers for stale deliveries to be for, one for one;
    negative for none."""
    if not (queue.places or consumer.places):
        return consumer.stale
    return meant(queue, queue.master, consumer.places or told(queue, NOWHERE, consumer.stale))


def matter(state: State, side: Side, names: tuple[int, ...]) -> tuple:
    """For a search: the places that answers for replicas' messages, and for the next one, would name. They matter as
    long as a client answers for messages when it likes: the answers of a client with a rate name none (`settling`)."""
    asked = {one.queue for one in state.consumers.values()
             if one.clock is None and not one.automatic and one.state != "closed"}  # fmt: skip
    known = (side.queues[name] for name in sorted(asked) if name in side.queues)
    return tuple(
        (queue.name, tuple(sorted((names[node], told(queue, node, with_next(state, queue, content)))
                                  for node, content in enumerate(queue.contents) if content is not None)))
        for queue in known if not queue.has_group
    )  # fmt: skip


def with_next(state: State, queue: Queue, content: Runs) -> Runs:
    """The messages, and the next one to come."""
    coming = state.numbers.get(queue.name, 0) + 1
    return (*content, (coming, coming))


def translated(pairs: Runs, pieces: Iterable[tuple]) -> Runs:
    """Each of `pairs` translated by the piece in which it stands; negative where it stands in none."""
    known = list(pieces)
    found: list[tuple[int, int]] = []
    for start, end in pairs:
        for first, last, shift, inside in known:
            if start > end or end < first or last < start:
                continue
            if start < first:
                found.append((1 - first, -start))
                start = first
            found += inside(start, min(end, last), shift)
            start = last + 1
        if start <= end:
            found.append((start, end) if end < 0 else (-end, -start))
    return tuple(found)
