"""Times of logs for readers: in UTC, by the clock to which all other clocks were adjusted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hawb.incident.asked import Asked
from hawb.views.formatting import left

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY = len("2026-11-27")


def moment(at_us: int) -> str:
    """Return a time to the millisecond, with its day: 2026-11-27 08:55:23.659."""
    try:
        return (EPOCH + timedelta(microseconds=at_us)).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    except OverflowError:
        return f"{at_us} µs"


def day(at_us: int) -> str:
    """Return the day of a time: 2026-11-27."""
    return moment(at_us)[:DAY]


def time_of_day(at_us: int) -> str:
    """Return a time to the second, without its day: 08:55:23."""
    return moment(at_us)[DAY + 1 : -4]


def date_and_time(at_us: int) -> str:
    """Return a time to the second, with its day: 2026-11-27 08:55:23."""
    return f"{day(at_us)} {time_of_day(at_us)}"


def between(span: Asked) -> str:
    """Return a phrase for the span that the user asked for, such as " from … until …"; "" for everything."""
    since = "" if span.since_us is None else f" from {date_and_time(span.since_us)} on"
    until = "" if span.until_us is None else f" until {date_and_time(span.until_us)}"
    return f"{since.removesuffix(' on') if until else since}{until}"


def lasted(duration_us: int) -> str:
    """Return a duration: 40 ms, 1.3 s, 40 s, 12 min."""
    if duration_us < 1_000_000:
        return f"{duration_us / 1000:.0f} ms"
    return f"{duration_us / 1e6:.1f} s" if duration_us < 10_000_000 else left(duration_us / 1e6)
