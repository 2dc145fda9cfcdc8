"""Time to live of messages and of queues.

Source: `rabbit_amqqueue_process` (`calculate_msg_expiry`, `drop_expired_msgs`, `ensure_ttl_timer`,
`ensure_expiry_timer`). A message's expiry is fixed when it is published and survives failovers and restarts, but only
the head of the queue is checked: an expired message behind one that has not expired waits until it reaches the head. A
TTL of 0 without a dead letter exchange discards what no consumer takes at once (`publishing`).

A queue expires when it had no consumers for its time, in which it was neither declared again nor asked by basic.get. A
master that starts begins to count anew.

RabbitMQ's timers are late by less than a millisecond; hawb's are exact.

A quorum queue (`rabbit_fifo`, from 3.10 on) checks its head at each command, and its leader appends one when the head
expires (`timer_effect`). In 4.3 returned messages and those of each priority have heads of their own, and all that have
expired go at once (`expire_batch`; those that are not at the head go a command later, which hawb does not distinguish).
With a TTL of 0 a message has a millisecond. Every TICK_US, counted from its election, the leader checks whether the
queue itself has expired (`ra_server_proc:set_tick_timer`). That time counts from the last of these: the queue or its
policy was made, basic.get, the last message of a cancelled consumer was settled, a consumer's channel ended or was out
of reach. Declaring the queue again does not count, and a cancelled consumer or a holder that still holds messages keeps
the queue (`is_expired`).
"""

from __future__ import annotations

from msgspec.structs import replace

from hawb.engine.clients.client_state import consumers_of
from hawb.engine.core import runs
from hawb.engine.core.events import AnswersDue, HoldEnds, MessagesExpire, QueueExpires, RetriesDue
from hawb.engine.core.mutable_side import MutableSide
from hawb.engine.core.runs import EMPTY, Runs
from hawb.engine.core.state import NOWHERE, QUORUM, Batch, Queue
from hawb.engine.core.turn import TIMER, Turn
from hawb.engine.queues.contents import in_order, pieces, ready
from hawb.engine.queues.dead_letters import EXPIRED, let_go
from hawb.engine.quorum import fifo
from hawb.rules.quorum_profiles import QUORUM_PROFILES

TICK_US = 5_000_000
"""The interval at which a quorum queue's leader checks the queue's expiry (`rabbit_quorum_queue`, TICK_TIMEOUT)."""

INSTANT_US = 1_000
"""The time to live in a quorum queue of a message with a TTL of 0 (`rabbit_fifo:update_expiry_header`)."""


def expires_us(turn: Turn, queue: Queue) -> int | None:
    """Return when messages expire that are published to the queue now; None: never."""
    ttl_ms = fifo.limits_of(queue).message_ttl_ms
    if ttl_ms is None:
        return None
    return turn.now_us + (ttl_ms * 1_000 or (INSTANT_US if queue.type == QUORUM else 0))


def expired(turn: Turn, queue: Queue) -> Runs:
    """Return the expired messages, wherever in the queue they are."""
    mortal = [batch for batch in queue.batches if batch.expires_us is not None]
    return runs.normal((batch.first, last_expired(batch, turn.now_us)) for batch in mortal) if mortal else EMPTY


def last_expired(batch: Batch, now_us: int) -> int:
    """Return the last expired message of a batch; the one before the first if there is none."""
    if batch.expires_us is None or batch.expires_us > now_us:
        return batch.first - 1
    if batch.flow is None:
        return batch.last
    ticks, us = batch.flow
    return min(batch.last, batch.first + (now_us - batch.expires_us) * ticks // us)


def spread(turn: Turn, name: str, first_us: int, flow: tuple[int, int]) -> None:
    """Date the messages that have come to a queue last as published one by one from `first_us` on.

    `flow` is their rate: so many messages in so many microseconds.
    """
    *others, batch = turn.queues[name].batches
    if batch.expires_us is not None:
        expires_us = batch.expires_us - turn.now_us + first_us
        batch = replace(batch, expires_us=expires_us, flow=flow)
        turn.change_queue(name, batches=(*others, batch))


def drop_expired(turn: Turn, name: str) -> None:
    """Drop expired messages at the head of the queue, and set a timer for the next head.

    In 4.3 a quorum queue has several heads (`fifo.lines`).
    """
    queue = turn.queues.get(name)
    if queue is None or not queue.up or queue.sync is not None:
        return
    if all(batch.expires_us is None for batch in queue.batches):
        return
    lines = fifo.lines(queue) if queue.type == QUORUM else [in_order(queue, ready(queue))]
    found = [expired_head(turn, queue, line) for line in lines]
    numbers = runs.normal(pair for gone, _ in found for pair in gone)
    if numbers:
        turn.emit("messages_expired", queue=name, ids=numbers)
        let_go(turn, name, numbers, EXPIRED)
    heads_us = [next_us for _, next_us in found if next_us is not None]
    if heads_us:
        set_timer(turn, name, min(heads_us))


def expired_head(turn: Turn, queue: Queue, line: Runs) -> tuple[list[tuple[int, int]], int | None]:
    """Return the expired messages at the head of a line, and when the next message expires.

    None stands for never, and for messages of steady publishers, which expire one by one as they came, without a timer.
    """
    gone = []
    for first, last, batch in pieces(queue.batches, line):
        end = min(last, last_expired(batch, turn.now_us))
        if end >= first:
            gone.append((first, end))
        if end < last:
            return gone, None if batch.flow else batch.expires_us
    return gone, None


def set_timer(turn: Turn, name: str, due_us: int) -> None:
    """Schedule the next check of a queue's head at `due_us`, unless an earlier one is scheduled.

    A quorum queue's leader checks on its own side, whichever side gave the reason.
    """
    focus = turn.focus
    turn.focus = side_of_timer(turn, turn.queues[name])
    timer_us = turn.queues[name].ttl_timer_us
    if timer_us is None or timer_us > due_us:
        turn.unschedule(MessagesExpire(name))
        turn.schedule(due_us - turn.now_us, MessagesExpire(name), priority=TIMER)
        turn.change_queue(name, ttl_timer_us=due_us)
    turn.focus = focus


def side_of_timer(turn: Turn, queue: Queue) -> MutableSide:
    """Return the side on which a queue's head is checked.

    It is the current side; for a quorum queue the side of the leader that the current side sees, if that side knows the
    queue.
    """
    if not queue.has_group or queue.master == NOWHERE:
        return turn.focus
    side = turn.sides[turn.nodes[queue.master].side]
    return side if queue.name in side.queues else turn.focus


def messages_expire(turn: Turn, event: MessagesExpire) -> None:
    """Handle the timer of a queue's head.

    Without a master, or while it synchronises, nothing is dropped until that is over.
    """
    if event.queue in turn.queues:
        turn.change_queue(event.queue, ttl_timer_us=None)
        drop_expired(turn, event.queue)


def touch(turn: Turn, name: str) -> None:
    """Restart the expiry of a classic queue that is used or whose last consumer has left."""
    queue = turn.queues.get(name)
    if queue is None or queue.has_group or queue.limits_in_effect.expires_ms is None or queue.consumers:
        return
    timer = QueueExpires(name, queue.master)
    turn.unschedule(timer)
    turn.schedule(queue.limits_in_effect.expires_ms * 1_000, timer, priority=TIMER)


def used(turn: Turn, name: str) -> None:
    """Restart the expiry of a queue of either type that is used or that a consumer has left."""
    queue = turn.queues.get(name)
    if queue is None or queue.type != QUORUM:
        touch(turn, name)
    else:
        fifo.change(turn, name, used_us=turn.now_us)
        set_expiry(turn, name)


def set_expiry(turn: Turn, name: str) -> None:
    """Schedule the tick at which the leader of an unused quorum queue deletes it because of x-expires.

    In releases whose leaders tick once they are elected, a queue that had expired before the election is deleted then.
    """
    queue = turn.queues[name]
    stop_looking(turn, name)
    expires_ms = fifo.limits_of(queue).expires_ms
    if expires_ms is None or not queue.up or not is_unused(turn, queue):
        return
    known = fifo.of(queue)
    due_us = known.used_us + expires_ms * 1_000
    over_us = max(turn.now_us, due_us)
    is_elected = due_us < known.led_from_us == turn.now_us
    at_once = is_elected and QUORUM_PROFILES[turn.settings.profile.version].ticks_at_once
    ticks = 0 if at_once else (over_us - known.led_from_us) // TICK_US + 1
    turn.schedule(known.led_from_us + ticks * TICK_US - turn.now_us, QueueExpires(name, queue.master), priority=TIMER)


def stop_looking(turn: Turn, name: str, *also: type) -> None:
    """Unschedule the expiry checks of a quorum queue's leaders, present and past, and events of the kinds `also`."""
    for kind in (QueueExpires, *also):
        for event in {event for _, event in turn.planned(name, kind)}:
            turn.unschedule(event)


def is_unused(turn: Turn, queue: Queue) -> bool:
    """Return True if no reachable consumer uses a quorum queue: none is subscribed, and none holds messages."""
    suspected = fifo.of(queue).suspected
    holders = (one for one in consumers_of(turn.consumers, queue.name) if one.name not in suspected)
    return not set(queue.consumers) - suspected and not any(one.held for one in holders)


def has_expired(turn: Turn, queue: Queue) -> bool:
    """Return True if a quorum queue expires at this tick."""
    expires_ms = fifo.limits_of(queue).expires_ms
    unused_us = turn.now_us - fifo.of(queue).used_us
    return expires_ms is not None and unused_us > expires_ms * 1_000 and is_unused(turn, queue)


def lead(turn: Turn, name: str) -> None:
    """Set the timers of a quorum queue's new leader (`rabbit_fifo:state_enter`). A stream has none."""
    if turn.queues[name].type != QUORUM:
        return
    fifo.change(turn, name, led_from_us=turn.now_us)
    set_expiry(turn, name)
    for _side in turn.each_side():
        turn.unschedule(MessagesExpire(name))
        if name in turn.queues:
            turn.change_queue(name, ttl_timer_us=None)
    drop_expired(turn, name)


def stop_timers(turn: Turn, queue: Queue) -> None:
    """Unschedule the timers of a queue that is deleted."""
    if queue.ttl_timer_us is not None:
        turn.unschedule(MessagesExpire(queue.name))
    if queue.has_group:
        stop_looking(turn, queue.name, HoldEnds, AnswersDue, RetriesDue)
    elif queue.limits_in_effect.expires_ms is not None:
        turn.unschedule(QueueExpires(queue.name, queue.master))
