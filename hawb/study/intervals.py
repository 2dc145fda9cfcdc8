"""The intervals of estimates, the same without Spark and on it: Wilson's for a share, batch means for a mean.

Of a share: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", 1927. Unlike the
textbook's it stays within 0 to 1 and says something of a loss that was never seen: for x of n trials
(x + z²/2 ± z·√(x(n - x)/n + z²/4)) / (n + z²). Of a mean: A. M. Law, "Simulation Modeling and Analysis", on output
analysis. Trials are dealt to `BATCHES` batches by their numbers, whose means are about normal where single trials,
mostly nothing and rarely a whole queue, are far from it; with Student's t for that many.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, sqrt
from typing import Any

from msgspec import Struct

NORMAL = 1.959964
"""The normal quantile of 97.5 %."""

BATCHES = 32
STUDENT_T = 2.039513
"""Student's quantile of 97.5 %, for 31 degrees of freedom."""

LEAST_EVENTS = 5 * BATCHES
"""In how many trials a measure has to be above zero before its mean is taken as known. With fewer, some batches have
none or one, their means are far from normal, and an interval by them is too narrow; without any its width is zero."""

LEAST_APART = 2 * BATCHES
"""In how many trials of two designs together a measure has to be above zero before their difference is judged. Pairs of
trials have the same faults, so fewer do than for a mean: two in each batch on average."""

LEAST_EFFECTIVE, LEAST_EFFECTIVE_SHARE = 2 * BATCHES, 0.01
"""How many plain trials weighted ones have to be worth (`effective_trials`), and which share of them, before anything
has an interval. With fewer a few trials carry nearly all weight, and what they did not see is in no interval."""

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
"""The quantiles that are told, by their names in rows (`hawb.study.quantiles`)."""
OBJECTIVE = "objective"
"""What a trial should not exceed of a measure."""

NOISE = 1e-9
"""A variance that is a smaller part of the two figures whose difference it is counts as rounding."""


def wilson(share: Any, trials: Any, root: Callable[[Any], Any] = sqrt) -> tuple[Any, Any]:
    """The ends of the 95 % interval for a share of so many trials, which need be no whole number; takes numbers as well
    as Spark's columns, with Spark's square root. Rounding may put an end beyond 0 or 1 by a hair."""
    squared = NORMAL**2
    spread = root(share * (1 - share) * trials + squared / 4) * NORMAL
    middle, whole = share * trials + squared / 2, trials + squared
    return (middle - spread) / whole, (middle + spread) / whole


def none_seen(trials: float) -> float:
    """Return the largest share, with 95 % certainty, of what none of so many trials had: the rule of three (J. A.
    Hanley and A. Lippman-Hand, "If nothing goes wrong, is everything all right?", 1983)."""
    return min(1.0, 3 / trials) if trials else 1.0


def trials_for_mean(share: float) -> float:
    """Return how many trials the interval of a mean takes, given the share of trials that had any: as many as show
    `LEAST_EVENTS`. Of none seen the number is infinite."""
    return max(2 * BATCHES, LEAST_EVENTS / share) if share else inf


def are_worth_it(trials: float, effective: float) -> bool:
    """Return True if weighted trials are worth enough plain ones for intervals, or are plain."""
    return effective >= min(trials, max(LEAST_EFFECTIVE, LEAST_EFFECTIVE_SHARE * trials))


class Share(Struct, frozen=True):
    """How many of the trials had any; weighted trials count for what they are worth, which is no whole number."""

    some: float
    trials: float

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of Wilson's 95 % interval; 0 and 1 without a trial."""
        low, high = wilson(self.some / self.trials if self.trials else 0.0, self.trials)
        return max(0.0, low), min(1.0, high)
