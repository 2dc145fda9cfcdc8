"""Subscriptions: consumers come and go, which of them a queue serves alone, and what they notice of a failover.

Source: `rabbit_channel:basic_consume`, `handle_consuming_queue_down_or_eol`, `rabbit_amqqueue_process`
(`check_exclusive_access`, `handle_ch_down`, `new_single_active_consumer_after_basic_cancel`).

A queue has at most one `active_consumer`: the exclusive one, beside which there is no other, or with
x-single-active-consumer the one that is served while the others wait. The first to come is active, whatever its
priority; who follows it is the first of the highest priority. After `basic.cancel` the queue is not run: what is ready
goes to the successor when something else moves the queue, as another publish. (In 3.8 and 3.10 such a publish
crashes the queue, rabbitmq-server issue 5460; that crash is not simulated.)

After a failover each channel registers its consumers again by itself. In what order they arrive RabbitMQ leaves open;
here it is the order in which they stood, and so it is decided who is active then.
"""

from __future__ import annotations

from hawb.engine import expiry, runs
from hawb.engine.access import is_replicated, served
from hawb.engine.clients import Consumer
from hawb.engine.consuming import deliver, holds_of_another, is_single_active, put_back, refuse_tag, with_past
from hawb.engine.events import AutoDelete, Consume, ConsumerCancels, ConsumerCloses, Resume
from hawb.engine.naming import described
from hawb.engine.publishers import clock_from
from hawb.engine.runs import EMPTY
from hawb.engine.state import Queue
from hawb.engine.turn import Turn


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
    if is_in_use(queue, exclusive=operation.exclusive):
        turn.refuse(403, f"ACCESS_REFUSED - {described(queue.name)} in exclusive use")
        return
    consumer = Consumer(
        name=operation.consumer,
        queue=operation.queue,
        node=operation.node,
        connection=operation.connection,
        subscription=turn.next_number(),
        prefetch=operation.prefetch,
        global_prefetch=operation.global_prefetch,
        automatic=operation.automatic,
        exclusive=operation.exclusive,
        priority=operation.priority,
        cancel_on_ha_failover=operation.cancel_on_ha_failover,
        cancel_notify=operation.cancel_notify,
        clock=None if operation.rate is None else clock_from(turn, operation.rate),
    )
    turn.consumers[operation.consumer] = with_past(consumer, known)
    turn.emit("consumer_started", node=operation.node, queue=queue.name, consumer=operation.consumer)
    register(turn, consumer)
    deliver(turn, queue.name)


def is_in_use(queue: Queue, *, exclusive: bool) -> bool:
    """Whether a queue refuses one more consumer: beside an exclusive one there is no other, and a queue with a single
    active consumer has no exclusive ones."""
    if is_single_active(queue):
        return exclusive
    return queue.active_consumer is not None or (exclusive and bool(queue.consumers))


def register(turn: Turn, consumer: Consumer) -> None:
    """The queue knows one more consumer."""
    queue = turn.queues[consumer.queue]
    turn.change_queue(queue.name, consumers=(*queue.consumers, consumer.name))
    if consumer.exclusive:
        turn.change_queue(queue.name, active_consumer=consumer.name)
    elif is_single_active(queue) and queue.active_consumer is None:
        activate(turn, queue.name, consumer.name)


def activate(turn: Turn, name: str, consumer: str) -> None:
    """A consumer becomes the one that its queue serves."""
    turn.change_queue(name, active_consumer=consumer)
    turn.emit("consumer_activated", node=turn.consumers[consumer].node, queue=name, consumer=consumer)


def client_cancels(turn: Turn, event: ConsumerCancels) -> None:
    """basic.cancel: nothing more is sent; what the consumer holds it keeps."""
    name = event.consumer
    if turn.consumers[name].state != "active":
        return
    consumer = turn.change_consumer(name, state="cancelled", blocked=False)
    turn.emit(
        "consumer_cancelled", node=consumer.node, queue=consumer.queue, consumer=name, reason="client", notified=False
    )
    unsubscribe(turn, name)


def client_closes(turn: Turn, event: ConsumerCloses) -> None:
    """A client closes its consumer's channel."""
    if turn.consumers[event.consumer].state != "closed":
        close(turn, event.consumer, "client")


def close(turn: Turn, name: str, reason: str) -> None:
    """The consumer's channel is gone: what it held goes back, and others get it."""
    held = turn.consumers[name].held
    consumer = turn.change_consumer(name, state="closed", held=EMPTY, stale=EMPTY, settled_early=EMPTY, blocked=False)
    turn.emit("consumer_closed", node=consumer.node, queue=consumer.queue, consumer=name, reason=reason)
    unsubscribe(turn, name)
    if held:
        expiry.touch(turn, consumer.queue)
    put_back(turn, consumer.queue, held, "consumer_gone")
    deliver(turn, consumer.queue)


def lose_sight(turn: Turn, name: str) -> None:
    """Channels on another side of a partition are gone from here: what their consumers held goes back."""
    for consumer in list(turn.consumers.values()):
        if consumer.queue == name and not turn.is_here(consumer.node):
            unsubscribe(turn, consumer.name)
            put_back(turn, name, consumer.held, "consumer_gone")
    deliver(turn, name)


def unsubscribe(turn: Turn, name: str) -> None:
    """The queue no longer knows the consumer; an auto-delete queue goes with its last one. After a single active one
    comes the first of the highest priority."""
    queue = turn.queues.get(turn.consumers[name].queue)
    if queue is None or name not in queue.consumers:
        return
    left = tuple(other for other in queue.consumers if other != name)
    turn.change_queue(queue.name, consumers=left)
    if queue.active_consumer == name:
        turn.change_queue(queue.name, active_consumer=None)
        if left:
            activate(turn, queue.name, max(left, key=lambda other: turn.consumers[other].priority))
    if queue.auto_delete and not left:
        turn.schedule(0, AutoDelete(queue.name))
    expiry.touch(turn, queue.name)


# What consumers notice of a failover


def follow_new_master(turn: Turn, name: str) -> None:
    """A mirror took over. Consumers that asked for it are cancelled; for the others their channel consumes again in
    silence. What they held is back in the queue, and their acknowledgements will go nowhere."""
    for consumer in detach(turn, name):
        if consumer.cancel_on_ha_failover:
            cancel_by_server(turn, consumer, "failover")
        else:
            turn.emit("consumer_moved", node=consumer.node, queue=name, consumer=consumer.name)
            register(turn, consumer)


def lose_master(turn: Turn, name: str) -> None:
    """Nobody took over. Channels try to consume again: where only the process crashed, as soon as it is started again;
    on a queue without replicas that fails at once, on a replicated one when their patience is over, and then the
    consumer is cancelled."""
    queue = turn.queues[name]
    for consumer in detach(turn, name):
        if is_replicated(queue) and not queue.failed and not consumer.cancel_on_ha_failover:
            turn.schedule(0, Resume(name, consumer.node, consumer=consumer.name, subscription=consumer.subscription))
        else:
            cancel_by_server(turn, consumer, "master_down")


def resume(turn: Turn, operation: Resume) -> None:
    """A channel consumes again for a client that does not know of it. Others may have come first."""
    consumer = subscribed(turn, operation)
    if consumer is None:
        return
    queue = turn.queues.get(operation.queue)
    if queue is None:
        cancel_by_server(turn, consumer, "queue_deleted")
    elif served(turn, operation) is None:
        return
    elif is_in_use(queue, exclusive=consumer.exclusive):
        cancel_by_server(turn, consumer, "in_use")
    else:
        turn.emit("consumer_moved", node=consumer.node, queue=queue.name, consumer=consumer.name)
        register(turn, consumer)
        deliver(turn, queue.name)


def subscribed(turn: Turn, operation: Resume) -> Consumer | None:
    """The consumer, if its client still wants what the channel tries to resume."""
    consumer = turn.consumers[operation.consumer]
    return consumer if consumer.state == "active" and consumer.subscription == operation.subscription else None


def stop_resuming(turn: Turn, operation: Resume) -> None:
    """The channel's patience is over."""
    consumer = subscribed(turn, operation)
    if consumer is not None:
        cancel_by_server(turn, consumer, "master_down")


def queue_deleted(turn: Turn, queue: Queue) -> None:
    """Consumers of a queue that is gone are cancelled; holders hold nothing any more."""
    for consumer in detach(turn, queue.name):
        cancel_by_server(turn, consumer, "queue_deleted")


def detach(turn: Turn, name: str) -> list[Consumer]:
    """Takes all consumers and holders off a queue whose master is gone. What they held is stale. Returns the active
    consumers, those whose node runs."""
    for consumer in turn.consumers_of(name):
        if consumer.state != "closed":
            stale = runs.union(consumer.stale, runs.union(consumer.held, consumer.settled_early))
            turn.change_consumer(consumer.name, held=EMPTY, stale=stale, settled_early=EMPTY, blocked=False)
    queue = turn.queues.get(name)
    active = [
        consumer
        for consumer in turn.consumers_of(name)
        if consumer.subscription
        and consumer.state == "active"
        and turn.is_running(consumer.node)
    ]
    if queue is not None:
        active.sort(
            key=lambda consumer: queue.consumers.index(consumer.name) if consumer.name in queue.consumers else -1
        )
        turn.change_queue(name, consumers=(), active_consumer=None)
    return active


def cancel_by_server(turn: Turn, consumer: Consumer, reason: str) -> None:
    """The broker cancels a consumer; a client that can receive basic.cancel is told."""
    turn.change_consumer(consumer.name, state="cancelled", cancel_notified=consumer.cancel_notify)
    turn.emit(
        "consumer_cancelled", node=consumer.node, queue=consumer.queue, consumer=consumer.name, reason=reason,
        notified=consumer.cancel_notify,
    )  # fmt: skip
