"""Deliveries: what is sent to consumers, and what comes back from them.

Source: `rabbit_queue_consumers`, `rabbit_limiter`, `rabbit_channel`, `rabbit_amqqueue_process`. Consumers are served by
the master alone, wherever they are connected. After a failover nobody knows what was sent to whom: all goes back to its
place and is sent again, and acknowledgements of what the old master had sent go nowhere.

Of several consumers those of the highest priority are served as long as they have room, with one message each in turn.
One that is due and has no room leaves the circle, and comes back as its last when it has room again. Beyond
DEALT_SINGLY messages at a time they are dealt in equal lots, so that the cost does not grow with the depth.
"""

from __future__ import annotations

from msgspec.structs import replace

from hawb.engine import runs
from hawb.engine.access import served
from hawb.engine.events import DeliveryArrives, DepthFell, Get, NodeGoneNoticed, Settle
from hawb.engine.runs import Runs
from hawb.engine.state import NOWHERE, RUNNING, STOPPING, Consumer, Queue
from hawb.engine.turn import Turn

DEALT_SINGLY = 10_000


def ready(queue: Queue) -> Runs:
    """What may be sent to a consumer."""
    return runs.minus(queue.content, queue.unacknowledged)


def is_single_active(queue: Queue) -> bool:
    """Whether the queue serves one consumer at a time (x-single-active-consumer)."""
    return dict(queue.arguments).get("x-single-active-consumer") is True


def circle(turn: Turn, queue: Queue) -> list[str]:
    """The consumers that take turns, those of the highest priority first, and of these the one that is due."""
    served_ones = [queue.active_consumer] if is_single_active(queue) else queue.consumers
    taking = [one for one in served_ones if one is not None and not turn.consumers[one].blocked]
    return sorted(taking, key=lambda one: -turn.consumers[one].priority)


def deliver(turn: Turn, name: str) -> None:
    """Sends what is ready to consumers that have room, by priority and in turn."""
    queue = turn.queues.get(name)
    if queue is None or not queue.up or queue.sync is not None:
        return
    waiting, order = ready(queue), circle(turn, queue)
    if not waiting or not order:
        return
    lot = 1 + runs.size(waiting) // DEALT_SINGLY if len(order) > 1 else runs.size(waiting)
    hands: dict[str, list[tuple[int, int]]] = {}
    room = {one: turn.consumers[one].capacity for one in order}
    while waiting and order:
        taker = order.pop(0)
        if room[taker] == 0:
            turn.change_consumer(taker, blocked=True)
            continue
        hand = runs.head(waiting, lot if room[taker] is None else min(lot, room[taker]))
        waiting = runs.minus(waiting, hand)
        hands.setdefault(taker, []).extend(hand)
        room[taker] = None if room[taker] is None else room[taker] - runs.size(hand)
        priority = turn.consumers[taker].priority
        order.insert(sum(turn.consumers[other].priority >= priority for other in order), taker)
    others = (one for one in queue.consumers if one not in order)
    turn.change_queue(name, consumers=(*order, *others))
    for consumer, pairs in hands.items():
        delay_us = turn.link_us(queue.master, turn.consumers[consumer].node)
        hand_over(turn, name, consumer, runs.normal(pairs), delay_us)


def come_back(turn: Turn, name: str) -> bool:
    """Whether a consumer that had left the circle for want of room has some again; then it is the last in turn."""
    consumer = turn.consumers[name]
    if not consumer.blocked or consumer.capacity == 0:
        return False
    turn.change_consumer(name, blocked=False)
    others = (other for other in turn.queues[consumer.queue].consumers if other != name)
    turn.change_queue(consumer.queue, consumers=(*others, name))
    return True


def hand_over(turn: Turn, name: str, consumer_name: str, numbers: Runs, delay_us: int = 0) -> None:
    """Messages are sent to a client; with automatic acknowledgement the queue has let go of them."""
    consumer, queue = turn.consumers[consumer_name], turn.queues[name]
    entry = turn.emit(
        "messages_delivered", node=consumer.node, queue=name, consumer=consumer_name, ids=numbers,
        redelivered=runs.as_lists(runs.common(queue.redelivered, numbers)),
    )  # fmt: skip
    if consumer.automatic:
        take_out(turn, name, numbers, "acknowledged")
    else:
        turn.change_consumer(consumer_name, held=runs.union(consumer.held, numbers))
        turn.change_queue(name, unacknowledged=runs.union(queue.unacknowledged, numbers))
    delivery = DeliveryArrives(name, queue.master, consumer_name, consumer.automatic, numbers)
    if delay_us and turn.is_running(consumer.node):
        turn.schedule(delay_us, delivery, entry)
    else:
        arrive(turn, delivery)


def arrive(turn: Turn, event: DeliveryArrives) -> None:
    """A client has its messages, unless its node or the one that sent them has died by now. Then those that wait for an
    acknowledgement go back to their place as soon as that is noticed; those acknowledged automatically are lost."""
    consumer = turn.consumers[event.consumer]
    ends = ((event.node, (RUNNING, STOPPING)), (consumer.node, (RUNNING,)))
    dead = next((node for node, well in ends if turn.nodes[node].status not in well), NOWHERE)
    if dead == NOWHERE:
        turn.ledger[event.queue] = turn.account(event.queue).with_delivered(event.numbers)
        turn.change_consumer(consumer.name, received=runs.union(consumer.received, event.numbers))
    elif event.automatic:
        gone = runs.common(event.numbers, dict(turn.account(event.queue).removed)["acknowledged"])
        turn.ledger[event.queue] = turn.account(event.queue).with_returned(gone)
        turn.lose(event.queue, gone, "auto_ack_in_flight", because=turn.cause_of(NodeGoneNoticed(dead)))


def take_out(turn: Turn, name: str, numbers: Runs, reason: str) -> None:
    """Messages leave the queue in an orderly way."""
    drop(turn, name, numbers)
    turn.remove(name, numbers, reason)


def drop(turn: Turn, name: str, numbers: Runs) -> None:
    """Every replica drops messages, and a mirror may become synchronised by it."""
    queue = turn.queues[name]
    contents = tuple(
        content if content is None or not turn.alive(queue, node) else runs.minus(content, numbers)
        for node, content in enumerate(queue.contents)
    )
    oldest = min(lowest(content or ()) for content in contents)
    turn.change_queue(
        name,
        contents=contents,
        unacknowledged=runs.minus(queue.unacknowledged, numbers),
        redelivered=runs.minus(queue.redelivered, numbers),
        batches=tuple(batch for batch in queue.batches if batch.last >= oldest),
    )
    if len(queue.synchronised) < len(queue.mirrors):
        turn.schedule(0, DepthFell(name))


def lowest(numbers: Runs) -> float:
    """The smallest number; infinity if there is none."""
    return numbers[0][0] if numbers else float("inf")


def put_back(turn: Turn, name: str, numbers: Runs, reason: str) -> None:
    """Deliveries go back to their place, marked as redelivered."""
    queue = turn.queues.get(name)
    if queue is None or not numbers:
        return
    turn.emit("messages_requeued", queue=name, ids=numbers, reason=reason)
    turn.change_queue(
        name,
        unacknowledged=runs.minus(queue.unacknowledged, numbers),
        redelivered=runs.union(queue.redelivered, numbers),
    )


# What clients do


def refuse_tag(turn: Turn, known: Consumer) -> None:
    """530 for a name that stands for a subscription already."""
    turn.refuse(530, f"NOT_ALLOWED - attempt to reuse consumer tag '{known.name}'")


def holds_of_another(turn: Turn, known: Consumer | None, queue: Queue) -> bool:
    """Whether a name still stands for messages of another queue; then its step was refused."""
    if known is None or known.queue == queue.name or not (known.held or known.stale):
        return False
    turn.refuse(None, f"'{known.name}' still holds messages of '{known.queue}'")
    return True


def with_past(consumer: Consumer, known: Consumer | None) -> Consumer:
    """A consumer with what its name has received and holds from before."""
    if known is None:
        return consumer
    return replace(
        consumer, held=known.held, stale=known.stale, received=known.received, carried=runs.size(known.held)
    )


def get(turn: Turn, operation: Get) -> None:
    """basic.get: the oldest ready messages go to a holder, or are acknowledged at once."""
    if not turn.is_running(operation.node) or (queue := served(turn, operation)) is None:
        return
    numbers = runs.head(ready(queue), operation.count)
    known = turn.consumers.get(operation.holder or "")
    if not numbers or holds_of_another(turn, known, queue):
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
        acknowledge(turn, queue.name, holder.name, numbers)


def settle(turn: Turn, operation: Settle) -> None:
    """basic.ack or basic.nack reaches the queue: first for what the consumer still believes it holds from a master that
    is gone, then for what it holds."""
    consumer = turn.consumers[operation.consumer]
    everything = runs.size(consumer.stale) + runs.size(consumer.held)
    count = everything if operation.count is None else operation.count
    stale = runs.head(consumer.stale, count)
    numbers = runs.head(consumer.held, count - runs.size(stale))
    if numbers and served(turn, operation) is None:
        return
    turn.change_consumer(
        consumer.name, stale=runs.minus(consumer.stale, stale), held=runs.minus(consumer.held, numbers)
    )
    if stale:
        ignore_stale(turn, consumer, stale, operation.verdict)
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
    take_out(turn, name, numbers, "rejected")


def requeue(turn: Turn, name: str, _consumer: str, numbers: Runs) -> None:
    """Messages go back to their place."""
    put_back(turn, name, numbers, "nack")


VERDICTS = {"ack": acknowledge, "reject": reject, "requeue": requeue}
"""What basic.ack, and basic.nack without and with requeue, do to messages."""


