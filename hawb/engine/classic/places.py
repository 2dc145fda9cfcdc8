"""The sequence numbers of messages in a replica's backing queue, which acknowledgements name.

Source: `rabbit_variable_queue` (`next_seq_id`), `rabbit_mirror_queue_slave:process_instruction`,
`rabbit_mirror_queue_sync:process_batch`. Each replica numbers the messages that it receives from 0 on, in the order of
their arrival. The first replicas receive the same messages and number them alike. A replica that joins later starts at
0, and numbers the messages of a synchronisation as new ones. So a number that one master has sent to a client means
another message at the next master, or a message still to come, or none.

A message's place is its number at the first replicas, over all messages ever published under the queue's name;
`Queue.places` has, for each node that numbers otherwise, pieces of message numbers and by how much their places are
smaller there. Messages that no replica takes in (refused, discarded, or taken at once by a consumer that acknowledges
automatically: `rabbit_amqqueue_process:attempt_delivery`) have no place, and stand in `Queue.unplaced`.

Left out: in RabbitMQ each level of a queue with x-max-priority counts by itself, here all levels count together;
messages sent before a synchronisation ended early; that after a power loss or a kill a queue's index goes on at its
next segment; messages of clients with a rate (`hawb.engine.clients.steady.flows`) that no replica takes in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hawb.engine.clients.client_state import Consumer
from hawb.engine.core import runs
from hawb.engine.core.runs import Runs
from hawb.engine.core.state import NOWHERE, Queue, Side, State
from hawb.engine.core.turn import Turn

OPEN = 1 << 62
"""The last number of a piece that includes all future messages."""

Piece = tuple[int, int, int]
"""First and last message number, and by how much the places of these messages are smaller at this replica."""

ALIKE: tuple[Piece, ...] = ((1, OPEN, 0),)
"""The pieces of a replica that numbers messages as the first replicas do."""


def join(turn: Turn, name: str, node: int) -> None:
    """Record that a replica joins without messages, and numbers those that it receives from 0 on."""
    queue, coming = turn.queues[name], turn.numbers.get(name, 0) + 1
    change(turn, name, node, ((coming, OPEN, place(queue, coming) - queue.began - 1),))


def synchronise(turn: Turn, name: str, nodes: Iterable[int]) -> None:
    """Record that a synchronisation has sent all of the master's messages to replicas, in the master's order."""
    queue, coming = turn.queues[name], turn.numbers.get(name, 0) + 1
    for node in nodes:
        following = place(queue, coming) - pieces_of(queue, node)[-1][2]
        pieces = []
        for first, last in queue.content:
            pieces.append((first, last, place(queue, first) - following))
            following += last - first + 1
        change(turn, name, node, (*pieces, (coming, OPEN, place(queue, coming) - following)))


def change(turn: Turn, name: str, node: int, pieces: tuple[Piece, ...]) -> None:
    """Set the pieces of a replica, if the release accepts answers for deliveries of an earlier master."""
    if not turn.settings.profile.late_answers_count:
        return
    others = tuple(pair for pair in turn.queues[name].places if pair[0] != node)
    own = () if all(shift == 0 for _, _, shift in pieces) else ((node, pieces),)
    if own or others != turn.queues[name].places:
        turn.change_queue(name, places=tuple(sorted(others + own)))


def skip(turn: Turn, name: str, numbers: Runs) -> None:
    """Record messages that no replica takes in, and that therefore have no place."""
    queue = turn.queues.get(name)
    if numbers and queue is not None and not queue.has_group and not turn.flowing:
        turn.change_queue(name, unplaced=runs.union(queue.unplaced, numbers))


def pieces_of(queue: Queue, node: int) -> tuple[Piece, ...]:
    """Return the pieces that say how a replica numbers messages."""
    return dict(queue.places).get(node, ALIKE)


def place(queue: Queue, number: int) -> int:
    """Return a message's place in the sequence of the first replicas. A message without a place gets the next one's."""
    return number - runs.size(runs.common(queue.unplaced, ((1, number - 1),)))


def numbers_from(queue: Queue, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield the messages, future ones included, with the places `first` to `last` at the first replicas."""
    for gap_first, gap_last in queue.unplaced:
        if gap_first <= first:
            first, last = first + gap_last - gap_first + 1, last + gap_last - gap_first + 1
        elif gap_first <= last:
            yield first, gap_first - 1
            first, last = gap_last + 1, last + gap_last - gap_first + 1
    yield first, last


def places_of(queue: Queue, node: int, numbers: Runs) -> Runs:
    """Return the place of each message that the replica at a node has delivered, in the given order."""

    def places(first: int, last: int, shift: int) -> Iterator[tuple[int, int]]:
        at = place(queue, first) - shift
        yield at, at + last - first

    return translated(numbers, ((first, last, shift, places) for first, last, shift in pieces_of(queue, node)))


def meant(queue: Queue, node: int, places: Runs) -> Runs:
    """Return the message at each place of the replica at a node, in the given order; a negative number for none."""

    def numbers(first: int, last: int, shift: int) -> Iterator[tuple[int, int]]:
        return numbers_from(queue, first + shift, last + shift)

    pieces = ((place(queue, first) - shift, last if last == OPEN else place(queue, last) - shift, shift, numbers)
              for first, last, shift in pieces_of(queue, node))  # fmt: skip
    return translated(places, pieces)


def outdated(consumer: Consumer, queue: Queue | None, master: int) -> dict[str, Runs]:
    """Return the fields of a client (`stale`, `places`) after its queue's master, at a node, has ended.

    All deliveries of this master become stale. The places are those that the client's answers name. A client with a
    rate has each message once, and names no places (`hawb.engine.clients.steady.flows`).
    """
    held = consumer.in_sequence
    if consumer.clock is not None:
        return {"stale": runs.normal(consumer.stale + held)}
    stale = {"stale": runs.chain(consumer.stale, held)}
    if queue is None or not (queue.places or consumer.places):
        return stale
    before = consumer.places or places_of(queue, NOWHERE, consumer.stale)
    return stale | {"places": runs.chain(before, places_of(queue, master, held))}


def heard(consumer: Consumer, queue: Queue) -> Runs:
    """Return, for each stale delivery of a client, the message to which the master applies the client's answer.

    A negative number stands for no message.
    """
    if not (queue.places or consumer.places):
        return consumer.stale
    return meant(queue, queue.master, consumer.places or places_of(queue, NOWHERE, consumer.stale))


def matter(state: State, side: Side, names: tuple[int, ...]) -> tuple:
    """Return the part of a state's key about places: those of each replica's messages, and of the next message.

    Include only queues with a consumer that acknowledges step by step, since only its answers name places. A consumer
    with a rate names none (`settling`).
    """
    asked = {one.queue for one in state.consumers.values()
             if one.clock is None and not one.automatic and one.state != "closed"}  # fmt: skip
    known = (side.queues[name] for name in sorted(asked) if name in side.queues)
    return tuple(
        (queue.name, tuple(sorted((names[node], places_of(queue, node, with_next(state, queue, content)))
                                  for node, content in enumerate(queue.contents) if content is not None)))
        for queue in known if not queue.has_group
    )  # fmt: skip


def with_next(state: State, queue: Queue, content: Runs) -> Runs:
    """Return a replica's messages, and the next message that will be published."""
    coming = state.numbers.get(queue.name, 0) + 1
    return (*content, (coming, coming))


def translated(pairs: Runs, pieces: Iterable[tuple]) -> Runs:
    """Translate each number of `pairs` with the function of the piece that includes it; negate it if none does."""
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
