"""Estimate means of trials that only the engine plays from many trials of a similar cluster that the kernel plays.

The similar cluster is the control: most of what happens to the engine's cluster in a year happens to it, too, because
trials of one number have the same faults. The estimate is that of many trials of the control, corrected by pairs: a
trial of the engine's cluster beside that of the control with the same number.

* Trials are dealt to strata by what happened to the control (`scores`): years without a failure, years with one, years
  with a rare loss. Each stratum contributes about as much to the control's means (M. Hansen, W. Hurwitz and W. Madow,
  "Sample Survey Methods and Theory", 1953, on strata of equal aggregate size), and gets as many further pairs. So the
  engine also plays years that are too rare to be among a few trials.
* In a stratum the trials of lowest number are played. Trials are independent, so these are a random sample, and more
  pairs are the same ones and others. The number of pairs depends on the control alone. Hence weights by the strata's
  sizes give an estimate without bias, whatever the engine's cluster does (J. Neyman, "Contribution to the theory of
  sampling human populations", 1938, double sampling for stratification).
* Within strata, a line is fitted to the pairs. The slope for a pair comes from the pairs of the other folds alone
  (A. Avramidis and J. Wilson, "A splitting scheme for control variates", 1993): with a slope from the same pairs the
  estimate would be biased.

The variance is that of double sampling (W. Cochran, "Sampling Techniques", 1977, section 12.2), with Student's quantile
for the degrees of freedom that the pairs' own fourth moments leave (section 5.4; F. Satterthwaite, 1946). An event that
the engine's cluster had in no pair, and the control never, is in no interval.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import pairwise
from math import sqrt

import numpy as np
from msgspec import Struct

from hawb.study.comparisons import student_t
from hawb.study.intervals import LEAST_APART, LEAST_CONTRIBUTING, NOISE

SCORED = ("lost_confirmed", "publish_down_s", "consume_down_s", "metadata_down_s")
"""The measures of the control that decide about a trial's stratum."""
BESIDE = "publish_down_s"
"""The measure of the control that helps to estimate each measure, beside that measure itself.

Consumers may be cut off while a publisher is, and the control may have one client where the engine's cluster has one at
each node. On `today`, the pair explains more than either (gains of 2 where one alone has none); more measures add
chance.
"""
STRATA, FOLDS = 8, 8
ALIKE = 1e-6
"""Measures of the control that differ by less, in relation to their spread, count as the same."""
LEAST_FREEDOM = 20.0
"""The degrees of freedom that an interval needs. With fewer, a few pairs that differ much make most of its width."""


def scores(controls: Iterable[Mapping[str, np.ndarray]]) -> np.ndarray:
    """Return a score for each trial: the sum of its measures, each divided by the measure's mean.

    `controls` has each control's measures by name, with a value for each trial. A score sums over all controls.
    """
    values = [rows[name] for rows in controls for name in SCORED]
    return np.sum([one / one.mean() for one in values if one.any()] or [np.zeros(len(values[0]))], axis=0)


def strata(values: np.ndarray, most: int = STRATA) -> np.ndarray:
    """Return the stratum of each trial, from 0 for the smallest values.

    Cut the stratum with the largest spread in two, at the value that leaves the least spread, until there are `most`.
    """
    ordered = np.sort(values)
    sums, squares = (np.concatenate([[0.0], np.cumsum(ordered**power)]) for power in (1, 2))

    def spread(first: np.ndarray | int, end: np.ndarray | int) -> np.ndarray:
        """Return the number of trials in a range times the standard deviation of their values."""
        count = np.maximum(1, end - first)
        square = count * (squares[end] - squares[first]) - (sums[end] - sums[first]) ** 2
        return np.sqrt(np.where(square > NOISE * count * (squares[end] - squares[first]), square, 0))

    ends = [0, len(values)]
    steps = np.flatnonzero(np.diff(ordered)) + 1  # equal values stay together
    while len(ends) <= most:
        first, end = max(pairwise(ends), key=lambda pair: float(spread(*pair)))
        between = steps[(steps > first) & (steps < end)]
        if not len(between) or not spread(first, end):
            break
        ends = sorted([*ends, int(between[np.argmin(spread(first, between) + spread(between, end))])])
    return np.searchsorted(ordered[ends[1:-1]], values, side="right")


def drawn(strata: np.ndarray, plain: int, more: int) -> np.ndarray:
    """Return the numbers of the trials that become pairs: the first `plain`, and about `more` spread over the strata.

    From each stratum take the trials of lowest number, and at least two if it has two.
    """
    found, each = [], max(2, more // (int(strata.max()) + 1))
    for stratum in range(int(strata.max()) + 1):
        numbers = np.flatnonzero(strata == stratum)
        found.append(numbers[: np.count_nonzero(numbers < plain) + each])
    return np.sort(np.concatenate(found))


class Mean(Struct, frozen=True, eq=False):
    """The estimate of a mean: `value` with its variance and degrees of freedom.

    `plain_variance` is the variance that as many plain trials would give. `parts` has the contribution of each pair to
    the estimate, `values` the value of each pair's engine trial.
    """

    value: float
    variance: float
    freedom: float
    plain_variance: float
    values: np.ndarray
    parts: np.ndarray

    @property
    def gain(self) -> float:
        """Return how many plain trials one pair replaces: as many would give the same variance."""
        return self.plain_variance / self.variance if self.variance else 1.0

    @property
    def half(self) -> float:
        """Return half the width of the 95 % interval."""
        return student_t(0.05, max(LEAST_FREEDOM, self.freedom)) * sqrt(self.variance)


class Pairs:
    """The pairs of an environment: the strata of all control trials, and the trials that the engine played, too."""

    def __init__(self, strata: np.ndarray, numbers: np.ndarray):
        self.numbers, self.own, self._strata = numbers, strata[numbers], strata
        self.sizes, self.counts = np.bincount(strata), np.bincount(self.own)
        shares = self.sizes / len(strata)
        self.weights = (shares / self.counts)[self.own]
        self._open = shares**2 * (1 / self.counts - 1 / self.sizes)

    def mean(self, values: np.ndarray, *controls: np.ndarray) -> Mean:
        """Return the mean of a measure, from its values in pairs and measures of all trials of the control."""
        off = np.stack([one[self.numbers] - self._means(one) for one in controls], axis=1)
        return self._of(values, values - (self._slopes(values, off) * off).sum(axis=1))

    def exact(self, control: np.ndarray) -> Mean:
        """Return the mean of a measure of a cluster that the kernel simulates. Such a cluster is its own control."""
        return self._of(control[self.numbers], self._means(control))

    def difference(self, one: Mean, other: Mean) -> Mean:
        """Return the difference between two means of the same pairs."""
        return self._of(one.values - other.values, one.parts - other.parts)

    def share(self, values: np.ndarray) -> tuple[float, float]:
        """Return the share of trials with a value above 0, and how many plain trials would estimate it as precisely.

        In a stratum whose pairs all agree, the next trial may still differ. So each stratum counts two more pairs: one
        with a value above 0, and one with 0 (Laplace's rule of succession).
        """
        some = np.bincount(self.own, values > 0)
        share = float(self.sizes @ (some / self.counts)) / len(self._strata)
        likely = (some + 1) / (self.counts + 2)
        variance = float(self._open @ (likely * (1 - likely))) + share * (1 - share) / len(self._strata)
        middle = min(max(share, 1 / (len(values) + 2)), 1 - 1 / (len(values) + 2))
        return share, middle * (1 - middle) / variance

    def _of(self, values: np.ndarray, parts: np.ndarray) -> Mean:
        value = float(self.weights @ parts)
        squares = (parts - (np.bincount(self.own, parts) / self.counts)[self.own]) ** 2
        if squares.max(initial=0) <= NOISE * float(np.abs(parts).max(initial=0)) ** 2:
            squares = np.zeros(len(parts))
        factor = self._open / np.maximum(1, self.counts - 1)
        second = np.bincount(self.own, squares)
        of_pairs = float(factor @ second)
        spread = max(0.0, float(self.weights @ values**2) - float(self.weights @ values) ** 2)
        variance = of_pairs + spread / len(self._strata)
        noise = float(factor**2 @ np.maximum(0, np.bincount(self.own, squares**2) - second**2 / self.counts))
        freedom = min(len(values) - len(self.counts), 2 * variance**2 / noise if noise else np.inf)
        return Mean(value, variance, float(freedom), spread / len(values), values, parts)

    def _means(self, control: np.ndarray) -> np.ndarray:
        """Return, for each pair, the control's mean of a measure over the trials in the pair's stratum."""
        return (np.bincount(self._strata, control) / self.sizes)[self.own]

    def _slopes(self, values: np.ndarray, off: np.ndarray) -> np.ndarray:
        """Return the regression slopes for each pair, one column for each column of `off`.

        The slopes of a pair are fitted to the pairs of the other folds.
        """
        slopes, together = np.zeros(off.shape), np.column_stack([values, off])
        for fold in range(FOLDS):
            others = self._folds != fold
            counts = np.maximum(1, np.bincount(self.own, others, len(self.counts)))
            means = [np.bincount(self.own, column * others) / counts for column in together.T]
            about = (together - np.stack(means, axis=1)[self.own]) * (others * self.weights)[:, None]
            sizes = np.sqrt((about[:, 1:] ** 2).sum(axis=0))
            sizes[sizes == 0] = 1.0
            slopes[~others] = np.linalg.lstsq(about[:, 1:] / sizes, about[:, 0], rcond=ALIKE)[0] / sizes
        return slopes

    @cached_property
    def _folds(self) -> np.ndarray:
        """Return the cross-validation fold of each pair; the pairs of a stratum take the folds in turn."""
        folds = np.zeros(len(self.own), int)
        for stratum in range(len(self.counts)):
            folds[self.own == stratum] = np.arange(self.counts[stratum]) % FOLDS
        return folds


def ends(mean: Mean, control: np.ndarray) -> dict[str, float | None]:
    """Return a mean and the ends of its 95 % interval, as fields of an estimate.

    An interval needs three things: `LEAST_APART` pairs in which one of the two trials is above 0 (`control` has the
    control's values), a standard error of at most a sixth of the mean (`hawb.study.intervals.LEAST_CONTRIBUTING`), and
    `LEAST_FREEDOM` degrees of freedom. If it lacks one, return None for the ends, and in `trials_for_mean` the number
    of pairs that would do. If all values are 0, that number is None, too.
    """
    pairs, none = len(mean.values), {"mean": mean.value, "mean_low": None, "mean_high": None, "trials_for_mean": None}
    some = np.count_nonzero((mean.values != 0) | (control != 0))
    if not some or not mean.value:
        return none
    takes = max(LEAST_APART * pairs / some, LEAST_CONTRIBUTING * (1 + pairs * mean.variance / mean.value**2),
                pairs * LEAST_FREEDOM / mean.freedom)  # fmt: skip
    if takes > pairs:
        return none | {"trials_for_mean": takes}
    return none | {"mean_low": mean.value - mean.half, "mean_high": mean.value + mean.half}
