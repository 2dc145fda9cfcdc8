"""How roles and states look, in one table: colour, glyph and word, the same in matrix, lanes, reports and figures.

Shape comes before colour: no two roles that can stand beside each other differ by colour alone. The colours are those
of Okabe and Ito, which people with colour-blindness can tell apart.
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
}

SHARES = ((0.0, "○"), (0.375, "◔"), (0.625, "◑"), (1.0, "◕"))
"""The ring of an unsynchronised mirror by the share of the master's messages that it holds, each up to and with."""


def ring(share: float) -> str:
    """The ring for a share from 0 to 1. Whoever holds anything at all never looks empty."""
    return next(glyph for limit, glyph in SHARES if share <= limit)
