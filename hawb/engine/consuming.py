"""Deliveries: what is sent to consumers, and what comes back from them.

Source: `rabbit_queue_consumers`, `rabbit_limiter`, `rabbit_channel`, `rabbit_amqqueue_process`. Consumers are served by
the master alone, wherever they are connected. After a failover nobody knows what was sent to whom: all goes back to its
place and is sent again, and acknowledgements of what the old master had sent go nowhere.

Of several consumers those of the highest priority are served as long as they have room, with one message each in turn.
One that is due and has no room leaves the circle, and comes back as its last when it has room again. Beyond
DEALT_SINGLY messages at a time they are dealt in equal lots, so that the cost does not grow with the depth.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from msgspec.structs import replace

from hawb.engine import dead_letters, expiry, limits, runs
from hawb.engine.access import served
from hawb.engine.clients import Consumer
from hawb.engine.contents import in_order, ready, take_out
from hawb.engine.events import DeliveryArrives, Get, NodeGoneNoticed, Settle
from hawb.engine.runs import EMPTY, Runs
from hawb.engine.state import NOWHERE, RUNNING, STOPPING, Queue, UnderWay
from hawb.engine.turn import Turn

DEALT_SINGLY = 10_000
DEALT_OF_A_FLOW = 100
"""Where clients have a rate (`flows`)."""


def is_single_active(queue: Queue) -> bool:
    """Whether the queue serves one consumer at a time (x-single-active-consumer)."""
    return dict(queue.arguments).get("x-single-active-consumer") is True


def circle(turn: Turn, queue: Queue) -> list[str]:
    """The consumers that take turns, those of the highest priority first, and of these the one that is due."""
    served_ones = [queue.active_consumer] if is_single_active(queue) else queue.consumers
    taking = [one for one in served_ones if one is not None and not turn.consumers[one].blocked]
    return sorted(taking, key=lambda one: -turn.consumers[one].priority)


def deliver(turn: Turn, name: str, new: Runs = EMPTY, more_room: Mapping[str, int] | None = None) -> None:
    """Sends what is ready to consumers that have room, by priority and in turn. What has expired is dropped when it
    gets to the head; what is `new` goes to whoever waits for it even if it has no time. Consumers that go on answering
    have `more_room` for so many messages."""
    hand_out(turn, name, new, more_room or {})
    expiry.drop_expired(turn, name)


def hand_out(turn: Turn, name: str, new: Runs, more_room: Mapping[str, int]) -> None:
    """Sends what has not expired."""
    queue = turn.queues.get(name)
    if queue is None or not queue.up or queue.sync is not None:
        return
    waiting = in_order(queue, runs.minus(ready(queue), runs.minus(expiry.expired(turn, queue), new)))
    order = circle(turn, queue)
    if not waiting or not order:
        return
    dealt = DEALT_OF_A_FLOW if turn.flowing else DEALT_SINGLY
    lot = 1 + runs.size(waiting) // dealt if len(order) > 1 else runs.size(waiting)
    hands: dict[str, list[tuple[int, int]]] = {}
    capacities = {one: turn.consumers[one].capacity for one in order}
    room = {one: None if left is None else left + more_room.get(one, 0) for one, left in capacities.items()}
    while waiting and order:
        taker = order.pop(0)
        if room[taker] == 0:
            turn.change_consumer(taker, blocked=True)
            continue
        hand, waiting = runs.split(waiting, lot if room[taker] is None else min(lot, room[taker]))
        hands.setdefault(taker, []).extend(hand)
        room[taker] = None if room[taker] is None else room[taker] - runs.size(hand)
        priority = turn.consumers[taker].priority
        order.insert(sum(turn.consumers[other].priority >= priority for other in order), taker)
    others = (one for one in queue.consumers if one not in order)
    turn.change_queue(name, consumers=(*order, *others))
    for consumer, pairs in hands.items():
        delay_us = 0 if turn.flowing else turn.link_us(queue.master, turn.consumers[consumer].node)
        hand_over(turn, name, consumer, tuple(pairs), delay_us)


def come_back(turn: Turn, name: str, more_room: int = 0) -> bool:
    """Whether a consumer that had left the circle for want of room has some again; then it is the last in turn."""
    consumer = turn.consumers[name]
    if not consumer.blocked or (consumer.capacity == 0 and not more_room):
        return False
    turn.change_consumer(name, blocked=False)
    others = (other for other in turn.queues[consumer.queue].consumers if other != name)
    turn.change_queue(consumer.queue, consumers=(*others, name))
    return True


def hand_over(turn: Turn, name: str, consumer_name: str, ordered: Runs, delay_us: int = 0) -> None:
    """Messages are sent to a client in their order; with automatic acknowledgement the queue has let go of them."""
    consumer, queue = turn.consumers[consumer_name], turn.queues[name]
    numbers = runs.normal(ordered)
    entry = turn.emit(
        "messages_delivered", node=consumer.node, queue=name, consumer=consumer_name, ids=numbers,
        redelivered=runs.as_lists(runs.common(queue.redelivered, numbers)),
    )  # fmt: skip
    if consumer.automatic:
        take_out(turn, name, numbers, "acknowledged")
    else:
        held = runs.union(consumer.held, numbers)
        deliveries = runs.chain(consumer.in_sequence, ordered)
        turn.change_consumer(consumer_name, held=held, deliveries=EMPTY if is_sorted(deliveries) else deliveries)
        turn.change_queue(name, unacknowledged=runs.union(queue.unacknowledged, numbers))
    delivery = DeliveryArrives(name, queue.master, consumer_name, consumer.automatic, numbers)
    if delay_us and turn.is_running(consumer.node):
        turn.schedule(delay_us, delivery, entry)
    else:
        arrive(turn, delivery)


def is_sorted(pairs: Runs) -> bool:
    """Whether messages stand in the order of their numbers."""
    return all(before[1] < after[0] for before, after in pairwise(pairs))


def arrive(turn: Turn, event: DeliveryArrives) -> None:
    """A client has its messages, unless its node or the one that sent them has died by now, or nothing passes between
    them."""
    consumer = turn.consumers[event.consumer]
    ends = ((event.node, (RUNNING, STOPPING)), (consumer.node, (RUNNING,)))
    dead = next((node for node, well in ends if turn.nodes[node].status not in well), NOWHERE)
    if dead == NOWHERE and not turn.linked(event.node, consumer.node):
        link = (min(event.node, consumer.node), max(event.node, consumer.node))
        turn.under_way = (*turn.under_way, UnderWay(link, event, turn.step, turn.because))
    elif dead == NOWHERE:
        turn.ledger[event.queue] = turn.account(event.queue).with_delivered(event.numbers)
        turn.change_consumer(consumer.name, received=runs.union(consumer.received, event.numbers))
    else:
        lose_delivery(turn, event, turn.cause_of(NodeGoneNoticed(dead)))


def lose_delivery(turn: Turn, event: DeliveryArrives, because: int | None = None) -> None:
    """Messages do not arrive: those that wait for an acknowledgement go back to their place as soon as that is noticed,
    those acknowledged automatically are lost."""
    if event.automatic:
        gone = runs.common(event.numbers, dict(turn.account(event.queue).removed)["acknowledged"])
        turn.ledger[event.queue] = turn.account(event.queue).with_returned(gone)
        turn.lose(event.queue, gone, "auto_ack_in_flight", because=because)


def put_back(turn: Turn, name: str, numbers: Runs, reason: str) -> None:
    """Deliveries that the queue waits for go back to their place, marked as redelivered. On another side of a
    partition it may have been given other ones."""
    queue = turn.queues.get(name)
    numbers = EMPTY if queue is None else runs.common(numbers, queue.unacknowledged)
    if not numbers:
        return
    turn.emit("messages_requeued", queue=name, ids=numbers, reason=reason)
    turn.change_queue(
        name,
        unacknowledged=runs.minus(queue.unacknowledged, numbers),
        redelivered=runs.union(queue.redelivered, numbers),
    )
    limits.drop_excess(turn, name)
    expiry.drop_expired(turn, name)


# What clients do


def refuse_tag(turn: Turn, known: Consumer) -> None:
    """530 for a name that stands for a subscription already."""
    turn.refuse(530, f"NOT_ALLOWED - attempt to reuse consumer tag '{known.name}'")


def holds_of_another(turn: Turn, known: Consumer | None, queue: Queue) -> bool:
    """Whether a name still stands for messages of another queue; then its step was refused."""
    if known is None or known.queue == queue.name or not (known.held or known.stale or known.settled_early):
        return False
    turn.refuse(None, f"'{known.name}' still holds messages of '{known.queue}'")
    return True


def with_past(consumer: Consumer, known: Consumer | None) -> Consumer:
    """A consumer with what its name has received and holds from before."""
    if known is None:
        return consumer
    return replace(
        consumer,
        held=known.held,
        deliveries=known.deliveries,
        stale=known.stale,
        settled_early=known.settled_early,
        received=known.received,
        carried=runs.size(known.held),
    )


def get(turn: Turn, operation: Get) -> None:
    """basic.get: the oldest ready messages go to a holder, or are acknowledged at once."""
    if not turn.is_running(operation.node) or (queue := served(turn, operation)) is None:
        return
    expiry.touch(turn, queue.name)
    ordered = in_order(queue, runs.minus(ready(queue), expiry.expired(turn, queue)))
    numbers = runs.head(ordered, operation.count)
    known = turn.consumers.get(operation.holder or "")
    if not numbers or holds_of_another(turn, known, queue):
        return
    if known is not None and known.state == "active" and not turn.is_here(known.node):
        turn.refuse(None, f"'{known.name}' is connected to another side of the partition")
        return
    if known is not None and known.state == "active" and known.subscription and known.queue != queue.name:
        refuse_tag(turn, known)
        return
    holder = Consumer(operation.holder or "", queue.name, operation.node, operation.connection)
    if known is None or known.state != "active" or known.queue != queue.name:
        turn.consumers[holder.name] = with_past(holder, known)
    hand_over(turn, queue.name, holder.name, numbers)
    if operation.holder is None:
        del turn.consumers[holder.name]
        acknowledge(turn, queue.name, holder.name, runs.normal(numbers))
    expiry.drop_expired(turn, queue.name)


def settle(turn: Turn, operation: Settle) -> None:
    """basic.ack or basic.nack reaches the queue: first for what the consumer still believes it holds from a master that
    is gone, then for what it holds. From 3.9 on a channel sends its answers to whoever is master by then
    (`rabbit_classic_queue:settle`), and those for what that has sent to the same channel again count; the client
    believes that it holds the second deliveries, too."""
    consumer = turn.consumers[operation.consumer]
    everything = runs.size(consumer.stale) + runs.size(consumer.in_sequence)
    count = everything if operation.count is None else operation.count
    stale = runs.head(consumer.stale, count)
    late = runs.common(stale, consumer.held) if turn.settings.profile.late_answers_count else EMPTY
    early = runs.union(consumer.settled_early, late)
    answered = runs.normal(runs.head(consumer.in_sequence, count - runs.size(stale)))
    numbers = runs.union(late, runs.minus(answered, early))
    if numbers and served(turn, operation) is None:
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
        VERDICTS[operation.verdict](turn, consumer.queue, consumer.name, numbers)
    if come_back(turn, consumer.name) or operation.verdict == "requeue":
        deliver(turn, consumer.queue)


def ignore_stale(turn: Turn, consumer: Consumer, numbers: Runs, verdict: str) -> None:
    """The process that waited for this answer is gone: an acknowledgement says something to nobody."""
    turn.emit("acknowledgement_ignored", queue=consumer.queue, consumer=consumer.name, ids=numbers)
    if verdict == "ack":
        note_acknowledged(turn, consumer.queue, numbers)


def note_acknowledged(turn: Turn, name: str, numbers: Runs) -> None:
    """Books what a client said."""
    turn.book(name, acknowledged=runs.union(turn.account(name).acknowledged, numbers))


def acknowledge(turn: Turn, name: str, consumer: str, numbers: Runs) -> None:
    """Messages were dealt with and leave the queue."""
    if numbers:
        turn.emit("messages_acknowledged", queue=name, consumer=consumer or None, ids=numbers)
        note_acknowledged(turn, name, numbers)
        take_out(turn, name, numbers, "acknowledged")


def reject(turn: Turn, name: str, consumer: str, numbers: Runs) -> None:
    """Messages are given up by a client and leave the queue."""
    turn.emit("messages_rejected", queue=name, consumer=consumer, ids=numbers)
    dead_letters.let_go(turn, name, numbers, dead_letters.REJECTED)


def requeue(turn: Turn, name: str, _consumer: str, numbers: Runs) -> None:
    """Messages go back to their place."""
    put_back(turn, name, numbers, "nack")


VERDICTS = {"ack": acknowledge, "reject": reject, "requeue": requeue}
"""What basic.ack, and basic.nack without and with requeue, do to messages."""


