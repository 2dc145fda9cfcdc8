"""Numbers as bars, each with its name before it and its number behind it: a picture whose ground is the page's."""

from __future__ import annotations

from collections.abc import Mapping

from hawb.views import style
from hawb.views.formatting import html, shortened

NAMES, LONGEST, ROW, WHOLE = 250, 640, 30, 1120
"""Pixels: the room for names, the longest bar, a row, the picture."""
LETTER = 7
ROOM = (WHOLE - NAMES - LONGEST) // LETTER - 2
"""The letters that there is room for behind the longest bar."""


def svg(
    numbers: Mapping[str, float], told: Mapping[str, str] | None = None, tones: Mapping[str, str] | None = None
) -> str:
    """Bars for numbers that are not negative, by their names, in the order given; `told` is what stands behind each, by
    default the number, and `tones` the words of `style.WORDS` that colour each, by default its name."""
    most, height = max(numbers.values(), default=0) or 1, ROW * len(numbers) + 2
    rows = ""
    for at, (name, number) in enumerate(numbers.items()):
        top, width = at * ROW, LONGEST * number / most
        words = html(shortened((told or {}).get(name, f"{number:,.0f}"), ROOM))
        label = html(shortened(name, NAMES // LETTER - 2))
        look = style.tone((tones or {}).get(name, name), is_name=True)
        rows += (
            f'<g class="{look}"><text class="name" x="{NAMES - 12}" y="{top + 19}" text-anchor="end">{label}'
            f'<title>{html(name)}</title></text><rect class="bar" x="{NAMES}" y="{top + 5}" width="{width:.1f}"'
            f' height="{ROW - 10}" rx="2"/><text class="name" x="{NAMES + width + 8:.1f}" y="{top + 19}">{words}'
            "</text></g>"
        )
    said = html("; ".join(f"{name}: {(told or {}).get(name, number)}" for name, number in numbers.items()))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{said}" width="{WHOLE}" height="{height}"'
        f' viewBox="0 0 {WHOLE} {height}" font-family="{style.FONT}" font-size="13">{rows}</svg>'
    )
