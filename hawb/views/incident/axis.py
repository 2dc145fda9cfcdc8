"""The time axis of an incident's picture: the x of each moment.

A night of logs may have all its events in one second, and hours without any. So each gap between two moments is drawn
in proportion to its length, at the scale at which all gaps together fill the width. But each gap is wide enough to keep
two marks apart, and none is wider than a share of the line. The gaps that are shortened for this are listed with their
places and lengths.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise

from msgspec import Struct

LEAST, MOST = 9.0, 150.0
"""Pixels: minimum and maximum width of a gap; with many moments both are smaller."""
FAIR = 3.0
"""The maximum width of a gap is at least this multiple of the mean width."""
HALVINGS = 60
"""The number of bisections that find the scale, enough for the last digit of a float."""
CUT = 2.0
"""A gap counts as cut if in proportion it would be this many times as wide as the maximum."""


class Cut(Struct, frozen=True):
    """A gap without events that is drawn shorter than in proportion: the x of its middle, and its length."""

    x: float
    lasted_us: int


class Axis(Struct, frozen=True):
    """The moments in order with their x, the cut gaps, and the ends and width of the line."""

    moments: tuple[int, ...]
    places: tuple[float, ...]
    cuts: tuple[Cut, ...]
    left: float
    right: float
    width: float

    def at(self, moment_us: int) -> float:
        """Return the x of a time; a time outside the axis gets the x of the nearest end."""
        left = min(max(bisect_right(self.moments, moment_us) - 1, 0), len(self.moments) - 1)
        right = min(left + 1, len(self.moments) - 1)
        since, then = self.moments[left], self.moments[right]
        share = 0.0 if then == since else min(max(moment_us - since, 0) / (then - since), 1.0)
        return self.places[left] + share * (self.places[right] - self.places[left])


def axis(moments_us: Iterable[int], left: float, right: float, width: float = 0.0) -> Axis:
    """Return the axis of moments from x `left` to x `right`, in a picture of some `width`.

    Raise ValueError if there is no moment.
    """
    moments = tuple(sorted({*moments_us}))
    if not moments:
        raise ValueError("moments: none given, at least one accepted")
    gaps = [then - since for since, then in pairwise(moments)]
    if not gaps:
        return Axis(moments, ((left + right) / 2,), (), left, right, width)
    least, most = _bounds(len(gaps), right - left)
    scale = _scale(gaps, least, most, right - left)
    widths = [min(max(gap * scale, least), most) for gap in gaps]
    stretch = (right - left) / sum(widths)
    places = tuple(accumulate((width * stretch for width in widths), initial=left))
    drawn = zip(gaps, pairwise(places), strict=True)
    cuts = tuple(Cut((one + other) / 2, gap) for gap, (one, other) in drawn if gap * scale > CUT * most)
    return Axis(moments, places, cuts, left, right, width)


def _bounds(count: int, width: float) -> tuple[float, float]:
    """Return the minimum and maximum width of a gap, such that `count` gaps can fill the width."""
    least = min(LEAST, width / (2 * count))
    return least, min(max(MOST, FAIR * width / count), width)


def _scale(gaps: Sequence[int], least: float, most: float, width: float) -> float:
    """Return the pixels per microsecond at which all gaps, within their bounds, fill the width."""
    low, high = 0.0, most / min(gaps)
    for _ in range(HALVINGS):
        scale = (low + high) / 2
        if sum(min(max(gap * scale, least), most) for gap in gaps) > width:
            high = scale
        else:
            low = scale
    return low
