"""How roles and states look, in one table: colour, glyph and word, the same in matrix, lanes, reports and figures; and
what matplotlib's figures have in common.

Shape comes before colour: no two roles that can stand beside each other differ by colour alone. The colours are those
of Okabe and Ito, which people with colour-blindness can tell apart. No other module names a colour.
"""

from __future__ import annotations

from msgspec import Struct

FONT = "system-ui,sans-serif"

INK = "var(--jp-ui-font-color1,currentColor)"
"""Text on whatever the page's ground is: JupyterLab's themes set the variable, other pages have a text colour."""

FAINT = "var(--jp-ui-font-color2,currentColor)"
"""Text that may be passed over."""

CHANGED = "#F0E442"
"""Behind whatever changed since the moment before, at a low opacity so that text stays readable on it."""


PAPER, PRINTED, PRINTED_FAINT, LINE, GRID = "#FFFFFF", "#222222", "#555555", "#AAAAAA", "#E4E4E4"
"""Ground, text, text that may be passed over, edges and grid of matplotlib's figures, which are made once for all pages
and for print, and follow no theme."""


class Look(Struct, frozen=True):
    """How one role or state is shown. `word` is what a person reads in place of the glyph."""

    colour: str
    glyph: str
    word: str


LOOKS: dict[str, Look] = {
    "master": Look("#0072B2", "■", "master"),
    "synchronised": Look("#009E73", "●", "synchronised mirror"),
    "unsynchronised": Look("#E69F00", "○", "unsynchronised mirror"),
    "mirror": Look("#009E73", "◍", "mirror"),
    "leader": Look("#0072B2", "⬢", "leader"),
    "leader_alone": Look("#0072B2", "⬡", "leader without a majority"),
    "follower": Look("#009E73", "●", "follower"),
    "down": Look("#999999", "✕", "down"),
    "left_over": Look("#999999", "✕", "left over on disk"),
    "none": Look("#999999", "·", "none"),
    "beyond": Look("#999999", " ", "on another side"),
    "running": Look("#009E73", "●", "running"),
    "waiting": Look("#E69F00", "◌", "waiting"),
    "paused": Look("#E69F00", "‖", "paused"),
    "lost": Look("#D55E00", "▼", "lost"),
    "redelivered": Look("#CC79A7", "↻", "redelivered"),
    "promoted": Look("#0072B2", "▲", "promoted"),
    "fault": Look("#D55E00", "✕", "fault"),
    "cut": Look("#D55E00", "≠", "link down"),
    "healed": Look("#009E73", "=", "links healed"),
    "classic": Look("#0072B2", "■", "classic queues"),
    "quorum": Look("#56B4E9", "⬢", "quorum queues"),
}
"""The looks of roles and states. A type of queue has the shape of its master or leader. The two types differ in
lightness as well: lines and bands have no shape."""

MARKERS = {"■": "s", "●": "o", "○": "o", "⬢": "H", "▼": "v", "▲": "^"}
"""Glyphs as markers of matplotlib's; hollow ones are drawn with the ground as their face."""

FIGURE = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same picture on any machine
    "font.size": 8.5,
    "figure.facecolor": PAPER,
    "text.color": PRINTED,
    "figure.titlesize": 11,
    "figure.titleweight": "bold",
    "axes.facecolor": PAPER,
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.edgecolor": LINE,
    "axes.labelcolor": PRINTED_FAINT,
    "grid.color": GRID,
    "xtick.color": PRINTED_FAINT,
    "ytick.color": PRINTED_FAINT,
    "hatch.linewidth": 0.8,
    "legend.frameon": False,
}
"""Settings of matplotlib's for every figure, over its defaults and not over a reader's own settings:
`plt.style.context(["default", FIGURE])`. A figure adds its own."""

SHARES = ((0.0, "○"), (0.375, "◔"), (0.625, "◑"), (1.0, "◕"))
"""The ring of an unsynchronised mirror by the share of the master's messages that it holds, each up to and with."""


def ring(share: float) -> str:
    """The ring for a share from 0 to 1. Whoever holds anything at all never looks empty."""
    return next(glyph for limit, glyph in SHARES if share <= limit)
