"""Own numbers that are known within intervals only, and how far these carry into a study's answer.

A file of numbers may have draws (`hawb.study.numbers.Numbers.draws`): environments as likely as what was measured
leaves them. The same question is played in each of them, with the same trials by number, so that what differs between
them is the rates' doing and little else. The standard deviation of an estimate from draw to draw is how far it could be
off because the rates are not known better, once the variance that its few trials have by themselves is taken off; with
that of the trials alone it makes the interval that is told:

    half² = (half of the trials' interval)² + (Student's t · the standard deviation between the draws)²

(the law of total variance). Since the draws have trials in common, what is taken off is rather too much, and less so
the more trials there are. A difference between designs is taken within each draw, so that what the rates do to both
cancels out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import sqrt
from statistics import fmean, variance
from typing import Any

from msgspec.structs import replace

from hawb.study.intervals import BATCHES, STUDENT_T
from hawb.study.numbers import Numbers, laid_over, over
from hawb.study.question import Study

DRAW = "_draw_"
"""Stands between the name of an environment and the number of a draw."""
SPREAD = ("mean", "share", "difference")
"""The estimates that have an interval."""
OPEN = "open_{}"
"""The names of how far an estimate may be off because of the rates: half an interval of 95 %."""

Row = Mapping[str, Any]


def drawn(study: Study, numbers: Numbers, trials: int | None = None) -> Study:
    """The question in an environment for each draw, with as many trials together as the study has, or as are given; at
    least those that the interval of a mean takes. Raises ScenarioRefused where a draw makes no study."""
    environments = {}
    for place, draw in enumerate(numbers.draws):
        own = replace(numbers, environment=over(numbers.environment, draw), draws=())
        environments |= {f"{name}{DRAW}{place}": each for name, each in laid_over(study, own).environments.items()}
    each = max(2 * BATCHES, -(-(trials or study.trials) // max(1, len(numbers.draws))))
    return replace(study, environments=environments, trials=each, sources={}, precision=None)


def of_draw(environment: str) -> str:
    """The environment that a draw is one of."""
    return environment.rpartition(DRAW)[0]


def widened(rows: Iterable[Row], played: Iterable[Row]) -> list[dict[str, Any]]:
    """A study's estimates (`hawb.study.estimates`) with intervals that take the rates in, from the estimates of its
    draws; `open_mean`, `open_share` and `open_difference` are how much of half an interval is theirs."""
    values: dict[tuple[object, ...], list[tuple[float, float]]] = defaultdict(list)
    for row in played:
        for name in SPREAD:
            if row.get(name) is not None:
                values[row["design"], of_draw(row["environment"]), row["measure"], name].append(told_of(row, name))
    found = []
    for row in rows:
        wide = dict(row)
        for name in SPREAD:
            if row.get(name) is not None:
                wide |= _wider(row, name, values[row["design"], row["environment"], row["measure"], name])
        found.append(wide)
    return found


def between(values: Sequence[tuple[float, float]]) -> float:
    """Half of the interval of 95 % of what differs between draws, by (estimate, standard error) of each; 0 of less than
    two."""
    if len(values) < 2:
        return 0.0
    noise = fmean(error**2 for _, error in values)
    return STUDENT_T * sqrt(max(0.0, variance(value for value, _ in values) - noise))


def told_of(row: Row, name: str) -> tuple[float, float]:
    """An estimate and its standard error, by its interval; 0 without one."""
    low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
    return row[name], 0.0 if low is None or high is None else (high - low) / 2 / STUDENT_T


def reaching(value: float, low: float, high: float, off: float) -> tuple[float, float]:
    """The ends of an interval that takes in how far its estimate may be off besides."""
    return value - sqrt((value - low) ** 2 + off**2), value + sqrt((high - value) ** 2 + off**2)


def _wider(row: Row, name: str, values: Sequence[tuple[float, float]]) -> dict[str, Any]:
    off = between(values)
    low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
    if low is not None and high is not None:
        low, high = reaching(row[name], low, high, off)
        low = low if name == "difference" else max(0.0, low)  # nothing that is measured is less than nothing
        high = min(1.0, high) if name == "share" else high
    return {f"{name}_low": low, f"{name}_high": high, OPEN.format(name): off}
