"""Write the trace of a turn.

Messages of clients with a rate come and go in many small parts. Their entries are merged until another entry about the
same queue is written, or the trace is read.
"""

from __future__ import annotations

from msgspec import Struct

from hawb.engine.core import runs
from hawb.engine.core.trace import Entry

OF_NO_STEP = -1
"""The step of entries about flows, which belong to no step."""


class TraceWriter:
    """The trace entries of a turn, numbered from `first` on."""

    def __init__(self, first: int):
        self.entries: list[Entry] = []
        self._first = first
        self._flows = FlowTrace()

    def write(
        self, now_us: int, step: int, event: str, node: int, queue: str | None, detail: dict, because: int | None
    ) -> int:
        """Write an entry, after the merged entries about its queue, and return its number.

        Runs become lists, as in outcomes.
        """
        if queue is not None and self._flows.pending:
            self.end_flows(now_us, queue)
        number = self._first + len(self.entries)
        plain = {key: runs.as_lists(value) if key == "ids" else value for key, value in detail.items()}
        self.entries.append(Entry(number, now_us, step, event, node, queue, plain, because))
        return number

    def flow(self, event: str, node: int, queue: str, detail: dict) -> None:
        """Merge an entry about a flow into the one that says the same of other messages."""
        self._flows.add(event, node, queue, detail)

    def end_flows(self, now_us: int, queue: str | None = None) -> None:
        """Write the merged entries about a queue (None: about all queues)."""
        for entry in self._flows.take(queue):
            self.write(now_us, OF_NO_STEP, entry.event, entry.node, entry.queue, entry.detail, None)


class MergedEntry(Struct):
    """A merged entry that is not written yet."""

    event: str
    node: int
    queue: str
    detail: dict[str, object]


class FlowTrace:
    """The merged entries that are not written yet."""

    def __init__(self) -> None:
        self.pending: dict[tuple, MergedEntry] = {}

    def add(self, event: str, node: int, queue: str, detail: dict[str, object]) -> None:
        """Add messages to the entry that is otherwise equal, or begin an entry."""
        rest = tuple(str(value) for field, value in detail.items() if field not in SUMS)
        entry = self.pending.setdefault((event, node, queue, *rest), MergedEntry(event, node, queue, {}))
        grown = SUMS.keys() & entry.detail.keys()
        entry.detail |= detail | {field: SUMS[field](entry.detail[field], detail[field]) for field in grown}

    def take(self, queue: str | None = None) -> list[MergedEntry]:
        """Remove and return the entries of a queue (None: of all queues), in the order in which they began."""
        if not self.pending:
            return []
        taken = {key: entry for key, entry in self.pending.items() if queue in (None, entry.queue)}
        for key in taken:
            del self.pending[key]
        return list(taken.values())


SUMS = {
    "ids": runs.union,
    "redelivered": lambda had, more: runs.as_lists(runs.normal(map(tuple, (*had, *more)))),
    "bytes_replicated": lambda had, more: had + more,
}
"""Fields that are added up when entries are merged. All other fields must be equal."""
