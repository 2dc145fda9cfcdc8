"""A study's estimates for a terminal and as one page: a verdict and a table for each measure; and its progress."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from math import sqrt
from typing import TYPE_CHECKING

from hawb.rules.nearest_profile import profile_for
from hawb.rules.profiles import PROFILES
from hawb.study.comparisons import LESS, SENSITIVITY, comparisons, is_apart
from hawb.study.comparisons import MORE as MORE_THAN
from hawb.study.intervals import LEAST_APART, LEAST_GAIN, OBJECTIVE, QUANTILES
from hawb.study.markov_chain import EXACT
from hawb.study.numbers import NOT_STATED, ORIGINS, PRICE, Setting
from hawb.views import bars
from hawb.views.formatting import counted, left, listing, percent, shown, too_few
from hawb.views.page import report_page
from hawb.views.report import Part, Report
from hawb.views.study import caveats
from hawb.views.tables import Table
from hawb.views.terminal import text
from hawb.views.verdicts import study as study_verdict
from hawb.views.verdicts.study import LOST, Row, events, events_of_two, lost_alone

if TYPE_CHECKING:
    from hawb.study.progress import Progress
    from hawb.study.question import Study

COLUMNS = ("environment", "design", "mean", "95 % interval", "share of trials with any", "95 % interval")
MORE = ("more than {}", "95 % interval")
EFFECTIVE = "effective trials"
ASSUMED = (
    "Each trial has the faults of its environment; designs are compared under the same faults."
    " Intervals are 95 % intervals; an event that occurred in no trial can still occur.",
)

SPLIT = (
    "Not counted: messages that {} lose in a split brain. Both partitions accept and confirm messages, and"
    " afterwards the messages of one partition are discarded; the clients of a trial are all in one partition. These"
    " designs are not recommended."
)

TOGETHER = (
    "Whether designs differ is decided by intervals that hold for all {} comparisons at once with 95 % (Bonferroni's"
    " rule). They are wider than the intervals in the tables, each of which holds only for one comparison."
)

DEFAULTS = (
    "There is no source for {}. They are hawb's defaults, the same in every design. A result that depends on them is"
    " no more certain than these defaults."
)

NEAREST = "hawb has no rules for {version}: the study uses the rules of {release}, the nearest release."

NONE_SEEN = "none seen"
RESTS_ON = "What the differences depend on"
RESTS_NOTE = (
    "The study was also run with each number at half and at twice its value, and the other numbers unchanged. A"
    " difference that changes by more than the width of its interval is no more certain than the number."
)
LENGTHS = "The median trial, and the values that one in ten and one in a hundred exceed"

BY_CONTROL = "What the control adds"
BY_CONTROL_NOTE = (
    "The kernel does not support these designs. It therefore simulates many trials of a similar cluster, the control,"
    " and fewer trials of the slower engine correct their mean (control variates). Some of the engine's trials are of"
    " years in which the control fails. The gain says how many times as many trials of the engine would give the same"
    " precision without a control. Below {} the control does not help, and hawb uses the mean of the engine's trials."
    " The interval of a mean does not cover events that occurred in none of the engine's trials; the interval of the"
    " share of trials with any does."
)

OPEN_RATES = "How well the rates are known"
OPEN_NOTE = (
    "The rates were measured on a limited number of failures. The study was also simulated with other plausible rates,"
    " and all intervals of this answer include that uncertainty. The last column is the share of the squared interval"
    " that comes from the rates; more trials would narrow only the rest."
)

TIMES = ("election_s", "stop_s", "start_s", "boot_retry_s", "sync_messages_s", "network_mb_s", "link_latency_s",
         "fsync_s")  # fmt: skip

JUDGED = {
    "lost_confirmed": "confirmed messages lost", "publish_down_s": "seconds out of use",
    "consume_down_s": "seconds in which ready messages were not delivered",
    "sync_blocked_s": "seconds blocked by a synchronisation",
    "metadata_down_s": "seconds in which metadata could not be changed", PRICE: "price of a year",
}  # fmt: skip
"""The measures by which designs are judged, in this order; their tables come first."""

HEADINGS = {
    "lost_confirmed": "Messages lost after their confirm, per trial",
    "publish_down_s": "Time without confirms for publishers, s per trial",
    "consume_down_s": "Time without deliveries to consumers, s per trial",
    "sync_blocked_s": "Time blocked by a synchronisation, s per trial",
    "metadata_down_s": "Time in which metadata could not be changed, s per trial",
    PRICE: "Price, per year",
    "published": "Messages published, per trial", "confirmed": "Messages confirmed, per trial",
    "nacked": "Messages nacked, per trial", "refused": "Messages refused, per trial",
    "lost": "Messages lost, confirmed or not, per trial",
    "delivered_twice": "Messages delivered twice, per trial", "promotions": "Promotions, per trial",
    "unsynchronised_promotions": "Promotions of unsynchronised mirrors, per trial",
    "outages": "Losses of the master or leader, per trial",
    "bytes_replicated": "Bytes sent between nodes, per trial",
    "messages": "Messages in the queue at the end of a trial",
    "queue_down_s": "Time without a master or leader, s per trial",
}  # fmt: skip
"""The headings of the tables, by measure."""


def report_of(
    title: str, estimates: Iterable[Row], baseline: str | None = None, currency: str | None = None,
    numbers: tuple[Part, ...] = (), command: str = "",
    unseen: Collection[tuple[str, str]] = (), assumed: Collection[str] = (),
) -> Report:  # fmt: skip
    """Return the report on the estimates (`hawb.study.estimates`), with a table for each measure with any values.

    If trials have weights, each row has the number of plain trials that they are worth. With a `baseline`, each row has
    its difference from that design under the same faults, and a part before the tables says which designs differ
    significantly. `currency` is that of prices, and `numbers` are parts about measured and assumed numbers. `unseen`
    are pairs of design and environment in which trials do not see all losses (`Study.split_brains`).
    """
    rows = list(estimates)
    by_measure: dict[str, list[Row]] = {measure: [] for measure in JUDGED}
    for row in rows:
        by_measure.setdefault(str(row["measure"]), []).append(row)
    lines = () if baseline is None else tuple(beside(rows, baseline))
    parts = [Part(f"Compared with {shown(baseline)}, under the same faults", None, lines)] if lines else []
    parts += [*sensitivity(rows), *by_control(rows), *quantiles(rows)]
    had = {measure: those for measure, those in by_measure.items()
           if any(row["share"] or row["mean"] or EXACT in row for row in those)}  # fmt: skip
    for measure, those in had.items():
        unit = f", {shown(currency)}" if measure == PRICE else ""
        kinds = tuple(shown(row["environment"]) for row in those)
        notes = caveats.on_exact(those)
        parts.append(Part(f"{_heading(measure)}{unit}", _table(those, baseline), notes, kinds))
    idle = [measure for measure, those in by_measure.items() if those and measure not in had]
    if idle:
        parts.append(Part("Zero in every trial", None, tuple(map(_heading, idle))))
    answer, designs = study_verdict.verdict(rows, baseline, unseen), {row["design"] for row in rows}
    asked = study_verdict.question(baseline, len(designs))
    todo = study_verdict.todo(rows, answer, baseline, command, unseen)
    split = listing(f"{design} in {place}" for design, place in sorted(unseen))
    together = comparisons(rows)
    said = [*assumed, *([SPLIT.format(split)] if unseen else []), *ASSUMED]
    said += [TOGETHER.format(together)] if together > 1 else []
    return Report(asked, shown(title), answer, todo, (*parts, *numbers), tuple(said))


def _heading(measure: str) -> str:
    """Return the heading of a measure, with its name in the study's tables and in --json."""
    return f"{HEADINGS[measure]} ({measure})" if measure in HEADINGS else measure


def report(title: str, estimates: Iterable[Row], baseline: str | None = None, currency: str | None = None) -> str:
    """Return the report as text."""
    return text(report_of(title, estimates, baseline, currency))


def page(found: Report, estimates: Iterable[Row]) -> str:
    """Return the report as one page, which fetches and runs nothing.

    It has a bar for each cell of the measures in JUDGED that is not 0.
    """
    drawn = []
    for measure in JUDGED:
        rows = [row for row in estimates if row["measure"] == measure and row["mean"]]
        named = {f"{row['design']}, {row['environment']}": row for row in rows}
        if named:
            said = {name: f"{number(row['mean'])}{_in_brackets(_interval_of_mean(row))}" for name, row in named.items()}
            means = {name: float(row["mean"]) for name, row in named.items()}
            drawn.append(bars.figure(means, f"{JUDGED[measure]}: the mean of a trial, with its interval of 95 %", said))
    return report_page(found, drawn)


def beside(estimates: Iterable[Row], baseline: str) -> list[str]:
    """Return, by environment, which designs differ significantly from the baseline in the measures of JUDGED.

    The list is empty if there is no other design. The rows are judged together (`hawb.study.comparisons.judged`).
    """
    rows = list(estimates)
    by_environment: dict[str, list[str]] = {}
    for measure, words in JUDGED.items():
        cells: dict[str, list[Row]] = {}
        for row, seen in events_of_two([row for row in rows if row["measure"] == measure], baseline):
            if row["difference"] is not None:
                known = cells.setdefault(shown(row["environment"]), [])
                if seen >= LEAST_APART:
                    known.append(row)
        for environment, judged in cells.items():
            few = _few_that_lost(rows, judged, environment, baseline) if measure == LOST else ()
            said = "; ".join([_judged(judged), *few])
            by_environment.setdefault(environment, []).append(f"{environment}: {words}: {said}")
    return [line for lines in by_environment.values() for line in lines]


def _few_that_lost(rows: Iterable[Row], known: Iterable[Row], environment: str, baseline: str) -> Iterator[str]:
    """Yield how many trials lost confirmed messages, of designs with too few of them and a baseline without any."""
    alone, compared = lost_alone(rows, baseline), [row["design"] for row in known]
    for row in rows:
        place, design = shown(row["environment"]), str(row["design"])
        is_few = row["measure"] == LOST and place == environment and design not in compared
        if is_few and row["environment"] in alone.get(design, {}):
            trials = f"{events(row):,.0f} of {counted(int(str(row['trials'])), 'trial')}"
            yield f"{shown(design)} lost some in {trials}, {shown(baseline)} in none"


def _judged(rows: Iterable[Row]) -> str:
    """Return the designs with less than the baseline and those with more, each with its difference.

    Designs whose interval includes 0 are neither.
    """
    sides: dict[str, list[str]] = {"less": [], "more": []}
    for row in rows:
        for name, side in (("less", LESS), ("more", MORE_THAN)):
            if is_apart(row, side):
                sides[name].append(f"{shown(row['design'])} ({more(row['difference'])})")
    parts = [f"{side} with {', '.join(names)}" for side, names in sides.items() if names]
    return "; ".join(parts) or "no difference beyond chance"


def origins(title: str, settings: Iterable[Setting]) -> tuple[Part, ...]:
    """Return the numbers of a study after the numbers of the file `title` were applied, in a table for each origin.

    There is one table for measured numbers, one for assumed ones, and one for each other origin.
    """
    by_origin: dict[str, list[tuple[str, ...]]] = {origin: [] for origin in (*ORIGINS.values(), NOT_STATED)}
    for one in settings:
        by_origin[one.origin].append((shown(one.name), shown(one.value), shown(one.reason)))
    heads = ("number", "value", "why")
    return tuple(
        Part(f"{origin.capitalize()}, of {shown(title)}", Table(origin, heads, rows))
        for origin, rows in by_origin.items() if rows
    )  # fmt: skip


def sensitivity(rows: Iterable[Row]) -> tuple[Part, ...]:
    """Return how differences from the baseline change with assumed numbers, the largest change first.

    Return nothing if no number was varied.
    """
    found = []
    for row in rows:
        for entry in row.get(SENSITIVITY, ()):
            moved = entry["differences"]
            if row["measure"] in JUDGED and any(moved):
                cells = (shown(entry["assumption"]), JUDGED[row["measure"]], shown(row["environment"]),
                         shown(row["design"]))  # fmt: skip
                at = (f"{more(value)} at {number(given)}" for given, value in zip(entry["values"], moved, strict=True))
                found.append((max(moved) - min(moved), (*cells, *at)))
    cells = [one for _, one in sorted(found, key=lambda pair: -pair[0])]
    heads = ("number", "of", "environment", "design", "at half", "as given", "at twice")
    return (Part(RESTS_ON, Table("sensitivity", heads, cells), (RESTS_NOTE,)),) if cells else ()


def by_control(rows: Iterable[Row]) -> tuple[Part, ...]:
    """Return how much controls narrow the intervals of means. Return nothing without controls."""
    rows = [row for row in rows if "control" in row and row["measure"] in JUDGED and (row["share"] or row["mean"])]
    cells = []
    for row in rows:
        helps = number(row["gain"]) if row["gain"] >= LEAST_GAIN else f"{number(row['gain'])}, does not help"
        cell = JUDGED[row["measure"]], shown(row["environment"]), shown(row["design"]), shown(row["control"])
        cells.append((*cell, f"{row['trials']:,}", f"{row['control_trials']:,}", helps))
    heads = ("of", "environment", "design", "control", "engine's trials", "control's trials", "gain")
    notes = BY_CONTROL_NOTE.format(LEAST_GAIN), *caveats.on_controls(rows, JUDGED)
    return (Part(BY_CONTROL, Table("control", heads, cells), notes),) if cells else ()


def quantiles(rows: Iterable[Row]) -> tuple[Part, ...]:
    """Return quantiles of trials and the shares above an objective, each with its interval.

    Return nothing if none were asked for; measures that are 0 in all trials have no row.
    """
    rows = [row for row in rows if "p50" in row and row["share"]]
    if not rows:
        return ()
    heads = ["of", "environment", "design", *QUANTILES]
    objectives = any(OBJECTIVE in row for row in rows)
    cells = []
    for row in rows:
        measure = JUDGED.get(row["measure"]) or HEADINGS.get(row["measure"], row["measure"])
        row_cells = [measure, shown(row["environment"]), shown(row["design"])]
        row_cells += [f"{number(row[name])}{_between(row, name)}" for name in QUANTILES]
        if objectives:
            row_cells.append(f"{percent(row['above'])} above {number(row[OBJECTIVE])} ({percent(row['above_low'])} to"
                        f" {percent(row['above_high'])})" if OBJECTIVE in row else "")  # fmt: skip
        cells.append(tuple(row_cells))
    return (Part(LENGTHS, Table("quantiles", (*heads, *(["objective"] if objectives else [])), cells)),)


def _between(row: Row, name: str) -> str:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    if low is None and high is None:
        return ""
    return f" ({'?' if low is None else number(low)} to {'?' if high is None else number(high)})"


def defaults(study: Study) -> tuple[str, ...]:
    """Return sentences: on the durations without a source, in the order of TIMES, and on versions without own rules."""
    found: dict[str, None] = {}
    for name, environment in study.environments.items():
        for field in TIMES:
            value, place = getattr(environment.timing, field), f"environments.{name}.timing"
            if not {place, f"{place}.{field}"} & study.sources.keys():
                found[f"timing.{field} ({number(value)})"] = None
    return (*([DEFAULTS.format(listing(found))] if found else []), *_nearest(study))


def _nearest(study: Study) -> Iterator[str]:
    """Yield a sentence for each version that is played by the rules of another."""
    for version in sorted({design.version for design in study.designs.values()} - PROFILES.keys()):
        yield NEAREST.format(version=version, release=profile_for(version).release)


def rates_part(rows: Iterable[Row]) -> tuple[Part, ...]:
    """Return how much of each interval comes from the uncertainty of the rates (`hawb.study.own_draws`).

    Return nothing if the numbers have no draws.
    """
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
    if any(EXACT in row for row in rows):
        head.insert(4, caveats.COLUMN)
        for row, cell in zip(rows, cells, strict=True):
            cell.insert(4, number(row[EXACT]) if EXACT in row else "")
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
    share = "" if row["share_low"] is None else f"{percent(row['share_low'])} to {percent(row['share_high'])}"
    mean = _interval_of_mean(row)
    return [shown(row["environment"]), shown(row["design"]), number(row["mean"]), mean, percent(row["share"]), share]


def _in_brackets(words: str) -> str:
    return f"  ({words})" if words else ""


def _interval_of_mean(row: Row) -> str:
    """Return the interval of a mean, or if there are too few trials, how many it takes."""
    if row["mean_low"] is not None:
        return interval(row["mean_low"], row["mean_high"])
    return too_few(row.get("trials_for_mean")) if row["share"] else NONE_SEEN


def _difference(row: Row, baseline: str) -> list[str]:
    if row["design"] == baseline or row["difference"] is None:
        return ["", ""]
    return [more(row["difference"]), interval(row["difference_low"], row["difference_high"])]


def interval(low: float | None, high: float | None) -> str:
    """Return the ends of an interval; "" if there are too few trials for one."""
    return "" if low is None else f"{number(low)} to {number(high)}"


def number(value: float) -> str:
    """Return a mean with its significant digits."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def more(value: float) -> str:
    """Return a difference with its sign."""
    return f"{'-' if value < 0 else '+'}{number(abs(value))}"


def rate(progress: Progress | None) -> str:
    """Return the rate of a study, the time left, and the number of retried tasks; "" before the first trial."""
    if progress is None:
        return ""
    parts = []
    if progress.waits:
        parts.append("waiting for another run in this folder")
    if progress.left_s is not None:
        parts.append(f"{progress.rate:,.0f} a second, {left(progress.left_s)} left")
    if progress.tried_again:
        parts.append(f"{counted(progress.tried_again, 'task')} failed and retried")
    return ", ".join(parts)
