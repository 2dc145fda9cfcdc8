"""How a thing shows itself in a notebook, whichever front end reads it.

A front end chooses among the forms that it is given. JupyterLab and VS Code take HTML before a picture and a picture
before text; marimo asks for HTML alone; pages on which a stored notebook is only read (GitHub's) keep of HTML what is
left without styles, and draw a picture. So whatever has a picture gives all three, and a picture brings its own ground.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from textwrap import fill

PAGE = 116
"""How many characters a line of text has in a notebook: VS Code breaks none itself."""

FIRST_WIDE = "\u2e80"
"""From here on letters take two places, and lines may end between any two of them."""

UNBROKEN = "[（“]*(?:[\u2e80-\u9fff\uff00-\uff60]|[^\\s（“\u2e80-\uff60]+)[，。：；、）”？！]*|\\s+|."
"""What stays on one line: a wide letter or a word, with the punctuation that belongs to it. It is compiled where a line
has wide letters: Python takes longer for such a class of letters than for all others of a command together."""

MOMENT = re.compile(r" *[0-9.]+ s  ")
"""How a line of a story begins: with its time."""


def mimebundle(
    thing: object, include: Collection[str] | None = None, exclude: Collection[str] | None = None
) -> dict[str, str]:
    """The forms of a thing by their MIME types, the best first: to be its `_repr_mimebundle_`. Only those of `include`
    are made, if there are any, and none of `exclude`."""
    makers = {"text/html": "_repr_html_", "image/svg+xml": "_repr_svg_", "text/plain": "__repr__"}
    asked = [kind for kind in makers if kind in (include or makers) and kind not in (exclude or ())]
    return {kind: getattr(thing, makers[kind])() for kind in asked if hasattr(thing, makers[kind])}


class Said(str):
    """A text that shows itself without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


class Told(Said):
    """Sentences that show themselves in lines that fit a notebook."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(map(fitted, self.splitlines()))


def fitted(line: str) -> str:
    """A line broken into as many lines as it takes to fit the page. Where it begins with a time (as a story's do), that
    stands alone on the left."""
    time = MOMENT.match(line)
    indent = " " * len(time[0] if time else "")
    if has_wide(line):
        return _filled(line, indent)
    return fill(line, PAGE, break_on_hyphens=False, subsequent_indent=indent)


def has_wide(text: str) -> bool:
    """Return True if letters of a text take two places, as in Chinese."""
    return max(text, default="") >= FIRST_WIDE


def _filled(line: str, indent: str) -> str:
    """A line with wide letters, broken between any two of them."""
    lines, room = [""], PAGE
    for part in re.findall(UNBROKEN, line):
        places = sum(2 if letter >= FIRST_WIDE else 1 for letter in part)
        if places > room and not part.isspace():
            lines.append(indent)
            room = PAGE - len(indent)
        lines[-1] += part
        room -= places
    return "\n".join(each.rstrip() for each in lines)
