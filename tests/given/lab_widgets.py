"""The lab's page without a browser: what the stage and the drawer say, and what a person does with them."""

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
    """All that the columns of the stage and HTML widgets of the drawer say."""
    drawer = " ".join(part.value for part in parts(lab) if isinstance(part, widgets.HTML))
    return " ".join([*texts(lab.stage.view["leads"]), unescape(re.sub(r"<[^>]*>", " ", drawer))])


def texts(value: object) -> list[str]:
    """All texts in plain values."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inner for text in texts(one)]


def fits(description: str, label: str) -> bool:
    """Whether a button is called so, but for a glyph beside its name."""
    return label in (description, description[2:])


def press(lab: Lab, label: str) -> None:
    """Presses the first button of the drawer of that name that can be seen."""
    next(
        part
        for part in parts(lab)
        if isinstance(part, widgets.Button) and fits(part.description, label) and part.layout.display != "none"
    ).click()


def panel(lab: Lab, name: str):
    """Opens a panel of the drawer; itself."""
    lab.open_panel(name)
    return lab.drawer.panels[name]


def ask(lab: Lab, do: str, **more: object) -> None:
    """Sends what the stage's page would send."""
    lab.stage.receive({"do": do, **more})


def on_node(lab: Lab, node: str, entry: str) -> None:
    """Chooses an entry of a node's menu."""
    ask(lab, "node", node=node, entry=entry)


def on_queue(lab: Lab, queue: str, entry: str) -> None:
    """Chooses an entry of a queue's menu."""
    ask(lab, "queue", queue=queue, entry=entry)


def node_of(lab: Lab, name: str) -> dict:
    """A node of the scene that is shown."""
    return next(node for node in lab.stage.view["scene"]["nodes"] if node["name"] == name)


def row_of(lab: Lab, queue: str) -> dict:
    """The row of a queue of the scene that is shown."""
    return next(row for row in lab.stage.view["scene"]["rows"] if row["queue"] == queue)
