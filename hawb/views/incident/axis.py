"""Where moments of an incident stand on a line as wide as a page.

A night of logs has a second in which everything happens and hours in which nothing does. So each gap between two
moments is drawn in proportion to its length, at a scale at which all of them fill the width; but none is narrower than
is needed to tell two marks apart, and none wider than a share of the line. A gap that was cut for that is told: where,
and how long it was.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise

from msgspec import Struct

LEAST, MOST = 9.0, 150.0
"""Pixels of a gap; with many moments both are less."""
FAIR = 3.0
"""A gap may always have so many times what it would have if all were equally wide."""
HALVINGS = 60
"""How often the scale is halved in on: past the last digit of a float."""
CUT = 2.0
"""How many times longer than it is drawn a gap has to be, beside the others, to be told of as cut."""


class Cut(Struct, frozen=True):
    """A stretch in which nothing happens and which is drawn shorter than the others: its middle, and how long it is."""

    x: float
    lasted_us: int


class Axis(Struct, frozen=True):
    """The moments in order with their places, and what was cut."""

    moments: tuple[int, ...]
    places: tuple[float, ...]
    cuts: tuple[Cut, ...]
    left: float
    right: float
    width: float

    def at(self, moment_us: int) -> float:
        """The place of a moment; of one before the first or after the last that one's."""
        left = min(max(bisect_right(self.moments, moment_us) - 1, 0), len(self.moments) - 1)
        right = min(left + 1, len(self.moments) - 1)
        since, then = self.moments[left], self.moments[right]
        share = 0.0 if then == since else min(max(moment_us - since, 0) / (then - since), 1.0)
        return self.places[left] + share * (self.places[right] - self.places[left])


def axis(moments_us: Iterable[int], left: float, right: float, width: float = 0.0) -> Axis:
    """The axis of moments between two places of a picture of some `width`. Raises ValueError without a moment."""
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
    """The least and the most of a gap, so that `count` of them can fill a width and leave room to tell them apart."""
    least = min(LEAST, width / (2 * count))
    return least, min(max(MOST, FAIR * width / count), width)


def _scale(gaps: Sequence[int], least: float, most: float, width: float) -> float:
    """Pixels in a microsecond, at which all gaps within their bounds fill a width, as far as these let them."""
    low, high = 0.0, most / min(gaps)
    for _ in range(HALVINGS):
        scale = (low + high) / 2
        if sum(min(max(gap * scale, least), most) for gap in gaps) > width:
            high = scale
        else:
            low = scale
    return low
