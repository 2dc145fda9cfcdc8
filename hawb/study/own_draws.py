"""Widen a study's intervals by the uncertainty of own numbers that are known only within intervals.

A file of numbers may have draws (`hawb.study.numbers.Numbers.draws`): environments, each as likely under the
measurements. The same question is played in each of them. The variance of its estimates from draw to draw, less the
part that comes from the draws' few trials, is the uncertainty from the rates; together with that of the answer's own
trials it makes the interval:

    half² = (half of the trials' interval)² + Student's t² · (the variance that the rates cause)

(the law of total variance). A difference between designs is taken within each draw, so that effects of the rates on
both designs cancel out. Decisions:

* All draws play the same trials by number, dealt to the same batches (`hawb.study.intervals`), and effects of a batch
  that are the same in all draws do not differ between them. So the part that is subtracted is the interaction in a
  table of draws and batches (the analysis of variance of a two-way layout; S. R. Searle, G. Casella and C. E.
  McCulloch, "Variance Components", 1992), whose expectation is right however similar draws are, and however much more
  one of them scatters. The trials' own standard errors would be too much: of rates by a hundred failures the interval
  then holds the true outage time in 56 of 100 made-up studies, and with the interaction in 93. Other trials for each
  draw would need some eight times as many.
* With few trials the difference of two variances may be negative though the rates do matter. The value used is the
  mean of the values above zero that it allows, by its standard error for this number of draws: nearly the difference
  itself where that is large.
* A draw has its share of the study's trials, but at least enough to show rare events: `PLENTY`, or as many as the study
  has. Still, of losses in one of a hundred trials the interval holds 87 to 92 of 100, not 95.
* Student's t is that of 32 draws, as many as `hawb rates` writes; with fewer the interval is too narrow. It is
  symmetric, though few failures leave more room for higher rates than for lower ones.
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
"""Separates the name of an environment and the number of a draw."""
SPREAD = ("mean", "share", "difference")
"""The estimates that have an interval."""
MEANS = "{}_batches"
"""The names of an estimate by batch of trials, in their order."""
LEAST = -30.0
"""Below this many standard errors under zero a difference of variances counts as zero."""
PLENTY = 256
"""With this many trials nearly every draw shows an event that one of a hundred trials has."""
OPEN = "open_{}"
"""The names of the uncertainty of an estimate from the rates: half an interval of 95 %."""

Row = Mapping[str, Any]


def drawn(study: Study, numbers: Numbers, trials: int | None = None) -> Study:
    """Return the question in an environment for each draw. Raise ScenarioRefused if a draw makes no study.

    All together have as many trials as the study, or as `trials`; each has at least `PLENTY`, if there are so many.
    """
    environments = {}
    for place, draw in enumerate(numbers.draws):
        own = replace(numbers, environment=over(numbers.environment, draw), draws=())
        environments |= {f"{name}{DRAW}{place}": each for name, each in laid_over(study, own).environments.items()}
    together = trials or study.trials
    each = max(2 * BATCHES, min(PLENTY, together), -(-together // max(1, len(numbers.draws))))
    return replace(study, environments=environments, trials=each, sources={}, precision=None, control=None)


def of_draw(environment: str) -> str:
    """Return the environment that a draw belongs to."""
    return environment.rpartition(DRAW)[0]


def widened(rows: Iterable[Row], played: Iterable[Row]) -> list[dict[str, Any]]:
    """Return a study's estimates (`hawb.study.estimates`) with intervals that include the uncertainty of the rates.

    `played` are the estimates of its draws with their batches. `open_mean`, `open_share` and `open_difference` are the
    part of half an interval that comes from the rates.
    """
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
    """Return half of the 95 % interval of the differences between draws; 0 for fewer than two draws.

    `played` has the means of the same batches of trials for each draw.
    """
    if len(played) < 2:
        return 0.0
    means = np.asarray(played, float)
    draws, batches = means.shape
    averages = means.mean(axis=1)
    left = means - averages[:, None] - means.mean(axis=0) + means.mean()
    noise = float((left**2).sum()) / (draws - 1) / (batches - 1) / batches
    variance = float(averages.var(ddof=1))
    return STUDENT_T * sqrt(above_nothing(variance - noise, sqrt(2 / (draws - 1)) * max(variance, noise)))


def above_nothing(value: float, error: float) -> float:
    """Return the mean of a value above zero, estimated with a standard error, under a flat prior."""
    if not error:
        return max(0.0, value)
    z = max(LEAST, value / error)
    return max(0.0, value + error * sqrt(2 / pi) * exp(-z * z / 2) / erfc(-z / sqrt(2)))


def reaching(value: float, low: float, high: float, off: float) -> tuple[float, float]:
    """Return the ends of an interval widened by half an interval `off` of another uncertainty."""
    return value - sqrt((value - low) ** 2 + off**2), value + sqrt((high - value) ** 2 + off**2)


def _wider(row: Row, name: str, values: Sequence[Sequence[float]]) -> dict[str, Any]:
    off = between(values)
    low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
    if low is not None and high is not None:
        low, high = reaching(row[name], low, high, off)
        low = low if name == "difference" else max(0.0, low)  # no measure is below zero
        high = min(1.0, high) if name == "share" else high
    return {f"{name}_low": low, f"{name}_high": high, OPEN.format(name): off}
