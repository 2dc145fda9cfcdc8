"""A chronicle: the events of an outcome, to be looked up by what they are and which queue they are about.

A loss is explained by what happened to its queue and to the nodes, and a long story has many losses and many queues.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from functools import cached_property
from itertools import product


class Chronicle:
    """An outcome with its events in order, sorted by name and queue when the first of them is looked up."""

    def __init__(self, outcome: dict):
        self.outcome = outcome
        self.events: list[dict] = outcome["events"]

    def places(self, names: Iterable[str], queue: str | None, since: int = 0, until: int | None = None) -> list[int]:
        """The places of the events of these names that are about a queue or about none, from `since` to before
        `until`."""
        end = len(self.events) if until is None else until
        found = []
        for key in product(names, {queue, None}):
            if places := self._places.get(key):
                found += places[bisect_left(places, since) : bisect_left(places, end)]
        return sorted(found)

    def events_of(
        self, names: Iterable[str], queue: str | None, since: int = 0, until: int | None = None
    ) -> list[dict]:
        """The events whose `places` these arguments give."""
        return [self.events[place] for place in self.places(names, queue, since, until)]

    @cached_property
    def _places(self) -> dict[tuple[str, str | None], list[int]]:
        found: dict[tuple[str, str | None], list[int]] = {}
        for place, event in enumerate(self.events):
            found.setdefault((event["event"], event["queue"]), []).append(place)
        return found
