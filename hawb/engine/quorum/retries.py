"""Messages that were returned to a quorum queue of 4.3 and whose retry is delayed.

Source: `rabbit_fifo` (`return_one`, `delayed_in`, `take_ready_delayed`, `timer_effect`). A delayed message is neither
ready nor with a consumer; listings count it among all messages alone. When it is due it goes to the end of the returned
messages, the earliest first. The leader has a timer for that; `hawb.engine.quorum.delayed_retry` says what happens
then.
"""

from __future__ import annotations

from msgspec.structs import replace

from hawb.engine.core import runs
from hawb.engine.core.events import RetriesDue
from hawb.engine.core.runs import EMPTY, Runs
from hawb.engine.core.state import NOWHERE, Queue
from hawb.engine.core.turn import TIMER, Turn
from hawb.engine.quorum.fifo_state import Fifo


def give_back(turn: Turn, queue: Queue, known: Fifo, ordered: Runs, *, failed: bool) -> Fifo:
    """Return a queue's state machine after messages are returned: they join the returned ones now, or are delayed.

    `failed` is True if their deliveries count as failed.
    """
    retry = None if queue.quorum_settings is None else queue.quorum_settings.delayed_retry
    if retry is None or not retry.concerns(failed=failed) or not ordered:
        return replace(known, returns=runs.chain(known.returns, ordered))
    delayed = dict(known.delayed)
    for failures, numbers in by_failures(known, runs.normal(ordered)):
        wait_ms = retry.wait_ms(failures)
        due_us = turn.now_us + wait_ms * 1_000
        delayed[due_us] = runs.union(delayed.get(due_us, EMPTY), numbers)
        turn.emit("messages_delayed", queue=queue.name, ids=numbers, wait_s=wait_ms / 1_000)
    return replace(known, delayed=tuple(sorted(delayed.items())))


def by_failures(known: Fifo, numbers: Runs) -> list[tuple[int, Runs]]:
    """Return the messages by how often their delivery has failed."""
    counted = [(count, runs.common(these, numbers)) for count, these in known.counts]
    others = runs.minus(numbers, runs.normal(pair for _, these in counted for pair in these))
    return [(count, these) for count, these in ((0, others), *counted) if these]


def waiting(known: Fifo) -> Runs:
    """Return the delayed messages in the order in which they are due."""
    return tuple(pair for _, these in known.delayed for pair in these)


def set_timer(turn: Turn, name: str) -> None:
    """Set the leader's timer for the first delayed message, unless one fires no later."""
    queue = turn.queues[name]
    if queue.fifo is None or not queue.fifo.delayed or queue.master == NOWHERE:
        return
    first_us, planned = queue.fifo.delayed[0][0], turn.planned(name, RetriesDue)
    if all(due_us > first_us or event.node != queue.master for due_us, event in planned):
        for _, event in planned:
            turn.unschedule(event)
        turn.schedule(max(0, first_us - turn.now_us), RetriesDue(name, queue.master), priority=TIMER)
