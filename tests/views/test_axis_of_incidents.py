"""The time axis of an incident: positions in order and in proportion, and cuts of idle time."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hawb.views.incident.axis import LEAST, axis

SECOND = 1_000_000
moments = st.lists(st.integers(0, 10**15), min_size=2, max_size=300, unique=True)


@given(moments)
def test_positions_are_in_order_and_fill_the_width(given):
    found = axis(given, 100, 1100)
    assert found.moments == tuple(sorted(given))
    assert found.places[0] == 100
    assert found.places[-1] == pytest.approx(1100)
    assert all(one < other for one, other in pairwise(found.places))


@given(moments)
def test_moment_between_two_others_is_placed_between_them(given):
    found = axis(given, 100, 1100)
    (since, x), (then, end) = zip(found.moments[:2], found.places[:2], strict=True)
    assert x <= found.at((since + then) // 2) <= end
    assert (found.at(-1), found.at(10**16)) == (found.places[0], found.places[-1])


def test_short_incident_is_drawn_in_proportion_without_cuts():
    found = axis([0, 10 * SECOND, 30 * SECOND, 40 * SECOND, 55 * SECOND, 70 * SECOND, 90 * SECOND], 0, 450)
    assert found.places == pytest.approx((0, 50, 150, 200, 275, 350, 450))
    assert found.cuts == ()


def test_long_idle_time_is_cut_and_labelled_with_its_length():
    night_us = 8 * 3600 * SECOND
    found = axis([0, SECOND, 2 * SECOND, night_us, night_us + SECOND], 0, 900)
    assert [cut.lasted_us for cut in found.cuts] == [night_us - 2 * SECOND]
    assert found.at(2 * SECOND) < found.cuts[0].x < found.at(night_us)
    assert found.at(SECOND) - found.at(0) >= LEAST


def test_single_moment_is_centred_and_none_is_refused():
    assert axis([5], 0, 100).places == (50,)
    with pytest.raises(ValueError, match="moments: none"):
        axis([], 0, 100)
