"""The agenda of events to come: entries (time_us, priority, number, the trace entry behind it, the step behind it, the
side it belongs to, event), as `State.agenda` has them, while a turn takes some and adds others.

Events of one queue are found without looking at those of the others: a node that goes concerns every queue, and each of
them looks whether an event of its own is planned. An entry that is taken off the middle stays in the heap until it
comes to the top. A long agenda goes from turn to turn as it is (`hawb.engine.core.versions`).
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping

from hawb.engine.core import versions
from hawb.engine.core.versions import Open, Version

REACTION = 1
TIMER = 2
"""Priorities on the agenda. A timer does not keep a cluster from being settled."""

TIME_US, PRIORITY, NUMBER, CAUSE, STEP, SIDE, EVENT = range(7)
"""The places of an entry."""


class Plan(Open[int, tuple]):
    """The entries of a long agenda by their numbers, and the agenda that has them in order, once a turn needs it."""

    __slots__ = ("agenda",)

    def __init__(self, entries: Mapping[int, tuple]):
        super().__init__(entries)
        self.agenda: Agenda | None = None


class Planned(Collection[tuple]):
    """The entries of a long agenda at one moment, in no order; `pending` of them are no timers."""

    __slots__ = ("pending", "version")

    def __init__(self, version: Version[int, tuple], pending: int):
        self.version = version
        self.pending = pending

    def __iter__(self) -> Iterator[tuple]:
        return iter(self.version.values())

    def __len__(self) -> int:
        return len(self.version)

    def __contains__(self, entry: object) -> bool:
        return entry in self.version.values()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Planned) and self.version == other.version

    __hash__ = None


class Agenda:
    """The entries of a turn's agenda, the next one first."""

    def __init__(self, entries: Iterable[tuple], plan: Plan | None = None):
        self._plan = plan
        self._heap = list(entries)
        # A heap of which entries were taken off the middle need not be one any more.
        heapq.heapify(self._heap)
        self._pending = sum(entry[PRIORITY] != TIMER for entry in self._heap)
        self._gone: set[int] = set()
        self._of_queue: dict[str | None, dict[int, tuple]] | None = None

    def __iter__(self) -> Iterator[tuple]:
        return (entry for entry in self._heap if entry[NUMBER] not in self._gone)

    def __len__(self) -> int:
        return len(self._heap) - len(self._gone)

    @property
    def settled(self) -> bool:
        """Whether only timers are left."""
        return self._pending == 0

    @property
    def next_time_us(self) -> int | None:
        """When the next event is due; None when nothing will happen."""
        heap = self._heap
        while heap and heap[0][NUMBER] in self._gone:
            self._gone.discard(heapq.heappop(heap)[NUMBER])
        return heap[0][TIME_US] if heap else None

    @property
    def next_event(self) -> object:
        """What happens next; None when nothing will."""
        return None if self.next_time_us is None else self._heap[0][EVENT]

    def add(self, entry: tuple) -> None:
        """Adds an entry."""
        heapq.heappush(self._heap, entry)
        self._pending += entry[PRIORITY] != TIMER
        if self._plan is not None:
            self._plan[entry[NUMBER]] = entry
        if self._of_queue is not None:
            self._of_queue.setdefault(queue_of(entry), {})[entry[NUMBER]] = entry

    def take(self) -> tuple:
        """Takes the next entry off and returns it. Raises IndexError when nothing is left."""
        if self.next_time_us is None:
            raise IndexError("nothing is planned")
        entry = heapq.heappop(self._heap)
        self._forget(entry)
        return entry

    def remove(self, entry: tuple) -> None:
        """Takes an entry off, wherever it stands."""
        self._gone.add(entry[NUMBER])
        self._forget(entry)

    def of_queue(self, name: str | None) -> list[tuple]:
        """The entries of a queue's events (None: of events of no queue), in the order of their numbers."""
        if self._of_queue is None:
            self._of_queue = {}
            for entry in sorted(self, key=lambda entry: entry[NUMBER]):
                self._of_queue.setdefault(queue_of(entry), {})[entry[NUMBER]] = entry
        return list(self._of_queue.get(name, {}).values())

    def of_event(self, event: object) -> list[tuple]:
        """All entries of an event."""
        return [entry for entry in self.of_queue(getattr(event, "queue", None)) if entry[EVENT] == event]

    def closed(self, before: Collection[tuple]) -> Collection[tuple]:
        """Return the entries for the next moment, `before` being those of the moment before. The turn that closes a
        long agenda writes to it no more."""
        if len(self) <= versions.SMALL:
            return tuple(self)
        if self._plan is not None and isinstance(before, Planned):
            return Planned(before.version.followed_by(self._plan), self._pending)
        self._plan = Plan({entry[NUMBER]: entry for entry in self})
        self._plan.agenda = self
        return Planned(Version(self._plan), self._pending)

    def _forget(self, entry: tuple) -> None:
        self._pending -= entry[PRIORITY] != TIMER
        if self._plan is not None:
            del self._plan[entry[NUMBER]]
        if self._of_queue is not None:
            del self._of_queue[queue_of(entry)][entry[NUMBER]]


def opened(entries: Collection[tuple]) -> Agenda:
    """Return the agenda of a moment for a turn to write to."""
    if not isinstance(entries, Planned):
        return Agenda(entries)
    plan = entries.version.open()
    assert isinstance(plan, Plan)
    if plan.agenda is None:
        plan.agenda = Agenda(plan.values(), plan)
    return plan.agenda


def only_timers(entries: Collection[tuple]) -> bool:
    """Return True if only timers are left of a moment's agenda."""
    if isinstance(entries, Planned):
        return not entries.pending
    return all(entry[PRIORITY] == TIMER for entry in entries)


def queue_of(entry: tuple) -> str | None:
    """The queue that an entry's event is about, if it is about one."""
    return getattr(entry[EVENT], "queue", None)
