"""A study's estimates for a terminal: a verdict, a table for each measure, and the progress while it runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from textwrap import TextWrapper
from typing import TYPE_CHECKING

from hawb.study.numbers import ORIGINS, PRICE, UNTOLD, Setting
from hawb.views.formatting import counted, left, percent, shown
from hawb.views.tables import WIDTH, columns

if TYPE_CHECKING:
    from hawb.study.progress import Progress

COLUMNS = ("environment", "design", "mean", "95 % interval", "share with any", "95 % interval")
MORE = ("more than {}", "95 % interval")
EFFECTIVE = "effective trials"

JUDGED = {
    "lost_confirmed": "confirmed messages lost", "publish_down_s": "seconds out of use",
    "sync_blocked_s": "seconds blocked by a synchronisation",
    "metadata_down_s": "seconds without changes of metadata", PRICE: "price of a year",
}  # fmt: skip
"""The measures by which designs are judged, in this order; their tables come first."""


def report(
    title: str, estimates: Iterable[Mapping[str, object]], baseline: str | None = None, currency: str | None = None
) -> str:
    """The estimates (`hawb.study.estimates`), a table for each measure of which any trial had any. Where trials have
    weights, each row tells how many plain trials they are worth. With a `baseline` each row tells its difference from
    that design, under the same faults, and a verdict stands before the tables. `currency` is that of prices."""
    by_measure: dict[str, list[Mapping[str, object]]] = {measure: [] for measure in JUDGED}
    for row in estimates:
        by_measure.setdefault(row["measure"], []).append(row)
    parts = [shown(title)]
    if baseline is not None and (told := verdict(by_measure, baseline)):
        parts.append(told)
    idle = []
    for measure, rows in by_measure.items():
        if not rows:
            continue
        if any(row["share"] or row["mean"] for row in rows):
            unit = f", {shown(currency)}" if measure == PRICE else ""
            parts.append(f"{measure}{unit}\n{_table(rows, baseline)}")
        else:
            idle.append(measure)
    if idle:
        parts.append(f"In no trial any: {', '.join(idle)}")
    return "\n\n".join(parts)


def verdict(by_measure: Mapping[str, Iterable[Mapping[str, object]]], baseline: str) -> str:
    """Which designs are told apart from the baseline by the measures that count, environment by environment; nothing
    where there is no other design."""
    by_environment: dict[str, list[str]] = {}
    for measure, words in JUDGED.items():
        cells: dict[str, list[Mapping[str, object]]] = {}
        for row in by_measure[measure]:
            if row["design"] != baseline and row["difference"] is not None:
                cells.setdefault(shown(row["environment"]), []).append(row)
        for environment, rows in cells.items():
            by_environment.setdefault(environment, []).append(f"  {words}: {_judged(rows)}")
    wrap = TextWrapper(WIDTH, subsequent_indent=" " * 6, break_on_hyphens=False).fill
    parts = ["\n".join([environment, *map(wrap, lines)]) for environment, lines in by_environment.items()]
    return "\n".join([f"Beside {shown(baseline)}, under the same faults:", *parts]) if parts else ""


def _judged(rows: Iterable[Mapping[str, object]]) -> str:
    """The designs that have less than the baseline and those that have more, each with its difference; designs whose
    interval includes 0 are neither."""
    sides: dict[str, list[str]] = {"less": [], "more": []}
    for row in rows:
        low, high = row["difference_low"], row["difference_high"]
        if low is not None and not low <= 0 <= high:
            sides["more" if low > 0 else "less"].append(f"{shown(row['design'])} ({more(row['difference'])})")
    told = [f"{side} with {', '.join(names)}" for side, names in sides.items() if names]
    return "; ".join(told) or "no difference is told"


def origins(title: str, settings: Iterable[Setting]) -> str:
    """The numbers that a study was played with, after own numbers of that title were laid over it: a list of those that
    were measured, one of those that are assumed, and one for each other origin."""
    by_origin: dict[str, list[list[str]]] = {origin: [] for origin in (*ORIGINS.values(), UNTOLD)}
    for one in settings:
        by_origin[one.origin].append([shown(one.name), shown(one.value), shown(one.reason)])
    parts = [columns(rows, (f"{origin}:", "", "")) for origin, rows in by_origin.items() if rows]
    return "\n\n".join([f"With these numbers: {shown(title)}", *parts])


def _table(rows: list[Mapping[str, object]], baseline: str | None) -> str:
    head, cells = list(COLUMNS), [_cells(row) for row in rows]
    if any(row["effective_trials"] != row["trials"] for row in rows):
        head.insert(2, EFFECTIVE)
        for row, cell in zip(rows, cells, strict=True):
            cell.insert(2, f"{row['effective_trials']:,.0f} of {row['trials']:,}")
    if baseline is not None and len({row["design"] for row in rows}) > 1:
        head += [part.format(shown(baseline)) for part in MORE]
        for row, cell in zip(rows, cells, strict=True):
            cell += _difference(row, baseline)
    return columns(cells, tuple(head))


def _cells(row: Mapping[str, object]) -> list[str]:
    share = f"{percent(row['share_low'])} to {percent(row['share_high'])}"
    mean = interval(row["mean_low"], row["mean_high"])
    return [shown(row["environment"]), shown(row["design"]), number(row["mean"]), mean, percent(row["share"]), share]


def _difference(row: Mapping[str, object], baseline: str) -> list[str]:
    if row["design"] == baseline or row["difference"] is None:
        return ["", ""]
    return [more(row["difference"]), interval(row["difference_low"], row["difference_high"])]


def interval(low: float | None, high: float | None) -> str:
    """From and to; nothing where there are too few trials to tell."""
    return "" if low is None else f"{number(low)} to {number(high)}"


def number(value: float) -> str:
    """A mean in as many digits as are significant."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def more(value: float) -> str:
    """A difference, with its sign."""
    return f"{'-' if value < 0 else '+'}{number(abs(value))}"


def rate(progress: Progress | None) -> str:
    """The rate of a study, the time left, and tasks tried again; empty before anything is played."""
    if progress is None:
        return ""
    told = []
    if progress.waits:
        told.append("waits for another run in its folder")
    if progress.left_s is not None:
        told.append(f"{progress.rate:,.0f} a second, {left(progress.left_s)} left")
    if progress.tried_again:
        told.append(f"{counted(progress.tried_again, 'task')} died and tried again")
    return ", ".join(told)
