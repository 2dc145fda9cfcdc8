"""Consumers of quorum queues on nodes that the leader has lost sight of.

Source: `rabbit_fifo:apply` (`noconnection`, `nodeup`, and in 4.3 the timer `consumer_disconnected_timeout`).

Such a consumer is suspected: it gets nothing more until its node is back. What it holds is returned at once. In 4.3 it
stays the consumer's for a minute, from which its client may still answer for it, and a single active consumer stays the
active one as long; then it is returned, which does not count towards the delivery limit. Each leader that suspects a
consumer counts that time anew. What a policy says of that time (consumer-disconnected-timeout) is left out.
"""

from __future__ import annotations

from hawb.engine import expiry, fifo, runs
from hawb.engine.agenda import TIMER
from hawb.engine.clients import Consumer
from hawb.engine.consuming import deliver, is_known, put_back
from hawb.engine.events import HoldEnds
from hawb.engine.operations import NODE_DOWN
from hawb.engine.runs import EMPTY
from hawb.engine.single_active import activate_next, is_single_active
from hawb.engine.state import Queue
from hawb.engine.turn import Turn


def outlasts_its_node(queue: Queue, consumer: Consumer) -> bool:
    """Whether a quorum queue leaves a consumer what it holds when its node is gone: a cancelled one, unless there is
    a single active consumer."""
    cancelled = consumer.subscription != 0 and consumer.name not in queue.consumers
    return cancelled and bool(consumer.held) and not is_single_active(queue)


def suspect(turn: Turn, name: str, node: int) -> None:
    """A quorum queue's leader has lost the connection to a node: consumers there are suspected, and the messages that
    they hold are returned, at once or later. Their answers for these will be too late. A cancelled consumer keeps what
    it holds, unless the queue has a single active consumer. The queue also keeps consumers that died with the node,
    until it sees that node again and finds them gone."""
    single, had = is_single_active(turn.queues[name]), fifo.of(turn.queues[name]).suspected
    there = [one for one in turn.consumers.values() if one.queue == name and one.node == node]
    lost = [one for one in there if one.state != "closed" or (is_known(turn, one) and one.name not in had)]
    for consumer in lost:
        if consumer.state == "closed":
            turn.emit("consumer_closed", node=node, queue=name, consumer=consumer.name, reason=NODE_DOWN)
    holds_for_us = fifo.release(turn).holds_for_us
    for consumer in there if holds_for_us else lost:
        if not holds_for_us:
            take_back(turn, name, consumer)
        elif is_known(turn, consumer):
            fifo.change(turn, name, suspected=fifo.of(turn.queues[name]).suspected | {consumer.name})
            stop_waiting(turn, name, consumer.name)
            ends = HoldEnds(name, consumer.name, turn.queues[name].master)
            turn.schedule(holds_for_us, ends, priority=TIMER)
    if lost:
        if single:
            activate_next(turn, name)
        expiry.used(turn, name)
        deliver(turn, name)


def take_back(turn: Turn, name: str, consumer: Consumer, *, failed: bool = True) -> None:
    """Returns what a consumer holds that is out of reach; `failed` is whether that counts towards the limit."""
    if failed and outlasts_its_node(turn.queues[name], consumer):
        return
    held = runs.within(consumer.in_sequence, consumer.held)
    known = runs.minus(consumer.held, fifo.missing(turn, consumer)) if consumer.state != "closed" else EMPTY
    stale = runs.chain(consumer.stale, runs.within(held, known))
    turn.change_consumer(consumer.name, held=EMPTY, deliveries=EMPTY, stale=stale)
    spent = put_back(turn, name, held, "consumer_gone", failed=failed)
    if consumer.name in turn.queues[name].consumers:
        fifo.overpay(turn, name, consumer.name, spent)
        hold_off(turn, name, consumer.name)


def hold_ended(turn: Turn, name: str, consumer: str) -> None:
    """A consumer has been out of reach for as long as it may hold messages."""
    if name in turn.queues and consumer in fifo.of(turn.queues[name]).suspected:
        take_back(turn, name, turn.consumers[consumer], failed=False)
        if is_single_active(turn.queues[name]):
            activate_next(turn, name)
        expiry.used(turn, name)
        deliver(turn, name)


def stop_waiting(turn: Turn, name: str, consumer: str) -> None:
    """Takes the end of a consumer's time off the agenda."""
    for event in {event for _, event in turn.planned(name, HoldEnds) if event.consumer == consumer}:
        turn.unschedule(event)


def hold_off(turn: Turn, name: str, consumer: str) -> None:
    """Suspects a consumer, which gets back the credit for the messages that it held; an active one stands behind the
    others from now on."""
    queue = turn.queues[name]
    turn.change_consumer(consumer, blocked=False)
    fifo.change(turn, name, suspected=fifo.of(queue).suspected | {consumer})
    if queue.active_consumer == consumer:
        fifo.change(turn, name, quiescing=False)
        others = (other for other in queue.consumers if other != consumer)
        turn.change_queue(name, active_consumer=None, consumers=(*others, consumer))


def unsuspect(turn: Turn, name: str, node: int) -> None:
    """A node is back in reach: the consumers that are still there are served again."""
    suspected = fifo.of(turn.queues[name]).suspected
    back = [one for one in turn.queues[name].consumers if turn.consumers[one].node == node and one in suspected]
    there = {one for one in suspected if turn.consumers[one].node == node}
    if not there:
        return
    for consumer in sorted(there):
        stop_waiting(turn, name, consumer)
    fifo.change(turn, name, suspected=suspected - there)
    if is_single_active(turn.queues[name]):
        activate_next(turn, name)
    else:
        others = (other for other in turn.queues[name].consumers if other not in back)
        turn.change_queue(name, consumers=(*others, *back))
    deliver(turn, name)
