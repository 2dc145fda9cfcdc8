"""A study's estimates for a notebook, as a table and in words.

Each number has its 95 % interval; a mean of too few trials has the number of trials that its interval takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import floor, log10
from typing import TYPE_CHECKING

import pandas as pd
from msgspec import Struct

from hawb.views.formatting import percent, too_few

if TYPE_CHECKING:
    from hawb.study.live import Estimate

SMALLEST = 0.01
"""Means below this are not distinguished: a hundredth of a minute, or of a message."""


class Shown(Struct, frozen=True):
    """A number to show: a measure's mean, or the share of trials in which it is not 0.

    The mean is multiplied by `times` for another unit.
    """

    measure: str
    title: str
    times: float = 1.0
    share: bool = False

    def of(self, estimate: Estimate) -> tuple[float, float | None, float | None]:
        """Return (value, from, to) of an estimate; from and to are None if it has no interval."""
        kind, times = ("share", 1.0) if self.share else ("mean", self.times)
        values = (estimate[f"{kind}{end}"] for end in ("", "_low", "_high"))
        return tuple(None if value is None else value * times for value in values)

    def text(self, value: float) -> str:
        """Return a value with its unit."""
        return percent(value) if self.share else f"< {SMALLEST:g}" if 0 < value < SMALLEST else number(value)


LOSS = Shown("lost_confirmed", "years with a loss", share=True)
LOST = Shown("lost_confirmed", "messages lost a year")
DOWN = Shown("queue_down_s", "minutes out of use a year", times=1 / 60)
UNCONFIRMED = Shown("publish_down_s", "minutes without confirms a year", times=1 / 60)
BLOCKED = Shown("sync_blocked_s", "minutes blocked a year", times=1 / 60)
METADATA = Shown("metadata_down_s", "minutes without metadata changes a year", times=1 / 60)
OUTAGES = Shown("outages", "outages a year")
TWICE = Shown("delivered_twice", "messages delivered twice a year")
NETWORK = Shown("bytes_replicated", "GB between nodes a year", times=1e-9)


def cell_value(
    estimates: Iterable[Estimate], design: str, environment: str, shown: Shown
) -> tuple[float, float, float]:
    """Return (value, from, to) of a cell. Raise KeyError if there is no such cell."""
    for row in estimates:
        if (row["design"], row["environment"], row["measure"]) == (design, environment, shown.measure):
            return shown.of(row)
    raise KeyError(f"{design} in {environment}: {shown.measure}")


def cell_difference(
    estimates: Iterable[Estimate], design: str, environment: str, shown: Shown
) -> tuple[float, float | None, float | None]:
    """Return (difference of a cell's mean from the baseline's, from, to).

    Raise KeyError if there is none.
    """
    for row in estimates:
        if (row["design"], row["environment"], row["measure"]) == (design, environment, shown.measure):
            ends = (row.get(f"difference{end}") for end in ("", "_low", "_high"))
            more, low, high = (None if end is None else end * shown.times for end in ends)
            if more is not None:
                return more, low, high
    raise KeyError(f"{design} in {environment}: no difference in {shown.measure}")


def cells(estimates: Iterable[Estimate]) -> list[tuple[str, str]]:
    """Return the pairs of environment and design, grouped by environment."""
    pairs = dict.fromkeys((row["environment"], row["design"]) for row in estimates)
    order = list(dict.fromkeys(environment for environment, _ in pairs))
    return sorted(pairs, key=lambda pair: order.index(pair[0]))


def estimates_table(estimates: Sequence[Estimate], shown: Sequence[Shown]) -> pd.DataFrame:
    """Return a table with a row for each environment and design, and a column for each number.

    A cell is `value (from to to)`, or `value (takes N trials)`.
    """
    places = cells(estimates)
    takes = {(row["environment"], row["design"], row["measure"]): row.get("trials_for_mean") for row in estimates}
    found = {
        each.title: [
            _in_a_cell(each, cell_value(estimates, design, environment, each),
                       None if each.share else takes[environment, design, each.measure])
            for environment, design in places
        ]
        for each in shown
    }  # fmt: skip
    return pd.DataFrame(found, index=pd.MultiIndex.from_tuples(places, names=("environment", "design")))


def worth_table(estimates: Iterable[Estimate]) -> pd.DataFrame:
    """Return a table with the trials of each environment, and how many plain trials their weights are worth."""
    found = {row["environment"]: (row["trials"], round(row["effective_trials"])) for row in estimates}
    table = pd.DataFrame.from_dict(found, orient="index", columns=["trials", "worth plain trials"])
    return table.rename_axis("environment").map("{:,}".format)


def _in_a_cell(shown: Shown, values: tuple[float, float | None, float | None], takes: float | None) -> str:
    value, low, high = values
    if low is None:
        return f"{shown.text(value)} ({too_few(takes)})" if takes else shown.text(value)
    middle, least, most = map(shown.text, (value, max(low, 0.0), high))
    return middle if least == middle == most else f"{middle} ({least.removesuffix(' %')} to {most})"


def estimates_in_words(estimates: Sequence[Estimate], shown: Sequence[Shown]) -> str:
    """Return the figure's text alternative: a line with the numbers by environment, and a line for each design."""
    titles = "; ".join(each.title for each in shown)
    lines: list[str] = []
    before = None
    for environment, design in cells(estimates):
        if environment != before:
            lines.append(f"{environment}: {titles}")
            before = environment
        texts = [each.text(cell_value(estimates, design, environment, each)[0]) for each in shown]
        lines.append(f"  {design}: {'; '.join(texts)}")
    return "\n".join(lines)


def number(value: float) -> str:
    """Return a mean to three digits, which is finer than any interval of these studies."""
    digits = 2 - floor(log10(abs(value))) if value else 0
    return f"{round(value, digits):,.{max(digits, 0)}f}"
