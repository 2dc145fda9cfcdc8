"""Consumers of quorum queues on nodes that the leader has lost sight of: suspected, given up, served again.

Source: `rabbit_fifo:apply` (`noconnection`, `nodeup`, and in 4.3 the timer `consumer_disconnected_timeout`),
`state_enter`, `rabbit_quorum_queue:get_consumer_disconnected_timeout`; clusters of 3.8.9, 3.10.8, 4.0.5 and 4.3.6.

Such a consumer is suspected: it gets nothing more until its node is back. Before 4.3 what it holds is returned at once,
but for that of cancelled consumers; answers for it come too late.

In 4.3 it stays the consumer's for `consumer_disconnected_timeout`, whether that is cancelled or not, and so does what
was fetched. If the node is back before, the consumer goes on, and its answers count. If not, all is returned, which
does not count towards the delivery limit. A single active consumer stays the active one as long, so that nobody is
served, and then stands behind the others. The leader has the timer, so that a new leader counts that time anew.

Left out in 4.3: what a second loss of the same consumer does, under another leader. In the source of 4.3.5 the consumer
then stays suspected, and keeps what it holds, for as long as it lives; no broker was seen to do so. Here the new leader
gives it the same time. A client that comes back under the name of one that is gone ends that one's channel at once, and
what it held is returned.
"""

from __future__ import annotations

from hawb.engine.clients.client_state import Consumer
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
    """Whether a quorum queue leaves a consumer what it holds when its node is gone: a cancelled one, unless there is
    a single active consumer."""
    cancelled = consumer.subscription != 0 and consumer.name not in queue.consumers
    return cancelled and bool(consumer.held) and not is_single_active(queue)


def suspect(turn: Turn, name: str, node: int) -> None:
    """A quorum queue's leader has lost the connection to a node. The queue also keeps consumers that died with the
    node, until it sees that node again and finds them gone."""
    queue = turn.queues[name]
    waits, had = patience_ms(queue) is not None, fifo.of(queue).suspected
    there = [one for one in turn.consumers.values() if one.queue == name and one.node == node]
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
    """How long a consumer out of reach keeps what it holds; None: not at all."""
    return None if queue.quorum_settings is None else queue.quorum_settings.consumer_disconnected_timeout_ms


def lose(turn: Turn, consumer: Consumer) -> None:
    """Suspects a consumer whose messages are returned at once."""
    spent = return_held(turn, consumer, "consumer_gone")
    if consumer.name in turn.queues[consumer.queue].consumers:
        fifo.overpay(turn, consumer.queue, consumer.name, spent)
        hold_off(turn, consumer.queue, consumer.name)


def return_held(turn: Turn, consumer: Consumer, reason: str) -> int:
    """Returns all that a consumer holds; it will still answer for what it knows of. Returns how many messages were
    given up thereby."""
    held = runs.within(consumer.in_sequence, consumer.held)
    known = runs.minus(consumer.held, fifo.missing(turn, consumer)) if consumer.state != "closed" else EMPTY
    stale = runs.chain(consumer.stale, runs.within(held, known))
    turn.change_consumer(consumer.name, held=EMPTY, deliveries=EMPTY, stale=stale)
    return put_back(turn, consumer.queue, held, reason)


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


# For a while


def wait_for(turn: Turn, consumer: Consumer) -> None:
    """Suspects a consumer that keeps what it holds, and its place, for a while. One that waits to be the single active
    one has nothing to lose."""
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
    """The leader sets a timer for a consumer that it suspects."""
    unwatch(turn, queue.name, consumer)
    if turn.consumers[consumer].held or not is_single_active(queue) or queue.active_consumer == consumer:
        turn.schedule(patience_ms(queue) * 1_000, HoldEnds(queue.name, consumer, queue.master), priority=TIMER)


def unwatch(turn: Turn, name: str, consumer: str) -> None:
    """Takes timers for a consumer off the agenda."""
    for event in {event for _, event in turn.planned(name, HoldEnds) if event.consumer == consumer}:
        turn.unschedule(event)


def follow_leader(turn: Turn, name: str) -> None:
    """A new leader knows of no timers, and finds that consumers are out of reach."""
    queue = turn.queues[name]
    for consumer in sorted(fifo.of(queue).suspected) if patience_ms(queue) is not None else ():
        watch(turn, queue, consumer)


def hold_ended(turn: Turn, name: str, consumer: str) -> None:
    """It is committed that a consumer was out of reach for as long as it may hold messages. It stays suspected. One
    that is no consumer any more is forgotten with the last message that it held."""
    if name not in turn.queues or consumer not in fifo.of(turn.queues[name]).suspected:
        return
    return_held(turn, turn.consumers[consumer], "out_of_reach")
    queue = turn.queues[name]
    if consumer not in queue.consumers:
        fifo.change(turn, name, suspected=fifo.of(queue).suspected - {consumer})
    if queue.active_consumer == consumer and is_single_active(queue):
        hold_off(turn, name, consumer)
        activate_next(turn, name)
    if is_single_active(queue) or consumer not in queue.consumers:
        expiry.used(turn, name)
    deliver(turn, name)


def unsuspect(turn: Turn, name: str, node: int) -> None:
    """A node is back in reach: the consumers that are still there are served again, with what they hold."""
    queue = turn.queues[name]
    there = sorted(one for one in fifo.of(queue).suspected if turn.consumers[one].node == node)
    back = [one for one in queue.consumers if one in there]
    known = back if patience_ms(queue) is None else there
    if not known:
        return
    fifo.change(turn, name, suspected=fifo.of(queue).suspected.difference(known))
    for one in known if patience_ms(queue) is not None else ():
        unwatch(turn, name, one)
        turn.emit("consumer_in_reach", node=node, queue=name, consumer=one, ids=turn.consumers[one].held)
    if is_single_active(queue):
        activate_next(turn, name)
    else:
        others = (other for other in queue.consumers if other not in back)
        turn.change_queue(name, consumers=(*others, *back))
    deliver(turn, name)
