"""A side of a partition that a turn can write to."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy

from hawb.engine.core.state import Queue, Side
from hawb.engine.core.versions import closed, opened


class MutableSide:
    """A side of a partition, opened for a turn to write to."""

    def __init__(self, side: Side):
        self.number = side.number
        self.policies = side.policies
        self.operator_policies = side.operator_policies
        self.queues = opened(side.queues)
        self.exchanges = side.exchanges
        self.store = copy(side.store)
        self._before = side.queues
        self._written: set[str] = set()

    def own(self, name: str) -> Queue:
        """Return a queue to write to: a copy of the queue of the moment before, made at the first call."""
        if name not in self._written:
            self._written.add(name)
            self.queues[name] = copy(self.queues[name])
        return self.queues[name]

    def owns(self, name: str) -> bool:
        """Return True if a queue is written to in this turn, or was before the last `snapshot`."""
        return name in self._written

    def snapshot(self) -> Side:
        """Return the side as a value, while the turn goes on."""
        self._written.clear()
        return self._with(dict(self.queues))

    def frozen(self) -> Side:
        """Return the side as a value at the end of the turn. Unchanged queues are the values of the moment before."""
        return self._with(closed(self.queues, self._before, self._written))

    def _with(self, queues: Mapping[str, Queue]) -> Side:
        return Side(self.number, self.policies, self.operator_policies, queues, self.exchanges, copy(self.store))
