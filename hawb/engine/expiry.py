"""Time to live: messages that expire, and queues that do.

Source: `rabbit_amqqueue_process` (`calculate_msg_expiry`, `drop_expired_msgs`, `ensure_ttl_timer`,
`ensure_expiry_timer`). A message's end is fixed when it is published and outlasts failovers and restarts, but only the
head of the queue is looked at: an expired message behind one that is not waits until it gets there. A TTL of 0 without
a dead letter exchange discards what no consumer takes at once (`publishing`).

A queue expires when it had no consumers for a while in which it was neither declared again nor asked by basic.get. A
master that starts begins to count anew.

RabbitMQ's timers are late by less than a millisecond; here they are exact.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from msgspec.structs import replace

from hawb.engine import runs
from hawb.engine.contents import in_order, pieces, ready
from hawb.engine.dead_letters import EXPIRED, let_go
from hawb.engine.events import MessagesExpire, QueueExpires
from hawb.engine.runs import Runs
from hawb.engine.state import Batch, Queue
from hawb.engine.turn import TIMER, Turn


def expires_us(turn: Turn, queue: Queue) -> int | None:
    """When messages expire that are published to the queue now; None: never."""
    ttl_ms = queue.limits_in_effect.message_ttl_ms
    return None if ttl_ms is None else turn.now_us + ttl_ms * 1_000


def expired(turn: Turn, queue: Queue) -> Runs:
    """The messages whose time is over, wherever in the queue they stand."""
    return runs.normal((batch.first, last_expired(batch, turn.now_us)) for batch in queue.batches)


def last_expired(batch: Batch, now_us: int) -> int:
    """The last message of a batch whose time is over; the one before the first if there is none."""
    if batch.expires_us is None or batch.expires_us > now_us:
        return batch.first - 1
    if not batch.spacing_us:
        return batch.last
    return min(batch.last, batch.first + (now_us - batch.expires_us) // batch.spacing_us)


def spread(turn: Turn, name: str, first_us: int | Fraction, spacing_us: Fraction) -> None:
    """The messages that have come to a queue last were not published together, but from `first_us` on one by one."""
    *others, batch = turn.queues[name].batches
    if batch.expires_us is not None:
        expires_us = batch.expires_us - turn.now_us + ceil(first_us)
        batch = replace(batch, expires_us=expires_us, spacing_us=spacing_us)
        turn.change_queue(name, batches=(*others, batch))


def drop_expired(turn: Turn, name: str) -> None:
    """Expired messages at the head of the queue go, and a timer is set for what is then the head."""
    queue = turn.queues.get(name)
    if queue is None or not queue.up or queue.sync is not None:
        return
    if all(batch.expires_us is None for batch in queue.batches):
        return
    gone, next_us = [], None
    for first, last, batch in pieces(queue.batches, in_order(queue, ready(queue))):
        end = min(last, last_expired(batch, turn.now_us))
        if end >= first:
            gone.append((first, end))
        if end < last:
            # What steady publishers sent needs no timer: it expires as it came, one by one.
            next_us = None if batch.spacing_us else batch.expires_us
            break
    else:
        next_us = None
    if gone:
        numbers = runs.normal(gone)
        turn.emit("messages_expired", queue=name, ids=numbers)
        let_go(turn, name, numbers, EXPIRED)
    if next_us is not None:
        set_timer(turn, name, next_us)


def set_timer(turn: Turn, name: str, due_us: int) -> None:
    """The queue looks at its head again at `due_us`, unless it does so earlier anyway."""
    timer_us = turn.queues[name].ttl_timer_us
    if timer_us is not None and timer_us <= due_us:
        return
    turn.unschedule(MessagesExpire(name))
    turn.schedule(due_us - turn.now_us, MessagesExpire(name), priority=TIMER)
    turn.change_queue(name, ttl_timer_us=due_us)


def messages_expire(turn: Turn, event: MessagesExpire) -> None:
    """The timer fires. Without a master, and while it synchronises, nothing is dropped before that is over."""
    if event.queue in turn.queues:
        turn.change_queue(event.queue, ttl_timer_us=None)
        drop_expired(turn, event.queue)


def touch(turn: Turn, name: str) -> None:
    """The queue is used, or its last consumer has left: its time begins to count now."""
    queue = turn.queues.get(name)
    if queue is None or queue.limits_in_effect.expires_ms is None or queue.consumers:
        return
    timer = QueueExpires(name, queue.master)
    turn.unschedule(timer)
    turn.schedule(queue.limits_in_effect.expires_ms * 1_000, timer, priority=TIMER)


def stop_timers(turn: Turn, queue: Queue) -> None:
    """The queue is gone."""
    if queue.ttl_timer_us is not None:
        turn.unschedule(MessagesExpire(queue.name))
    if queue.limits_in_effect.expires_ms is not None:
        turn.unschedule(QueueExpires(queue.name, queue.master))
