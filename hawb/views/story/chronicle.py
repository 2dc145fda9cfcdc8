"""Look up the events of an outcome by name and queue (`Chronicle`), and follow each event to its causes.

A loss is explained by events of its queue and of the nodes. A long story has many losses and many queues, so the lookup
must not scan all events. The field `because` of an event is the place of its cause.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from heapq import merge
from itertools import product

COMING, GOING = ("node_running",), ("node_stopped", "node_killed", "node_lost_power", "node_paused")
"""The events after which a node runs, and those after which it does not."""


class Chronicle:
    """An outcome with its events in order, indexed by name and queue at the first lookup."""

    def __init__(self, outcome: dict):
        self.outcome = outcome
        self.events: list[dict] = outcome["events"]

    def places(self, names: Iterable[str], queue: str | None, since: int = 0, until: int | None = None) -> list[int]:
        """Return the sorted places of events with these names, about `queue` or about no queue.

        `since` is the first place that counts, `until` the first that does not.
        """
        end = len(self.events) if until is None else until
        found = []
        for key in product(names, {queue, None}):
            if places := self._places.get(key):
                found += places[bisect_left(places, since) : bisect_left(places, end)]
        return sorted(found)

    def events_of(
        self, names: Iterable[str], queue: str | None, since: int = 0, until: int | None = None
    ) -> list[dict]:
        """Return the events at the `places` that these arguments give."""
        return [self.events[place] for place in self.places(names, queue, since, until)]

    def latest(self, names: Iterable[str], queue: str | None, until: int | None = None) -> Iterator[dict]:
        """Yield the events at the `places` that these arguments give, the last one first."""
        end = len(self.events) if until is None else until
        lists = [places for key in product(names, {queue, None}) if (places := self._places.get(key))]
        backwards = [map(places.__getitem__, range(bisect_left(places, end) - 1, -1, -1)) for places in lists]
        return (self.events[place] for place in merge(*backwards, reverse=True))

    @cached_property
    def others_running(self) -> dict[int, list[str]]:
        """The other running nodes at each event after which a node runs, by the place of the event."""
        changes = [(place, self.events[place]) for place in self.places((*COMING, *GOING), None)]
        runs = {name: state == "running" for name, state in self.outcome["nodes"].items()}
        runs |= {event["node"]: event["event"] in GOING for _, event in reversed(changes)}
        found = {}
        for place, event in changes:
            if event["event"] in COMING:
                found[place] = [name for name, running in runs.items() if running and name != event["node"]]
            runs[event["node"]] = event["event"] in COMING
        return found

    @cached_property
    def _places(self) -> dict[tuple[str, str | None], list[int]]:
        found: dict[tuple[str, str | None], list[int]] = {}
        for place, event in enumerate(self.events):
            found.setdefault((event["event"], event["queue"]), []).append(place)
        return found


AT_ONCE = ("node_killed", "node_lost_power")
"""Events that one step causes on each of its nodes at the same simulated time."""


def causes(events: Sequence[dict], event: dict) -> Iterator[dict]:
    """Yield the causes of an event, nearest first."""
    while (place := event.get("because")) is not None:
        event = events[place]
        yield event


def noticed(events: Sequence[dict], event: dict) -> Iterator[dict]:
    """Yield the causes of an event, nearest first, without failure detections that reached no node (empty `by`)."""
    return (cause for cause in causes(events, event) if cause["detail"].get("by") != [])


def causes_first(events: Sequence[dict]) -> Callable[[int], tuple[int, int]]:
    """Return a sort key that puts the places of events into the order in which a story lists them.

    The order is that of the trace, except that nodes which one step stops at the same time come before the effects: the
    trace has the effects of the first node's end before the end of the second node.
    """
    first: dict[tuple, int] = {}
    for place, event in enumerate(events):
        if event["event"] in AT_ONCE:
            first.setdefault((event["step"], event["t"]), place)

    def key(place: int) -> tuple[int, int]:
        event = events[place]
        return (first[event["step"], event["t"]] if event["event"] in AT_ONCE else place), place

    return key
