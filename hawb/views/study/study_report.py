"""A study's estimates for a terminal and as one page: a verdict, a table for each measure; and its progress."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from math import sqrt
from typing import TYPE_CHECKING

from hawb.study.intervals import LEAST_APART
from hawb.study.numbers import ORIGINS, PRICE, UNTOLD, Setting
from hawb.views import bars
from hawb.views.formatting import counted, left, listing, percent, shown
from hawb.views.page import report_page
from hawb.views.report import Part, Report
from hawb.views.study import study_verdict
from hawb.views.study.study_verdict import LESS, Row, events_of_two, is_apart
from hawb.views.study.study_verdict import MORE as MORE_THAN
from hawb.views.tables import Table
from hawb.views.terminal import text

if TYPE_CHECKING:
    from hawb.study.progress import Progress

COLUMNS = ("environment", "design", "mean", "95 % interval", "share with any", "95 % interval")
MORE = ("more than {}", "95 % interval")
EFFECTIVE = "effective trials"
ASSUMED = (
    "The model plays each trial with the faults of its environment; designs are compared under the same faults."
    " Intervals are 95 % intervals; an event that occurred in no trial can still occur.",
)

SPLIT = (
    "Not counted: messages that {} lose in a split brain. Both partitions accept and confirm messages, and"
    " afterwards those of one are discarded; the clients of a trial are all in one partition. These designs are not"
    " recommended."
)

OPEN_RATES = "How well the rates are known"
OPEN_NOTE = (
    "The rates were measured on a limited number of failures. The study was also played at other plausible rates,"
    " and all intervals of this answer include that uncertainty. The last column is its share of the interval's"
    " square; more trials would narrow only the rest."
)

JUDGED = {
    "lost_confirmed": "confirmed messages lost", "publish_down_s": "seconds out of use",
    "sync_blocked_s": "seconds blocked by a synchronisation",
    "metadata_down_s": "seconds without changes of metadata", PRICE: "price of a year",
}  # fmt: skip
"""The measures by which designs are judged, in this order; their tables come first."""


def report_of(
    title: str, estimates: Iterable[Row], baseline: str | None = None, currency: str | None = None,
    numbers: tuple[Part, ...] = (), command: str = "",
    unseen: Collection[tuple[str, str]] = (),
) -> Report:  # fmt: skip
    """The estimates (`hawb.study.estimates`), a table for each measure of which any trial had any. Where trials have
    weights, each row tells how many plain trials they are worth. With a `baseline` each row tells its difference from
    that design, under the same faults, and what tells designs apart stands before the tables. `currency` is that of
    prices, `numbers` what was measured and what is assumed. `unseen` are pairs of design and environment of which not
    all losses are seen (`Study.split_brains`)."""
    rows = list(estimates)
    by_measure: dict[str, list[Row]] = {measure: [] for measure in JUDGED}
    for row in rows:
        by_measure.setdefault(str(row["measure"]), []).append(row)
    beside = () if baseline is None else tuple(apart(by_measure, baseline))
    parts = [Part(f"Beside {shown(baseline)}, under the same faults", None, beside)] if beside else []
    had = {measure: those for measure, those in by_measure.items() if any(row["share"] or row["mean"] for row in those)}
    for measure, those in had.items():
        unit = f", {shown(currency)}" if measure == PRICE else ""
        kinds = tuple(shown(row["environment"]) for row in those)
        parts.append(Part(f"{measure}{unit}", _table(those, baseline), kinds=kinds))
    idle = [measure for measure, those in by_measure.items() if those and measure not in had]
    if idle:
        parts.append(Part("None in any trial", None, (", ".join(idle),)))
    told, designs = study_verdict.verdict(rows, baseline, unseen), {row["design"] for row in rows}
    asked = study_verdict.question(baseline, len(designs))
    todo = study_verdict.todo(rows, told, baseline, command, unseen)
    split = listing(f"{design} in {place}" for design, place in sorted(unseen))
    assumed = (SPLIT.format(split), *ASSUMED) if unseen else ASSUMED
    return Report(asked, shown(title), told, todo, (*parts, *numbers), assumed)


def report(title: str, estimates: Iterable[Row], baseline: str | None = None, currency: str | None = None) -> str:
    """The same as text."""
    return text(report_of(title, estimates, baseline, currency))


def page(found: Report, estimates: Iterable[Row]) -> str:
    """One page, which fetches and runs nothing: a bar for each cell of the first measures that any trial had."""
    drawn = []
    for measure in JUDGED:
        rows = [row for row in estimates if row["measure"] == measure and row["mean"]]
        named = {f"{row['design']}, {row['environment']}": row for row in rows}
        if named:
            said = {name: f"{number(row['mean'])}  ({interval(row['mean_low'], row['mean_high'])})"
                    for name, row in named.items()}  # fmt: skip
            means = {name: float(row["mean"]) for name, row in named.items()}
            drawn.append(bars.figure(means, f"{JUDGED[measure]}: the mean of a trial, with its interval of 95 %", said))
    return report_page(found, drawn)


def apart(by_measure: Mapping[str, Iterable[Row]], baseline: str) -> list[str]:
    """Which designs are told apart from the baseline by the measures that count, environment by environment; nothing
    where there is no other design."""
    by_environment: dict[str, list[str]] = {}
    for measure, words in JUDGED.items():
        cells: dict[str, list[Row]] = {}
        for row, seen in events_of_two(by_measure[measure], baseline):
            if row["difference"] is not None:
                known = cells.setdefault(shown(row["environment"]), [])
                if seen >= LEAST_APART:
                    known.append(row)
        for environment, rows in cells.items():
            by_environment.setdefault(environment, []).append(f"{environment}: {words}: {_judged(rows)}")
    return [line for lines in by_environment.values() for line in lines]


def _judged(rows: Iterable[Row]) -> str:
    """The designs that have less than the baseline and those that have more, each with its difference; designs whose
    interval includes 0 are neither."""
    sides: dict[str, list[str]] = {"less": [], "more": []}
    for row in rows:
        for name, side in (("less", LESS), ("more", MORE_THAN)):
            if is_apart(row, side):
                sides[name].append(f"{shown(row['design'])} ({more(row['difference'])})")
    told = [f"{side} with {', '.join(names)}" for side, names in sides.items() if names]
    return "; ".join(told) or "no difference beyond chance"


def origins(title: str, settings: Iterable[Setting]) -> tuple[Part, ...]:
    """The numbers that a study was played with, after own numbers of that title were laid over it: a table of those
    that were measured, one of those that are assumed, and one for each other origin."""
    by_origin: dict[str, list[tuple[str, ...]]] = {origin: [] for origin in (*ORIGINS.values(), UNTOLD)}
    for one in settings:
        by_origin[one.origin].append((shown(one.name), shown(one.value), shown(one.reason)))
    heads = ("number", "value", "why")
    return tuple(
        Part(f"{origin.capitalize()}, of {shown(title)}", Table(origin, heads, rows))
        for origin, rows in by_origin.items() if rows
    )  # fmt: skip


def rates_part(rows: Iterable[Row]) -> tuple[Part, ...]:
    """How much of the intervals is there because rates are not known better (`hawb.study.own_draws`); nothing where the
    numbers have no draws."""
    cells = []
    for row in rows:
        off = row.get("open_mean")
        if off is not None and row["measure"] in JUDGED and row["mean_high"] is not None and row["mean"]:
            low, high, mean = row["mean_low"], row["mean_high"], row["mean"]
            alone = sqrt(max(0.0, (high - mean) ** 2 - off**2))
            share = off**2 / (high - mean) ** 2 if high > mean else 0.0
            cells.append((JUDGED[row["measure"]], shown(row["environment"]), shown(row["design"]), number(mean),
                          interval(max(0.0, mean - alone), mean + alone), interval(max(0.0, low), high),
                          percent(share)))  # fmt: skip
    heads = ("of", "environment", "design", "mean", "by the trials alone", "with the rates", "rates' part")
    return (Part(OPEN_RATES, Table("rates", heads, cells), (OPEN_NOTE,)),) if cells else ()


def _table(rows: list[Row], baseline: str | None) -> Table:
    head, cells = list(COLUMNS), [_cells(row) for row in rows]
    if any(row["effective_trials"] != row["trials"] for row in rows):
        head.insert(2, EFFECTIVE)
        for row, cell in zip(rows, cells, strict=True):
            cell.insert(2, f"{row['effective_trials']:,.0f} of {row['trials']:,}")
    if baseline is not None and len({row["design"] for row in rows}) > 1:
        head += [part.format(shown(baseline)) for part in MORE]
        for row, cell in zip(rows, cells, strict=True):
            cell += _difference(row, baseline)
    return Table(str(rows[0]["measure"]), tuple(head), [tuple(cell) for cell in cells])


def _cells(row: Row) -> list[str]:
    share = f"{percent(row['share_low'])} to {percent(row['share_high'])}"
    mean = interval(row["mean_low"], row["mean_high"])
    return [shown(row["environment"]), shown(row["design"]), number(row["mean"]), mean, percent(row["share"]), share]


def _difference(row: Row, baseline: str) -> list[str]:
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
        told.append("waiting for another run in this folder")
    if progress.left_s is not None:
        told.append(f"{progress.rate:,.0f} a second, {left(progress.left_s)} left")
    if progress.tried_again:
        told.append(f"{counted(progress.tried_again, 'task')} failed and retried")
    return ", ".join(told)
