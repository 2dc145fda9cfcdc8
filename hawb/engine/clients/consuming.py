"""Deliveries: messages sent to consumers, and requeued messages.

Source: `rabbit_queue_consumers`, `rabbit_limiter`, `rabbit_channel`, `rabbit_amqqueue_process`. The master alone serves
consumers, wherever they are connected. After a failover the new master does not know which messages were delivered: all
are requeued and sent again. Clients' answers are in `hawb.engine.clients.settling`.

How messages are dealt among several consumers is in `hawb.engine.clients.dealing`.

A quorum queue's consumers outlive its leader (`hawb.engine.quorum.fifo`). A delivery is not lost when its sender dies:
the client finds a gap and asks the queue again (`rabbit_fifo_client:get_missing_deliveries`), or the member on its own
node sends it when it learns of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from msgspec.structs import replace

from hawb.engine.classic import places
from hawb.engine.clients import deadlines
from hawb.engine.clients.client_state import HOLDS_NOTHING, Consumer
from hawb.engine.clients.dealing import deal
from hawb.engine.clients.dealing_ports import Hands
from hawb.engine.core import bookkeeping, runs
from hawb.engine.core.events import DeliveryArrives, LettersConfirmed, MessagesExpire, NodeGoneNoticed
from hawb.engine.core.operations import Operation, Settle
from hawb.engine.core.runs import EMPTY, Runs
from hawb.engine.core.state import NOWHERE, QUORUM, RUNNING, STOPPING, Queue, UnderWay
from hawb.engine.core.turn import Turn
from hawb.engine.queues import dead_letters, expiry, limits
from hawb.engine.queues.access import is_absent, served
from hawb.engine.queues.contents import count_as_delivered, in_order, ready, take_out
from hawb.engine.quorum import fifo
from hawb.engine.quorum.fifo import capacity

UNFAILED = ("out_of_reach", "timed_out")
"""The reasons for which a returned message does not count as a failed delivery (`rabbit_fifo:return_all`,
`evaluate_consumer_timeout`, 4.3)."""


def deliver(turn: Turn, name: str, new: Runs = EMPTY, more_room: Mapping[str, int] | None = None) -> None:
    """Send ready messages to consumers that have credit, by priority and in turn.

    Expired messages are dropped when they reach the head; `new` ones go to a waiting consumer even with a TTL of 0.
    `more_room` is the further credit of consumers that go on answering. A quorum queue then compares its length with
    its limits, as after each command.
    """
    hand_out(turn, name, new, more_room or {})
    expiry.drop_expired(turn, name)
    if name in turn.queues and turn.queues[name].type == QUORUM:
        limits.drop_excess(turn, name)
        limits.notify_publishers(turn, name)


def hand_out(turn: Turn, name: str, new: Runs, more_room: Mapping[str, int]) -> None:
    """Send ready messages that have not expired."""
    queue = turn.queues.get(name)
    if queue is None or not queue.up or queue.sync is not None:
        return
    waiting = in_order(queue, runs.minus(ready(queue), runs.minus(expiry.expired(turn, queue), new)))
    hands = Hands(turn, queue, waiting, more_room) if waiting else None
    if hands is None or not hands.order:
        return
    deal(turn, hands, runs.size(waiting), turn.flowing)
    ordered = set(hands.order)
    others = (one for one in queue.consumers if one not in ordered)
    turn.change_queue(name, consumers=(*hands.order, *others))
    for consumer, pairs in hands.hands.items():
        if turn.consumers[consumer].automatic:
            places.skip(turn, name, runs.common(runs.normal(pairs), new))
        delay_us = 0 if turn.flowing else turn.link_us(queue.master, turn.consumers[consumer].node)
        hand_over(turn, name, consumer, tuple(pairs), delay_us)


def come_back(turn: Turn, name: str, more_room: int = 0) -> bool:
    """Put a consumer that was passed over for lack of credit last in turn; return False if it still has none."""
    consumer = turn.consumers[name]
    if not consumer.blocked or (capacity(turn, consumer) == 0 and not more_room):
        return False
    turn.change_consumer(name, blocked=False)
    others = (other for other in turn.queues[consumer.queue].consumers if other != name)
    turn.change_queue(consumer.queue, consumers=(*others, name))
    return True


def hand_over(turn: Turn, name: str, consumer_name: str, ordered: Runs, delay_us: int = 0) -> None:
    """Send messages to a client in their order.

    With automatic acknowledgement a classic queue removes them, and so does a quorum queue if the client has a rate.
    """
    consumer, queue = turn.consumers[consumer_name], turn.queues[name]
    numbers = runs.normal(ordered)
    entry = turn.emit(
        "messages_delivered", node=consumer.node, queue=name, consumer=consumer_name, ids=numbers,
        redelivered=runs.as_lists(runs.common(queue.redelivered, numbers)),
    )  # fmt: skip
    if consumer.automatic and (queue.type != QUORUM or turn.flowing):
        take_out(turn, name, numbers, "acknowledged")
    else:
        held = runs.union(consumer.held, numbers)
        deliveries = runs.chain(consumer.in_sequence, ordered)
        changed = turn.change_consumer(
            consumer_name, held=held, deliveries=EMPTY if is_sorted(deliveries) else deliveries,
            **deadlines.with_delivery(turn, consumer, runs.size(numbers)),
        )  # fmt: skip
        deadlines.plan(turn, changed)
        turn.change_queue(name, unacknowledged=runs.union(queue.unacknowledged, numbers))
        if queue.type == QUORUM:
            turn.change_queue(name, fifo=fifo.checked_out(queue, numbers))
            deadlines.begin(turn, consumer, numbers)
        if queue.overcounted:
            count_as_delivered(turn, name, numbers)
    delivery = DeliveryArrives(name, queue.master, consumer_name, consumer.automatic, numbers)
    if delay_us and turn.is_running(consumer.node):
        turn.schedule(delay_us, delivery, entry)
    else:
        arrive(turn, delivery)


def is_sorted(pairs: Runs) -> bool:
    """Return True if messages are in the order of their numbers."""
    return all(before[1] < after[0] for before, after in pairwise(pairs))


def arrive(turn: Turn, event: DeliveryArrives) -> None:
    """Deliver messages to a client, unless its node or the sender's has gone down, or the link between them is cut."""
    consumer = turn.consumers[event.consumer]
    ends = ((event.node, (RUNNING, STOPPING)), (consumer.node, (RUNNING,)))
    dead = next((node for node, well in ends if turn.nodes[node].status not in well), NOWHERE)
    if dead == NOWHERE and not turn.linked(event.node, consumer.node):
        link = (min(event.node, consumer.node), max(event.node, consumer.node))
        turn.under_way = (*turn.under_way, UnderWay(link, event, turn.step, turn.because))
    elif dead == NOWHERE and consumer.queue != event.queue:
        # They were for a channel that is gone; another one has its name now.
        turn.ledger[event.queue] = turn.account(event.queue).with_delivered(event.numbers)
    elif dead == NOWHERE:
        receive(turn, consumer.name, runs.union(event.numbers, fetched(turn, consumer.name)))
    else:
        lose_delivery(turn, event, turn.cause_of(NodeGoneNoticed(dead)))


def receive(turn: Turn, name: str, numbers: Runs) -> None:
    """Deliver messages to a client. With automatic acknowledgement, its channel acknowledges a quorum queue's at once.

    A quorum queue sends messages to a closed channel too, until its log says that the channel is closed.
    """
    consumer = turn.consumers[name]
    queue = turn.queues.get(consumer.queue)
    if consumer.state == "closed" and queue is not None and queue.type == QUORUM:
        return
    turn.ledger[consumer.queue] = turn.account(consumer.queue).with_delivered(numbers)
    turn.change_consumer(name, received=runs.union(consumer.received, numbers))
    if consumer.automatic and not turn.flowing and queue is not None and queue.type == QUORUM:
        count = runs.size(numbers)
        turn.schedule(
            0, Settle(queue.name, consumer.node, consumer.connection, consumer=name, count=count, verdict="ack")
        )


def fetched(turn: Turn, name: str) -> Runs:
    """Return the messages that a client fetches when it notices a gap.

    They did not arrive, and the queue still counts them as held by the client.
    """
    consumer = turn.consumers[name]
    gap = fifo.missing(turn, consumer)
    if gap:
        left = {one: these for one, these in fifo.of(turn.queues[consumer.queue]).missing if one != name}
        fifo.change(turn, consumer.queue, missing=tuple(left.items()))
    return runs.common(gap, consumer.held)


def deliver_missing(turn: Turn, name: str) -> None:
    """Deliver what the last leader could not deliver to consumers that have a member on their own node.

    That member delivers it. Consumers on other nodes get it with the next delivery (`ra_server_proc`: if an effect of a
    command sends to a node with a member, that member carries it out).
    """
    queue = turn.queues[name]
    for one, _ in fifo.of(queue).missing:
        if turn.consumers[one].node in queue.synchronised and turn.runs_anywhere(turn.consumers[one].node):
            receive(turn, one, fetched(turn, one))


def lose_delivery(turn: Turn, event: DeliveryArrives, because: int | None = None) -> None:
    """Handle messages that do not arrive.

    Messages that wait for an acknowledgement are requeued as soon as a node notices; messages acknowledged
    automatically are lost. A quorum queue loses neither.
    """
    queue, consumer = turn.queues.get(event.queue), turn.consumers[event.consumer]
    if queue is not None and queue.type == QUORUM:
        if consumer.queue != event.queue:
            return
        arrived = runs.minus(runs.normal(consumer.stale), event.numbers)
        turn.change_consumer(consumer.name, stale=runs.within(consumer.stale, arrived))
        known = dict(fifo.of(queue).missing)
        known[consumer.name] = runs.union(known.get(consumer.name, EMPTY), runs.common(event.numbers, consumer.held))
        fifo.change(turn, queue.name, missing=tuple((one, these) for one, these in sorted(known.items()) if these))
    elif event.automatic:
        gone = runs.common(event.numbers, dict(turn.account(event.queue).removed)["acknowledged"])
        turn.ledger[event.queue] = turn.account(event.queue).with_returned(gone)
        bookkeeping.lose(turn, event.queue, gone, "auto_ack_in_flight", because=because)


def put_back(turn: Turn, name: str, numbers: Runs, reason: str) -> int:
    """Requeue unanswered deliveries at their place, in their order, marked as redelivered.

    On another side of a partition the queue may have delivered other messages. A quorum queue gives up messages that
    were returned too often (`rabbit_fifo:return_one`); return the number of these.
    """
    queue, ordered = turn.queues.get(name), numbers
    numbers = EMPTY if queue is None else runs.common(runs.normal(ordered), queue.unacknowledged)
    if not numbers:
        return 0
    turn.emit("messages_requeued", queue=name, ids=numbers, reason=reason)
    if queue.type == QUORUM:
        spent = fifo.give_back(
            turn, name, runs.within(ordered, numbers), asked=reason == "nack", failed=reason not in UNFAILED
        )
        if spent:
            dead_letters.let_go(turn, name, spent, dead_letters.DELIVERY_LIMIT)
        return runs.size(spent)
    turn.change_queue(
        name,
        unacknowledged=runs.minus(queue.unacknowledged, numbers),
        redelivered=runs.union(queue.redelivered, queue.counted(numbers)),
    )
    limits.drop_excess(turn, name)
    expiry.drop_expired(turn, name)
    return 0


# Events of a quorum queue


def follow_leader(turn: Turn, name: str) -> None:
    """Let a quorum queue's new leader set timers, send dead letters and deliver missing messages.

    These are the messages that were under way when the last leader went down.
    """
    expiry.lead(turn, name)
    dead_letters.start_over(turn, name)
    deliver_missing(turn, name)


def letters_confirmed(turn: Turn, event: LettersConfirmed) -> None:
    """Settle a quorum queue's confirmed dead letters, which may make it short enough to take messages."""
    dead_letters.settle(turn, event)
    deliver(turn, event.queue)


def messages_expire(turn: Turn, event: MessagesExpire) -> None:
    """Check the head of a queue for expired messages."""
    expiry.messages_expire(turn, event)
    if event.queue in turn.queues and turn.queues[event.queue].type == QUORUM:
        deliver(turn, event.queue)


# Clients' operations


def reached(turn: Turn, operation: Operation) -> Queue | None:
    """Return the queue that serves an operation now; None if none does.

    A quorum queue serves it once it has committed the operation (`hawb.engine.quorum.requests`).
    """
    queue = turn.queues.get(operation.queue)
    decided = queue is not None and queue.type == QUORUM and not is_absent(queue)
    return queue if decided else served(turn, operation)


def refuse_tag(turn: Turn, known: Consumer) -> None:
    """Refuse a consumer tag that is in use (530)."""
    turn.refuse(530, f"NOT_ALLOWED - attempt to reuse consumer tag '{known.name}'")


def holds_of_another(turn: Turn, known: Consumer | None, queue: Queue) -> bool:
    """Return True if a name still holds messages of another queue, and refuse its step."""
    if known is None or known.queue == queue.name or not still_holds(known):
        return False
    turn.refuse(None, f"'{known.name}' still holds messages of '{known.queue}'")
    return True


def is_elsewhere(turn: Turn, known: Consumer | None, queue: Queue) -> bool:
    """Return True if a name is in use on another side of a partition, and refuse its step.

    It is if a client is subscribed there under it, or holds messages of a classic queue that only that side waits for.
    """
    if known is None or known.state == "closed" or turn.is_here(known.node):
        return False
    if known.state != "active" and (queue.type == QUORUM or not still_holds(known)):
        return False
    turn.refuse(None, f"'{known.name}' is connected to another side of the partition")
    return True


def still_holds(known: Consumer) -> bool:
    """Return True if a client believes that it has messages to answer for."""
    return bool(known.unanswered)


def let_go(turn: Turn, name: str) -> None:
    """Requeue the messages that a gone channel held."""
    consumer = turn.consumers[name]
    held = runs.within(consumer.in_sequence, consumer.held)
    turn.change_consumer(name, **HOLDS_NOTHING)
    put_back(turn, consumer.queue, held, "consumer_gone")
    deliver(turn, consumer.queue)


def is_known(turn: Turn, consumer: Consumer) -> bool:
    """Return True if a quorum queue still has a record of a consumer's channel: it is subscribed, or holds messages."""
    queue = turn.queues.get(consumer.queue)
    return queue is not None and queue.type == QUORUM and bool(consumer.held or consumer.name in queue.consumers)


def give_up_name(turn: Turn, name: str) -> None:
    """End the queue's subscription of an earlier channel with this consumer's name.

    The new channel of that name holds none of the earlier channel's messages.
    """
    known = turn.consumers.get(name)
    if known is None or known.state != "closed" or not is_known(turn, known):
        return
    queue = turn.queues[known.queue]
    deadlines.owe(turn, queue.name, name, EMPTY)
    if name in queue.consumers:
        active = None if queue.active_consumer == name else queue.active_consumer
        others = tuple(one for one in queue.consumers if one != name)
        turn.change_queue(queue.name, consumers=others, active_consumer=active)
        missing = tuple(pair for pair in fifo.of(queue).missing if pair[0] != name)
        fifo.change(turn, queue.name, missing=missing)
    fifo.change(turn, queue.name, suspected=fifo.of(queue).suspected - {name})
    if known.held:
        let_go(turn, name)


def with_past(consumer: Consumer, known: Consumer | None) -> Consumer:
    """Return a consumer with the messages that its name has received and holds from before.

    A consumer with a rate answers for stale messages in the order of their numbers
    (`hawb.engine.clients.steady.flows`).
    """
    if known is None:
        return consumer
    steady = consumer.clock is not None
    return replace(
        consumer,
        held=known.held,
        deliveries=known.deliveries,
        stale=runs.normal(known.stale) if steady else known.stale,
        places=EMPTY if steady else known.places,
        settled_early=known.settled_early,
        uncredited=known.uncredited,
        sent=known.sent,
        ticks_from_us=known.ticks_from_us,
        received=known.received,
        carried=runs.size(known.held),
    )
