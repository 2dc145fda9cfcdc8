"""When messages whose retry a quorum queue of 4.3 delays are ready again (`hawb.engine.quorum.retries`).

Source: `rabbit_fifo:apply` of `{timeout, {expire_msgs, shallow}}`, `expire_shallow`.

Left out: the annotation x-opt-delivery-time and deferred messages, which only AMQP 1.0 knows, and the command that
retries messages before their time.
"""

from __future__ import annotations

from msgspec.structs import replace

from hawb.engine.clients.consuming import deliver
from hawb.engine.core import runs
from hawb.engine.core.events import RetriesDue
from hawb.engine.core.operations import Retry
from hawb.engine.core.state import NOWHERE
from hawb.engine.core.turn import Turn
from hawb.engine.quorum import fifo, requests, retries


def retries_due(turn: Turn, event: RetriesDue) -> None:
    """Fire a leader's timer: propose a retry if a message is due, or set the timer for the next one."""
    queue = turn.queues.get(event.queue)
    if queue is None or not event.node == queue.master != NOWHERE:
        return
    delayed = fifo.of(queue).delayed
    if delayed and delayed[0][0] <= turn.now_us:
        requests.put(turn, event.queue, Retry(event.queue), NOWHERE)
    else:
        retries.set_timer(turn, event.queue)


def retry(turn: Turn, operation: Retry) -> None:
    """Make the messages that are due ready again; the retry is committed."""
    known = fifo.of(turn.queues[operation.queue])
    due = tuple(pair for pair in known.delayed if pair[0] <= turn.now_us)
    ordered = retries.waiting(replace(known, delayed=due))
    if ordered:
        fifo.change(
            turn, operation.queue, returns=runs.chain(known.returns, ordered), delayed=known.delayed[len(due):],
        )  # fmt: skip
        turn.emit("messages_retried", queue=operation.queue, ids=runs.normal(ordered))
    deliver(turn, operation.queue)
    retries.set_timer(turn, operation.queue)
