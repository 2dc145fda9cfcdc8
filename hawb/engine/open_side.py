"""A side's records while a turn writes to them."""

from __future__ import annotations

from copy import copy

from hawb.engine.state import Queue, Side


class OpenSide:
    """A side while a turn writes to it."""

    def __init__(self, side: Side):
        self.number = side.number
        self.policies = side.policies
        self.operator_policies = side.operator_policies
        self.queues = dict(side.queues)
        self.exchanges = side.exchanges
        self.store = copy(side.store)
        self._before = side.queues
        self._written: set[str] = set()

    def own(self, name: str) -> Queue:
        """A queue to be written to: the first time a copy is made of the queue in the moment before."""
        if name not in self._written:
            self._written.add(name)
            self.queues[name] = copy(self.queues[name])
        return self.queues[name]

    def frozen(self) -> Side:
        """The side as a value; unchanged queues are the very values of the moment before."""
        queues = dict(self.queues)
        for name in self._written & queues.keys():
            before = self._before.get(name)
            queues[name] = before if before == queues[name] else queues[name]
        self._written.clear()
        return Side(self.number, self.policies, self.operator_policies, queues, self.exchanges, copy(self.store))
