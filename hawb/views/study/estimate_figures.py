"""Figures of a study: designs below each other, a panel for each number, intervals as lines.

The title says where the designs differ most. One figure shows the numbers, the other their differences from a baseline.

Classic queues are squares and quorum queues hexagons; a mark is hollow if the number is 0 in every trial. Each mark has
its number next to it, with a star if it is a mean of too few trials for an interval. A number that is 0 for all designs
in all environments has no panel; the note names it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, floor, log10

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from hawb.study.comparisons import LESS, MORE, is_apart
from hawb.study.live import Estimate
from hawb.views.figures import Figure, drawn
from hawb.views.formatting import about, listing, percent
from hawb.views.study.estimate_sentences import sentence
from hawb.views.study.estimates import SMALLEST, Shown, cell_difference, cell_value, cells
from hawb.views.style import FIGURE, GRID, LOOKS, MARKERS, PAPER

STYLE = FIGURE | {"axes.grid.axis": "x", "axes.spines.left": False, "ytick.left": False}
ROW_INCHES = 0.2
WIDE = 50
"""A panel is logarithmic, down to 0, if its largest number is more than this many times its smallest."""

ROOM = 1.6
"""The length of an axis as a multiple of its longest interval, with room for the number next to it."""

MOST_TICKS, IN_A_FIGURE = 4, 8
"""The maximum number of an axis's ticks besides 0, and of the ticks of all panels, so that their numbers fit."""
SMALLEST_SHARE = 1e-6
"""The smallest share that has a tick; `percent` does not distinguish smaller ones."""

NO_INTERVAL = "*"
NOTE = "lines are 95 % intervals; no line: the interval is narrower than the mark"
Value = tuple[float, float | None, float | None]


def estimates_figure(
    estimates: Sequence[Estimate], shown: Sequence[Shown], types: Mapping[str, str] | None = None
) -> Figure:
    """Draw the estimates of a study.

    `types` says for each design if it is `classic` (the default) or `quorum`.
    """
    places = cells(estimates)
    values = {each: [cell_value(estimates, design, around, each) for around, design in places] for each in shown}
    some = {each: rows for each, rows in values.items() if any(value for value, _, _ in rows)} or values
    none = [each.title for each in shown if each not in some]
    said = [NOTE, "hollow: no such event in any trial", *([f"no design has any {listing(none)}"] if none else [])]
    said += _without_interval(estimates, some)
    note, given = _note(places, types or {}, said), {"ncols": len(some), "sharey": True}
    with drawn(sentence(estimates, shown), _size(places), note, STYLE, **given) as (figure, (axes,)):
        _panels(axes, some, places, types or {})
    return figure


def _without_interval(estimates: Sequence[Estimate], values: Mapping[Shown, Sequence[Value]]) -> list[str]:
    """Return what the star of a mean without an interval says; nothing if no mean has one."""
    if not any(_has_star(each, value) for each, rows in values.items() for value in rows):
        return []
    measures = {each.measure for each in values if not each.share}
    takes = max((row.get("trials_for_mean") or 0.0 for row in estimates if row["measure"] in measures), default=0.0)
    return [f"{NO_INTERVAL} no interval{f': takes up to {about(takes):,} trials' if takes else ''}"]


def _has_star(shown: Shown, value: Value) -> bool:
    """Return True if a number is the mean of too few trials for an interval."""
    return not shown.share and bool(value[0]) and value[1] is None


def differences_figure(
    estimates: Sequence[Estimate], shown: Sequence[Shown], baseline: str, types: Mapping[str, str] | None = None
) -> Figure:
    """Draw how much more than the design `baseline` the others have, from pairs of trials with the same faults."""
    places = [place for place in cells(estimates) if place[1] != baseline]
    values = {each: [cell_difference(estimates, design, around, each) for around, design in places] for each in shown}
    said = [NOTE, f"each trial minus the trial of {baseline} with the same faults; left of 0, a design has less than "
                  f"{baseline}"]
    note, given = _note(places, types or {}, said), {"ncols": len(shown), "sharey": True}
    with drawn(_furthest(estimates, shown, baseline), _size(places), note, STYLE, **given) as (figure, (axes,)):
        _panels(axes, values, places, types or {}, signed=True)
    return figure


def _furthest(estimates: Sequence[Estimate], shown: Sequence[Shown], baseline: str) -> str:
    """Return a sentence with the largest significant difference in the first number that has one."""
    for each in shown:
        apart = [row for row in estimates if row["measure"] == each.measure and row["design"] != baseline
                 and (is_apart(row, LESS) or is_apart(row, MORE))]  # fmt: skip
        if apart:
            row = max(apart, key=lambda one: abs(one["difference"]))
            word = "more" if row["difference"] > 0 else "fewer"
            return (f"In {row['environment']}, {row['design']} has {each.text(abs(row['difference']) * each.times)}"
                    f" {word} {each.title} than {baseline}.")  # fmt: skip
    return f"No design differs from {baseline} beyond chance."


def _heights(places: Sequence[tuple[str, str]]) -> list[float]:
    environments = list(dict.fromkeys(environment for environment, _ in places))
    return [place + 1.6 * environments.index(environment) for place, (environment, _) in enumerate(places)]


def _size(places: Sequence[tuple[str, str]]) -> tuple[float, float]:
    return 10.5, 1.5 + ROW_INCHES * (_heights(places)[-1] + 2)


def _panels(
    axes: Sequence[Axes], values: Mapping[Shown, Sequence[Value]], places: Sequence[tuple[str, str]],
    types: Mapping[str, str], signed: bool = False,
) -> None:  # fmt: skip
    """Draw a panel for each number; unless `signed`, numbers and their intervals are not below 0."""
    heights, room = _heights(places), max(1, IN_A_FIGURE // len(values))
    _labels(axes[0], places, heights)
    for (each, rows), panel in zip(values.items(), axes, strict=True):
        panel.hlines(heights, 0, 1, transform=panel.get_yaxis_transform(), color=GRID, linewidth=0.5, zorder=0)
        _panel(panel, each, rows, places, heights, types, signed)
        ends = [end for one in rows for end in one if end is not None]
        seen = [end if _has_sign(each, end) else 0.0 for end in ends] if signed else [max(end, 0.0) for end in ends]
        _scale(panel, each, seen, room)
    axes[0].set_ylim(heights[-1] + 0.8, -1.8)


def _note(places: Sequence[tuple[str, str]], types: Mapping[str, str], said: Sequence[str]) -> str:
    drawn_types = dict.fromkeys(types.get(design, "classic") for _, design in places)
    looks = [f"{LOOKS[name].glyph} {LOOKS[name].word}" for name in drawn_types] if len(drawn_types) > 1 else []
    return "; ".join([*looks, *said])


def _labels(axes: Axes, places: Sequence[tuple[str, str]], heights: Sequence[float]) -> None:
    axes.set_yticks(heights, [design for _, design in places])
    before = None
    for (environment, _), height in zip(places, heights, strict=True):
        if environment != before:
            axes.annotate(
                environment, (0, height - 1), (-6, 0), xycoords=axes.get_yaxis_transform(),
                textcoords="offset points", ha="right", va="center", weight="bold",
            )  # fmt: skip
            before = environment


def _panel(
    axes: Axes, shown: Shown, values: Sequence[Value], places: Sequence[tuple[str, str]],
    heights: Sequence[float], types: Mapping[str, str], signed: bool,
) -> None:  # fmt: skip
    axes.set_title(shown.title)
    for (_, design), height, found in zip(places, heights, values, strict=True):
        value, low, high = found
        look = LOOKS[types.get(design, "classic")]
        if low is None or high is None:
            low = high = value
        low = low if signed else max(low, 0.0)
        face = look.colour if value else PAPER
        axes.hlines(height, low, high, color=look.colour, linewidth=2, alpha=0.5)
        axes.plot(value, height, color=look.colour, marker=MARKERS[look.glyph], markersize=6, markerfacecolor=face)
        sign = "" if not _has_sign(shown, value) else "-" if value < 0 else "+" if signed else ""
        star = f" {NO_INTERVAL}" if _has_star(shown, found) else ""
        label = f"{sign}{shown.text(abs(value))}{star}"
        axes.annotate(label, (max(high, value), height), (7, 0), textcoords="offset points", va="center")


def _has_sign(shown: Shown, value: float) -> bool:
    """Return True if a number is large enough to have a sign."""
    return abs(value) >= (SMALLEST_SHARE if shown.share else SMALLEST)


def _scale(axes: Axes, shown: Shown, values: Sequence[float], room: int) -> None:
    count = min(MOST_TICKS, room)
    sizes = [abs(value) for value in values if value]
    most, least = max(sizes, default=1.0), min(sizes, default=1.0)
    top, bottom = max(*values, 0.0), min(*values, 0.0)
    if most > WIDE * least:
        least = max(least, most / 1e6)
        axes.set_xscale("symlog", linthresh=least)
        axes.set_xlim(1.6 * bottom - least / 3, max(top, least) * (most / least) ** 0.45)
        powers = decades(max(least, SMALLEST_SHARE) if shown.share else least, most, count)
        ticks = [0.0, *(tick for power in powers for tick in (power, -power) if bottom <= tick <= top)]
    else:
        axes.set_xlim(1.2 * bottom - most / 20, ROOM * (top or most / 2))
        ticks = [tick for tick in MaxNLocator(count).tick_values(bottom, top) if bottom <= tick <= top]
    axes.set_xticks(ticks, [percent(tick) if shown.share else f"{tick:,.10g}" for tick in ticks])
    axes.minorticks_off()


def decades(least: float, most: float, count: int = MOST_TICKS) -> list[float]:
    """Return the powers of ten between two positive numbers, thinned out to at most `count`."""
    powers = range(ceil(log10(least)), floor(log10(most)) + 1)
    return [10.0**power for power in powers[:: ceil(len(powers) / count) or 1]]
