"""Trace entries about clients with a rate, put together.

Their messages come and go one by one, and each time that the engine takes in what flowed it would have something to
tell. Such entries are put together until another entry about the same queue is written, or somebody looks.
"""

from __future__ import annotations

from msgspec import Struct

from hawb.engine.core import runs


class Told(Struct):
    """An entry of the trace in the making."""

    event: str
    node: int
    queue: str
    detail: dict[str, object]


class FlowTrace:
    """Entries that are not written yet."""

    def __init__(self) -> None:
        self.pending: dict[tuple, Told] = {}

    def add(self, event: str, node: int, queue: str, detail: dict[str, object]) -> None:
        """Adds messages to an entry that says the same of others, or begins an entry."""
        rest = tuple(str(value) for field, value in detail.items() if field not in SUMS)
        told = self.pending.setdefault((event, node, queue, *rest), Told(event, node, queue, {}))
        grown = SUMS.keys() & told.detail.keys()
        told.detail |= detail | {field: SUMS[field](told.detail[field], detail[field]) for field in grown}

    def take(self, queue: str | None = None) -> list[Told]:
        """Takes out the entries of a queue (None: all), in the order in which they began."""
        if not self.pending:
            return []
        taken = {key: told for key, told in self.pending.items() if queue in (None, told.queue)}
        for key in taken:
            del self.pending[key]
        return list(taken.values())


SUMS = {
    "ids": runs.union,
    "redelivered": lambda had, more: runs.as_lists(runs.normal(map(tuple, (*had, *more)))),
    "bytes_replicated": lambda had, more: had + more,
}
"""Fields of an entry that grow with it; all others have to be the same."""
