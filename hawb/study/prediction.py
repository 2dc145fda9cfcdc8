"""A number that a fitted model predicts, with the errors of such predictions and warnings about effects it ignores.

The interval is the jackknife's: each published row was left out once, the model fitted to the others and used to
predict it. The half width is the k-th smallest of these n errors, k being 90 % of n + 1 rounded up; then it covers
about k of n + 1 new rows like them (R. F. Barber and others, "Predictive inference with the jackknife+", 2021). With
few rows it covers less, and says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from msgspec import Struct

COVERAGE = 0.9


class NotMeasuredError(ValueError):
    """The value is too far from all published measurements. The message has the given and the accepted values."""

    def __init__(self, name: str, given: object, accepted: str, hint: str = "") -> None:
        lines = [f"{name}: not measured", f"  given: {given!r}", f"  accepted: {accepted}"]
        super().__init__("\n".join([*lines, f"  hint: {hint}"] if hint else lines))


class Prediction(Struct, frozen=True, kw_only=True):
    """A `value` in `unit`, with its interval from `low` to `high`.

    The interval holds for about `coverage` of new rows like those of the fit. `error` is the median of the errors on
    held-out rows, as a share: 0.1 is 10 % too much or too little. `rows` is the number of rows held out.
    """

    value: float
    unit: str
    low: float
    high: float
    coverage: float
    error: float
    rows: int
    warnings: tuple[str, ...] = ()
    leaves_out: tuple[str, ...] = ()

    @classmethod
    def of(cls, value: float, unit: str, held_out: Sequence[float], **more: tuple[str, ...]) -> Prediction:
        """Return the prediction by the errors of held-out rows.

        An error is the natural logarithm of predicted by published.
        """
        errors = sorted(map(abs, held_out))
        rank = min(math.ceil(COVERAGE * (len(errors) + 1)), len(errors))
        width = math.exp(errors[rank - 1])
        return cls(
            value=value,
            unit=unit,
            low=value / width,
            high=value * width,
            coverage=rank / (len(errors) + 1),
            error=math.expm1(median(errors)),
            rows=len(errors),
            **more,
        )

    def __str__(self) -> str:
        value, low, high = map(_rounded, (self.value, self.low, self.high))
        lines = [
            f"{value} {self.unit}, from {low} to {high} for {self.coverage:.0%} of rows like the {self.rows} that were"
            f" held out; the median error was {self.error:.0%}",
            *(f"  warning: {text}" for text in self.warnings),
            *(f"  leaves out: {text}" for text in self.leaves_out),
        ]
        return "\n".join(lines)


def _rounded(value: float) -> str:
    """Return a number with three significant digits, as no prediction here is better, never as a power of ten."""
    digits = 2 - math.floor(math.log10(abs(value))) if value else 0
    return f"{round(value, digits):,.{max(digits, 0)}f}"
