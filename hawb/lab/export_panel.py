"""Export: the story so far to be downloaded, as a scenario, as Python, as a report."""

from __future__ import annotations

import ipywidgets as widgets

from hawb.lab import fields
from hawb.lab.controller import Controller
from hawb.lab.exports import KINDS, link
from hawb.lab.history import Point

WHAT = {
    "scenario": "a file for hawb, to be played by hawb run and compared with a real cluster by hawb compare",
    "Python": "a script of calls to hawb.Cluster",
    "report": "a web page that needs nothing but itself: figures, story, ledger, and why whatever was lost is lost",
}
ASK = "The story so far, with whatever it has led to. Choose what to make of it; a link to download it is then here."


class ExportPanel:
    """A button for each kind, and the link that it makes; a link is about one point, and goes with that point."""

    def __init__(self, controller: Controller):
        self.controller = controller
        self.buttons = {kind: fields.button(kind, WHAT[kind], lambda kind=kind: self._make(kind)) for kind in KINDS}
        self.links = widgets.HTML()
        self._point: Point | None = None
        self.box = fields.column(fields.row(*self.buttons.values()), self.links, name="hawb-export")

    def show(self) -> None:
        """Shows where the controller stands."""
        if self.controller.now is not self._point:
            self._point = self.controller.now
            self.links.value = f"<p>{ASK}</p>"

    def _make(self, kind: str) -> None:
        self.links.value = f"<p>{link(self.controller.now, kind)}: {WHAT[kind]}.</p>"
