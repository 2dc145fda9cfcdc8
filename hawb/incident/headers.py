"""Parse the head of a broker's log line: time, level and process, in each format that releases have used.

| since | how a message begins |
|---|---|
| 3.9 | `2026-11-27 08:55:31.694468+00:00 [info] <0.400.0> `, before each of its lines |
| 3.7 | `2026-11-27 08:55:31.694 [info] <0.400.0> `, before the first one |
| before | `=INFO REPORT==== 27-Nov-2026::08:55:31 ===`, a line of its own |
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any, NamedTuple

TIME = r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:\d\d)?"
LEVEL = r"\[(?P<level>\w+)\[?\]"
"""A level; a bracket within it remains if a viewer removed the end of a colour sequence."""
PID = r"(?P<pid><[\d.]+>)(?: |$)"
HEADER = re.compile(rf"(?P<time>{TIME}) (?:{LEVEL} (?:{PID})?|=(?P<report>[A-Z ]+)REPORT=+)")
"""Head of a line since 3.7, and in lager's crash log."""
REPORT = re.compile(
    r"=(?P<report>[A-Z ]+)REPORT==== (?P<time>\d{1,2}-[A-Z][a-z]{2}-\d{4}::\d\d:\d\d:\d\d(?:\.\d+)?) ===\s*"
)
"""Line before a message of 3.6 and older, and of Erlang's own reports."""
BARE = re.compile(
    rf"(?:\d\d:\d\d:\d\d(?:[.,]\d+)? )?(?:{LEVEL} {PID}|\[(?P<alone>debug|info|notice|warning|error|critical)\] +)"
)
"""The same without a date, if a wrapping has the time or there is none: a time of day has no date."""
FINE = re.compile(r"[.,]\d{4}")
"""In a time that is as fine as RabbitMQ's since 3.9."""
FRACTION = re.compile(r"([.,]\d{1,6})\d*")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
OF_ERLANG = re.compile(r"(\d{1,2})-([A-Z][a-z]{2})-(\d{4})::(.*)")
DIGITS = 16
"""Number of digits of a time since 1970 in microseconds."""


class Head(NamedTuple):
    """The head of a line, as written; `said` is the text that follows.

    `fine` is True if the other lines of the message have the same head.
    """

    time: str
    level: str
    pid: str
    said: str
    fine: bool


def head(text: str) -> Head | None:
    """Return the head of a line; None if it has no time in a broker's format."""
    found = HEADER.match(text)
    if found:
        pid, time = found["pid"] or "", found["time"]
        fine = bool(pid) and FINE.search(time) is not None
        return Head(time, found["level"] or found["report"], pid, text[found.end() :], fine)
    if text.startswith("=") and (found := REPORT.match(text)):
        return Head(found["time"], found["report"], "", text[found.end() :], False)
    return None


def moment(text: str) -> datetime | None:
    """Parse a time in RFC 3339 or Erlang's format, to the microsecond; None if it is none."""
    plain = FRACTION.sub(lambda found: "." + found[1][1:], text, count=1).replace(" UTC", "+00:00")
    try:
        return datetime.fromisoformat(plain)
    except ValueError:
        found = OF_ERLANG.fullmatch(plain)
        return of_day(int(found[3]), found[2], int(found[1]), found[4]) if found else None


def of_day(year: int, month: str, day: int, clock: str) -> datetime | None:
    """Return a time of a day whose month is given in three letters; None if it is none."""
    return moment(f"{year}-{MONTHS.index(month) + 1:02}-{day:02} {clock}") if month in MONTHS else None


def without_year(text: str, last: datetime) -> datetime | None:
    """Parse a time such as `Nov 27 08:47:15`: the last such day that is not after `last`."""
    month, day, clock = text.split()
    for year in (last.year, last.year - 1):
        if at := of_day(year, month, int(day), clock):
            at = at.replace(tzinfo=last.tzinfo)
            if at <= last + timedelta(days=1):
                return at
    return None


def micros_since_1970(value: Any) -> int | None:
    """Return a number of seconds since 1970, or of a unit that its digits show, in microseconds; None if it is none."""
    if isinstance(value, str) and value.isdecimal() and DIGITS - 7 <= len(value) <= DIGITS + 4:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    more = DIGITS - len(str(int(abs(value))))
    return round(value * 10**more) if more >= 0 else int(value) // 10**-more
