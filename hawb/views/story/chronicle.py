"""A chronicle: look up the events of an outcome by name and queue.

A loss is explained by events of its queue and of the nodes. A long story has many losses and many queues, so the lookup
must not scan all events.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from functools import cached_property
from itertools import product


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

    @cached_property
    def _places(self) -> dict[tuple[str, str | None], list[int]]:
        found: dict[tuple[str, str | None], list[int]] = {}
        for place, event in enumerate(self.events):
            found.setdefault((event["event"], event["queue"]), []).append(place)
        return found
