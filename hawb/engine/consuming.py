"""Consumers: what is sent to them, what comes back, and what they notice of a failover.

Source: `rabbit_queue_consumers`, `rabbit_channel`, `rabbit_amqqueue_process`. Consumers are served by the master alone,
wherever they are connected. After a failover nobody knows what was sent to whom: all goes back to its place and is sent
again, and acknowledgements of what the old master had sent go nowhere.

With several consumers messages are dealt one by one, in turn. Beyond DEALT_SINGLY messages at a time they are dealt in
equal lots, so that the cost does not grow with the depth.
"""

from __future__ import annotations

from msgspec.structs import replace

from hawb.engine import runs
from hawb.engine.access import is_replicated, served
from hawb.engine.events import AutoDelete, Consume, ConsumerCloses, DepthFell, Get, Resume, Settle
from hawb.engine.runs import EMPTY, Runs
from hawb.engine.state import Consumer, Queue
from hawb.engine.turn import Turn

DEALT_SINGLY = 10_000


def ready(queue: Queue) -> Runs:
    """What may be sent to a consumer."""
    return runs.minus(queue.content, queue.unacknowledged)


def deliver(turn: Turn, name: str) -> None:
    """Sends what is ready to consumers that have room, in turn."""
    queue = turn.queues.get(name)
    if queue is None or not queue.up or queue.sync is not None:
        return
    waiting, order = ready(queue), list(queue.consumers)
    if not waiting or not order:
        return
    lot = 1 + runs.size(waiting) // DEALT_SINGLY if len(order) > 1 else runs.size(waiting)
    hands: dict[str, list[tuple[int, int]]] = {}
    room = {consumer: turn.consumers[consumer].capacity for consumer in order}
    while waiting and (taker := next((one for one in order if room[one] != 0), None)):
        hand = runs.head(waiting, lot if room[taker] is None else min(lot, room[taker]))
        waiting = runs.minus(waiting, hand)
        hands.setdefault(taker, []).extend(hand)
        room[taker] = None if room[taker] is None else room[taker] - runs.size(hand)
        order.append(order.pop(order.index(taker)))
    turn.change_queue(name, consumers=tuple(order))
    for consumer, pairs in hands.items():
        hand_over(turn, name, consumer, runs.normal(pairs))


def hand_over(turn: Turn, name: str, consumer_name: str, numbers: Runs) -> None:
    """Messages are on their way to a client; with automatic acknowledgement they have left the queue. A client whose
    node is gone, which the queue does not know yet, never gets them."""
    consumer, queue = turn.consumers[consumer_name], turn.queues[name]
    entry = turn.emit(
        "messages_delivered", node=consumer.node, queue=name, consumer=consumer_name, ids=numbers,
        redelivered=runs.as_lists(runs.common(queue.redelivered, numbers)),
    )  # fmt: skip
    arrives = turn.is_running(consumer.node)
    if arrives:
        turn.ledger[name] = turn.account(name).with_delivered(numbers)
        turn.change_consumer(consumer_name, received=runs.union(consumer.received, numbers))
    if not consumer.automatic:
        turn.change_consumer(consumer_name, held=runs.union(consumer.held, numbers))
        turn.change_queue(name, unacknowledged=runs.union(queue.unacknowledged, numbers))
    elif arrives:
        take_out(turn, name, numbers, "acknowledged")
    else:
        drop(turn, name, numbers)
        turn.lose(name, numbers, "auto_ack_in_flight", because=entry)


def take_out(turn: Turn, name: str, numbers: Runs, reason: str) -> None:
    """Messages leave the queue in an orderly way."""
    drop(turn, name, numbers)
    turn.remove(name, numbers, reason)


def drop(turn: Turn, name: str, numbers: Runs) -> None:
    """Every replica drops messages, and a mirror may become synchronised by it."""
    queue = turn.queues[name]
    left = runs.minus(queue.content, numbers)
    turn.change_queue(
        name,
        contents=tuple(
            content if content is None or not turn.alive(queue, node) else runs.minus(content, numbers)
            for node, content in enumerate(queue.contents)
        ),
        unacknowledged=runs.minus(queue.unacknowledged, numbers),
        redelivered=runs.minus(queue.redelivered, numbers),
        batches=tuple(batch for batch in queue.batches if batch.last >= lowest(left)),
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


def consume(turn: Turn, operation: Consume) -> None:
    """basic.consume: the queue begins to send."""
    if not turn.is_running(operation.node) or (queue := served(turn, operation)) is None:
        return
    known = turn.consumers.get(operation.consumer)
    if known is not None and known.state == "active":
        refuse_tag(turn, known)
        return
    if holds_of_another(turn, known, queue):
        return
    consumer = Consumer(
        name=operation.consumer,
        queue=operation.queue,
        node=operation.node,
        connection=operation.connection,
        subscription=turn.next_number(),
        prefetch=operation.prefetch,
        automatic=operation.automatic,
        cancel_on_ha_failover=operation.cancel_on_ha_failover,
        cancel_notify=operation.cancel_notify,
    )
    turn.consumers[operation.consumer] = with_past(consumer, known)
    turn.change_queue(queue.name, consumers=(*queue.consumers, operation.consumer))
    turn.emit("consumer_started", node=operation.node, queue=queue.name, consumer=operation.consumer)
    deliver(turn, queue.name)


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
    return replace(consumer, held=known.held, stale=known.stale, received=known.received)


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


def cancel(turn: Turn, name: str) -> None:
    """basic.cancel: nothing more is sent; what the consumer holds it keeps."""
    consumer = turn.change_consumer(name, state="cancelled")
    unsubscribe(turn, name)
    turn.emit(
        "consumer_cancelled", node=consumer.node, queue=consumer.queue, consumer=name, reason="client", notified=False
    )


def client_closes(turn: Turn, event: ConsumerCloses) -> None:
    """A client closes its consumer's channel."""
    if turn.consumers[event.consumer].state != "closed":
        close(turn, event.consumer, "client")


def close(turn: Turn, name: str, reason: str) -> None:
    """The consumer's channel is gone: what it held goes back, and others get it."""
    held = turn.consumers[name].held
    consumer = turn.change_consumer(name, state="closed", held=EMPTY, stale=EMPTY)
    unsubscribe(turn, name)
    turn.emit("consumer_closed", node=consumer.node, queue=consumer.queue, consumer=name, reason=reason)
    put_back(turn, consumer.queue, held, "consumer_gone")
    deliver(turn, consumer.queue)


def unsubscribe(turn: Turn, name: str) -> None:
    """The queue no longer knows the consumer; an auto-delete queue goes with its last one."""
    queue = turn.queues.get(turn.consumers[name].queue)
    if queue is None or name not in queue.consumers:
        return
    left = tuple(other for other in queue.consumers if other != name)
    turn.change_queue(queue.name, consumers=left)
    if queue.auto_delete and not left:
        turn.schedule(0, AutoDelete(queue.name))


# What consumers notice of a failover


def follow_new_master(turn: Turn, name: str) -> None:
    """A mirror took over. Consumers that asked for it are cancelled; for the others their channel consumes again in
    silence. What they held is back in the queue, and their acknowledgements will go nowhere."""
    for consumer in detach(turn, name):
        if consumer.cancel_on_ha_failover:
            cancel_by_server(turn, consumer, "failover", notified=consumer.cancel_notify)
        else:
            turn.emit("consumer_moved", node=consumer.node, queue=name, consumer=consumer.name)
            turn.change_queue(name, consumers=(*turn.queues[name].consumers, consumer.name))


def lose_master(turn: Turn, name: str) -> None:
    """Nobody took over. Channels try to consume again; on a queue without replicas that fails at once, on a replicated
    one when their patience is over, and then the consumer is cancelled."""
    queue = turn.queues[name]
    for consumer in detach(turn, name):
        if is_replicated(queue) and not consumer.cancel_on_ha_failover:
            turn.schedule(0, Resume(name, consumer.node, consumer=consumer.name, subscription=consumer.subscription))
        else:
            cancel_by_server(turn, consumer, "master_down", notified=consumer.cancel_notify)


def resume(turn: Turn, operation: Resume) -> None:
    """A channel consumes again for a client that does not know of it."""
    consumer = subscribed(turn, operation)
    if consumer is None:
        return
    queue = turn.queues.get(operation.queue)
    if queue is None:
        cancel_by_server(turn, consumer, "queue_deleted", notified=consumer.cancel_notify)
    elif served(turn, operation) is not None:
        turn.emit("consumer_moved", node=consumer.node, queue=queue.name, consumer=consumer.name)
        turn.change_queue(queue.name, consumers=(*queue.consumers, consumer.name))
        deliver(turn, queue.name)


def subscribed(turn: Turn, operation: Resume) -> Consumer | None:
    """The consumer, if its client still wants what the channel tries to resume."""
    consumer = turn.consumers[operation.consumer]
    return consumer if consumer.state == "active" and consumer.subscription == operation.subscription else None


def stop_resuming(turn: Turn, operation: Resume) -> None:
    """The channel's patience is over."""
    consumer = subscribed(turn, operation)
    if consumer is not None:
        cancel_by_server(turn, consumer, "master_down", notified=consumer.cancel_notify)


def queue_deleted(turn: Turn, queue: Queue) -> None:
    """Consumers of a queue that is gone are cancelled; holders hold nothing any more."""
    for consumer in detach(turn, queue.name):
        cancel_by_server(turn, consumer, "queue_deleted", notified=consumer.cancel_notify)


def detach(turn: Turn, name: str) -> list[Consumer]:
    """Takes all consumers and holders off a queue whose master is gone. What they held is stale. Returns the active
    consumers, those whose node runs."""
    for consumer in list(turn.consumers.values()):
        if consumer.queue == name and consumer.state != "closed":
            turn.change_consumer(consumer.name, held=EMPTY, stale=runs.union(consumer.stale, consumer.held))
    queue = turn.queues.get(name)
    active = [
        consumer
        for consumer in turn.consumers.values()
        if consumer.queue == name
        and consumer.subscription
        and consumer.state == "active"
        and turn.is_running(consumer.node)
    ]
    if queue is not None:
        active.sort(
            key=lambda consumer: queue.consumers.index(consumer.name) if consumer.name in queue.consumers else -1
        )
        turn.change_queue(name, consumers=())
    return active


def cancel_by_server(turn: Turn, consumer: Consumer, reason: str, *, notified: bool) -> None:
    """The broker cancels a consumer; a client that can receive basic.cancel is told."""
    turn.change_consumer(consumer.name, state="cancelled", cancel_notified=notified)
    turn.emit(
        "consumer_cancelled", node=consumer.node, queue=consumer.queue, consumer=consumer.name, reason=reason,
        notified=notified,
    )  # fmt: skip
