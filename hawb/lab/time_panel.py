"""Control simulated time: a wait, the time of the next step, and lanes that show the whole story."""

from __future__ import annotations

import ipywidgets as widgets

from hawb.lab import fields
from hawb.lab.controller import Controller, Place
from hawb.lab.fields import Changed, Message
from hawb.lab.typed import number
from hawb.languages import _
from hawb.views.formatting import seconds
from hawb.views.story import lanes, timeline


class TimePanel:
    """The lanes of the story, with a line at the current moment, a wait, and the time of the next step.

    The lanes are drawn twice: broad for a page and slim for a phone.
    """

    def __init__(self, controller: Controller, changed: Changed):
        self.controller, self.changed = controller, changed
        self.seconds = fields.text(_("seconds"), _("seconds of simulated time to wait"), "75", width="130px")
        self.wait = fields.button(_("wait"), _("simulated time passes, in seconds"), self._wait)
        empty = _("the step's time in seconds; if empty, the step waits until the cluster has nothing more to do")
        self.at = fields.text(_("next step at"), empty, width="190px")
        fields.watch(self.at, lambda change: setattr(controller, "at", change["new"]))
        self.message = Message(Place.TIME)
        self.lanes = fields.named(widgets.HTML(), "hawb-lanes")
        self._drawn: tuple = (None, None, ())
        waiting = fields.row(self.wait, self.seconds)
        controls = self.message.beside(fields.row(waiting, self.at))
        self.box = fields.column(fields.named(controls, "hawb-clock"), self.lanes, name="hawb-time-panel")

    def show(self) -> None:
        """Update the widgets from the controller."""
        outcome, queue = self.controller.outcome, self.controller.queue
        story = self.controller.now.origin.outcome
        self.at.value = self.controller.at
        self.at.placeholder = seconds(outcome["time_s"]) if self.controller.looks_back else _("settled")
        self.message.show(self.controller)
        self.lanes.value = self._lanes(story, queue if queue in story["ledger"] else None, outcome["time_s"])

    def _lanes(self, story: dict, queue: str | None, at: float) -> str:
        """Return the story's lanes as HTML with a line at `at`, drawn again only for another story or queue."""
        if self._drawn[0] is not story or self._drawn[1] != queue:
            both = {look: lanes.lanes(story, queue, slim=look == "slim") for look in ("broad", "slim")}
            contents = {look: timeline.html(drawn, story, f"hawb-{look}-{id(self)}") for look, drawn in both.items()}
            self._drawn = (story, queue, [(look, contents[look], drawn) for look, drawn in both.items()])
        framed = ((look, timeline.framed(content, drawn, at)) for look, content, drawn in self._drawn[2])
        return "".join(f'<div class="hawb-{look}">{frame}</div>' for look, frame in framed)

    def _wait(self) -> None:
        self.controller.act("wait", number(self.seconds.value), Place.TIME)
        self.changed()
