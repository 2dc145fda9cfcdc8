"""Parsing of the time span of a question."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from made_up_story import event

from hawb.incident.asked import WHOLE, Asked, SpanRefused, asked, when
from hawb.incident.reading import Reading

DAY_S = 86_400


def us(text: str) -> int:
    """Return a UTC time in microseconds since 1970."""
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1_000_000)


def logs(first: str, last: str) -> Reading:
    """Return logs with two events."""
    events = [event(0, "a", "node_started"), event(0, "a", "node_stopping")]
    moments = zip(events, (first, last), strict=True)
    return Reading([type(one)(**{**fields(one), "at_us": us(text)}) for one, text in moments], {}, [], 0)


def fields(one) -> dict:
    return {name: getattr(one, name) for name in one.__struct_fields__}


ONE_DAY = logs("2026-11-27T08:00:00", "2026-11-27T18:00:00")
OVER_MIDNIGHT = logs("2026-11-27T20:00:00", "2026-11-28T06:00:00")
MONTHS = logs("2026-06-01T00:00:00", "2026-11-27T18:00:00")


@pytest.mark.parametrize(
    ("given", "expected"),
    [("2026-11-27 08:55", "2026-11-27T08:55:00"), ("2026-11-27T08:55:23.659Z", "2026-11-27T08:55:23.659"),
     ("2026-11-27 08:55:23,659", "2026-11-27T08:55:23.659"), ("2026-11-27T09:55+01:00", "2026-11-27T08:55:00"),
     (" 2026-11-27 09:55:00 +01:00 ", "2026-11-27T08:55:00"), ("2026-11-27", "2026-11-27T00:00:00"),
     ("08:55", "2026-11-27T08:55:00"), ("09:55+01:00", "2026-11-27T08:55:00")],
)  # fmt: skip
def test_times_are_parsed_as_people_and_logs_write_them(given, expected):
    assert asked(when(given), None, UTC, ONE_DAY).since_us == us(expected)


@pytest.mark.parametrize("given", ["", "yesterday", "8:55", "27.11.2026", "2026-13-01", "2026-11-27 25:00", "20261127"])
def test_invalid_time_is_refused_with_accepted_forms(given):
    with pytest.raises(ValueError, match="is not a time; accepted: a day"):
        when(given)


def test_times_without_a_zone_use_that_of_the_logs():
    span = asked(when("2026-11-27 09:55"), when("10:55"), ZoneInfo("Europe/Stockholm"), ONE_DAY)
    assert (span.since_us, span.until_us) == (us("2026-11-27T08:55:00"), us("2026-11-27T09:55:00"))


def test_date_covers_the_whole_day():
    span = asked(when("2026-11-26"), when("2026-11-27"), UTC, MONTHS)
    assert us("2026-11-26T00:00:00") in span and us("2026-11-27T23:59:59") in span
    assert us("2026-11-25T23:59:59") not in span and us("2026-11-28T00:00:00") not in span


def test_time_of_day_belongs_to_the_only_matching_day():
    assert asked(when("23:00"), when("01:00"), UTC, OVER_MIDNIGHT) == Asked(
        us("2026-11-27T23:00:00"), us("2026-11-28T01:00:00")
    )
    assert asked(None, when("02:00"), UTC, OVER_MIDNIGHT).until_us == us("2026-11-28T02:00:00")
    assert asked(when("2026-10-01 22:00"), when("03:00"), UTC, MONTHS).until_us == us("2026-10-02T03:00:00")


@pytest.mark.parametrize(
    ("since", "until", "reading", "expected"),
    [("08:55", None, MONTHS, "--since: 08:55 has no date, and the logs go from 2026-06-01 00:00:00 UTC to 2026-11-27"),
     ("12:00", None, OVER_MIDNIGHT, "accepted: 2026-11-27 12:00"), ("08:55", None, None, "more than one log"),
     ("2026-12-01", None, MONTHS, "--since: 2026-12-01 is after the end of all logs; accepted: up to 2026-11-27 18:00"),
     (None, "2026-05-01", MONTHS, "--until: 2026-05-01 is before the start of all logs; accepted: from 2026-06-01"),
     ("2026-11-27 09:00", "2026-11-27 08:00", MONTHS, "--until: 2026-11-27 08:00 is not later than --since")],
)  # fmt: skip
def test_invalid_span_is_refused_with_the_option_and_accepted_values(since, until, reading, expected):
    with pytest.raises(SpanRefused, match=expected):
        asked(since and when(since), until and when(until), UTC, reading)


def test_no_span_covers_all_logs():
    assert asked(None, None, UTC, MONTHS) == WHOLE
    assert WHOLE.of(MONTHS) is MONTHS and all(at_us in WHOLE for at_us in (0, us("2026-01-01T00:00:00")))
    assert [one.kind for one in Asked(until_us=us("2026-08-01T00:00:00")).of(MONTHS).events] == ["node_started"]
