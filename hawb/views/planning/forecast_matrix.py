"""A matrix of nodes and queues as a picture: the effect of each node's stop on each queue, the worst on top.

Queues with the same effects share a row. Each cell says in words what its colour says; the background follows the page.
"""

from __future__ import annotations

from collections.abc import Sequence

from hawb.planning.safe_to_stop import WAYS, Effect, Forecast
from hawb.views import style
from hawb.views.formatting import counted, html, seconds, shortened
from hawb.views.planning.forecast import EITHER, MARKS

NAMES, COLUMN, ROW, HEAD, GAP = 300, 190, 38, 34, 6
"""Pixels: width of the names, width of a node's column, height of a row, height of the head, gap between cells."""
LEAST_COLUMN, WHOLE = 120, 1120
LETTER, LETTER_SHARE = 7, 0.56
"""The approximate width of a letter: of names in pixels, in cells as a share of the font size."""
MOST_ROWS = 20
FEW, NAME_ROW, AFTER = 2, 20, 14
"""For a slim picture: nodes side by side, and pixels of a row with a name, and after a matrix."""
BRIEFLY = {"waits": "down", "deleted": "deleted", "stuck": "down for good"}
"""The fates of a queue that is down, in one word."""

Row = tuple[Sequence[str], Sequence[dict[str, Effect]]]
"""Queues with the same effects, and for each node the effect of each way to stop it."""


def svg(forecasts: Sequence[Forecast], rows: Sequence[Row], *, slim: bool = False) -> str:
    """Return the matrix as an SVG element; rows beyond MOST_ROWS are only counted.

    A `slim` picture has names above their cells, and one matrix for every FEW nodes, below each other.
    """
    shown, more = rows[:MOST_ROWS], sum(len(names) for names, _ in rows[MOST_ROWS:])
    places = [range(first, min(first + FEW, len(forecasts))) for first in range(0, len(forecasts), FEW)]
    names, nodes = (0, places) if slim else (NAMES, [range(len(forecasts))])
    width = min(max((WHOLE - NAMES) // max(len(forecasts), 1), LEAST_COLUMN), COLUMN + 90)
    width = style.SLIM // min(max(len(forecasts), 1), FEW) if slim else width
    whole, drawn, top = style.SLIM if slim else NAMES + width * len(forecasts), "", 0
    for these in nodes:
        drawn += "".join(_head(forecasts[at].node, names + place * width, top, width) for place, at in enumerate(these))
        top += HEAD
        for queues, ways in shown:
            room, below = (style.SLIM, NAME_ROW) if slim else (NAMES - 14, 0)
            drawn += _name(queues, room, top + (NAME_ROW - 5 if slim else ROW // 2 + 4), at_end=not slim)
            drawn += "".join(
                _cell(ways[at], names + place * width, top + below, width) for place, at in enumerate(these)
            )
            top += ROW + below
        top += AFTER if slim else 0
    height = top + (24 if more else 2)
    rest = f"and {counted(more, 'more queue')}, which {'is' if more == 1 else 'are'} affected less" if more else ""
    last = f'<text class="faint" x="0" y="{height - 6}">{rest}</text>'
    label = html(f"What stopping or killing each of {counted(len(forecasts), 'node')} does to queues, the worst first.")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}" width="{whole}" height="{height}"'
        f' viewBox="0 0 {whole} {height}" font-family="{style.FONT}" font-size="13">{drawn}{last}</svg>'
    )


def _head(node: str, left: int, top: int, width: int) -> str:
    return (
        f'<text class="name" x="{left + width // 2}" y="{top + 22}" text-anchor="middle" font-weight="600">'
        f"{html(shortened(node, width // 8))}<title>{html(node)}</title></text>"
    )


def _name(names: Sequence[str], room: int, y: int, *, at_end: bool) -> str:
    more = f" and {len(names) - 1:,} more" if len(names) > 1 else ""
    label = html(shortened(names[0], room // LETTER - len(more) - 1) + more)
    names_text = html(", ".join(names[:MOST_ROWS]))
    place = f'x="{room}" y="{y}" text-anchor="end"' if at_end else f'x="0" y="{y}"'
    return f'<text class="name" {place}>{label}<title>{names_text}</title></text>'


def _cell(ways: dict[str, Effect], left: int, top: int, width: int) -> str:
    """Draw a node's cell: the effect of a stop, and below it that of a kill if it differs."""
    lines = _lines(ways)
    tones = [style.tone(line) for _, line in lines]
    tone = next((one for one in ("no", "but") if one in tones), "")
    faint = "" if lines else ' opacity=".45"'
    place = f'x="{left + GAP // 2}" y="{top + GAP // 2}" width="{width - GAP}" height="{ROW - GAP}"'
    box = f'<rect class="cell" {place} rx="4"{faint}/>'
    size, step = (13, 0) if len(lines) < 2 else (11, 13)
    first = top + ROW // 2 + 4 - step // 2
    label = "".join(
        f'<text class="said" x="{left + width // 2}" y="{first + step * at}" font-size="{size}" text-anchor="middle">'
        f"{html(shortened(f'{way}{line}', int((width - GAP) / (size * LETTER_SHARE))))}</text>"
        for at, (way, line) in enumerate(lines)
    )
    return f'<g class="{tone}">{box}{label}</g>'


def _lines(ways: dict[str, Effect]) -> list[tuple[str, str]]:
    briefs = {way: brief(effect) for way, effect in ways.items()}
    if len(briefs) == len(WAYS) and len(set(briefs.values())) == 1:
        return [("", briefs[WAYS[0]])]
    return [(f"{way}: ", words) for way, words in briefs.items()]


def cell(ways: dict[str, Effect]) -> str:
    """Return a cell in words: the effect of each way, once for both if they have the same effect."""
    return "; ".join(f"{way or f'{EITHER}: '}{words}" for way, words in _lines(ways))


def brief(effect: Effect) -> str:
    """Return the effect on a queue in a few words, with its glyph if it is harmed."""
    if effect.lost:
        down = f" and is {BRIEFLY[effect.fate]}" if effect.down else ""
        return f"{style.LOOKS[MARKS['loss'][1]].glyph} loses {effect.lost:,}{down}"
    if effect.down:
        return f"{style.LOOKS[MARKS['outage'][1]].glyph} {BRIEFLY[effect.fate]}"
    return f"{seconds(effect.unavailable_s)} s"
