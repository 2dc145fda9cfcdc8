"""Goals of a search. Each is judged in a settled state, for one queue.

`lost-confirmed`: the queue lost messages that the broker had confirmed. `unavailable`: no node serves the queue though
at least one node runs and every node has detected the nodes that are down. `diverged`: two partitions serve the queue
with different messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from hawb.engine.core.events import LinksTimeOut
from hawb.engine.core.ledger import Account
from hawb.engine.core.moment import Moment
from hawb.engine.core.state import Queue


class Goal(NamedTuple):
    """A goal of a search.

    `reached` tests it for a queue, and `says` names it in titles. It shows in the outcome as `field` of the queue's
    entry in `part`.
    """

    reached: Callable[[Moment, str], bool]
    says: str
    part: str
    field: str

    def expected(self, outcome: dict[str, Any], queues: Iterable[str]) -> dict[str, Any]:
        """Return the expected part of the outcome for some queues; None for a queue that is gone."""
        entries = {name: outcome[self.part].get(name) for name in queues}
        return {self.part: {name: entry and {self.field: entry[self.field]} for name, entry in entries.items()}}


def _lost_confirmed(moment: Moment, queue: str) -> bool:
    return moment.ledger.get(queue, Account()).lost_confirmed > 0


def _unavailable(moment: Moment, queue: str) -> bool:
    state = moment.state
    unnoticed = any(isinstance(entry[-1], LinksTimeOut) for entry in state.agenda)
    if unnoticed or any(node.silent for node in state.nodes) or not state.running():
        return False
    return not any(known.up for known in _known(moment, queue))


def _diverged(moment: Moment, queue: str) -> bool:
    return len({known.content for known in _known(moment, queue) if known.up}) > 1


GOALS = {
    "lost-confirmed": Goal(_lost_confirmed, "confirmed messages are lost", "ledger", "lost_confirmed"),
    "unavailable": Goal(_unavailable, "no node serves a queue", "queues", "state"),
    "diverged": Goal(_diverged, "two partitions continue with different messages", "queues", "views"),
}


def reached(goal: str, moment: Moment, queues: Iterable[str]) -> tuple[str, ...]:
    """Return those of `queues` for which a goal has been reached."""
    return tuple(queue for queue in queues if GOALS[goal].reached(moment, queue))


def _known(moment: Moment, queue: str) -> list[Queue]:
    """Return the records of the queue, one from each side of the partition that has one."""
    return [side.queues[queue] for side in moment.state.sides if queue in side.queues]
