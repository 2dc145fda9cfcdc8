"""An interactive timeline: the lanes, a line at the shown moment, and a button on each mark that opens its explanation.

The buttons are HTML above the picture: the Tab key reaches them, their labels say what happened, and they open text
that is too long for a tooltip of the picture. HTML popovers do this without a script. The lab's stylesheet defines how
they look.
"""

from __future__ import annotations

from html import escape

from hawb.languages import _
from hawb.views.formatting import seconds
from hawb.views.story.chronicle import Chronicle
from hawb.views.story.lanes import Lanes
from hawb.views.story.marks import Mark, explained

MOST = 200
"""The number of marks with buttons, the latest ones; earlier marks have only their tooltips."""


def html(drawn: Lanes, outcome: dict, name: str) -> str:
    """Return the lanes with a button on each mark; `name` makes the ids of one timeline unique on its page."""
    chronicle = Chronicle(outcome)
    buttons = (_button(drawn, chronicle, mark, f"{name}-{number}") for number, mark in enumerate(drawn.marks[-MOST:]))
    return drawn.svg + "".join(buttons)


def framed(content: str, drawn: Lanes, at: float) -> str:
    """Return the result of `html` with a line at a time in seconds; for another time only the line changes."""
    place = f"left:{drawn.scale.at(at):.1f}px;height:{drawn.height}px"
    here = escape(_("{t} s is shown", t=seconds(at)))
    line = f'<div class="hawb-here" role="img" aria-label="{here}" style="{place}"></div>'
    return f'<div class="hawb-timeline">{content}{line}</div>'


def _button(drawn: Lanes, chronicle: Chronicle, mark: Mark, name: str) -> str:
    """Return a mark's button with the popover that it opens."""
    x, y = drawn.place(mark)
    label, lines = escape(mark.text), explained(chronicle, mark)
    timed = ((_("{t} s", t=seconds(t)), line) for t, line in lines)
    items = "".join(f"<li><time>{when}</time> {escape(line)}</li>" for when, line in timed)
    called = f'aria-label="{label}" title="{label}" popovertarget="{escape(name)}"'
    return (
        f'<button type="button" class="hawb-mark" style="left:{x:.1f}px;top:{y}px" {called}></button>'
        f'<div popover class="hawb-told" id="{escape(name)}"><ul>{items}</ul></div>'
    )
