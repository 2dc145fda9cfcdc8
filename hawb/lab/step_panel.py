"""Play any step: a verb, a field for each of its arguments, and errors beside the fields that they are about."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from html import escape

import ipywidgets as widgets

from hawb.lab import fields
from hawb.lab.controller import Controller, Place
from hawb.lab.fields import Changed, Message
from hawb.lab.inputs import OMITTED, inputs
from hawb.languages import _
from hawb.scenario.fields import Bare, Flag
from hawb.scenario.verbs import VERBS


class Form:
    """The fields of one verb."""

    def __init__(self, verb: str, controller: Controller):
        self.verb = VERBS[verb]
        self.inputs = inputs(self.verb, controller)
        self.messages = {key: Message(Place.STEP, key) for key in self.inputs}
        parts = [self.messages[key].beside(field.widget) for key, field in self.inputs.items()]
        self.box = fields.named(widgets.GridBox(parts), "hawb-form")

    @property
    def argument(self) -> object:
        """Return the verb's argument, as in a scenario file."""
        if issubclass(self.verb, Flag):
            return True
        given = {key: field.value for key, field in self.inputs.items() if field.value is not OMITTED}
        return next(iter(given.values()), "") if issubclass(self.verb, Bare) else given


class StepPanel:
    """The choice of a verb, its description and its form."""

    def __init__(self, controller: Controller, changed: Changed):
        self.controller, self.changed = controller, changed
        self.verb = fields.dropdown(_("verb"), _("what happens"), list(VERBS), width="260px")
        fields.watch(self.verb, lambda _: self._lay_out())
        self.play = fields.button(_("play this step"), _("add the step to the story"), self._play)
        self.what = fields.named(widgets.HTML(), "hawb-what")
        self.message = Message(Place.STEP, "")
        self.place = widgets.VBox()
        self.box = fields.column(
            self.message.beside(fields.row(self.verb, self.play)), self.what, self.place, name="hawb-step"
        )
        self._lay_out()

    def show(self) -> None:
        """Update the widgets from the controller; keep the fields unless the nodes have changed."""
        if list(self.controller.outcome["nodes"]) != self._nodes:
            self._lay_out()
        for message in (self.message, *self.form.messages.values()):
            message.show(self.controller)

    def open(self, verb: str, given: Mapping[str, object]) -> None:
        """Open the form of a verb, with some of its fields filled in."""
        self.verb.value = verb
        self._lay_out()
        for key, value in given.items():
            if key in self.form.inputs:
                self.form.inputs[key].widget.value = value

    def _lay_out(self) -> None:
        self.form = Form(self.verb.value, self.controller)
        self.place.children = [self.form.box]
        what = inspect.getdoc(VERBS[self.verb.value]).replace("`", "")
        self.what.value = f"<div>{escape(what)}</div>"
        self._nodes = list(self.controller.outcome["nodes"])

    def _play(self) -> None:
        self.controller.act(self.verb.value, self.form.argument, Place.STEP)
        self.changed()
