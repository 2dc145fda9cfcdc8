"""A figure of a rolling upgrade over time: a band for each node, the first to restart on top.

The title says how long the upgrade takes, and before which node the longest wait is. The parts of a band (wait, stops,
away, boots) differ in hatching and colour, and have their names where the band is long enough.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from hawb.planning.upgrade import Stage
from hawb.views.figures import HALO, SLIM, drawn, name
from hawb.views.formatting import counted, left, listing, shortened, shown
from hawb.views.style import FIGURE, LINE, LOOKS, PAPER, PRINTED

PARTS = {
    "wait": (LOOKS["unsynchronised"].colour, "...."),
    "stops": (LOOKS["master"].colour, ""),
    "away": (LOOKS["down"].colour, "////"),
    "boots": (LOOKS["running"].colour, "\\\\\\\\"),
}
"""The parts of a node's band, each with colour and hatching."""

LONGEST_NAME = 32
WIDTH, LETTER, TITLE_LETTERS = 9, 0.099, 10
"""The width of the figure and of a letter, in inches, and the letters of the title per inch."""


def upgrade_figure(stages: Sequence[Stage], title: str = "rolling upgrade", *, slim: bool = False) -> Figure:
    """Draw the stages of a plan, in seconds of the scenario; `title` names the plan.

    A `slim` figure is for a phone.
    """
    width, columns = (SLIM, 2) if slim else (WIDTH, len(PARTS))
    named = int(LONGEST_NAME * width / WIDTH)
    style = FIGURE | {"axes.grid.axis": "x", "axes.spines.left": False, "ytick.left": False}
    with drawn(sentence(stages), (width, 1.7 + 0.42 * len(stages)), style=style) as (figure, ((axes,),)):
        axes.set_title(literal(title, int(TITLE_LETTERS * width)), fontweight="normal")
        said = _bands(axes, stages, LETTER / width)
        axes.set_yticks(range(len(stages)), [literal(stage.node, named) for stage in stages])
        axes.set_ylim(len(stages) - 0.5, -0.5)
        axes.set_xlabel("seconds")
        handles = [Patch(facecolor=colour, hatch=hatch, edgecolor=PAPER, linewidth=0.5, label=part)
                   for part, (colour, hatch) in PARTS.items() if part not in said]  # fmt: skip
        if handles:
            figure.legend(handles=handles, fontsize=8, ncols=columns, loc="outside lower left")
        axes.spines["bottom"].set_color(LINE)
    return figure


def sentence(stages: Sequence[Stage]) -> str:
    """Return how long the upgrade takes, before which node the longest wait is, and which nodes do not come back."""
    if not stages:
        return "No node is restarted."
    gone = [literal(stage.node) for stage in stages if stage.end_s is None]
    ends_s = [stage.start_s if stage.end_s is None else stage.end_s for stage in stages]
    restart = f"{counted(len(stages), 'node')} restart{'s' if len(stages) == 1 else ''}"
    text = f"{restart} in {left(max(ends_s) - stages[0].begin_s)}"
    waits = {literal(stage.node): found["wait"] for stage, found in _all_spans(stages) if "wait" in found}
    longest_s = max((end_s - begin_s for begin_s, end_s in waits.values()), default=0.0)
    most = [node for node, (begin_s, end_s) in waits.items() if end_s - begin_s == longest_s]
    if most:
        text += f"; the longest wait is {left(longest_s)}, before {listing(most)}"
    else:
        text += "; no node is waited for"
    return f"{text}; {listing(gone)} {'does' if len(gone) == 1 else 'do'} not come back." if gone else f"{text}."


def spans(stage: Stage, before_s: float | None) -> dict[str, tuple[float, float]]:
    """Return the begin and end of each part of a node's restart, in seconds.

    `before_s` is the time at which the previous node was back.
    """
    found = {"wait": (stage.begin_s if before_s is None else before_s, stage.stop_s)}
    found |= {"stops": (stage.stop_s, stage.down_s), "away": (stage.down_s, stage.start_s)}
    if stage.end_s is not None:
        found["boots"] = (stage.start_s, stage.end_s)
    return {part: (begin_s, end_s) for part, (begin_s, end_s) in found.items() if end_s > begin_s}


def literal(name: str, longest: int = LONGEST_NAME) -> str:
    """Return a name, shortened, in which matplotlib sees no mathematics."""
    return shortened(shown(name), longest).replace("$", r"\$")


def _all_spans(stages: Sequence[Stage]) -> list[tuple[Stage, dict[str, tuple[float, float]]]]:
    before = [None, *(stage.end_s for stage in stages)]
    return [(stage, spans(stage, before_s)) for stage, before_s in zip(stages, before, strict=False)]


def _bands(axes: Axes, stages: Sequence[Stage], letter: float) -> set[str]:
    """Draw each node's band, with labels where they fit, and return the parts that have a label somewhere.

    `letter` is the width of a letter as a share of the whole time.
    """
    all_spans, said = _all_spans(stages), set()
    whole_s = max((end_s for _, found in all_spans for _, end_s in found.values()), default=1.0)
    for row, (stage, found) in enumerate(all_spans):
        for part, (begin_s, end_s) in found.items():
            colour, hatch = PARTS[part]
            axes.barh(row, end_s - begin_s, left=begin_s, height=0.62, color=colour, hatch=hatch, edgecolor=PAPER,
                      linewidth=0.5)  # fmt: skip
            words = f"{part} {left(end_s - begin_s)}"
            if (len(words) + 2) * letter * whole_s < end_s - begin_s:
                said.add(part)
                axes.text((begin_s + end_s) / 2, row, words, ha="center", va="center", color=PRINTED, bbox=HALO)
        if stage.end_s is None and found:
            name(axes, (max(end_s for _, end_s in found.values()), row), "does not come back")
    return said
