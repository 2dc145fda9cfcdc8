"""The costs and benefits of each number of replicas, as one page with its figure."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from hawb.study.replicas import HORIZON_DAYS, REPLICAS, TYPES, Cell, WhatIf
from hawb.views.embedded import figure_of
from hawb.views.figures import SLIM, drawn, name
from hawb.views.formatting import counted
from hawb.views.page import report_page
from hawb.views.study.replica_costs import report_of
from hawb.views.style import FIGURE, LOOKS, MARKERS, PRINTED_FAINT

ASIDE = {"classic": -0.08, "quorum": 0.08}
"""The horizontal distance of the two types from a number, so that neither hides the other."""

NAMES = {"classic": "mirrored", "quorum": "quorum"}

NOTE = (
    "Dotted: the recommended number. Thin lines are intervals: for rates, of a prediction; for seconds, of 95 %, if"
    " there are enough trials"
)


def replica_figure(found: WhatIf, *, slim: bool = False) -> Figure:
    """Draw three panels over the number of replicas, with the recommended one marked.

    A `slim` figure is for a phone.
    """
    size, grid = ((SLIM, 7.9), {"nrows": 3}) if slim else ((10.5, 3.9), {"ncols": 3})
    with drawn(sentence(found), size, NOTE, FIGURE, **grid) as (figure, rows):
        panels = rows.ravel()
        for at, queue_type in enumerate(TYPES):
            cells = [cell for cell in found.cells if cell.queue_type == queue_type]
            if cells:
                _failures(panels[0], cells)
                _rates(panels[1], cells)
                _outages(panels[2], cells, zorder=2 + at)
        if all(cell.played is None for cell in found.cells):
            nothing = {"ha": "center", "color": PRINTED_FAINT, "transform": panels[2].transAxes}
            panels[2].text(0.5, 0.5, "no trials were simulated", **nothing)
            panels[2].set_yticks([])
        for panel in panels:
            panel.set_xlabel("replicas")
            panel.set_xticks(REPLICAS)
            panel.set_xlim(REPLICAS[0] - 0.4, REPLICAS[-1] + 0.4)
            panel.axvline(found.members, color=PRINTED_FAINT, linestyle=":", linewidth=1, zorder=1)
        panels[1].set_ylim(bottom=0)
    return figure


def sentence(found: WhatIf) -> str:
    """Return a sentence: how many failures the recommended replicas tolerate, and which type has the higher rate."""
    at = {cell.queue_type: cell for cell in found.cells if cell.replicas == found.members}
    stays = [f"a {NAMES[kind]} queue {{}}while {_failing(at[kind].tolerated)}" for kind in TYPES if kind in at]
    text = f"With {counted(found.members, 'replica')} {', '.join(stays).format('stays in use ', '')}"
    return f"{text}; {_faster(at['quorum'], at['classic'])}." if len(stays) == 2 else f"{text}."


def _failing(tolerated: int) -> str:
    return {0: "no node fails", 1: "1 node fails"}.get(tolerated, f"{tolerated} nodes fail")


def _faster(quorum: Cell, classic: Cell) -> str:
    """Return which type has the higher rate, as far as it was measured and the intervals show it."""
    if quorum.rate is None or classic.rate is None:
        return "how many messages a second both pass on was not measured"
    ratio = quorum.rate.value / classic.rate.value
    if quorum.rate.low > classic.rate.high:
        return f"the quorum queue passes on {ratio:.1f} times as many messages a second"
    if classic.rate.low > quorum.rate.high:
        return f"the mirrored queue passes on {1 / ratio:.1f} times as many messages a second"
    return "which of them passes on more messages a second is not known"


def _failures(axes: Axes, cells: list[Cell]) -> None:
    axes.set_title("nodes that may fail while the queue stays in use")
    places, tolerated = _points((cell, cell.tolerated) for cell in cells)
    axes.plot(places, tolerated, **_look(cells))
    look = LOOKS[cells[0].queue_type]
    name(axes, (places[-1], tolerated[-1]), look.word, (-8, 2), ha="right")


def _rates(axes: Axes, cells: list[Cell]) -> None:
    axes.set_title("messages/s of one queue")
    measured = [cell for cell in cells if cell.rate is not None]
    places, rates = _points((cell, cell.rate.value) for cell in measured)
    below = [cell.rate.value - cell.rate.low for cell in measured]
    above = [cell.rate.high - cell.rate.value for cell in measured]
    axes.errorbar(places, rates, [below, above], elinewidth=0.8, **_look(cells))
    axes.yaxis.set_major_formatter(EngFormatter(sep=""))
    if measured:
        name(axes, (places[-1], rates[-1]), cells[0].queue_type)


def _outages(axes: Axes, cells: list[Cell], zorder: int) -> None:
    axes.set_title(f"seconds out of use in {HORIZON_DAYS} days")
    axes.set_yscale("symlog", linthresh=1)
    played = [(cell, cell.played.down) for cell in cells if cell.played is not None]
    places, means = _points((cell, down.mean_s) for cell, down in played)
    halves = [0.0 if down.high_s is None else down.high_s - down.mean_s for _, down in played]
    below = [min(half, mean) for half, mean in zip(halves, means, strict=True)]
    axes.errorbar(places, means, [below, halves], elinewidth=0.8, **_look(cells), zorder=zorder)
    axes.yaxis.set_major_formatter(EngFormatter(sep=""))


def _points(pairs: Iterable[tuple[Cell, float]]) -> tuple[list[float], list[float]]:
    pairs = list(pairs)
    return [cell.replicas + ASIDE[cell.queue_type] for cell, _ in pairs], [value for _, value in pairs]


def _look(cells: list[Cell]) -> dict[str, object]:
    look = LOOKS[cells[0].queue_type]
    return {"color": look.colour, "marker": MARKERS[look.glyph], "label": look.word, "markersize": 5, "linewidth": 1}


def page(found: WhatIf) -> str:
    """Return the page, which fetches and runs nothing."""
    drawn = figure_of(partial(replica_figure, found), "The table's numbers as lines")
    return report_page(report_of(found), [drawn])
