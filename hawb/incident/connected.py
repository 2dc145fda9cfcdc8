"""Count the connections of each node over time, as far as the logs show.

A node logs each connection that it accepts and each that ends; no log records the connections that end with their node.
Users and addresses are confidential and not read, so connections are only counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hawb.incident.clocks import settled_us
from hawb.incident.doubts import Doubt
from hawb.incident.reading import Reading
from hawb.incident.step_context import TimedStep
from hawb.scenario import verbs

CAME, WENT = ("connection_accepted",), ("connection_closed", "connection_failed")


class Change(NamedTuple):
    """A node's connections from a moment on."""

    at_us: int
    node: str
    count: int


def changes(reading: Reading) -> list[Change]:
    """Return how many connections each node had at each change, in order of time."""
    count: dict[str, int] = {}
    found = []
    for event in reading.events:
        if event.kind == "node_starting":
            count[event.node] = 0
        elif event.kind in (*CAME, *WENT):
            count[event.node] = max(0, count.get(event.node, 0) + (1 if event.kind in CAME else -1))
        else:
            continue
        found.append(Change(settled_us(event, reading.clocks), event.node, count[event.node]))
    return found


def connected(changes: Sequence[Change], from_us: int, until_us: int) -> bool:
    """Return True if the logs show a connected client at some time in a span."""
    open_: dict[str, int] = {}
    for change in changes:
        if change.at_us > until_us:
            break
        if change.at_us > from_us and (change.count or any(open_.values())):
            return True
        open_[change.node] = change.count
    return until_us > from_us and any(open_.values())


def steps(changes: Sequence[Change], begins_us: int, ends_us: int, queue: str) -> Iterator[TimedStep]:
    """Yield the connections of a scenario as steps without publishes: autoheal counts connections.

    Connections that had ended when the scenario begins are left out.
    """
    found = [*_opened_and_closed(changes, begins_us, queue)]
    closed = {verb.name for at_us, verb in found if at_us <= begins_us and isinstance(verb, verbs.Close)}
    for at_us, verb in found:
        name = verb.name if isinstance(verb, verbs.Close) else verb.connection
        if name not in closed and at_us <= ends_us:
            yield TimedStep(at_us, verb, ())


def _opened_and_closed(
    changes: Sequence[Change], begins_us: int, queue: str
) -> Iterator[tuple[int, verbs.Publish | verbs.Close]]:
    """Yield the opening and closing of connections; the connection opened last is closed first."""
    open_: dict[str, list[str]] = {}
    number = 0
    for change in changes:
        here = open_.setdefault(change.node, [])
        at_us = max(change.at_us, begins_us)
        while len(here) < change.count:
            number += 1
            here.append(f"client {number}")
            yield at_us, verbs.Publish(queue=queue, count=0, node=change.node, connection=here[-1])
        while len(here) > change.count:
            yield at_us, verbs.Close(here.pop())


def doubts(changes: Sequence[Change], logged: bool, from_us: int, until_us: int) -> Iterator[Doubt]:
    """Yield the doubts about clients: it is unknown if there were any, or what those that were connected did.

    `logged` is True if the logs record connections.
    """
    if not logged:
        yield Doubt(kind="clients_untold", from_us=from_us, until_us=until_us)
    elif connected(changes, from_us, until_us):
        yield Doubt(kind="clients", from_us=from_us, until_us=until_us)


def is_logged(reading: Reading) -> bool:
    """Return True if these logs record connections at all."""
    return any(event.kind in CAME for event in reading.events)
