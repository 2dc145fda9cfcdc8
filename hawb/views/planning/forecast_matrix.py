"""Which queue feels which node's end: a matrix of nodes and queues as a picture, the worst on top. Queues that feel the
same are one row. A cell says in words what its colour says; its ground follows the page's.
"""

from __future__ import annotations

from collections.abc import Sequence

from hawb.planning.safe_to_stop import WAYS, Effect, Forecast
from hawb.views import style
from hawb.views.formatting import counted, html, seconds, shortened
from hawb.views.planning.forecast import EITHER, MARKS

NAMES, COLUMN, ROW, HEAD, GAP = 300, 190, 38, 34, 6
"""Pixels: the room for names, a node's column, a row, the head, and what is between cells."""
LEAST_COLUMN, WHOLE = 120, 1120
LETTER = 7
MOST_ROWS = 20
BRIEFLY = {"waits": "down", "deleted": "deleted", "stuck": "down for good"}
"""The fates of a queue that cannot be used, in a word."""

Row = tuple[Sequence[str], Sequence[dict[str, Effect]]]
"""Queues that feel the same, and for each node what each way to end it does."""


def svg(forecasts: Sequence[Forecast], rows: Sequence[Row]) -> str:
    """The matrix as an SVG element; rows beyond MOST_ROWS are counted."""
    width = min(max((WHOLE - NAMES) // max(len(forecasts), 1), LEAST_COLUMN), COLUMN + 90)
    shown, more = rows[:MOST_ROWS], sum(len(names) for names, _ in rows[MOST_ROWS:])
    height, whole = HEAD + ROW * len(shown) + (24 if more else 2), NAMES + width * len(forecasts)
    heads = "".join(
        f'<text class="name" x="{NAMES + at * width + width // 2}" y="22" text-anchor="middle" font-weight="600">'
        f"{html(shortened(one.node, width // 8))}<title>{html(one.node)}</title></text>"
        for at, one in enumerate(forecasts)
    )
    body = "".join(_row(names, ways, HEAD + at * ROW, width) for at, (names, ways) in enumerate(shown))
    rest = f"and {counted(more, 'more queue')}, which {'feels' if more == 1 else 'feel'} less" if more else ""
    below = f'<text class="faint" x="0" y="{height - 6}">{rest}</text>'
    told = html(f"What the end of each of {counted(len(forecasts), 'node')} does to queues, the worst first.")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{told}" width="{whole}" height="{height}"'
        f' viewBox="0 0 {whole} {height}" font-family="{style.FONT}" font-size="13">{heads}{body}{below}</svg>'
    )


def _row(names: Sequence[str], ways: Sequence[dict[str, Effect]], top: int, width: int) -> str:
    middle, more = top + ROW // 2 + 4, f" and {len(names) - 1:,} more" if len(names) > 1 else ""
    label = html(shortened(names[0], NAMES // LETTER - len(more) - 2) + more)
    told = html(", ".join(names[:MOST_ROWS]))
    name = f'<text class="name" x="{NAMES - 14}" y="{middle}" text-anchor="end">{label}<title>{told}</title></text>'
    return name + "".join(_cell(of, NAMES + at * width, top, width) for at, of in enumerate(ways))


def _cell(ways: dict[str, Effect], left: int, top: int, width: int) -> str:
    """One node's cell: what a stop does, and below it a kill where it does something else."""
    lines = _lines(ways)
    tones = [style.tone(line) for _, line in lines]
    tone = next((one for one in ("no", "but") if one in tones), "")
    faint = "" if lines else ' opacity=".45"'
    place = f'x="{left + GAP // 2}" y="{top + GAP // 2}" width="{width - GAP}" height="{ROW - GAP}"'
    box = f'<rect class="cell" {place} rx="4"{faint}/>'
    size, step = (13, 0) if len(lines) < 2 else (11, 13)
    first = top + ROW // 2 + 4 - step // 2
    told = "".join(
        f'<text class="said" x="{left + width // 2}" y="{first + step * at}" font-size="{size}" text-anchor="middle">'
        f"{html(shortened(f'{way}{line}', width // 6))}</text>"
        for at, (way, line) in enumerate(lines)
    )
    return f'<g class="{tone}">{box}{told}</g>'


def _lines(ways: dict[str, Effect]) -> list[tuple[str, str]]:
    told = {way: brief(effect) for way, effect in ways.items()}
    if len(told) == len(WAYS) and len(set(told.values())) == 1:
        return [("", told[WAYS[0]])]
    return [(f"{way}: ", words) for way, words in told.items()]


def cell(ways: dict[str, Effect]) -> str:
    """A cell in words: what each way does, both at once where they do the same."""
    return "; ".join(f"{way or f'{EITHER}: '}{words}" for way, words in _lines(ways))


def brief(effect: Effect) -> str:
    """What becomes of a queue, with the glyph that stands for it."""
    if effect.lost:
        down = f" and is {BRIEFLY[effect.fate]}" if effect.down else ""
        return f"{style.LOOKS[MARKS['loss'][1]].glyph} loses {effect.lost:,}{down}"
    if effect.down:
        return f"{style.LOOKS[MARKS['outage'][1]].glyph} {BRIEFLY[effect.fate]}"
    return f"{seconds(effect.unavailable_s)} s"
