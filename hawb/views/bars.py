"""Numbers as horizontal bars, each with its name before it and its number after it, on the page's own background."""

from __future__ import annotations

from collections.abc import Mapping

from hawb.views import page, style
from hawb.views.formatting import html, shortened

NAMES, LONGEST, ROW, WHOLE = 250, 640, 30, 1120
"""Pixels: width of the names, of the longest bar, height of a row, width of the picture."""
SLIM_LONGEST, NAME_ROW = 150, 18
"""Pixels of a slim picture: the longest bar, and the row with the name above it."""
LETTER = 7


def svg(
    numbers: Mapping[str, float],
    notes: Mapping[str, str] | None = None,
    tones: Mapping[str, str] | None = None,
    *,
    slim: bool = False,
) -> str:
    """Return bars for non-negative numbers by name, in the given order, as an SVG element.

    `notes` are the texts after the bars, by default the numbers. `tones` are the words of `style.WORDS` that give the
    bars their colours, by default their names. A `slim` picture has the names above the bars.
    """
    left, longest, above, whole = (0, SLIM_LONGEST, NAME_ROW, style.SLIM) if slim else (NAMES, LONGEST, 0, WHOLE)
    row, room = ROW + above, (whole - left - longest) // LETTER - 2
    most, height = max(numbers.values(), default=0) or 1, row * len(numbers) + 2
    place, letters = ('x="0"', whole // LETTER - 2) if slim else (
        f'x="{NAMES - 12}" text-anchor="end"', NAMES // LETTER - 2
    )  # fmt: skip
    rows = ""
    for at, (name, number) in enumerate(numbers.items()):
        top, width = at * row + above, longest * number / most
        words = html(shortened((notes or {}).get(name, f"{number:,.0f}"), room))
        look = style.tone((tones or {}).get(name, name), is_name=True)
        rows += (
            f'<g class="{look}"><text class="name" {place} y="{top + 19 - above}">{html(shortened(name, letters))}'
            f'<title>{html(name)}</title></text><rect class="bar" x="{left}" y="{top + 5}" width="{width:.1f}"'
            f' height="{ROW - 10}" rx="2"/><text class="name" x="{left + width + 8:.1f}" y="{top + 19}">{words}'
            "</text></g>"
        )
    said = html("; ".join(f"{name}: {(notes or {}).get(name, number)}" for name, number in numbers.items()))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{said}" width="{whole}" height="{height}"'
        f' viewBox="0 0 {whole} {height}" font-family="{style.FONT}" font-size="13">{rows}</svg>'
    )


def figure(
    numbers: Mapping[str, float],
    caption: str,
    notes: Mapping[str, str] | None = None,
    tones: Mapping[str, str] | None = None,
) -> str:
    """Return bars as a figure of a page, with those for a phone."""
    broad, slim = (svg(numbers, notes, tones, slim=slim) for slim in (False, True))
    return page.figure(broad, caption, slim=slim)
