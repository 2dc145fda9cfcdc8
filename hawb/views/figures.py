"""The style and the helpers that all matplotlib figures share.

The title is a sentence that says what the figure shows, a note below says how to read it, and lines have their names
next to them instead of a legend. JupyterLab shows stored images without a text alternative, so a notebook displays a
figure as a widget: an image whose text alternative is the sentence.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from html import escape
from io import BytesIO
from textwrap import fill

import matplotlib.figure
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.text import Annotation

from hawb.views.style import FIGURE, PAPER, PRINTED, PRINTED_FAINT

TITLE_CHARACTERS, NOTE_CHARACTERS = 10.5, 14.0
"""Characters of the title and of the note that fit in an inch."""

SLIM = 3.6
"""Inches: the width of a figure for a phone, at which its letters are no smaller than the page's.

Its panels stand below each other.
"""

MARGIN = 0.008
"""The x of title and note, as a share of the width."""

HALO = {"boxstyle": "square,pad=0.15", "facecolor": PAPER, "edgecolor": "none", "alpha": 0.85}
"""The background of a name that is written over lines."""


class Figure(matplotlib.figure.Figure):
    """A figure that notebooks show with its sentence as the text alternative."""

    def html(self, about: str = "", dpi: float | None = None) -> str:
        """Return the figure as an HTML image. Its text alternative is `about`, or the sentence."""
        written = BytesIO()
        self.savefig(written, format="png", bbox_inches="tight", dpi=dpi or self.dpi)
        data = b64encode(written.getvalue()).decode()
        text = escape(about or " ".join(self.get_suptitle().split()))
        return f'<img style="max-width: 100%" alt="{text}" src="data:image/png;base64,{data}">'

    def _repr_mimebundle_(self, **_kwargs: object) -> dict[str, object]:
        """Return the widget, if ipywidgets is installed; IPython adds the stored forms."""
        with suppress(ImportError):
            from ipywidgets import HTML

            data = HTML(self.html())._repr_mimebundle_()
            return {kind: value for kind, value in data.items() if kind != "text/plain"}
        return {}


@contextmanager
def drawn(
    sentence: str, size: tuple[float, float], note: str = "", style: dict[str, object] = FIGURE, **grid: object
) -> Iterator[tuple[Figure, np.ndarray]]:
    """Yield a figure of `size` inches and its array of panels, to draw on within this context.

    `grid` goes to matplotlib's `subplots`. `sentence` says what the figure shows, `note` how to read it.
    """
    with plt.style.context(["default", style]):
        figure, panels = plt.subplots(figsize=size, layout="constrained", squeeze=False, FigureClass=Figure, **grid)
        headline(figure, sentence)
        if note:
            caption = fill(note, int(size[0] * NOTE_CHARACTERS), break_on_hyphens=False)
            figure.supxlabel(caption, x=MARGIN, ha="left", color=PRINTED_FAINT, fontsize=8)
        yield figure, panels
        plt.close(figure)  # the caller shows it; without this pyplot would show it again


def headline(figure: Figure, sentence: str) -> None:
    """Write the sentence that a figure shows above it, in lines that fit."""
    width, _ = figure.get_size_inches()
    figure.suptitle(fill(sentence, int(width * TITLE_CHARACTERS), break_on_hyphens=False), x=MARGIN, ha="left")


def name(
    axes: Axes, place: tuple[float, float], words: str, aside: tuple[float, float] = (7, 0), ha: str = "left"
) -> Annotation:
    """Write a name next to a line or mark, at a distance of `aside` points."""
    return axes.annotate(
        words, place, aside, textcoords="offset points", ha=ha, va="center", color=PRINTED, bbox=HALO,
        annotation_clip=False, zorder=5,
    )  # fmt: skip
