"""The chain of causes of an outcome's event: `because` leads from one to the next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def causes(events: Sequence[dict], event: dict) -> Iterator[dict]:
    """What brought an event about, the nearest first."""
    while (place := event.get("because")) is not None:
        event = events[place]
        yield event


def noticed(events: Sequence[dict], event: dict) -> Iterator[dict]:
    """The causes of an event, but for what was noticed when nobody was left to do so."""
    return (cause for cause in causes(events, event) if cause["detail"].get("by") != [])
