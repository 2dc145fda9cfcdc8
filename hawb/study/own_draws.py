"""Own numbers that are known within intervals only, and how far these carry into a study's answer.

A file of numbers may have draws (`hawb.study.numbers.Numbers.draws`): environments as likely as what was measured
leaves them. The same question is played in each of them, and the variance of its estimates from draw to draw, less what
comes of their few trials, is how far an answer could be off because the rates are not known better; with the trials of
the answer itself it makes the interval that is told:

    half² = (half of the trials' interval)² + Student's t² · (the variance that is the rates' doing)

(the law of total variance). A difference between designs is taken within each draw, so that what the rates do to both
cancels out. Decisions:

* All draws play the same trials by number, dealt to the same batches (`hawb.study.intervals`), and what a batch does
  in all of them alike differs between none. So what is taken off is the interaction in a table of draws and batches
  (the analysis of variance of a two-way layout; S. R. Searle, G. Casella and C. E. McCulloch, "Variance Components",
  1992), whose expectation is right however alike draws are, and however much more one of them scatters. The trials'
  own standard errors would be too much: of rates by a hundred failures the interval then holds the true time out of
  use in 56 of 100 made-up studies, and so in 93. Other trials for each draw would take some eight times as many.
* Of few trials the difference of two variances may come out below nothing though the rates do matter. What counts is
  the mean of what it leaves possible above nothing, by its standard error for as many draws: nearly the difference
  itself where that is large.
* A draw has its share of as many trials as the study has, but enough to see what is rare: `PLENTY`, or as many as the
  study has. Still, of losses in one of a hundred trials the interval holds 87 to 92 of 100, not 95.
* Student's t is that of 32 draws, as many as `hawb rates` writes; of fewer the interval is too narrow. It reaches as
  far down as up, though few failures leave more room for higher rates than for lower ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import erfc, exp, pi, sqrt
from typing import Any

import numpy as np
from msgspec.structs import replace

from hawb.study.intervals import BATCHES, STUDENT_T
from hawb.study.numbers import Numbers, laid_over, over
from hawb.study.question import Study

DRAW = "_draw_"
"""Stands between the name of an environment and the number of a draw."""
SPREAD = ("mean", "share", "difference")
"""The estimates that have an interval."""
MEANS = "{}_batches"
"""The names of an estimate by batch of trials, in their order."""
LEAST = -30.0
"""Further below nothing, in standard errors, there is no difference of variances: nothing is left above."""
PLENTY = 256
"""With so many trials, something that one of a hundred has is seen in nearly every draw."""
OPEN = "open_{}"
"""The names of how far an estimate may be off because of the rates: half an interval of 95 %."""

Row = Mapping[str, Any]


def drawn(study: Study, numbers: Numbers, trials: int | None = None) -> Study:
    """The question in an environment for each draw, with as many trials together as the study has, or as are given; at
    least `PLENTY` in each, if there are so many. Raises ScenarioRefused where a draw makes no study."""
    environments = {}
    for place, draw in enumerate(numbers.draws):
        own = replace(numbers, environment=over(numbers.environment, draw), draws=())
        environments |= {f"{name}{DRAW}{place}": each for name, each in laid_over(study, own).environments.items()}
    together = trials or study.trials
    each = max(2 * BATCHES, min(PLENTY, together), -(-together // max(1, len(numbers.draws))))
    return replace(study, environments=environments, trials=each, sources={}, precision=None)


def of_draw(environment: str) -> str:
    """The environment that a draw is one of."""
    return environment.rpartition(DRAW)[0]


def widened(rows: Iterable[Row], played: Iterable[Row]) -> list[dict[str, Any]]:
    """A study's estimates (`hawb.study.estimates`) with intervals that take the rates in, from the estimates of its
    draws with their batches; `open_mean`, `open_share` and `open_difference` are how much of half an interval is
    theirs."""
    values: dict[tuple[object, ...], list[Sequence[float]]] = defaultdict(list)
    for row in played:
        for name in SPREAD:
            if row.get(name) is not None:
                place = row["design"], of_draw(row["environment"]), row["measure"], name
                values[place].append(row[MEANS.format(name)])
    found = []
    for row in rows:
        wide = dict(row)
        for name in SPREAD:
            if row.get(name) is not None:
                wide |= _wider(row, name, values[row["design"], row["environment"], row["measure"], name])
        found.append(wide)
    return found


def between(played: Sequence[Sequence[float]]) -> float:
    """Half of the interval of 95 % of what differs between draws, by the means of the same batches of trials in each; 0
    of less than two draws."""
    if len(played) < 2:
        return 0.0
    means = np.asarray(played, float)
    draws, batches = means.shape
    told = means.mean(axis=1)
    left = means - told[:, None] - means.mean(axis=0) + means.mean()
    noise = float((left**2).sum()) / (draws - 1) / (batches - 1) / batches
    variance = float(told.var(ddof=1))
    return STUDENT_T * sqrt(above_nothing(variance - noise, sqrt(2 / (draws - 1)) * max(variance, noise)))


def above_nothing(told: float, error: float) -> float:
    """The mean of what a figure with a standard error leaves possible above nothing, each figure as likely before."""
    if not error:
        return max(0.0, told)
    z = max(LEAST, told / error)
    return max(0.0, told + error * sqrt(2 / pi) * exp(-z * z / 2) / erfc(-z / sqrt(2)))


def reaching(value: float, low: float, high: float, off: float) -> tuple[float, float]:
    """The ends of an interval that takes in how far its estimate may be off besides."""
    return value - sqrt((value - low) ** 2 + off**2), value + sqrt((high - value) ** 2 + off**2)


def _wider(row: Row, name: str, values: Sequence[Sequence[float]]) -> dict[str, Any]:
    off = between(values)
    low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
    if low is not None and high is not None:
        low, high = reaching(row[name], low, high, off)
        low = low if name == "difference" else max(0.0, low)  # nothing that is measured is less than nothing
        high = min(1.0, high) if name == "share" else high
    return {f"{name}_low": low, f"{name}_high": high, OPEN.format(name): off}
