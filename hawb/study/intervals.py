"""The intervals of estimates, the same with and without Spark: Wilson's for a share, batch means for a mean.

Of a share: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", 1927. Unlike the
textbook's it stays within 0 to 1 and gives a bound for a loss that was never seen: for x of n trials (x + z²/2 ±
z·√(x(n - x)/n + z²/4)) / (n + z²).

Of a mean: A. M. Law, "Simulation Modeling and Analysis", on output analysis. Trials are dealt to `BATCHES` batches by
their numbers. The batches' means are about normal; single trials, mostly zero and rarely a whole queue, are far from
it. Student's t is that of `BATCHES`. Where few trials make most of a mean even batches' means are not normal, and there
is no interval (`trials_for_mean`).
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

from msgspec import Struct

NORMAL = 1.959964
"""The normal quantile of 97.5 %."""

BATCHES = 32
STUDENT_T = 2.039513
"""Student's quantile of 97.5 %, for 31 degrees of freedom."""

LEAST_EVENTS = 5 * BATCHES
"""The number of trials with a measure above zero that its mean needs to count as known.

With fewer, some batches have none or one, their means are far from normal, and an interval by them is too narrow;
without any its width is zero.
"""

LEAST_CONTRIBUTING = 40
"""The effective number of trials that must make up a mean for its interval.

With fewer, a few long outages or large losses make most of the mean, and its interval depends on how many of them were
drawn. `benchmarks/coverage.py` measures how often intervals hold with this bound and without it.
"""

LEAST_APART = 2 * BATCHES
"""The number of trials of two designs together with a measure above zero that a comparison needs.

Pairs of trials have the same faults, so fewer do than for a mean: two in each batch on average.
"""

LEAST_EFFECTIVE, LEAST_EFFECTIVE_SHARE = 2 * BATCHES, 0.01
"""The least number, and the least share, of plain trials that weighted ones must be worth for intervals.

With fewer, a few trials carry nearly all weight, and no interval accounts for events that they did not have.
"""

LEAST_GAIN = 1.5
"""The gain of a control below which the plain mean is shown (`hawb.study.control_variates`): it may be chance."""

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
"""The quantiles that hawb shows, by their names in rows (`hawb.study.quantiles`)."""
OBJECTIVE = "objective"
"""The largest acceptable value of a measure in a trial."""

NOISE = 1e-9
"""A variance that is a smaller share of the two figures whose difference it is counts as rounding."""


def wilson(share: Any, trials: Any, root: Callable[[Any], Any] = sqrt) -> tuple[Any, Any]:
    """Return the ends of the 95 % interval for a share of `trials` trials, which need not be a whole number.

    Arguments are numbers, or Spark's columns with Spark's square root. Rounding may put an end slightly beyond 0 or 1.
    """
    squared = NORMAL**2
    spread = root(share * (1 - share) * trials + squared / 4) * NORMAL
    middle, whole = share * trials + squared / 2, trials + squared
    return (middle - spread) / whole, (middle + spread) / whole


def none_seen(trials: float) -> float:
    """Return the largest share, with 95 % certainty, of an event that none of `trials` trials had: the rule of three.

    Source: J. A. Hanley and A. Lippman-Hand, "If nothing goes wrong, is everything all right?", 1983.
    """
    return min(1.0, 3 / trials) if trials else 1.0


def trials_for_mean(mean: Any, half: Any, trials: Any, share: Any, most: Callable[..., Any] = max) -> Any:
    """Return about how many trials the interval of a mean takes. With fewer `trials` it is not shown.

    `half` is half the interval by batches, and `share` the share of trials with any, which is 1 for weighted trials:
    they have more events than their share shows. Neither mean nor share is 0. The trials must show `LEAST_EVENTS`, and
    effectively `LEAST_CONTRIBUTING` of them must make up the mean. The effective number is L. Kish's ("Survey
    Sampling", 1965) of the trials' values x, (Σx)² / Σx²: it is mean² / (variance of the mean + mean² / trials).
    Arguments are numbers, or Spark's columns with Spark's `greatest`.
    """
    return most(LEAST_EVENTS / share, LEAST_CONTRIBUTING * (1 + trials * (half / STUDENT_T / mean) ** 2))


def ends_of_mean(mean: float, half: float | None, trials: int, share: float) -> dict[str, float | None]:
    """Return `mean_low` and `mean_high`, the ends of a mean's interval, and `trials_for_mean`.

    With too few trials for an interval the ends are None, and `trials_for_mean` is about the number that it takes;
    otherwise that is None. All are None if no trial had any. `half` is None with fewer than two trials a batch.
    """
    takes = None
    if mean and share:
        takes = LEAST_EVENTS / share if half is None else trials_for_mean(mean, half, trials, share)
    if half is None or takes is None or takes > trials:
        return {"mean_low": None, "mean_high": None, "trials_for_mean": takes}
    return {"mean_low": mean - half, "mean_high": mean + half, "trials_for_mean": None}


def are_worth_it(trials: float, effective: float) -> bool:
    """Return True if weighted trials are worth enough plain ones for intervals, or are plain."""
    return effective >= min(trials, max(LEAST_EFFECTIVE, LEAST_EFFECTIVE_SHARE * trials))


class Share(Struct, frozen=True):
    """The number of trials with any, of all trials; weighted trials count as the plain trials they are worth."""

    some: float
    trials: float

    @property
    def interval(self) -> tuple[float, float]:
        """Return the ends of Wilson's 95 % interval; 0 and 1 without a trial."""
        low, high = wilson(self.some / self.trials if self.trials else 0.0, self.trials)
        return max(0.0, low), min(1.0, high)
