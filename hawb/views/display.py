"""The display of objects in notebooks, in any front end.

A front end chooses among the forms that an object offers. JupyterLab and VS Code prefer HTML to a picture and a picture
to text; marimo asks only for HTML; pages that show stored notebooks (GitHub's) keep HTML without its styles, and show
pictures. So an object with a picture offers all three forms, and the picture has its own background.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from textwrap import fill

PAGE = 116
"""The number of characters in a line of text in a notebook: VS Code does not break lines."""

FIRST_WIDE = "\u2e80"
"""The first of the characters that are two columns wide and between which lines may break."""

UNBROKEN = "[（“]*(?:[\u2e80-\u9fff\uff00-\uff60]|[^\\s（“\u2e80-\uff60]+)[，。：；、）”？！]*|\\s+|."
"""The pieces that stay on one line: a wide character or a word, with its punctuation.

It is compiled only for lines with wide characters, because Python takes longer for this class of characters than for
all other patterns of a command together.
"""

MOMENT = re.compile(r" *[0-9.]+ s  ")
"""The beginning of a line of a story: its time."""


def mimebundle(
    thing: object, include: Collection[str] | None = None, exclude: Collection[str] | None = None
) -> dict[str, str]:
    """Return the forms of an object by MIME type, the best first; use it as the object's `_repr_mimebundle_`.

    With `include` only those types are made, and those in `exclude` never.
    """
    makers = {"text/html": "_repr_html_", "image/svg+xml": "_repr_svg_", "text/plain": "__repr__"}
    asked = [kind for kind in makers if kind in (include or makers) and kind not in (exclude or ())]
    return {kind: getattr(thing, makers[kind])() for kind in asked if hasattr(thing, makers[kind])}


class PlainText(str):
    """A text that shows itself without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


class Sentences(PlainText):
    """Sentences that show themselves in lines that fit a notebook."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(map(fitted, self.splitlines()))


def fitted(line: str) -> str:
    """Return a line broken into lines that fit the page.

    If the line begins with a time, as those of a story do, the other lines are indented by its width.
    """
    time = MOMENT.match(line)
    indent = " " * len(time[0] if time else "")
    if has_wide(line):
        return _filled(line, indent)
    return fill(line, PAGE, break_on_hyphens=False, subsequent_indent=indent)


def has_wide(text: str) -> bool:
    """Return True if a text has characters that are two columns wide, as in Chinese."""
    return max(text, default="") >= FIRST_WIDE


def _filled(line: str, indent: str) -> str:
    """Return a line with wide characters, broken between any two of them."""
    lines, room = [""], PAGE
    for part in re.findall(UNBROKEN, line):
        places = sum(2 if letter >= FIRST_WIDE else 1 for letter in part)
        if places > room and not part.isspace():
            lines.append(indent)
            room = PAGE - len(indent)
        lines[-1] += part
        room -= places
    return "\n".join(each.rstrip() for each in lines)
