"""How long a queue may get, and when its master goes by new limits.

Source: `rabbit_amqqueue_process` (`will_overflow`, `maybe_drop_head`, `process_args_policy`). Lengths count ready
messages. Under drop-head a queue that is too long drops what would be delivered next, in a priority queue so the most
urgent; under reject-publish its master refuses a message that would make it too long, though a consumer may be waiting
for it, and what is given back may still make it longer.

A master that starts, or takes over, begins with drop-head and looks at lengths before it learns what the overflow
behaviour is: whatever that says, it drops what is over the limit.
"""

from __future__ import annotations

from hawb.engine import expiry, runs
from hawb.engine.access import park
from hawb.engine.contents import first, in_order, pieces, ready, size_bytes
from hawb.engine.dead_letters import MAXLEN, let_go
from hawb.engine.events import PolicyChanged, QueueExpires
from hawb.engine.runs import EMPTY, Runs
from hawb.engine.state import Queue
from hawb.engine.turn import Turn
from hawb.rules.limits import DROP_HEAD


def room(queue: Queue, count: int, message_bytes: int) -> int:
    """How many of `count` messages of a size the queue takes if no consumer takes any: under drop-head all."""
    limits = queue.limits_in_effect
    if limits.overflow == DROP_HEAD:
        return count
    waiting = ready(queue)
    if limits.max_length is not None:
        count = min(count, limits.max_length - runs.size(waiting))
    if limits.max_length_bytes is not None:
        spare_bytes = limits.max_length_bytes - size_bytes(queue, waiting)
        fit = spare_bytes // message_bytes if message_bytes else count
        count = min(count, fit if spare_bytes >= 0 else 0)
    return max(0, count)


def excess(queue: Queue) -> Runs:
    """What has to be dropped from the head so that the queue is no longer too long."""
    limits, waiting = queue.limits_in_effect, ready(queue)
    gone = EMPTY
    if limits.max_length is not None:
        gone = first(queue, waiting, runs.size(waiting) - limits.max_length)
    if limits.max_length_bytes is not None:
        gone = runs.union(gone, excess_bytes(queue, waiting, limits.max_length_bytes))
    return gone


def excess_bytes(queue: Queue, waiting: Runs, max_bytes: int) -> Runs:
    """The fewest messages from the head on without which the others have at most so many bytes."""
    over_bytes = size_bytes(queue, waiting) - max_bytes
    gone = []
    for number, last, batch in pieces(queue.batches, in_order(queue, waiting)):
        if over_bytes <= 0:
            break
        enough = -(-over_bytes // batch.size_bytes) if batch.size_bytes else last - number + 1
        last = min(last, number + enough - 1)
        gone.append((number, last))
        over_bytes -= (last - number + 1) * batch.size_bytes
    return runs.normal(gone)


def drop_excess(turn: Turn, name: str) -> None:
    """Under drop-head a queue that is too long drops its head."""
    queue = turn.queues.get(name)
    if queue is not None and queue.up and queue.sync is None and queue.limits_in_effect.overflow == DROP_HEAD:
        drop_head(turn, queue)


def drop_head(turn: Turn, queue: Queue) -> None:
    """Drops what is over the limit."""
    gone = excess(queue)
    if gone:
        turn.emit("messages_dropped", queue=queue.name, ids=gone)
        let_go(turn, queue.name, gone, MAXLEN)


def policy_changed(turn: Turn, event: PolicyChanged) -> None:
    """The master hears that its queue's policy is another. While it synchronises it hears nothing, and without a master
    there is nobody to hear it: the next one begins with what the record says then."""
    queue = turn.queues.get(event.queue)
    if queue is None or not queue.up or queue.master != event.node:
        return
    if queue.sync is not None:
        park(turn, queue, event)
    else:
        adopt(turn, queue.name)


def adopt(turn: Turn, name: str, *, starting: bool = False) -> None:
    """A queue's master goes by what its record says from now on. A queue that is unused begins to count anew for how
    long."""
    queue = turn.queues[name]
    had = queue.limits_in_effect
    if had.expires_ms is not None or queue.limits.expires_ms is not None:
        turn.unschedule(QueueExpires(name, queue.master))
    queue = turn.change_queue(name, limits_in_effect=queue.limits)
    if starting or DROP_HEAD in (had.overflow, queue.limits.overflow):
        drop_head(turn, queue)
    expiry.drop_expired(turn, name)
    expiry.touch(turn, name)
