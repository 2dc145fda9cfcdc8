"""What a side knows, while a turn writes to it."""

from __future__ import annotations

from hawb.engine.state import Side


class Records:
    """A side while a turn writes to it."""

    def __init__(self, side: Side):
        self.number = side.number
        self.policies = side.policies
        self.operator_policies = side.operator_policies
        self.queues = dict(side.queues)
        self.exchanges = side.exchanges

    def frozen(self) -> Side:
        """The side as a value."""
        return Side(self.number, self.policies, self.operator_policies, self.queues, self.exchanges)
