"""The causes of an outcome's events: `because` leads from one to the next, and each is told before what it brought
about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

AT_ONCE = ("node_killed", "node_lost_power")
"""The events that one step has for each of its nodes at the same moment."""


def causes(events: Sequence[dict], event: dict) -> Iterator[dict]:
    """What brought an event about, the nearest first."""
    while (place := event.get("because")) is not None:
        event = events[place]
        yield event


def noticed(events: Sequence[dict], event: dict) -> Iterator[dict]:
    """The causes of an event, but for what was noticed when nobody was left to do so."""
    return (cause for cause in causes(events, event) if cause["detail"].get("by") != [])


def causes_first(events: Sequence[dict]) -> Callable[[int], tuple[int, int]]:
    """Return the key that sorts places of events in the order in which to tell them. It is that of the trace, but nodes
    that went at the same moment come before what came of it: the trace has what came of one before the next one."""
    first: dict[tuple, int] = {}
    for place, event in enumerate(events):
        if event["event"] in AT_ONCE:
            first.setdefault((event["step"], event["t"]), place)

    def key(place: int) -> tuple[int, int]:
        event = events[place]
        return (first[event["step"], event["t"]] if event["event"] in AT_ONCE else place), place

    return key
