"""The time span that a user asks about, in logs that cover more: months of them, and one incident.

    from hawb.incident.asked import when
    understand([Path("logs/")], since=when("2026-11-27 08:50"), until=when("09:10"))

All lines are read, because running nodes, the places of queues, clock offsets and connections follow from earlier
lines. The scenario that is made and played covers the span (`hawb.incident.within`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from msgspec import Struct
from msgspec.structs import replace

from hawb.incident.clocks import settled_us
from hawb.incident.reading import Reading

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CLOCK = r"\d\d:\d\d(:\d\d([.,]\d{1,9})?)?( ?(Z|[+-]\d\d:\d\d))?"
FORMS = (
    (re.compile(r"\d{4}-\d\d-\d\d"), date),
    (re.compile(rf"\d{{4}}-\d\d-\d\d[T ]{CLOCK}"), datetime),
    (re.compile(CLOCK), time),
)
"""Accepted forms of a time, and their types."""
ACCEPTED = (
    "a day (2026-11-27), a time (2026-11-27 08:55:23; with Z or +01:00, if it has a zone) or a time of day (08:55)"
)
DAYS = 3
"""Number of days, the first of which may begin late, in which a time of day occurs twice and is ambiguous."""


class SpanRefused(ValueError):  # noqa: N818 - it reads as what happened
    """A span outside of the logs, or an ambiguous time; its text says which option and why."""


class When(Struct, frozen=True):
    """A time as a user writes it: its `text`, and its value; without a zone it is in that of the logs."""

    text: str
    at: datetime | date | time


class Asked(Struct, frozen=True):
    """The span asked about, in microseconds since 1970 by the reference clock, both ends included.

    An end is None if the span has no limit there.
    """

    since_us: int | None = None
    until_us: int | None = None

    def __contains__(self, at_us: int) -> bool:
        return self.has_begun_by(at_us) and not self.is_over(at_us)

    def has_begun_by(self, at_us: int) -> bool:
        """Return True unless a time is before the start of the span."""
        return self.since_us is None or at_us >= self.since_us

    def is_over(self, at_us: int) -> bool:
        """Return True if a time is after the span."""
        return self.until_us is not None and at_us > self.until_us

    def of(self, reading: Reading) -> Reading:
        """Return the logs with only the events of the span."""
        if self == WHOLE:
            return reading
        return replace(reading, events=[one for one in reading.events if settled_us(one, reading.clocks) in self])


WHOLE = Asked()
"""All that the logs have."""


def when(text: str) -> When:
    """Parse a time as a user writes it. Raise ValueError, with the accepted forms, if it is none."""
    said = text.strip()
    kind = next((kind for form, kind in FORMS if form.fullmatch(said)), None)
    try:
        if kind is not None:
            return When(text, kind.fromisoformat(re.sub(r" (?=[Z+-])", "", said).replace(",", ".")))
    except ValueError:
        pass
    raise ValueError(f"{text!r} is not a time; accepted: {ACCEPTED}")


def asked(since: When | None, until: When | None, zone: tzinfo = UTC, reading: Reading | None = None) -> Asked:
    """Return the span between two times; a date stands for all hours of that day.

    A time of day is that of the only day on which the logs have it, or of the first after `since`. Raise SpanRefused if
    there is no such time or the span is empty.
    """
    ends = None
    if reading is not None and reading.events:
        ends = tuple(settled_us(reading.events[place], reading.clocks) for place in (0, -1))
    since_us = None if since is None else _moment("--since", since, zone, ends, None)
    until_us = None if until is None else _moment("--until", until, zone, ends, since_us)
    if since and until and since_us is not None and until_us is not None and until_us <= since_us:
        raise SpanRefused(f"--until: {until.text} is not later than --since; accepted: a time after {since.text}")
    if ends and since and since_us is not None and since_us > ends[1]:
        raise SpanRefused(f"--since: {since.text} is after the end of all logs; accepted: up to {_as_text(ends[1])}")
    if ends and until and until_us is not None and until_us < ends[0]:
        start = _as_text(ends[0])
        raise SpanRefused(f"--until: {until.text} is before the start of all logs; accepted: from {start} on")
    return Asked(since_us, until_us)


def _moment(option: str, given: When, zone: tzinfo, ends: tuple[int, ...] | None, since_us: int | None) -> int:
    """Return a time in microseconds since 1970."""
    at = given.at
    if isinstance(at, datetime):
        return _us(at, zone)
    if isinstance(at, date):
        return _us(datetime.combine(at, time.min if option == "--since" else time.max), zone)
    if since_us is not None:
        same, next_us, *_ = _days(at, zone, since_us)
        return next_us if same <= since_us and (ends is None or next_us <= ends[1]) else same
    found = [*_days(at, zone, ends[0])] if ends else []
    within = [at_us for at_us in found if ends and ends[0] <= at_us <= ends[1]]
    if ends and _day(ends[0], zone) == _day(ends[1], zone):
        within = found[:1]
    if len(within) != 1:
        where = f"the logs go from {_as_text(ends[0])} to {_as_text(ends[1])}" if ends else "there is more than one log"
        raise SpanRefused(f"{option}: {given.text} has no date, and {where}; accepted: 2026-11-27 {given.text}")
    return within[0]


def _days(at: time, zone: tzinfo, from_us: int) -> Iterator[int]:
    """Yield a time of day on a day and on the days after it."""
    for later in range(DAYS):
        yield _us(datetime.combine(_day(from_us, zone) + timedelta(days=later), at), zone)


def _day(at_us: int, zone: tzinfo) -> date:
    return (EPOCH + timedelta(microseconds=at_us)).astimezone(zone).date()


def _us(at: datetime, zone: tzinfo) -> int:
    return ((at if at.tzinfo else at.replace(tzinfo=zone)) - EPOCH) // timedelta(microseconds=1)


def _as_text(at_us: int) -> str:
    return f"{EPOCH + timedelta(microseconds=at_us):%Y-%m-%d %H:%M:%S} UTC"
