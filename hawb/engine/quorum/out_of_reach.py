"""Consumers of quorum queues on nodes that the leader has lost the connection to: suspected, dropped, served again.

Source: `rabbit_fifo:apply` (`noconnection`, `nodeup`, and in 4.3 the timer `consumer_disconnected_timeout`),
`state_enter`, `rabbit_quorum_queue:get_consumer_disconnected_timeout`; clusters of 3.8.9, 3.10.8, 4.0.5 and 4.3.6.

The leader suspects such a consumer: it gets no messages until its node is back. Before 4.3 its messages are returned at
once, except those of cancelled consumers, and its acknowledgements come too late.

In 4.3 it keeps its messages, also fetched ones, for `consumer_disconnected_timeout`, cancelled or not. If the node is
back before that, the consumer goes on, and its acknowledgements count. If not, its messages are returned, which does
not count towards the delivery limit. A single active consumer stays active as long, so that no consumer is served, and
then goes to the end of the waiting ones. The leader has the timer, so that a new leader starts it anew.

Left out in 4.3: what a second loss of the same consumer does, under another leader. In the source of 4.3.5 the consumer
then stays suspected, and keeps its messages, for as long as it lives; no broker was seen to do so. Here the new leader
starts the timer anew. A client that returns under the name of one that is gone closes that one's channel at once, and
its messages are returned.
"""

from __future__ import annotations

from hawb.engine.clients.client_state import Consumer, consumers_of
from hawb.engine.clients.consuming import deliver, is_known, put_back
from hawb.engine.clients.single_active import activate_next, is_single_active
from hawb.engine.core import runs
from hawb.engine.core.agenda import TIMER
from hawb.engine.core.events import HoldEnds
from hawb.engine.core.operations import NODE_DOWN
from hawb.engine.core.runs import EMPTY
from hawb.engine.core.state import Queue
from hawb.engine.core.turn import Turn
from hawb.engine.queues import expiry
from hawb.engine.quorum import fifo


def outlasts_its_node(queue: Queue, consumer: Consumer) -> bool:
    """Return True if a cancelled consumer keeps its messages when its node is gone.

    It does not under x-single-active-consumer.
    """
    cancelled = consumer.subscription != 0 and consumer.name not in queue.consumers
    return cancelled and bool(consumer.held) and not is_single_active(queue)


def suspect(turn: Turn, name: str, node: int) -> None:
    """Suspect the consumers on a node that the leader has lost the connection to.

    The queue also keeps consumers that died with the node, until it is connected to the node again and finds them gone.
    """
    queue = turn.queues[name]
    waits, had = patience_ms(queue) is not None, fifo.of(queue).suspected
    there = [one for one in consumers_of(turn.consumers, name) if one.node == node]
    known = [one for one in there if is_known(turn, one) or not (waits or one.state == "closed")]
    lost = [one for one in known if one.state != "closed" or one.name not in had]
    for consumer in lost:
        if consumer.state == "closed":
            turn.emit("consumer_closed", node=node, queue=name, consumer=consumer.name, reason=NODE_DOWN)
        if waits:
            wait_for(turn, consumer)
        elif not outlasts_its_node(turn.queues[name], consumer):
            lose(turn, consumer)
    if lost:
        if is_single_active(queue) and not waits:
            activate_next(turn, name)
        expiry.used(turn, name)
        deliver(turn, name)


def patience_ms(queue: Queue) -> int | None:
    """Return how long a disconnected consumer keeps its messages; None if it does not keep them."""
    return None if queue.quorum_settings is None else queue.quorum_settings.consumer_disconnected_timeout_ms


def lose(turn: Turn, consumer: Consumer) -> None:
    """Suspect a consumer whose messages are returned at once."""
    spent = return_held(turn, consumer, "consumer_gone")
    if consumer.name in turn.queues[consumer.queue].consumers:
        fifo.overpay(turn, consumer.queue, consumer.name, spent)
        suspect_consumer(turn, consumer.queue, consumer.name)


def return_held(turn: Turn, consumer: Consumer, reason: str) -> int:
    """Return all messages of a consumer to the queue, and return how many of them were over the delivery limit.

    The consumer will still acknowledge those that it has received.
    """
    held = runs.within(consumer.in_sequence, consumer.held)
    known = runs.minus(consumer.held, fifo.missing(turn, consumer)) if consumer.state != "closed" else EMPTY
    stale = runs.chain(consumer.stale, runs.within(held, known))
    turn.change_consumer(consumer.name, held=EMPTY, deliveries=EMPTY, stale=stale)
    return put_back(turn, consumer.queue, held, reason)


def suspect_consumer(turn: Turn, name: str, consumer: str) -> None:
    """Suspect a consumer, which gets back the credit for its messages.

    An active one goes to the end of the waiting consumers.
    """
    queue = turn.queues[name]
    turn.change_consumer(consumer, blocked=False)
    fifo.change(turn, name, suspected=fifo.of(queue).suspected | {consumer})
    if queue.active_consumer == consumer:
        fifo.change(turn, name, quiescing=False)
        others = (other for other in queue.consumers if other != consumer)
        turn.change_queue(name, active_consumer=None, consumers=(*others, consumer))


# For a while


def wait_for(turn: Turn, consumer: Consumer) -> None:
    """Suspect a consumer that keeps its messages and its place until a timer fires.

    A consumer that waits to become the single active one needs no timer.
    """
    queue = turn.queues[consumer.queue]
    known = fifo.of(queue)
    if consumer.name in known.suspected:
        return
    turn.emit(
        "consumer_suspected", node=consumer.node, queue=queue.name, consumer=consumer.name, ids=consumer.held,
        timeout_s=patience_ms(queue) / 1_000,
    )  # fmt: skip
    turn.change_consumer(consumer.name, blocked=False)
    fifo.change(turn, queue.name, suspected=known.suspected | {consumer.name})
    watch(turn, queue, consumer.name)


def watch(turn: Turn, queue: Queue, consumer: str) -> None:
    """Set the leader's timer for a suspected consumer."""
    unwatch(turn, queue.name, consumer)
    if turn.consumers[consumer].held or not is_single_active(queue) or queue.active_consumer == consumer:
        turn.schedule(patience_ms(queue) * 1_000, HoldEnds(queue.name, consumer, queue.master), priority=TIMER)


def unwatch(turn: Turn, name: str, consumer: str) -> None:
    """Take the timers for a consumer off the agenda."""
    for event in {event for _, event in turn.planned(name, HoldEnds) if event.consumer == consumer}:
        turn.unschedule(event)


def follow_leader(turn: Turn, name: str) -> None:
    """Set a new leader's timers for the suspected consumers."""
    queue = turn.queues[name]
    for consumer in sorted(fifo.of(queue).suspected) if patience_ms(queue) is not None else ():
        watch(turn, queue, consumer)


def hold_ended(turn: Turn, name: str, consumer: str) -> None:
    """Return the messages of a consumer that was disconnected for too long; the command is committed.

    The consumer stays suspected. A cancelled one is removed with its last message.
    """
    if name not in turn.queues or consumer not in fifo.of(turn.queues[name]).suspected:
        return
    return_held(turn, turn.consumers[consumer], "out_of_reach")
    queue = turn.queues[name]
    if consumer not in queue.consumers:
        fifo.change(turn, name, suspected=fifo.of(queue).suspected - {consumer})
    if queue.active_consumer == consumer and is_single_active(queue):
        suspect_consumer(turn, name, consumer)
        activate_next(turn, name)
    if is_single_active(queue) or consumer not in queue.consumers:
        expiry.used(turn, name)
    deliver(turn, name)


def unsuspect(turn: Turn, name: str, node: int) -> None:
    """Serve the consumers on a node again that is connected again, with the messages that they kept."""
    queue = turn.queues[name]
    here = {one for one in fifo.of(queue).suspected if turn.consumers[one].node == node}
    back = [one for one in queue.consumers if one in here]
    known = back if patience_ms(queue) is None else sorted(here)
    if not known:
        return
    fifo.change(turn, name, suspected=fifo.of(queue).suspected.difference(known))
    for one in known if patience_ms(queue) is not None else ():
        unwatch(turn, name, one)
        turn.emit("consumer_in_reach", node=node, queue=name, consumer=one, ids=turn.consumers[one].held)
    if is_single_active(queue):
        activate_next(turn, name)
    else:
        others = (other for other in queue.consumers if other not in here)
        turn.change_queue(name, consumers=(*others, *back))
    deliver(turn, name)
