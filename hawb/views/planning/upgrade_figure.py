"""A rolling upgrade over time: a band for each node, the first to go on top.

What a node does is told by hatching as well as by colour: waited for, away, booting.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from hawb.planning.upgrade import Stage
from hawb.views.formatting import shortened, shown
from hawb.views.style import FIGURE, LINE, LOOKS, PAPER

PARTS = {
    "wait": (LOOKS["unsynchronised"].colour, "...."),
    "stops": (LOOKS["master"].colour, ""),
    "away": (LOOKS["down"].colour, "////"),
    "boots": (LOOKS["running"].colour, "\\\\\\\\"),
}
"""The parts of a node's band: the colour and the hatching of each."""

LONGEST_NAME = 32


def upgrade_figure(stages: Sequence[Stage], title: str = "rolling upgrade") -> Figure:
    """The stages of a plan, in seconds of the scenario."""
    with plt.style.context(["default", FIGURE]):
        figure, axes = plt.subplots(figsize=(9, 1.3 + 0.42 * len(stages)), layout="constrained")
        before_s = None
        for row, stage in enumerate(stages):
            for part, (begin_s, end_s) in spans(stage, before_s).items():
                colour, hatch = PARTS[part]
                axes.barh(row, end_s - begin_s, left=begin_s, height=0.6, color=colour, hatch=hatch, edgecolor=PAPER,
                          linewidth=0.5)  # fmt: skip
            before_s = stage.end_s
        axes.set_yticks(range(len(stages)), [literal(stage.node) for stage in stages])
        axes.invert_yaxis()
        axes.set_xlabel("seconds")
        axes.set_title(literal(title, 90))
        handles = [Patch(facecolor=colour, hatch=hatch, edgecolor=PAPER, linewidth=0.5, label=part)
                   for part, (colour, hatch) in PARTS.items()]  # fmt: skip
        figure.legend(handles=handles, fontsize=8, ncols=len(PARTS), loc="outside lower left")
        axes.spines["left"].set_color(LINE)
        plt.close(figure)  # shown by whoever asked for it, and not a second time by pyplot
    return figure


def spans(stage: Stage, before_s: float | None) -> dict[str, tuple[float, float]]:
    """The beginning and the end of each part of a node's restart; `before_s` is when the node before was back."""
    found = {"wait": (stage.begin_s if before_s is None else before_s, stage.stop_s)}
    found |= {"stops": (stage.stop_s, stage.down_s), "away": (stage.down_s, stage.start_s)}
    if stage.end_s is not None:
        found["boots"] = (stage.start_s, stage.end_s)
    return {part: (begin_s, end_s) for part, (begin_s, end_s) in found.items() if end_s > begin_s}


def literal(name: str, longest: int = LONGEST_NAME) -> str:
    """A name that matplotlib does not take for mathematics."""
    return shortened(shown(name), longest).replace("$", r"\$")
