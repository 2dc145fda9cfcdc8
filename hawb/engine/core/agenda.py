"""The agenda: scheduled events, ordered by time.

An entry is (time_us, priority, number, trace entry that caused it, step that caused it, side, event), as in
`State.agenda`. The events of one queue are found without a search through those of all queues, since a node that stops
concerns each queue. An entry that is removed from the middle stays in the heap until it reaches the top. A long agenda
is handed from turn to turn (`hawb.engine.core.versions`).
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping

from hawb.engine.core import versions
from hawb.engine.core.versions import Open, Version

REACTION = 1
TIMER = 2
"""Priorities on the agenda. A cluster with nothing but timers on its agenda is settled."""

TIME_US, PRIORITY, NUMBER, CAUSE, STEP, SIDE, EVENT = range(7)
"""Indices into an entry."""


class Plan(Open[int, tuple]):
    """The entries of a long agenda by number, with the `Agenda` that orders them once a turn needs it."""

    __slots__ = ("agenda",)

    def __init__(self, entries: Mapping[int, tuple]):
        super().__init__(entries)
        self.agenda: Agenda | None = None


class Planned(Collection[tuple]):
    """The unsorted entries of a long agenda at one moment. `pending` is the number of entries other than timers."""

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
    """The agenda of a turn, the next entry first."""

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
    def pending(self) -> int:
        """Return how many entries are not timers."""
        return self._pending

    @property
    def settled(self) -> bool:
        """Return True if nothing but timers is left."""
        return self._pending == 0

    @property
    def next_time_us(self) -> int | None:
        """Return the time of the next event; None if the agenda is empty."""
        heap = self._heap
        while heap and heap[0][NUMBER] in self._gone:
            self._gone.discard(heapq.heappop(heap)[NUMBER])
        return heap[0][TIME_US] if heap else None

    @property
    def next_event(self) -> object:
        """Return the next event; None if the agenda is empty."""
        return None if self.next_time_us is None else self._heap[0][EVENT]

    def next_time_besides_us(self, entries: Iterable[tuple]) -> int | None:
        """Return the time of the next event that is not of these entries; None if there is no other."""
        passed_over = {entry[NUMBER] for entry in entries}
        heap, places, found = self._heap, [0], None
        while places:
            place = places.pop()
            if place >= len(heap):
                continue
            time_us, number = heap[place][TIME_US], heap[place][NUMBER]
            if number in passed_over or number in self._gone:
                places += [2 * place + 1, 2 * place + 2]
            elif found is None or time_us < found:
                found = time_us
        return found

    def add(self, entry: tuple) -> None:
        """Add an entry."""
        heapq.heappush(self._heap, entry)
        self._pending += entry[PRIORITY] != TIMER
        if self._plan is not None:
            self._plan[entry[NUMBER]] = entry
        if self._of_queue is not None:
            self._of_queue.setdefault(queue_of(entry), {})[entry[NUMBER]] = entry

    def take(self) -> tuple:
        """Remove the next entry and return it. Raise IndexError if the agenda is empty."""
        if self.next_time_us is None:
            raise IndexError("nothing is planned")
        entry = heapq.heappop(self._heap)
        self._forget(entry)
        return entry

    def remove(self, entry: tuple) -> None:
        """Remove an entry, wherever it stands."""
        self._gone.add(entry[NUMBER])
        self._forget(entry)

    def of_queue(self, name: str | None) -> list[tuple]:
        """Return the entries of a queue's events (None: of events without a queue), ordered by number."""
        if self._of_queue is None:
            self._of_queue = {}
            for entry in sorted(self, key=lambda entry: entry[NUMBER]):
                self._of_queue.setdefault(queue_of(entry), {})[entry[NUMBER]] = entry
        return list(self._of_queue.get(name, {}).values())

    def of_event(self, event: object) -> list[tuple]:
        """Return all entries of an event."""
        return [entry for entry in self.of_queue(getattr(event, "queue", None)) if entry[EVENT] == event]

    def closed(self, before: Collection[tuple]) -> Collection[tuple]:
        """Return the entries for the next moment; `before` are those of the moment before.

        The turn that closes a long agenda must not write to it any more.
        """
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
            of_queue = self._of_queue[queue_of(entry)]
            del of_queue[entry[NUMBER]]
            if not of_queue:
                del self._of_queue[queue_of(entry)]


def opened(entries: Collection[tuple]) -> Agenda:
    """Return the agenda of a moment, for a turn to write to."""
    if not isinstance(entries, Planned):
        return Agenda(entries)
    plan = entries.version.open()
    assert isinstance(plan, Plan)
    if plan.agenda is None:
        plan.agenda = Agenda(plan.values(), plan)
    return plan.agenda


def only_timers(entries: Collection[tuple]) -> bool:
    """Return True if a moment's agenda has nothing but timers."""
    if isinstance(entries, Planned):
        return not entries.pending
    return all(entry[PRIORITY] == TIMER for entry in entries)


def queue_of(entry: tuple) -> str | None:
    """Return the queue of an entry's event; None if the event has none."""
    return getattr(entry[EVENT], "queue", None)
