"""A study's estimates for a notebook: a table, and the same in words; each number with its 95 % interval."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import floor, log10

import pandas as pd
from msgspec import Struct

from hawb.study.live import Estimate
from hawb.views.formatting import percent

SMALLEST = 0.01
"""Means below this are not told apart: a hundredth of a minute, or of a message."""


class Shown(Struct, frozen=True):
    """A number of a study that is shown: the mean of a measure, `times` as much in another unit, or the share of trials
    that had any."""

    measure: str
    title: str
    times: float = 1.0
    share: bool = False

    def of(self, estimate: Estimate) -> tuple[float, float | None, float | None]:
        """(value, from, to) of an estimate; no interval where there are too few trials."""
        kind, times = ("share", 1.0) if self.share else ("mean", self.times)
        values = (estimate[f"{kind}{end}"] for end in ("", "_low", "_high"))
        return tuple(None if value is None else value * times for value in values)

    def text(self, value: float) -> str:
        """A value with its unit."""
        return percent(value) if self.share else f"< {SMALLEST:g}" if 0 < value < SMALLEST else number(value)


LOSS = Shown("lost_confirmed", "years with a loss", share=True)
LOST = Shown("lost_confirmed", "messages lost a year")
DOWN = Shown("publish_down_s", "minutes out of use a year", times=1 / 60)
BLOCKED = Shown("sync_blocked_s", "minutes blocked a year", times=1 / 60)
METADATA = Shown("metadata_down_s", "minutes without metadata changes a year", times=1 / 60)
OUTAGES = Shown("outages", "outages a year")
TWICE = Shown("delivered_twice", "messages delivered twice a year")
NACKED = Shown("nacked", "messages nacked a year")
NETWORK = Shown("bytes_replicated", "GB between nodes a year", times=1e-9)


def cell_value(
    estimates: Iterable[Estimate], design: str, environment: str, shown: Shown
) -> tuple[float, float, float]:
    """(value, from, to) of a cell. Raises KeyError where there is none."""
    for row in estimates:
        if (row["design"], row["environment"], row["measure"]) == (design, environment, shown.measure):
            return shown.of(row)
    raise KeyError(f"{design} in {environment}: {shown.measure}")


def cell_difference(
    estimates: Iterable[Estimate], design: str, environment: str, shown: Shown
) -> tuple[float, float | None, float | None]:
    """(how much more than the baseline's a cell's mean is, from, to). Raises KeyError where there is none."""
    for row in estimates:
        if (row["design"], row["environment"], row["measure"]) == (design, environment, shown.measure):
            ends = (row.get(f"difference{end}") for end in ("", "_low", "_high"))
            more, low, high = (None if end is None else end * shown.times for end in ends)
            if more is not None:
                return more, low, high
    raise KeyError(f"{design} in {environment}: no difference in {shown.measure}")


def cells(estimates: Iterable[Estimate]) -> list[tuple[str, str]]:
    """The pairs of environment and design, in the order of the estimates' environments."""
    pairs = dict.fromkeys((row["environment"], row["design"]) for row in estimates)
    order = list(dict.fromkeys(environment for environment, _ in pairs))
    return sorted(pairs, key=lambda pair: order.index(pair[0]))


def estimates_table(estimates: Sequence[Estimate], shown: Sequence[Shown]) -> pd.DataFrame:
    """One row for each environment and design, one column for each number: `value (from to to)`."""
    places = cells(estimates)
    found = {
        each.title: [
            _in_a_cell(each, cell_value(estimates, design, environment, each)) for environment, design in places
        ]
        for each in shown
    }
    return pd.DataFrame(found, index=pd.MultiIndex.from_tuples(places, names=("environment", "design")))


def worth_table(estimates: Iterable[Estimate]) -> pd.DataFrame:
    """One row for each environment: its trials, and how many plain ones their weights are worth."""
    found = {row["environment"]: (row["trials"], round(row["effective_trials"])) for row in estimates}
    table = pd.DataFrame.from_dict(found, orient="index", columns=["trials", "worth plain trials"])
    return table.rename_axis("environment").map("{:,}".format)


def _in_a_cell(shown: Shown, values: tuple[float, float | None, float | None]) -> str:
    value, low, high = values
    if low is None:
        return shown.text(value)
    told, least, most = map(shown.text, (value, max(low, 0.0), high))
    return told if least == told == most else f"{told} ({least.removesuffix(' %')} to {most})"


def estimates_in_words(estimates: Sequence[Estimate], shown: Sequence[Shown]) -> str:
    """The figure's text alternative: for each environment a line that names the numbers, and a line for each design."""
    titles = "; ".join(each.title for each in shown)
    lines: list[str] = []
    before = None
    for environment, design in cells(estimates):
        if environment != before:
            lines.append(f"{environment}: {titles}")
            before = environment
        told = [each.text(cell_value(estimates, design, environment, each)[0]) for each in shown]
        lines.append(f"  {design}: {'; '.join(told)}")
    return "\n".join(lines)


def number(value: float) -> str:
    """A mean to three digits: no interval of these studies is narrower."""
    digits = 2 - floor(log10(abs(value))) if value else 0
    return f"{round(value, digits):,.{max(digits, 0)}f}"
