"""What a study comes to as a picture: designs below each other, a panel for each number, intervals as lines, and above
it where the designs differ most.

Classic queues are squares and quorum queues hexagons; a mark is hollow where no trial had any. Each has its number
beside it, so nothing has to be read off an axis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hawb.study.live import Estimate
from hawb.views.figures import drawn
from hawb.views.study.estimate_sentences import sentence
from hawb.views.study.estimates import Shown, cell_value, cells
from hawb.views.style import FIGURE, GRID, LOOKS, MARKERS, PAPER

STYLE = FIGURE | {"axes.grid.axis": "x", "axes.spines.left": False, "ytick.left": False}
ROW_INCHES = 0.2
WIDE = 50
"""A panel whose largest number is so many times its smallest is logarithmic, down to 0."""

ROOM = 1.6
"""How much longer an axis is than its longest interval, for the number beside it."""


def estimates_figure(
    estimates: Sequence[Estimate], shown: Sequence[Shown], types: Mapping[str, str] | None = None
) -> Figure:
    """The estimates of a study drawn; `types` says of each design whether it is `classic` (what it is without) or
    `quorum`."""
    places = cells(estimates)
    environments = list(dict.fromkeys(environment for environment, _ in places))
    heights = [place + 1.6 * environments.index(environment) for place, (environment, _) in enumerate(places)]
    size = (10.5, 1.5 + ROW_INCHES * (heights[-1] + 2))
    with drawn(sentence(estimates, shown), size, _note(places, types or {}), STYLE, ncols=len(shown), sharey=True) as (
        figure, (axes,),
    ):  # fmt: skip
        _labels(axes[0], places, heights)
        for each, panel in zip(shown, axes, strict=True):
            panel.hlines(heights, 0, 1, transform=panel.get_yaxis_transform(), color=GRID, linewidth=0.5, zorder=0)
            _panel(panel, each, estimates, places, heights, types or {})
        axes[0].set_ylim(heights[-1] + 0.8, -1.8)
    return figure


def _note(places: Sequence[tuple[str, str]], types: Mapping[str, str]) -> str:
    drawn_types = dict.fromkeys(types.get(design, "classic") for _, design in places)
    said = [f"{LOOKS[name].glyph} {LOOKS[name].word}" for name in drawn_types] if len(drawn_types) > 1 else []
    said += ["lines are 95 % intervals, where they are wider than the mark", "hollow: none in any trial"]
    return "; ".join(said)


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
    axes: Axes, shown: Shown, estimates: Sequence[Estimate], places: Sequence[tuple[str, str]],
    heights: Sequence[float], types: Mapping[str, str],
) -> None:  # fmt: skip
    axes.set_title(shown.title)
    ends = []
    for (environment, design), height in zip(places, heights, strict=True):
        value, low, high = cell_value(estimates, design, environment, shown)
        look = LOOKS[types.get(design, "classic")]
        low, high = (value, value) if low is None else (max(low, 0.0), high)
        face = look.colour if value else PAPER
        axes.hlines(height, low, high, color=look.colour, linewidth=2, alpha=0.5)
        axes.plot(value, height, color=look.colour, marker=MARKERS[look.glyph], markersize=6, markerfacecolor=face)
        axes.annotate(shown.text(value), (high, height), (7, 0), textcoords="offset points", va="center")
        ends += [value, high]
    _scale(axes, ends)


def _scale(axes: Axes, values: Sequence[float]) -> None:
    some = [value for value in values if value > 0]
    most, least = max(some, default=1.0), min(some, default=1.0)
    if most > WIDE * least:
        axes.set_xscale("symlog", linthresh=least)
        axes.set_xlim(-least / 3, most * (most / least) ** 0.45)
        axes.set_xticks([0], ["0, then logarithmic"], ha="left")
        axes.minorticks_off()
    else:
        axes.set_xlim(-most / 20, ROOM * most)
        axes.set_xticks([0])
