"""One to seven replicas as a picture: what they tolerate, what they cost in messages a second, how long they are away.

Classic queues are squares, quorum queues lighter hexagons. What nobody has measured or played is not drawn.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from hawb.study.replicas import HORIZON_DAYS, REPLICAS, TYPES, Cell, WhatIf
from hawb.views.style import FIGURE, LOOKS, MARKERS, PRINTED_FAINT

ASIDE = {"classic": -0.08, "quorum": 0.08}
"""How far the two types stand beside a number, so that neither hides the other."""


def replica_figure(found: WhatIf) -> Figure:
    """The answer for a cluster: three pictures over the number of replicas, the recommended one marked."""
    with plt.style.context(["default", FIGURE]):
        figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.3), layout="constrained")
        for at, queue_type in enumerate(TYPES):
            cells = [cell for cell in found.cells if cell.queue_type == queue_type]
            _failures(axes[0], cells)
            _rates(axes[1], cells)
            _outages(axes[2], cells, zorder=2 + at)
        for drawn in axes:
            drawn.set_xlabel("replicas")
            drawn.set_xticks(REPLICAS)
            drawn.set_xlim(REPLICAS[0] - 0.4, REPLICAS[-1] + 0.4)
            drawn.axvline(found.members, color=PRINTED_FAINT, linestyle=":", linewidth=1, zorder=1)
        axes[1].set_ylim(bottom=0)
        figure.legend(*axes[0].get_legend_handles_labels(), fontsize=8, ncols=2, loc="outside lower left")
        plt.close(figure)  # shown by whoever asked for it, and not a second time by pyplot
    return figure


def _failures(axes: Axes, cells: list[Cell]) -> None:
    axes.set_title("nodes that may fail, the queue in use")
    axes.plot(*_points((cell, cell.tolerated) for cell in cells), **_look(cells))


def _rates(axes: Axes, cells: list[Cell]) -> None:
    axes.set_title("messages/s of one queue, with the interval")
    measured = [cell for cell in cells if cell.rate is not None]
    places, rates = _points((cell, cell.rate.value) for cell in measured)
    below = [cell.rate.value - cell.rate.low for cell in measured]
    above = [cell.rate.high - cell.rate.value for cell in measured]
    axes.errorbar(places, rates, [below, above], elinewidth=0.8, **_look(cells))
    axes.yaxis.set_major_formatter(EngFormatter(sep=""))


def _outages(axes: Axes, cells: list[Cell], zorder: int) -> None:
    axes.set_title(f"seconds out of use in {HORIZON_DAYS} days")
    axes.set_yscale("symlog", linthresh=1)
    played = [(cell, cell.played.down) for cell in cells if cell.played is not None]
    places, means = _points((cell, down.mean_s) for cell, down in played)
    halves = [0.0 if down.high_s is None else down.high_s - down.mean_s for _, down in played]
    below = [min(half, mean) for half, mean in zip(halves, means, strict=True)]
    axes.errorbar(places, means, [below, halves], elinewidth=0.8, **_look(cells), zorder=zorder)
    axes.yaxis.set_major_formatter(EngFormatter(sep=""))


def _points(pairs) -> tuple[list[float], list[float]]:
    pairs = list(pairs)
    return [cell.replicas + ASIDE[cell.queue_type] for cell, _ in pairs], [value for _, value in pairs]


def _look(cells: list[Cell]) -> dict[str, object]:
    look = LOOKS[cells[0].queue_type]
    return {"color": look.colour, "marker": MARKERS[look.glyph], "label": look.word, "markersize": 5, "linewidth": 1}
