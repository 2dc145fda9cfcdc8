"""Export the story so far: download a scenario, Python or a report, or save a file beside the notebook."""

from __future__ import annotations

import ipywidgets as widgets

from hawb.lab import fields
from hawb.lab.controller import Controller, Place
from hawb.lab.exports import link
from hawb.lab.fields import Changed, Message
from hawb.lab.history import Point
from hawb.languages import N_, _

WHAT = {
    "scenario": N_("a scenario file: play it with hawb run, or compare it with a real cluster with hawb compare"),
    "Python": N_("a script of calls to hawb.Cluster"),
    "report": N_("a self-contained web page: figures, story, ledger, and why messages were lost"),
}
LABELS = {"scenario": N_("scenario"), "Python": N_("Python"), "report": N_("report")}
ASK = N_(
    "Export the story so far and its outcome. Choose a format: a download link then appears here."
)


class ExportPanel:
    """A button for each kind of export, and the link that it makes.

    A link holds one point and is removed when the lab goes to another. If the controller may save, there is also a
    field for a file name.
    """

    def __init__(self, controller: Controller, changed: Changed):
        self.controller, self.changed = controller, changed
        self.buttons = {
            kind: fields.button(_(label), _(WHAT[kind]), lambda kind=kind: self._make(kind))
            for kind, label in LABELS.items()
        }
        self.links = widgets.HTML()
        self.name = fields.text(_("file"), _("a file to save the scenario in, beside the notebook"), width="220px")
        self.name.placeholder = "my-outage.yaml"
        self.save = fields.button(_("save"), _("save the story so far as a scenario file"), self._save)
        self.message = Message(Place.SAVE)
        self._point: Point | None = None
        saving = [self.message.beside(fields.row(self.name, self.save))] if controller.may_save else []
        self.box = fields.column(fields.row(*self.buttons.values()), self.links, *saving, name="hawb-export")

    def show(self) -> None:
        """Update the widgets from the controller."""
        self.message.show(self.controller)
        if self.controller.now is not self._point:
            self._point = self.controller.now
            self.links.value = f"<p>{_(ASK)}</p>"

    def _make(self, kind: str) -> None:
        what = WHAT[kind]
        line = _("{link}: {what}.", link=link(self.controller.now, kind), what=_(what))
        self.links.value = f"<p>{line}</p>"

    def _save(self) -> None:
        self.controller.save(self.name.value)
        self.changed()
