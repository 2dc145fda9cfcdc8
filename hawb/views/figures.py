"""What all figures of matplotlib's are made with: a sentence that says what is to be seen as the title, how to read it
as a note below, and names beside lines in place of a legend."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Annotation

from hawb.views.style import FIGURE, PAPER, PRINTED, PRINTED_FAINT

TITLE_CHARACTERS, NOTE_CHARACTERS = 10.5, 14.0
"""How many characters of the title and of the note there is room for in an inch."""

SLIM = 3.6
"""Inches: the width of a figure for a phone, on which its letters then are no smaller. Its panels stand below each
other."""

MARGIN = 0.008
"""Where title and note begin, as a share of the width."""

HALO = {"boxstyle": "square,pad=0.15", "facecolor": PAPER, "edgecolor": "none", "alpha": 0.85}
"""The ground of a name that stands on lines."""


@contextmanager
def drawn(
    sentence: str, size: tuple[float, float], note: str = "", style: dict[str, object] = FIGURE, **grid: object
) -> Iterator[tuple[Figure, np.ndarray]]:
    """A figure of `size` inches and its panels, in rows and columns as `grid` tells matplotlib's `subplots`; to be
    drawn in this context. `sentence` is what it shows, `note` how to read it."""
    with plt.style.context(["default", style]):
        figure, panels = plt.subplots(figsize=size, layout="constrained", squeeze=False, **grid)
        headline(figure, sentence)
        if note:
            told = fill(note, int(size[0] * NOTE_CHARACTERS), break_on_hyphens=False)
            figure.supxlabel(told, x=MARGIN, ha="left", color=PRINTED_FAINT, fontsize=8)
        yield figure, panels
        plt.close(figure)  # shown by whoever asked for it, and not a second time by pyplot


def headline(figure: Figure, sentence: str) -> None:
    """Sets the sentence that a figure shows above it, in lines that fit."""
    width, _ = figure.get_size_inches()
    figure.suptitle(fill(sentence, int(width * TITLE_CHARACTERS), break_on_hyphens=False), x=MARGIN, ha="left")


def name(
    axes: Axes, place: tuple[float, float], words: str, aside: tuple[float, float] = (7, 0), ha: str = "left"
) -> Annotation:
    """Writes what a line or mark is beside it; `aside` is how far from it, in points."""
    return axes.annotate(
        words, place, aside, textcoords="offset points", ha=ha, va="center", color=PRINTED, bbox=HALO,
        annotation_clip=False, zorder=5,
    )  # fmt: skip
