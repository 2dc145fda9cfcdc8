"""The lab's page as its widgets, without a browser: what they say, and what a person does with them."""

from __future__ import annotations

import re
from html import unescape

import ipywidgets as widgets

from hawb.lab.page import Lab

NASTY = "<script>alert('1')</script>&\"x\""


def parts(widget: widgets.Widget) -> list[widgets.Widget]:
    """A widget and all that is in it."""
    return [widget, *(part for child in getattr(widget, "children", ()) for part in parts(child))]


def page_text(lab: Lab) -> str:
    """All that HTML widgets of the page say."""
    found = " ".join(part.value for part in parts(lab) if isinstance(part, widgets.HTML))
    return unescape(re.sub(r"<[^>]*>", " ", found))


def fits(description: str, label: str) -> bool:
    """Whether a button is called so, but for a glyph beside its name."""
    return label in (description, description[2:])


def press(lab: Lab, label: str) -> None:
    """Presses the first button of that name that can be seen."""
    next(
        part
        for part in parts(lab)
        if isinstance(part, widgets.Button) and fits(part.description, label) and part.layout.display != "none"
    ).click()


def choose(lab: Lab, node: int, label: str) -> None:
    """Chooses what is called so in a node's menu, before any command."""
    menu = lab.cluster.nodes[node].menu
    menu.value = next(value for told, value in menu.options if label in (told, told.partition(" (")[0]))
