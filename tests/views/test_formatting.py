"""Names, numbers and times as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hawb.views import formatting


@pytest.mark.parametrize(
    ("name", "shown"),
    [("a", "a"), ("a\nb", r"a\nb"), ("\u202ex", r"\u202ex"), ("\x1b[0m", r"\x1b[0m"), ("\u05d0", "\u2068\u05d0\u2069")],
)
def test_unprintable_characters_are_escaped(name, shown):
    assert formatting.shown(name) == shown


@given(st.text())
def test_names_contain_no_line_break_or_control_character(name):
    text = formatting.shown(name)
    assert len(text.splitlines()) <= 1
    assert all(character.isprintable() or character in "\u2068\u2069" for character in text)


@given(st.text(min_size=1), st.integers(min_value=3, max_value=40))
def test_shortened_text_keeps_both_ends_within_the_length(text, length):
    result = formatting.shortened(text, length)
    assert len(result) <= length
    assert result[0] == text[0]
    assert result[-1] == text[-1]


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([], "no messages"),
        ([[5, 5]], "message 5"),
        ([[1, 1000]], "messages 1 to 1,000"),
        ([[1, 2], [4, 4], [6, 9]], "messages 1 to 2, 4 and 6 to 9"),
        ([[n, n] for n in (1, 3, 5, 7, 9)], "5 messages between 1 and 9"),
    ],
)
def test_runs_of_messages(ids, expected):
    assert formatting.messages(ids) == expected


def test_long_lists_of_names_are_shortened():
    assert formatting.listing("ab") == "a and b"
    assert formatting.listing("abcd") == "a, b, c and d"
    assert formatting.listing("abcdef") == "a, b, c and 3 more"


@pytest.mark.parametrize(("number", "expected"), [(0, "no messages"), (1, "1 message"), (12_345, "12,345 messages")])
def test_counted(number, expected):
    assert formatting.counted(number) == expected


@pytest.mark.parametrize(
    ("number", "expected"),
    [(9999, "9999"), (10_000, "10k"), (12_399, "12.3k"), (999_999, "999k"), (2_500_000_000, "2.5G")],
)
def test_brief_numbers_are_truncated_not_rounded(number, expected):
    assert formatting.brief(number) == expected


@pytest.mark.parametrize(("t", "expected"), [(0, "0.0"), (7.006126, "7.006"), (12.0, "12.0"), (0.25, "0.25")])
def test_seconds(t, expected):
    assert formatting.seconds(t) == expected


@pytest.mark.parametrize(("seconds", "shown"), [(5, "5 s"), (99, "99 s"), (720, "12 min"), (12_000, "3 h 20 min")])
def test_time_left(seconds: float, shown: str):
    assert formatting.left(seconds) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(0, "0 %"), (0.0004, "0.04 %"), (0.012, "1.2 %"), (0.25, "25.0 %"), (1, "100.0 %")]
)
def test_shares(value: float, shown: str):
    assert formatting.percent(value) == shown


@pytest.mark.parametrize(("value", "shown"), [(2.5e-14, "< 0.0001 %"), (9.9e-7, "< 0.0001 %"), (1e-6, "0.0001 %")])
def test_small_share_is_not_shown_as_0(value: float, shown: str):
    assert formatting.percent(value) == shown


def test_rounding_error_around_0_is_shown_as_0():
    assert {formatting.percent(value) for value in (-1e-17, 0.0, 1e-17)} == {"0 %"}


@pytest.mark.parametrize(
    ("text", "shown_as"),
    [
        ("down for 0.001 s, then 20 % of 3 MiB", "down for 0.001\u00a0s, then 20\u00a0% of 3\u00a0MiB"),
        ("in 95 % of 12 stories", "in 95\u00a0% of 12 stories"),
        ("<b> & 3 min", "&lt;b&gt; &amp; 3\u00a0min"),
    ],
)
def test_prose_keeps_a_number_and_its_unit_on_one_line(text, shown_as):
    assert formatting.prose(text) == shown_as
