"""The look of roles and states: colour, glyph and word, the same in matrix, lanes, reports and figures.

It also has the settings that all matplotlib figures share. Shape comes before colour: no two roles that can appear
together differ by colour alone. The colours are those of Okabe and Ito, which people with colour-blindness can
distinguish. No other module defines a colour.
"""

from __future__ import annotations

from msgspec import Struct

from hawb.languages import N_, _

FONT = "system-ui,sans-serif"

INK = "var(--jp-ui-font-color1,currentColor)"
"""Text on the page's background: JupyterLab's themes set the variable, other pages have a text colour."""

FAINT = "var(--jp-ui-font-color2,currentColor)"
"""Secondary text."""

CHANGED = "#F0E442"
"""The background of cells that changed since the previous moment, at a low opacity so that text stays readable."""


PAPER, PRINTED, PRINTED_FAINT, LINE, GRID = "#FFFFFF", "#222222", "#555555", "#AAAAAA", "#E4E4E4"
"""Background, text, secondary text, edges and grid of matplotlib figures.

The figures are made once for all pages and for print, and follow no theme.
"""


LIGHT: dict[str, str] = {
    "ground": "#FFFFFF",
    "place": "#F4F6F8",
    "raised": "#FFFFFF",
    "changed": "#FFF9D0",
    "ink": "#1B1F24",
    "faint": "#565E68",
    "line": "#C9CFD6",
    "accent": "#0B57D0",
    "master": "#0072B2",
    "held": "#007A57",
    "held-ground": "#E3F4EE",
    "lacking": "#966000",
    "lacking-ground": "#FDF1DB",
    "lost": "#B34A00",
    "lost-ground": "#FCE9E0",
    "on-lost": "#FFFFFF",
    "down": "#6E6E6E",
    "redelivered": "#A6477F",
}
DARK: dict[str, str] = {
    "ground": "#14181D",
    "place": "#1D232A",
    "raised": "#262D36",
    "changed": "#3A3718",
    "ink": "#F0F3F6",
    "faint": "#A9B4C0",
    "line": "#48525E",
    "accent": "#8AB4FF",
    "master": "#56B4E9",
    "held": "#3CC9A0",
    "held-ground": "#123329",
    "lacking": "#E69F00",
    "lacking-ground": "#3A2C10",
    "lost": "#FF9A5C",
    "lost-ground": "#43210F",
    "on-lost": "#1A0D00",
    "down": "#9AA4AF",
    "redelivered": "#E08FBF",
}
"""The colours of pages and of the lab on a light and on a dark background.

They are those of `LOOKS`, made darker or lighter so that text in each of them has the contrast of WCAG AA, 4.5 to 1, on
every background that it is written on. `line` is not used for text.
"""


class Look(Struct, frozen=True):
    """The look of a role or state; `word` replaces the glyph for screen readers."""

    colour: str
    glyph: str
    word: str

    @property
    def label(self) -> str:
        """Return the word in the language in force."""
        return _(self.word)


LOOKS: dict[str, Look] = {
    "master": Look("#0072B2", "■", N_("master")),
    "synchronised": Look("#009E73", "●", N_("synchronised mirror")),
    "unsynchronised": Look("#E69F00", "○", N_("unsynchronised mirror")),
    "mirror": Look("#009E73", "◍", N_("mirror")),
    "leader": Look("#0072B2", "⬢", N_("leader")),
    "leader_alone": Look("#0072B2", "⬡", N_("leader without a majority")),
    "follower": Look("#009E73", "●", N_("follower")),
    "down": Look("#999999", "✕", N_("down")),
    "left_over": Look("#999999", "✕", N_("left over on disk")),
    "none": Look("#999999", "·", N_("none")),
    "beyond": Look("#999999", " ", N_("in another partition")),
    "running": Look("#009E73", "●", N_("running")),
    "waiting": Look("#E69F00", "◌", N_("waiting")),
    "paused": Look("#E69F00", "‖", N_("paused")),
    "lost": Look("#D55E00", "▼", N_("lost")),
    "redelivered": Look("#CC79A7", "↻", N_("redelivered")),
    "promoted": Look("#0072B2", "▲", N_("promoted")),
    "fault": Look("#D55E00", "✕", N_("fault")),
    "cut": Look("#D55E00", "≠", N_("link down")),
    "healed": Look("#009E73", "=", N_("links healed")),
    "classic": Look("#0072B2", "■", N_("classic queues")),
    "quorum": Look("#56B4E9", "⬢", N_("quorum queues")),
}
"""The looks of roles and states.

A queue type has the shape of its master or leader. The two types differ in lightness as well, because lines and bands
have no shape.
"""

MARKERS = {"■": "s", "●": "o", "○": "o", "⬢": "H", "▼": "v", "▲": "^"}
"""The matplotlib marker for each glyph; outlined ones are drawn with the background as their face."""

SLIM = 340
"""Pixels: the width of a picture for a phone, at which its letters are no smaller than the page's."""

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
"""The matplotlib settings of every figure, applied over the defaults and not over a reader's own settings.

Use `plt.style.context(["default", FIGURE])`. A figure adds its own settings.
"""

ANSWERS = {
    "yes": Look("green", "✓", N_("Yes")),
    "but": Look("yellow", "!", N_("Yes, but")),
    "no": Look("red", "✕", N_("No")),
    "unknown": Look("yellow", "?", N_("Cannot tell")),
}
"""The looks of verdicts; the colours are a terminal's. A page uses the colours of held, lacking and lost."""

TONES = {"●": "yes", "◌": "but", "▼": "no", "✕": "no"}
"""The verdict of a table cell that begins with this glyph."""

WORDS = {
    "error": "no", "warning": "but", "not": "no", "ready": "yes", "ready with changes": "but", "quorum already": "yes",
    "stays": "yes",
}  # fmt: skip
"""The verdict of a row with this name."""

SHARES = ((0.0, "○"), (0.375, "◔"), (0.625, "◑"), (1.0, "◕"))
"""The rings of unsynchronised mirrors, each with the largest share of the master's messages for which it stands."""


def tone(word: str, is_name: bool = False) -> str:
    """Return the verdict that a cell, or the name of a row, is about: a key of ANSWERS, or ""."""
    return (is_name and WORDS.get(word)) or TONES.get(word.rpartition(": ")[2][:1], "")


def properties(palette: dict[str, str]) -> str:
    """Return the font and the colours of LIGHT or DARK as custom properties (--hawb-ink:…;).

    They include the two properties of JupyterLab's themes that INK and FAINT use.
    """
    named = {"hawb-font": FONT, **{f"hawb-{name}": colour for name, colour in palette.items()},
             "jp-ui-font-color1": palette["ink"], "jp-ui-font-color2": palette["faint"]}  # fmt: skip
    return "".join(f"--{name}:{colour};" for name, colour in named.items())


def ring(share: float) -> str:
    """Return the ring for a share from 0 to 1. Only a share of 0 gets the empty ring."""
    return next(glyph for limit, glyph in SHARES if share <= limit)
