"""Until when consumers of a quorum queue of 4.3 have to answer: each delivery has an end of its own.

Source: `rabbit_fifo:checkout_one`, `next_consumer_timeout`, `maybe_untimeout`, `handle_aux` of eval (4.3). An end is
the time of the delivery and the time-out that the queue had when the consumer subscribed, or fetched. The leader alone
has a timer, for the earliest end. What happens then is in `hawb.engine.timeouts`.

Clients with a rate have no ends here, since they answer all the time, nor have those with automatic acknowledgement,
whose channels do.
"""

from __future__ import annotations

from hawb.engine import fifo, runs
from hawb.engine.clients import Consumer
from hawb.engine.events import AnswersDue
from hawb.engine.runs import EMPTY, Runs
from hawb.engine.state import NOWHERE, Queue
from hawb.engine.turn import TIMER, Turn


def timeout_ms(queue: Queue) -> int | None:
    """The time-out of those that subscribe to a queue now, or fetch from it; None: they have none."""
    return None if queue.quorum_settings is None else queue.quorum_settings.consumer_timeout_ms


def begin(turn: Turn, consumer: Consumer, numbers: Runs) -> None:
    """A consumer gets messages, and has a while to answer for them."""
    queue = turn.queues[consumer.queue]
    limited = consumer.timeout_ms is not None and consumer.clock is None and not consumer.automatic
    if not limited and not fifo.of(queue).ends:
        return
    ends = {us: runs.minus(these, numbers) for us, these in held_until(queue)}
    if limited:
        end_us = turn.now_us + consumer.timeout_ms * 1_000
        ends[end_us] = runs.union(ends.get(end_us, EMPTY), numbers)
    fifo.change(turn, queue.name, ends=tuple((us, ends[us]) for us in sorted(ends) if ends[us]))
    set_timer(turn, queue.name)


def held_until(queue: Queue) -> list[tuple[int, Runs]]:
    """The messages that consumers hold, by the ends of their deliveries, the earliest first."""
    held = ((us, runs.common(these, queue.unacknowledged)) for us, these in fifo.of(queue).ends)
    return [(us, these) for us, these in held if these]


def set_timer(turn: Turn, name: str) -> None:
    """The leader sets its timer for the earliest end, unless one is set that fires no later."""
    queue = turn.queues[name]
    ends = held_until(queue)
    if not ends or queue.master == NOWHERE:
        return
    planned = turn.planned(name, AnswersDue)
    if all(due_us > ends[0][0] or event.node != queue.master for due_us, event in planned):
        for _, event in planned:
            turn.unschedule(event)
        delay_us = max(0, ends[0][0] - turn.now_us)
        turn.schedule(delay_us, AnswersDue(name, queue.master), priority=TIMER)


def answered(turn: Turn, name: str, consumer: str, said: Runs) -> Runs:
    """A consumer has answered for messages that it does not hold any more. Returns those that it lost because it had
    not answered in time; with the last of these it is served again, after the others."""
    known = fifo.of(turn.queues[name])
    had = dict(known.timed_out).get(consumer, EMPTY)
    late = runs.common(had, runs.normal(said))
    if late:
        owe(turn, name, consumer, runs.minus(had, late))
    queue = turn.queues[name]
    if late == had != EMPTY and consumer in queue.consumers:
        turn.change_queue(name, consumers=(*(one for one in queue.consumers if one != consumer), consumer))
    return late


def owe(turn: Turn, name: str, consumer: str, numbers: Runs) -> None:
    """A consumer is still to answer for messages that it has lost; for none it is served."""
    known = fifo.of(turn.queues[name]).timed_out
    left = dict(known) | {consumer: numbers}
    if numbers or consumer in dict(known):
        fifo.change(turn, name, timed_out=tuple((one, these) for one, these in sorted(left.items()) if these))
