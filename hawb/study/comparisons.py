"""Differences between designs, judged together.

A 95 % interval misses the true value once in twenty times: among many comparisons at 95 % each some do. So designs are
compared by intervals that hold all together with 95 % (O. J. Dunn, "Multiple comparisons among means", 1961, who calls
the rule Bonferroni's): of m comparisons each has 1 - 0.05 / m. The interval of a row stays that of the one comparison.

A difference can be beyond chance and too small to matter. A study's `least_differences` are the smallest that matter.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from statistics import NormalDist
from typing import Any

from hawb.study.intervals import BATCHES, STUDENT_T

Row = Mapping[str, Any]
LESS, MORE = 0, 1
TOGETHER = ("together_low", "together_high")
"""The ends of a difference's interval that holds together with those of all other comparisons."""
LEAST = "least_difference"
SENSITIVITY = "sensitivity"
"""The change of a difference with numbers that are assumed (`hawb.study.sensitivity`)."""


def judged(
    rows: Iterable[Row], baseline: str, measures: Collection[str], least: Mapping[str, float] | None = None
) -> list[dict[str, Any]]:
    """Return rows of `hawb.study.estimates.compared` with `TOGETHER` and the least difference that matters.

    Only differences from the baseline are judged, in one of the measures, and only where a trial of the environment had
    any of it.
    """
    rows, least = [dict(row) for row in rows], least or {}
    had = {(row["environment"], row["measure"]) for row in rows if row["share"]}
    compared = [row for row in rows if row["design"] != baseline and row["measure"] in measures
                and row.get("difference_low") is not None and (row["environment"], row["measure"]) in had]  # fmt: skip
    wider = student_t(0.05 / max(1, len(compared))) / STUDENT_T
    for row in compared:
        middle = row["difference"]
        ends = (middle + (row[f"difference_{end}"] - middle) * wider for end in ("low", "high"))
        row |= dict(zip(TOGETHER, ends, strict=True)) | {LEAST: least.get(row["measure"], 0.0)}
    return rows


def comparisons(rows: Iterable[Row]) -> int:
    """Return the number of comparisons in the rows that were judged together."""
    return sum(TOGETHER[0] in row for row in rows)


def is_apart(row: Row, side: int) -> bool:
    """Return True if a design has less, or more, than the baseline, beyond chance and by enough to matter."""
    low, high = _ends(row)
    least = row.get(LEAST, 0.0)
    return low is not None and (high < -least if side == LESS else low > least)


def is_alike(row: Row) -> bool:
    """Return True if the difference from the baseline is, beyond chance, smaller than what matters."""
    low, high = _ends(row)
    return low is not None and -row.get(LEAST, 0.0) < low and high < row.get(LEAST, 0.0)


def swing(row: Row) -> tuple[str, float]:
    """Return the assumed number that changes a difference most, and by how much from half of it to twice.

    Return ("", 0.0) for a row without a sensitivity analysis.
    """
    moved = ((entry["assumption"], max(entry["differences"]) - min(entry["differences"])) for entry in
             row.get(SENSITIVITY, ()))  # fmt: skip
    return max(moved, key=lambda one: one[1], default=("", 0.0))


def _ends(row: Row) -> tuple[Any, Any]:
    own = row.get("difference_low"), row.get("difference_high")
    return tuple(row.get(name, end) for name, end in zip(TOGETHER, own, strict=True))


def student_t(error: float, freedom: float = BATCHES - 1) -> float:
    """Return Student's quantile that a value exceeds on either side with the probability `error`.

    The degrees of freedom are those of the batches, or `freedom`, which is 4 or more (M. Abramowitz and I. Stegun,
    "Handbook of Mathematical Functions", 26.7.5).
    """
    x = NormalDist().inv_cdf(1 - error / 2)
    terms = (
        x,
        (x**3 + x) / 4,
        (5 * x**5 + 16 * x**3 + 3 * x) / 96,
        (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384,
        (79 * x**9 + 776 * x**7 + 1482 * x**5 - 1920 * x**3 - 945 * x) / 92_160,
    )
    return sum(term / freedom**power for power, term in enumerate(terms))
