"""A figure of matplotlib's as part of a web page: lines and letters as paths, so that it looks the same everywhere."""

from __future__ import annotations

from io import StringIO

import matplotlib as mpl
from matplotlib.figure import Figure

from hawb.views.formatting import html


def svg(drawn: Figure, said: str) -> str:
    """A figure as SVG, with `said` for those who cannot see it; the same bytes each time, and no address."""
    written = StringIO()
    with mpl.rc_context({"svg.hashsalt": "hawb"}):
        drawn.savefig(written, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    text = written.getvalue()
    return text[text.index("<svg") :].replace("<svg", f'<svg role="img" aria-label="{html(said)}"', 1)
