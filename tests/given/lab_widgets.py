"""The lab's page without a browser: the texts of the stage and the drawer, and a user's actions."""

from __future__ import annotations

import re
from html import unescape

import ipywidgets as widgets

from hawb.lab.page import Lab

NASTY = "<script>alert('1')</script>&\"x\""


def parts(widget: widgets.Widget) -> list[widgets.Widget]:
    """Return a widget and all its descendants."""
    return [widget, *(part for child in getattr(widget, "children", ()) for part in parts(child))]


def page_text(lab: Lab) -> str:
    """Return the text of the stage's columns and of the drawer's HTML widgets."""
    drawer = " ".join(part.value for part in parts(lab) if isinstance(part, widgets.HTML))
    return " ".join([*texts(lab.stage.view["leads"]), unescape(re.sub(r"<[^>]*>", " ", drawer))])


def texts(value: object) -> list[str]:
    """Return all texts in plain values."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inner for text in texts(one)]


def fits(description: str, label: str) -> bool:
    """Return True if a button has this name, apart from a glyph beside it."""
    return label in (description, description[2:])


def press(lab: Lab, label: str) -> None:
    """Press the first visible button of the drawer with this name."""
    next(
        part
        for part in parts(lab)
        if isinstance(part, widgets.Button) and fits(part.description, label) and part.layout.display != "none"
    ).click()


def panel(lab: Lab, name: str):
    """Open a panel of the drawer and return it."""
    lab.open_panel(name)
    return lab.drawer.panels[name]


def ask(lab: Lab, do: str, **more: object) -> None:
    """Send what the stage's page would send."""
    lab.stage.receive({"do": do, **more})


def on_node(lab: Lab, node: str, entry: str) -> None:
    """Choose an entry of a node's menu."""
    ask(lab, "node", node=node, entry=entry)


def on_queue(lab: Lab, queue: str, entry: str) -> None:
    """Choose an entry of a queue's menu."""
    ask(lab, "queue", queue=queue, entry=entry)


def node_of(lab: Lab, name: str) -> dict:
    """Return a node of the scene that is shown."""
    return next(node for node in lab.stage.view["scene"]["nodes"] if node["name"] == name)


def row_of(lab: Lab, queue: str) -> dict:
    """Return the row of a queue of the scene that is shown."""
    return next(row for row in lab.stage.view["scene"]["rows"] if row["queue"] == queue)
