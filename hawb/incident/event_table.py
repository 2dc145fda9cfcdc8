"""Events and spans as tables of Spark's and Arrow's: the columns, and rows of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_type_hints

import pyarrow as pa

from hawb.incident import spans
from hawb.incident.events import Event, columns
from hawb.incident.spans import Span
from hawb.study.tables import NUMBER, TEXT, TEXTS, TRUTH, WHOLE, Column, Table

AT = "at"
TYPES = {
    str: TEXT, str | None: TEXT, int: WHOLE, int | None: WHOLE, tuple[str, ...]: TEXTS, float: NUMBER, bool: TRUTH,
    bool | None: TRUTH,
}  # fmt: skip
"""Column type for each field type."""
OF_FIELDS = {name: kind for name, kind in get_type_hints(Event).items() if name != "at_us"}

LOG_EVENTS = Table(
    "log-events", "A row for each event: the content of one log message of one node.",
    (
        Column(AT, pa.timestamp("us", tz="UTC"), "the time at which the node logged the message, by its own clock"),
        *(Column(name, TYPES[kind], columns()[name]) for name, kind in OF_FIELDS.items()),
    ),
)  # fmt: skip
"""Columns of events; `at` stands for `at_us`."""

SPANS = Table(
    "spans", "A row for each duration in the logs of a cluster.",
    tuple(Column(name, TYPES[kind], spans.columns()[name]) for name, kind in get_type_hints(Span).items()),
)  # fmt: skip
"""Columns of spans (`hawb.incident.spans`)."""


def rows(events: Sequence[Event]) -> pa.RecordBatch:
    """Return events as rows of the table."""
    schema = LOG_EVENTS.arrow
    values = [[event.at_us for event in events], *([getattr(event, name) for event in events] for name in OF_FIELDS)]
    arrays = [pa.array(column, schema.field(place).type) for place, column in enumerate(values)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def events_of(table: pa.Table) -> list[Event]:
    """Return the events in rows of the table, as Spark passes them."""
    at_us = table[AT].cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).to_pylist()
    values = [table[name].to_pylist() for name in OF_FIELDS]
    rows = (dict(zip(OF_FIELDS, row, strict=True)) for row in zip(*values, strict=True))
    return [Event(at_us=at, **row | {"nodes": tuple(row["nodes"] or ())}) for at, row in zip(at_us, rows, strict=True)]
