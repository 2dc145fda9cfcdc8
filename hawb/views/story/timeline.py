"""A timeline to be used: the lanes, a line at the moment that is shown, and each mark a button that tells what happened
there and what brought it about.

The buttons are HTML above the picture: the Tab key reaches them, their names say what happened, and they open what the
picture's tooltips cannot hold. That takes no script (HTML's popovers). The lab's stylesheet says how they look.
"""

from __future__ import annotations

from html import escape

from hawb.languages import _
from hawb.views.formatting import seconds
from hawb.views.story.chronicle import Chronicle
from hawb.views.story.lanes import Lanes
from hawb.views.story.marks import Mark, explained

MOST = 200
"""How many marks have buttons: the latest; the others keep their tooltips."""


def html(drawn: Lanes, outcome: dict, name: str) -> str:
    """The lanes with a button on each mark. `name` tells one timeline of a page from another."""
    chronicle = Chronicle(outcome)
    buttons = (_button(drawn, chronicle, mark, f"{name}-{number}") for number, mark in enumerate(drawn.marks[-MOST:]))
    return drawn.svg + "".join(buttons)


def framed(content: str, drawn: Lanes, at: float) -> str:
    """The picture that `html` has made, with a line at a moment; for another moment only the line changes."""
    place = f"left:{drawn.scale.at(at):.1f}px;height:{drawn.height}px"
    here = escape(_("{t} s is shown", t=seconds(at)))
    line = f'<div class="hawb-here" role="img" aria-label="{here}" style="{place}"></div>'
    return f'<div class="hawb-timeline">{content}{line}</div>'


def _button(drawn: Lanes, chronicle: Chronicle, mark: Mark, name: str) -> str:
    """A mark's button, and what it opens."""
    x, y = drawn.place(mark)
    told, lines = escape(mark.text), explained(chronicle, mark)
    timed = ((_("{t} s", t=seconds(t)), line) for t, line in lines)
    items = "".join(f"<li><time>{when}</time> {escape(line)}</li>" for when, line in timed)
    called = f'aria-label="{told}" title="{told}" popovertarget="{escape(name)}"'
    return (
        f'<button type="button" class="hawb-mark" style="left:{x:.1f}px;top:{y}px" {called}></button>'
        f'<div popover class="hawb-told" id="{escape(name)}"><ul>{items}</ul></div>'
    )
