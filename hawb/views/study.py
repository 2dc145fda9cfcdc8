"""What a study comes to, for a terminal: a table for each measure, and how it goes on while it runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hawb.study.pipeline import Progress
from hawb.views.findings import columns
from hawb.views.words import shown

COLUMNS = ("environment", "design", "mean", "95 % interval", "share with any", "95 % interval")
EFFECTIVE = "effective trials"
SMALLEST_SHARE = 1e-6


def report(title: str, estimates: Iterable[Mapping[str, object]]) -> str:
    """The estimates (`hawb.study.estimates`), a table for each measure of which any trial had any. Where trials have
    weights each row tells how many they are worth."""
    by_measure: dict[str, list[Mapping[str, object]]] = {}
    for row in estimates:
        by_measure.setdefault(row["measure"], []).append(row)
    parts = [shown(title)]
    idle = []
    for measure, rows in by_measure.items():
        if any(row["share"] or row["mean"] for row in rows):
            parts.append(f"{measure}\n{_table(rows)}")
        else:
            idle.append(measure)
    if idle:
        parts.append(f"In no trial any: {', '.join(idle)}")
    return "\n\n".join(parts)


def _table(rows: list[Mapping[str, object]]) -> str:
    if all(row["effective_trials"] == row["trials"] for row in rows):
        return columns([_cells(row) for row in rows], COLUMNS)
    told = [f"{row['effective_trials']:,.0f} of {row['trials']:,}" for row in rows]
    cells = [[*_cells(row)[:2], effective, *_cells(row)[2:]] for row, effective in zip(rows, told, strict=True)]
    return columns(cells, (*COLUMNS[:2], EFFECTIVE, *COLUMNS[2:]))


def _cells(row: Mapping[str, object]) -> list[str]:
    mean = "" if row["mean_low"] is None else f"{number(row['mean_low'])} to {number(row['mean_high'])}"
    share = f"{percent(row['share_low'])} to {percent(row['share_high'])}"
    return [shown(row["environment"]), shown(row["design"]), number(row["mean"]), mean, percent(row["share"]), share]


def number(value: float) -> str:
    """A mean, in as many digits as tell something."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def percent(value: float) -> str:
    """A share as a percentage; rare ones keep two digits."""
    return "0 %" if value < SMALLEST_SHARE / 100 else f"{100 * value:.2g} %" if value < 0.1 else f"{100 * value:.1f} %"


def rate(progress: Progress | None) -> str:
    """How fast it goes, and the time left; nothing before anything is played."""
    if progress is None or progress.left_s is None:
        return ""
    return f"{progress.rate:,.0f} a second, {left(progress.left_s)} left"


def left(duration_s: float) -> str:
    """A time that need not be exact: 40 s, 12 min, 3 h 20 min."""
    if duration_s < 100:
        return f"{duration_s:.0f} s"
    minutes = round(duration_s / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
