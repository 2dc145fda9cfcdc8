"""The goals of a search, each judged in a settled moment: for which queues has it come true?

`lost-confirmed` are messages that the broker had confirmed and no client will ever get. `unavailable` is a queue that
no node serves though one runs and everybody has noticed who is silent. `diverged` is one that two sides serve with
different messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from hawb.engine.core.events import LinksTimeOut
from hawb.engine.core.ledger import Account
from hawb.engine.core.moment import Moment
from hawb.engine.core.state import Queue


class Goal(NamedTuple):
    """A goal: whether it has come true for a queue, how a title says it, and where an outcome shows it: the part of the
    outcome, and the field of the queue's entry there."""

    reached: Callable[[Moment, str], bool]
    says: str
    part: str
    field: str

    def expected(self, outcome: dict[str, Any], queues: Iterable[str]) -> dict[str, Any]:
        """The part of an outcome that shows it for some queues; null for one that is gone."""
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
    """Those of `queues` for which a goal has come true."""
    return tuple(queue for queue in queues if GOALS[goal].reached(moment, queue))


def _known(moment: Moment, queue: str) -> list[Queue]:
    """The queue as each side that has it knows it."""
    return [side.queues[queue] for side in moment.state.sides if queue in side.queues]
