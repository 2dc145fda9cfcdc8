"""A matplotlib figure as part of a web page.

Lines and letters are paths, so that the figure looks the same everywhere. Background, letters and lines have the page's
own colours, which depend on the reader's preference for light or dark.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from io import StringIO

import matplotlib as mpl
from matplotlib.figure import Figure

from hawb.views import page
from hawb.views.formatting import html
from hawb.views.style import GRID, LINE, PAPER, PRINTED, PRINTED_FAINT

OF_THE_PAGE = {PAPER: "ground", PRINTED: "ink", PRINTED_FAINT: "faint", LINE: "line", GRID: "line"}
"""The colours of figures that are replaced by the page's own (`hawb.views.style.properties`)."""

NEUTRAL = re.compile("(?<=: )(?:{})\\b".format("|".join(OF_THE_PAGE)), re.IGNORECASE)


def figure_of(draw: Callable[..., Figure], said: str, caption: str = "") -> str:
    """Return an HTML figure: the drawing of `draw()` for wide screens and that of `draw(slim=True)` for phones."""
    return page.figure(svg(draw(), said), caption, sized=True, slim=svg(draw(slim=True), said, "hawb-slim"))


def svg(drawn: Figure, said: str, salt: str = "hawb") -> str:
    """Return a figure as SVG with the text alternative `said`.

    The same figure gives the same bytes each time: it has no date and no metadata. The ids of its parts are made from
    `salt`; two figures of a page need different ones.
    """
    written = StringIO()
    with mpl.rc_context({"svg.hashsalt": salt}):
        drawn.savefig(written, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    text = NEUTRAL.sub(_variable, written.getvalue())
    return text[text.index("<svg") :].replace("<svg", f'<svg role="img" aria-label="{html(said)}"', 1)


def _variable(found: re.Match[str]) -> str:
    colour = found.group().upper()
    return f"var(--hawb-{OF_THE_PAGE[colour]}, {colour})"
