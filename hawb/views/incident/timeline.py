"""The events of a cluster's logs in order of time, as a table for a terminal and as JSON values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from hawb.incident.clocks import Clock, settled_us
from hawb.incident.events import Event
from hawb.incident.reading import Reading
from hawb.views.formatting import counted, listing, shown
from hawb.views.formatting import sentence as begun
from hawb.views.incident.times import DAY, moment
from hawb.views.tables import WIDTH
from hawb.views.terminal import columns, wrapped

HEADS = ("node", "what", "about", "line")
OF_CLIENTS = ("connection_", "channel_")
"""The prefixes of kinds of events about clients; there may be thousands of these events."""
ABOUT = ("queue", "vhost", "name", "peer", "nodes", "term", "count", "release", "reason", "user", "connection")
"""The fields of an event in its row, in this order."""
USUAL = "vhost", "/"
"""The field and value that rows leave out."""
OF_FILES = ("file", "lines", "messages", "cut", "timeless", "refused", "is_log")
MOST_TEMPLATES = 10
NEAR_US = 100_000
"""Clocks that differ by no more count as equal: the two ends of a connection may log an event this far apart."""


def text(reading: Reading, clients: bool = False, width: int = WIDTH, colour: bool = False) -> str:
    """Return what logs contain: a summary, the clocks, the events, and messages that no rule recognises.

    Events of clients are listed only if `clients` is True, else counted.
    """
    events = [event for event in reading.events if clients or not event.kind.startswith(OF_CLIENTS)]
    rows = [row(event, reading.clocks) for event in events]
    days = {time[:DAY] for time, *_ in rows}
    if len(days) == 1:
        rows = [(time[DAY + 1 :], *others) for time, *others in rows]
    head = f"{days.pop()} UTC" if len(days) == 1 else "time, UTC"
    parts = ["\n".join(wrapped(one, width)) for one in (summary(reading), *notes(reading, len(events)))]
    if rows:
        parts.append(columns(rows, (head, *HEADS), width, (), colour))
    return "\n\n".join([*parts, *unknown(reading, width, colour)])


def summary(reading: Reading) -> str:
    """Return a sentence with the number of events, the nodes, and the first and last time."""
    files = counted(len(reading.files), "file")
    if not reading.events:
        return f"No event in {files}."
    first, last = (moment(settled_us(event, reading.clocks)) for event in (reading.events[0], reading.events[-1]))
    nodes = listing(shown(node) for node in sorted({event.node for event in reading.events}))
    return f"{begun(counted(len(reading.events), 'event'))} in {files}, by {nodes}, from {first} to {last}."


def notes(reading: Reading, listed: int) -> Iterator[str]:
    """Yield sentences to read before the table: about clocks, events left out, and unreadable files."""
    for clock in reading.clocks.values():
        if clock.against and abs(clock.offset_us) > NEAR_US:
            ahead = "ahead of" if clock.offset_us > 0 else "behind"
            by, other = timedelta(microseconds=abs(clock.offset_us)), shown(_reference(clock, reading.clocks))
            yield (f"The clock of {shown(clock.node)} is {by} {ahead} that of {other}, by "
                   f"{counted(clock.pairs, 'time')} that both logged the same event, within"
                   f" {clock.spread_us / 1000:.0f} ms; "
                   f"times below are those of {other}.")  # fmt: skip
    unmet = [clock.node for clock in reading.clocks.values() if clock.against is None]
    if len(unmet) > 1:
        yield f"The clocks of {listing(map(shown, unmet))} could not be compared: they logged no common event."
    if left_out := len(reading.events) - listed:
        yield f"{begun(counted(left_out, 'event'))} of clients left out; --clients lists them, with names."
    if reading.repeated:
        yield f"{begun(counted(reading.repeated, 'event'))} were in the logs more than once, and are listed once."
    for file in reading.files:
        if file.refused:
            yield f"{shown(file.file)} could not be read to the end: {shown(file.refused)}."
        if not file.is_log and file.lines:
            yield f"{shown(file.file)} is not a RabbitMQ log."
        if file.cut or file.timeless:
            yield (f"{shown(file.file)}: {counted(file.cut, 'line')} outside of messages, and "
                   f"{counted(file.timeless, 'message')} without a time.")  # fmt: skip


def _reference(clock: Clock, clocks: dict[str, Clock]) -> str:
    """Return the node whose clock was the reference for this clock."""
    while clock.against is not None:
        clock = clocks[clock.against]
    return clock.node


def row(event: Event, clocks: dict[str, Clock]) -> tuple[str, ...]:
    """Return an event as a row of the table."""
    place = f"{shown(Path(event.file).name)}:{event.line}"
    return (moment(settled_us(event, clocks)), shown(event.node), event.kind.replace("_", " "), about(event), place)


def about(event: Event) -> str:
    """Return an event's fields in words."""
    fields = [(name, getattr(event, name)) for name in ABOUT]
    return ", ".join(f"{name} {shown(', '.join(value) if isinstance(value, tuple) else value)}"
                     for name, value in fields if value not in (None, ()) and (name, value) != USUAL)  # fmt: skip


def unknown(reading: Reading, width: int = WIDTH, colour: bool = False) -> Iterator[str]:
    """Yield a sentence and a table about the most frequent messages that no rule recognises."""
    templates = reading.unknown
    if not templates:
        return
    most = [(count, level, shown(template)) for (level, template), count in templates.most_common(MOST_TEMPLATES)]
    sentence = (f"No rule recognises {counted(templates.total(), 'message')} of {counted(len(templates), 'kind')}; the"
            " most frequent, without names and numbers:")  # fmt: skip
    yield "\n".join(wrapped(sentence, width))
    yield columns(most, ("times", "level", "message"), width, (0,), colour)


def plain(reading: Reading) -> dict[str, Any]:
    """Return everything that was read as JSON values (`hawb.views.incident_answers.LogEvents`)."""
    templates: Counter[tuple[str, str]] = reading.unknown
    return {
        "events": [to_builtins(event) | {"settled_us": settled_us(event, reading.clocks)} for event in reading.events],
        "clocks": to_builtins(reading.clocks),
        "files": [{name: getattr(file, name) for name in OF_FILES} for file in reading.files],
        "unknown": [{"level": level, "template": template, "count": count}
                    for (level, template), count in sorted(templates.items())],
        "unread": to_builtins(reading.unread),
        "severe": reading.severe,
        "repeated": reading.repeated,
    }  # fmt: skip
