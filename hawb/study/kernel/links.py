"""What lags behind cut links, and deliveries under way over them.

These are the differences from `copies`, `flows` and `deliveries`.
"""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel import deliveries, steady_ports, windows
from hawb.study.kernel.answers import EVERY, settle_batches
from hawb.study.kernel.deliveries import is_sent
from hawb.study.kernel.partitioned_state import is_here, linked
from hawb.study.kernel.state import (
    AT,
    CONFIRMS_DUE,
    COUNT,
    FIRST_NODE,
    NEVER,
    NUMBERED,
    PER_TICKS,
    PER_US,
    START_US,
    TICK,
    hand_to_engine,
    schedule,
)

lacked_by_others = steady_ports.lacked_up_to
receive_now, deliver_now, arrive_now = deliveries.receive, deliveries.deliver, deliveries.arrive


# Mirrors behind cut links


@inner
def purged_at(t, node):
    """Return the message after which a mirror that is emptied now holds all."""
    return t.queue.lag_from if t.queue.lagging >> node & 1 else t.queue.taken


@inner
def lacked_up_to(t, q, node):
    """Return the last of the messages that a mirror lacks; 0 if it lacks none."""
    if not q.lagging >> node & 1:
        return lacked_by_others(t, q, node)
    windows.clear(t.here)
    windows.copy_all(t.content, t.here)
    for k in range(1, t.behind[0, 0] + 1):
        windows.remove(t.here, max(t.behind[k, 0], t.since[node]), t.behind[k, 1])
    return t.here[t.here[0, 0], 1] if t.here[0, 0] else 0


@inner
def replica_answers(t, node, delay_us):
    """Schedule the answers of a mirror that was silent and has received everything, after `delay_us` and a disk write.

    It gives one answer for all that waits for it.
    """
    due_us = t.moment.now_us + delay_us + t.setup.fsync_us
    for k in range(t.moment.awaiting):
        row = t.awaiting[k]
        if is_here(t, row[AT]):
            schedule(t, due_us - t.moment.now_us, CONFIRMS_DUE, row[NUMBERED], row[AT])
            if row[FIRST_NODE + node] == NEVER:
                row[FIRST_NODE + node] = due_us
    settle_batches(t, EVERY)
    for k in range(t.moment.unanswered):
        row = t.unanswered[k]
        if is_here(t, row[AT]) and row[FIRST_NODE + node] == NEVER:
            answer_together(t, row, node, due_us)


@inner
def answer_together(t, row, node, due_us):
    """Let a mirror answer all messages of a row at `due_us`: they count as published with its last one."""
    last_us = row[START_US] - (-(row[TICK] + row[COUNT] - 1) * row[PER_US] // row[PER_TICKS])
    row[START_US], row[PER_TICKS], row[PER_US], row[TICK] = last_us - 1, row[COUNT], 1, 1
    row[FIRST_NODE + node] = due_us - last_us


# Deliveries under way


@inner
def receive(t, sender, after, last):
    """Let the client receive messages, unless the link between its node and the sender's is cut."""
    client = t.consumer.node
    if linked(t, sender, client) or not is_sent(t, sender, client):
        receive_now(t, sender, after, last)
        return
    known = t.net.sender == sender and t.net.receiver == client
    if windows.count_between(t.held_up, after, last) or (t.net.deliveries and not known):
        hand_to_engine(t)
    windows.add(t.held_up, after, last)
    t.net.sender, t.net.receiver, t.net.held_now = sender, client, 1


@inner
def deliver(t, flowing, more_room):
    """Send what is ready to the consumer, if it is subscribed and has credit; what a cut link stops stays under way."""
    t.net.held_now = 0
    deliver_now(t, flowing, more_room)
    t.net.deliveries += t.net.held_now


@inner
def arrive(t, number, sender):
    """Deliver the messages of a delivery to the client, or keep them under way."""
    t.net.held_now = 0
    arrive_now(t, number, sender)
    t.net.deliveries += t.net.held_now
