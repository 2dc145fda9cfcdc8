"""Subscriptions: consumers subscribe and leave, which of them a queue serves alone, and what a failover does to them.

Source: `rabbit_channel:basic_consume`, `handle_consuming_queue_down_or_eol`, `rabbit_amqqueue_process`
(`check_exclusive_access`, `handle_ch_down`), `rabbit_quorum_queue:consume`, `rabbit_fifo`.

A queue has at most one `active_consumer`: the exclusive one, beside which there is no other, or with
x-single-active-consumer the one that is served while the others wait (`single_active`). After `basic.cancel` a classic
queue is not run: ready messages go to the successor when something else moves the queue, such as another publish. (In
3.8 and 3.10 such a publish crashes the queue, rabbitmq-server issue 5460; that crash is not simulated.)

After a failover each channel registers its consumers again by itself. RabbitMQ leaves open in what order they arrive;
in hawb it is their order at the last master, which decides which one is active then.

A quorum queue has no exclusive consumers, and takes none whose channel has a global prefetch; its consumers notice
nothing of a new leader. `out_of_reach` handles those on nodes out of reach.
"""

from __future__ import annotations

from msgspec.structs import replace

from hawb.engine.classic import places
from hawb.engine.classic.mailbox import is_awaited
from hawb.engine.clients import deadlines
from hawb.engine.clients.client_state import HOLDS_NOTHING, Consumer, consumers_of
from hawb.engine.clients.consuming import (
    deliver,
    give_up_name,
    holds_of_another,
    is_elsewhere,
    put_back,
    reached,
    refuse_tag,
    with_past,
)
from hawb.engine.clients.single_active import activate_next, held_by_cancelled, is_single_active
from hawb.engine.clients.steady.publishers import clock_from
from hawb.engine.core import runs
from hawb.engine.core.events import AutoDelete
from hawb.engine.core.naming import described
from hawb.engine.core.operations import (
    NO_PROCESS,
    NODE_DOWN,
    ChannelDown,
    Consume,
    ConsumerCancels,
    ConsumerCloses,
    Resume,
    Settle,
)
from hawb.engine.core.runs import EMPTY
from hawb.engine.core.state import QUORUM, Queue
from hawb.engine.core.turn import Turn
from hawb.engine.queues import expiry
from hawb.engine.queues.access import drop, ends_with_crash, fail, served
from hawb.engine.quorum import fifo
from hawb.engine.quorum.out_of_reach import outlasts_its_node
from hawb.rules.denied_features import is_of_channel


def consume(turn: Turn, operation: Consume) -> None:
    """Subscribe a consumer (basic.consume): the queue begins to send."""
    if not turn.is_running(operation.node) or refused_by_channel(turn, operation):
        return
    if (queue := reached(turn, operation)) is None:
        return
    give_up_name(turn, operation.consumer)
    known = turn.consumers.get(operation.consumer)
    if holds_of_another(turn, known, queue) or is_elsewhere(turn, known, queue):
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
        global_prefetch=is_of_channel(operation.global_prefetch, turn.settings.profile),
        automatic=operation.automatic,
        exclusive=operation.exclusive,
        priority=operation.priority,
        cancel_on_ha_failover=operation.cancel_on_ha_failover,
        cancel_notify=operation.cancel_notify,
        clock=None if operation.rate is None else clock_from(turn, operation.rate),
        timeout_ms=deadlines.timeout_ms(turn, queue),
    )
    consumer = with_past(consumer, known)
    again = queue.type == QUORUM and known is not None and known.subscription != 0 and bool(known.held)
    if again:
        consumer = replace(consumer, carried=known.carried)
    turn.consumers[operation.consumer] = consumer
    turn.emit("consumer_started", node=operation.node, queue=queue.name, consumer=operation.consumer)
    if not again or fifo.release(turn).serves_again or is_single_active(queue):
        register(turn, consumer)
    deliver(turn, queue.name)


def refused_by_channel(turn: Turn, operation: Consume) -> bool:
    """Return True, and refuse a consumer, if its channel does so before it asks any queue.

    The code is 530 for a tag that is in use; for a quorum queue 540 under a global prefetch, and from 3.10 on 406 for
    an argument that only classic queues accept.
    """
    known = turn.consumers.get(operation.consumer)
    if known is not None and known.state == "active":
        refuse_tag(turn, known)
        return True
    queue = turn.queues.get(operation.queue)
    if queue is None or queue.type != QUORUM:
        return False
    if operation.cancel_on_ha_failover and fifo.release(turn).refuses_ha_failover:
        reason = f"invalid arg 'x-cancel-on-ha-failover' for {described(queue.name)} of queue type rabbit_quorum_queue"
        turn.refuse(406, f"PRECONDITION_FAILED - {reason}")
        return True
    if not (is_of_channel(operation.global_prefetch, turn.settings.profile) and operation.prefetch):
        return False
    fail(turn, operation, 540, f"NOT_IMPLEMENTED - {described(queue.name)} does not support global qos")
    return True


def is_in_use(queue: Queue, *, exclusive: bool) -> bool:
    """Return True if a queue refuses one more consumer, which is `exclusive` or not.

    A classic queue with an exclusive consumer accepts no other. A queue with a single active consumer accepts no
    exclusive consumer. A quorum queue ignores `exclusive`.
    """
    if queue.type == QUORUM:
        return False
    if is_single_active(queue):
        return exclusive
    return queue.active_consumer is not None or (exclusive and bool(queue.consumers))


def register(turn: Turn, consumer: Consumer) -> None:
    """Add a consumer to its queue."""
    queue = turn.queues[consumer.queue]
    quorum, single_active = queue.type == QUORUM, is_single_active(queue)
    at_once = not (single_active and quorum) or fifo.release(turn).activates_at_once
    waits = not at_once and held_by_cancelled(turn.consumers, queue)
    turn.change_queue(queue.name, consumers=(*queue.consumers, consumer.name))
    if quorum:
        deadlines.owe(turn, queue.name, consumer.name, EMPTY)
    if consumer.exclusive and not quorum:
        turn.change_queue(queue.name, active_consumer=consumer.name)
    elif single_active and not waits:
        activate_next(turn, queue.name)


def client_cancels(turn: Turn, event: ConsumerCancels) -> None:
    """Cancel a consumer (basic.cancel). It gets no more messages, and keeps those that it has not acknowledged."""
    name = event.consumer
    if turn.consumers[name].state != "active":
        return
    consumer = turn.change_consumer(name, state="cancelled", blocked=False)
    turn.emit(
        "consumer_cancelled", node=consumer.node, queue=consumer.queue, consumer=name, reason="client", notified=False
    )
    unsubscribe(turn, name)
    queue = turn.queues.get(consumer.queue)
    if queue is not None and queue.type == QUORUM:
        deliver(turn, queue.name)


def client_closes(turn: Turn, event: ConsumerCloses) -> None:
    """Close a consumer's channel, on the client's request or after an error."""
    if turn.consumers[event.consumer].state != "closed":
        close(turn, event.consumer, event.reason)


def close(turn: Turn, name: str, reason: str) -> None:
    """Close a consumer's channel. Requeue the messages that it held, and deliver them to other consumers."""
    consumer = turn.consumers[name]
    held = runs.within(consumer.in_sequence, consumer.held)
    consumer = turn.change_consumer(name, state="closed", blocked=False, **HOLDS_NOTHING)
    turn.emit("consumer_closed", node=consumer.node, queue=consumer.queue, consumer=name, reason=reason)
    unsubscribe(turn, name)
    withdraw_answers(turn, consumer)
    forget(turn, consumer)
    if held:
        expiry.used(turn, consumer.queue)
    put_back(turn, consumer.queue, held, "consumer_gone")
    deliver(turn, consumer.queue)


def channel_down(turn: Turn, event: ChannelDown) -> None:
    """Apply a quorum queue's command that a consumer's channel is gone.

    If the channel's whole node is gone, only active consumers lose the messages that they hold (`rabbit_fifo:apply`,
    `noconnection`). A cancelled consumer keeps them until a new leader looks for its channel and finds none (`noproc`),
    or the node is no member any more.
    """
    name, queue = event.consumer, turn.queues[event.queue]
    consumer = turn.consumers[name]
    if event.reason == NO_PROCESS:
        if consumer.state == "closed":
            dismiss(turn, name)
    elif event.reason == NODE_DOWN and outlasts_its_node(queue, consumer):
        turn.emit("consumer_closed", node=consumer.node, queue=queue.name, consumer=name, reason=event.reason)
    else:
        close(turn, name, event.reason)


def dismiss(turn: Turn, name: str) -> None:
    """End a channel that a quorum queue did not know to be gone, or knew only to be on a node out of reach."""
    consumer = turn.consumers[name]
    held = runs.within(consumer.in_sequence, consumer.held)
    turn.change_consumer(name, **HOLDS_NOTHING)
    unsubscribe(turn, name)
    forget(turn, consumer)
    put_back(turn, consumer.queue, held, "consumer_gone")
    deliver(turn, consumer.queue)


def lose_sight(turn: Turn, name: str) -> None:
    """Remove a classic queue's consumers on other sides of a partition; its master, if any, requeues their messages.

    A quorum queue is the same queue on all sides, and keeps its consumers.
    """
    queue = turn.queues[name]
    if queue.has_group:
        return
    for consumer in consumers_of(turn.consumers, name):
        if not turn.is_here(consumer.node):
            unsubscribe(turn, consumer.name)
            put_back(turn, name, consumer.held if queue.up else EMPTY, "consumer_gone")
    deliver(turn, name)


def unsubscribe(turn: Turn, name: str) -> None:
    """Remove a consumer from its queue.

    An auto-delete queue is deleted with its last consumer, and a single active consumer gets a successor.
    """
    queue = turn.queues.get(turn.consumers[name].queue)
    if queue is None or name not in queue.consumers:
        return
    left = tuple(other for other in queue.consumers if other != name)
    turn.change_queue(queue.name, consumers=left)
    if queue.type != QUORUM and not queue.up:
        return  # The next master starts with the consumers that register with it.
    if queue.active_consumer == name:
        turn.change_queue(queue.name, active_consumer=None)
        if queue.type == QUORUM:
            fifo.change(turn, queue.name, quiescing=False)
        if is_single_active(queue):
            activate_next(turn, queue.name)
    if queue.auto_delete and not left:
        turn.schedule(0, AutoDelete(queue.name))
    expiry.used(turn, queue.name)


def withdraw_answers(turn: Turn, consumer: Consumer) -> None:
    """Drop what a channel answered and its queue has not received, when the channel ends.

    Another channel of that name has nothing to do with it. (A real queue receives it before the channel's end, if the
    link that delays both works again.) Answers of a client with a rate are for what it holds then, which is nothing.
    """
    if consumer.clock is None and consumer.queue in turn.queues:
        drop(turn, consumer.queue, lambda one: isinstance(one, Settle) and one.consumer == consumer.name)


def forget(turn: Turn, consumer: Consumer) -> None:
    """Delete a consumer whose channel is gone from a quorum queue's state."""
    queue = turn.queues.get(consumer.queue)
    if queue is None or queue.type != QUORUM:
        return
    known = fifo.of(queue)
    fifo.change(
        turn, queue.name, suspected=known.suspected - {consumer.name},
        missing=tuple(pair for pair in known.missing if pair[0] != consumer.name),
        extra_credit=tuple(pair for pair in known.extra_credit if pair[0] != consumer.name),
        timed_out=tuple(pair for pair in known.timed_out if pair[0] != consumer.name),
    )  # fmt: skip


# Consumers after a failover


def follow_new_master(turn: Turn, name: str, was: int) -> None:
    """Move a queue's consumers to the mirror promoted after the master at node `was`.

    Consumers that asked for it are cancelled, and all of them if that master's process crashed; for the rest their
    channel consumes again without informing the client. What they held is requeued and sent again: their
    acknowledgements of the first deliveries are dropped, or from 3.9 on go to the new master.
    """
    crashed = turn.queues[name].crashed >> was & 1 and turn.is_running(was)
    for consumer in detach(turn, name, was):
        if crashed:
            cancel_by_server(turn, consumer, "master_down")
        elif consumer.cancel_on_ha_failover:
            cancel_by_server(turn, consumer, "failover")
        else:
            turn.emit("consumer_moved", node=consumer.node, queue=name, consumer=consumer.name)
            register(turn, consumer)


def lose_master(turn: Turn, name: str) -> None:
    """Handle the loss of a master after which no mirror was promoted.

    Channels try to consume again, and if only the process crashed succeed as soon as it is started again. Where that
    fails, at once or after their whole time, consumers are cancelled.
    """
    queue = turn.queues[name]
    for consumer in detach(turn, name, queue.master):
        if is_awaited(turn, queue) and not (ends_with_crash(queue) or consumer.cancel_on_ha_failover):
            turn.emit("consumer_waits", node=consumer.node, queue=name, consumer=consumer.name)
            turn.schedule(0, Resume(name, consumer.node, consumer=consumer.name, subscription=consumer.subscription))
        else:
            cancel_by_server(turn, consumer, "master_down")


def resume(turn: Turn, operation: Resume) -> None:
    """Let a channel consume again for a client that is not informed. Other consumers may have come first."""
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
    """Return the consumer that a channel tries to resume; None if its client no longer wants it.

    Return None also if another try has succeeded.
    """
    consumer, queue = turn.consumers[operation.consumer], turn.queues.get(operation.queue)
    wanted = consumer.state == "active" and consumer.subscription == operation.subscription
    return consumer if wanted and (queue is None or consumer.name not in queue.consumers) else None


def stop_resuming(turn: Turn, operation: Resume) -> None:
    """Cancel a consumer whose channel has tried to resume it for its whole time."""
    consumer = subscribed(turn, operation)
    if consumer is not None:
        cancel_by_server(turn, consumer, "master_down")


def queue_deleted(turn: Turn, queue: Queue) -> None:
    """Cancel the consumers of a deleted queue. Clients that fetched messages from it hold them no longer."""
    for consumer in detach(turn, queue.name, queue.master):
        cancel_by_server(turn, consumer, "queue_deleted")


def detach(turn: Turn, name: str, master: int) -> list[Consumer]:
    """Remove all consumers and holders from a queue whose master is gone, and return the active ones whose node runs.

    The messages that they held become stale: their deliveries came from a master that is gone.
    """
    queue = turn.queues.get(name)
    for consumer in turn.consumers_of(name):
        if consumer.state != "closed":
            left = HOLDS_NOTHING | places.outdated(consumer, queue, master)
            turn.change_consumer(consumer.name, blocked=False, **left)
    active = [
        consumer
        for consumer in turn.consumers_of(name)
        if consumer.subscription
        and consumer.state == "active"
        and turn.is_running(consumer.node)
    ]
    if queue is not None:
        places_in_turn = {consumer: place for place, consumer in enumerate(queue.consumers)}
        active.sort(key=lambda consumer: places_in_turn.get(consumer.name, -1))
        turn.change_queue(name, consumers=(), active_consumer=None)
    return active


def cancel_by_server(turn: Turn, consumer: Consumer, reason: str) -> None:
    """Cancel a consumer by the broker; a client that can receive basic.cancel is sent one."""
    turn.change_consumer(consumer.name, state="cancelled", cancel_notified=consumer.cancel_notify)
    turn.emit(
        "consumer_cancelled", node=consumer.node, queue=consumer.queue, consumer=consumer.name, reason=reason,
        notified=consumer.cancel_notify,
    )  # fmt: skip
