"""Invented incidents: log events and cluster events, with times in seconds since the beginning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hawb.incident.cluster_event import ClusterEvent
from hawb.incident.events import Event
from hawb.incident.reconstruction import Reconstruction
from hawb.scenario.load import load

BEGINS_US = 1_000_000_000


def event(at_s: float, node: str, kind: str, **fields: Any) -> Event:
    """Return the event of a log message of a node."""
    return Event(at_us=us(at_s), node=node, kind=kind, **fields)


def occurred(at_s: float, kind: str, node: str | None = None, queue: str | None = None, **fields: Any) -> ClusterEvent:
    """Return a cluster event; `by` is the node that logged it."""
    by = fields.pop("by", node) or "a"
    return ClusterEvent(kind=kind, at_us=us(at_s), node=node, queue=queue, events=(event(at_s, by, kind),), **fields)


def us(at_s: float) -> int:
    """Return a moment of the story in microseconds since 1970."""
    return BEGINS_US + round(at_s * 1_000_000)


def reconstruction_of(
    scenario: str, *sources: tuple[ClusterEvent, ...], doubts: tuple = (), depths: Mapping[str, int] | None = None
) -> Reconstruction:  # fmt: skip
    """Return a scenario's text as a reconstructed story; `depths` are of a listing made afterwards."""
    read = load(scenario)
    rows = tuple(sources[place] if place < len(sources) else () for place in range(len(read.steps)))
    return Reconstruction(read, BEGINS_US, us(read.steps[-1].at or 0), rows, doubts, depths or {})
