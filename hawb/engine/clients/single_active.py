"""Queues that serve one consumer at a time (x-single-active-consumer): which one they serve.

Source: `rabbit_amqqueue_process` (`new_single_active_consumer_after_basic_cancel`), `rabbit_fifo`
(`activate_next_consumer`, `sort_waiting`). On a classic queue the first to come is active, whatever its priority, and
the first of the highest priority follows it. A quorum queue goes by the order in which consumers came until 3.13;
consumers out of reach wait. In 4.0 a consumer of higher priority takes over as soon as the active one has settled all
that it holds, and until then the active one gets no more; of consumers of equal priority the one with the most credit
follows.
"""

from __future__ import annotations

from collections.abc import Mapping

from hawb.engine.clients.client_state import Consumer, consumers_of
from hawb.engine.core.state import QUORUM, Queue
from hawb.engine.core.turn import Turn
from hawb.engine.quorum import fifo
from hawb.engine.quorum.fifo import capacity


def is_single_active(queue: Queue) -> bool:
    """Return True if the queue serves one consumer at a time."""
    return dict(queue.arguments).get("x-single-active-consumer") is True


def activate(turn: Turn, name: str, consumer: str) -> None:
    """Make a consumer the active one of its queue."""
    turn.change_queue(name, active_consumer=consumer)
    turn.emit("consumer_activated", node=turn.consumers[consumer].node, queue=name, consumer=consumer)


def activate_next(turn: Turn, name: str) -> None:
    """Choose the consumer to serve, if none is active or in 4.0 one of higher priority has come."""
    queue = turn.queues[name]
    waiting = [one for one in queue.consumers if one != queue.active_consumer]
    if queue.type == QUORUM:
        waiting = [one for one in waiting if fifo.is_served(queue, one)]
    if not waiting:
        return
    best = max(waiting, key=lambda one: claim(turn, queue, one))
    active = queue.active_consumer
    if active is None:
        activate(turn, name, best)
    elif queue.type == QUORUM and takes_over(turn, best, active):
        quiescing = bool(turn.consumers[active].held)
        fifo.change(turn, name, quiescing=quiescing)
        if not quiescing:
            activate(turn, name, best)


def claim(turn: Turn, queue: Queue, name: str) -> tuple[int, ...]:
    """Return the rank of a waiting consumer: the one with the largest is next, and of equals the first that came."""
    consumer = turn.consumers[name]
    if queue.type != QUORUM:
        return (consumer.priority,)
    if not fifo.release(turn).urgent_active:
        return ()
    return consumer.priority, capacity(turn, consumer), -consumer.subscription


def takes_over(turn: Turn, waiting: str, active: str) -> bool:
    """Return True if a waiting consumer is to be served in place of the active one."""
    return fifo.release(turn).urgent_active and turn.consumers[waiting].priority > turn.consumers[active].priority


def step_back(turn: Turn, consumer: str, *, returned: bool) -> None:
    """Replace the active consumer once it has settled its last message, if one of higher priority waits.

    That is so in 4.0 and later. If the consumer has `returned` that message, 4.0 has no active consumer until something
    else moves the queue (`rabbit_fifo:return` does not choose the next one).
    """
    queue = turn.queues[turn.consumers[consumer].queue]
    if fifo.of(queue).quiescing and queue.active_consumer == consumer and not turn.consumers[consumer].held:
        turn.change_queue(queue.name, active_consumer=None)
        fifo.change(turn, queue.name, quiescing=False)
    if is_single_active(queue) and (not returned or fifo.release(turn).returns_activate):
        activate_next(turn, queue.name)


def held_by_cancelled(consumers: Mapping[str, Consumer], queue: Queue) -> bool:
    """Return True if a consumer of the queue that is no longer subscribed still holds messages."""
    holders = {one.name for one in consumers_of(consumers, queue.name) if one.held}
    return bool(holders.difference(queue.consumers))
