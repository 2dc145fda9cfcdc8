"""Find the causes of an outcome's events, and order events so that each cause comes before its effects.

The field `because` of an event is the place of its cause.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

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
