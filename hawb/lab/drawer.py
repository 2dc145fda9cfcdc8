"""Show one panel at a time in a drawer beside the stage; only the open panel is updated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import ipywidgets as widgets

from hawb.lab import fields
from hawb.languages import _


class Panel(Protocol):
    """A panel that the drawer can show."""

    box: widgets.Widget

    def show(self) -> None:
        """Update the widgets from the controller."""


class Drawer:
    """Panels by their names; `name` is the open one, "" if none is."""

    def __init__(self, panels: Mapping[str, Panel], closed: Callable[[], None]):
        self.panels, self.name, self._closed = panels, "", closed
        self.title = widgets.HTML()
        self.close_button = fields.button(_("✕ close"), _("closes this panel (Escape)"), self.close)
        self.place = fields.named(widgets.VBox(), "hawb-drawer-place")
        head = fields.row(self.title, self.close_button, name="hawb-title")
        self.box = fields.column(head, self.place, name="hawb-drawer")
        self.box.layout.display = "none"

    def open(self, name: str) -> None:
        """Open a panel in place of the open one."""
        if name != self.name:
            self.name = name
            self.title.value = f"<h2>{_(name)}</h2>"
            self.place.children = [self.panels[name].box]
            self.box.layout.display = None
        self.show()

    def close(self) -> None:
        """Close the open panel."""
        self.name, self.place.children = "", []
        self.box.layout.display = "none"
        self._closed()

    def show(self) -> None:
        """Update the open panel from the controller."""
        if self.name:
            self.panels[self.name].show()
