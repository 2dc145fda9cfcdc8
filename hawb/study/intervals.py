"""What the intervals of estimates are made of, here and now as on Spark: of a share Wilson's, of a mean batch means.

Of a share: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", 1927. Unlike the
textbook's it stays within 0 to 1 and says something of a loss that was never seen: for x of n trials
(x + z²/2 ± z·√(x(n - x)/n + z²/4)) / (n + z²). Of a mean: A. M. Law, "Simulation Modeling and Analysis", on output
analysis. Trials are dealt to `BATCHES` batches by their numbers, whose means are about normal where single trials,
mostly nothing and rarely a whole queue, are far from it; with Student's t for that many.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

from msgspec import Struct

NORMAL = 1.959964
"""Of 97.5 %."""

BATCHES = 32
STUDENT_T = 2.039513
"""Of 31 degrees of freedom, at 97.5 %."""

NOISE = 1e-9
"""A variance below this part of what it is the difference of is rounding."""


def wilson(share: Any, trials: Any, root: Callable[[Any], Any] = sqrt) -> tuple[Any, Any]:
    """From and to, of 95 %, for the share of so many trials, which need be no whole number. Numbers as well as Spark's
    columns, with its square root. Rounding may put an end beyond 0 or 1 by a hair."""
    squared = NORMAL**2
    spread = root(share * (1 - share) * trials + squared / 4) * NORMAL
    middle, whole = share * trials + squared / 2, trials + squared
    return (middle - spread) / whole, (middle + spread) / whole


class Share(Struct, frozen=True):
    """How many of the trials had any; of weighted ones as many as they are worth, which is no whole number."""

    some: float
    trials: float

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's, from and to, of 95 %; for no trial anything may be."""
        low, high = wilson(self.some / self.trials if self.trials else 0.0, self.trials)
        return max(0.0, low), min(1.0, high)
