"""Linear least squares in plain Python.

The models of published figures are small, and a runbook that quotes them must not need a library of arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, sqrt

DEPENDENT = 1e-9
"""A column counts as dependent if its part independent of the earlier columns is at most this share of it."""


def solve(rows: Sequence[Sequence[float]], wanted: Sequence[float]) -> list[float]:
    """Return one weight for each column of `rows`, such that the weighted sums of the rows come closest to `wanted`.

    Closest means the least sum of squared differences. The weight of a column that depends on earlier columns is 0. The
    method is Gram and Schmidt's: make each column orthogonal to the columns before it, then take the part of `wanted`
    along it.
    """
    columns = [list(column) for column in zip(*rows, strict=True)]
    directions: list[list[float] | None] = []
    upper: list[list[float]] = []
    for column in columns:
        left, along = column, []
        for direction in directions:
            share = dot(direction, left) if direction else 0.0
            along.append(share)
            left = [one - share * part for one, part in zip(left, direction, strict=True)] if direction else left
        length = sqrt(dot(left, left))
        counts = length > DEPENDENT * sqrt(dot(column, column))
        directions.append([one / length for one in left] if counts else None)
        upper.append([*along, length])
    weights = [0.0] * len(columns)
    for n in reversed(range(len(columns))):
        if (direction := directions[n]) is not None:
            later = fsum(upper[m][n] * weights[m] for m in range(n + 1, len(columns)))
            weights[n] = (dot(direction, wanted) - later) / upper[n][n]
    return weights


def dot(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the sum of products."""
    return fsum(a * b for a, b in zip(one, other, strict=True))
