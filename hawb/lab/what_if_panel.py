"""Find what would have kept the messages: play the story of a loss or an outage again with each single change."""

from __future__ import annotations

from collections.abc import Sequence

import ipywidgets as widgets

from hawb.lab import fields
from hawb.lab.controller import Controller, Place
from hawb.lab.fields import Changed, Message
from hawb.languages import N_, _
from hawb.planning.harm import Harm
from hawb.views.planning import alternatives

NONE = N_("nothing")
"""The label of the only option, with value "", of a dropdown without choices, because None as a value may persist."""

NOTHING = N_("No message is lost, and no queue was out of use. There is nothing to prevent yet.")
ASK = N_("Press the button: hawb plays the story again with each change, one at a time.")


class WhatIfPanel:
    """The choice of a harm, a table of the changes, and a button that opens the story under one of them."""

    def __init__(self, controller: Controller, changed: Changed):
        self.controller, self.changed = controller, changed
        self.harm = fields.dropdown(_("harm"), _("a loss or an outage in the story so far"), none(), width="400px")
        plays = _("play the story with each single change")
        self.ask = fields.button(_("what would have kept the messages?"), plays, self._ask)
        self.change = fields.dropdown(_("change"), _("the change whose story you want to open"), none(), width="300px")
        self.open = fields.button(_("open its story"), _("replace the current story with the changed one"), self._open)
        self.message = Message(Place.WHAT_IF)
        self.opening = self.message.beside(fields.row(self.change, self.open))
        self.table = widgets.HTML()
        self.box = fields.column(fields.row(self.harm, self.ask), self.table, self.opening, name="hawb-what-if")

    def show(self) -> None:
        """Update the widgets from the controller."""
        harms, found = self.controller.now.harms, self.controller.now.alternatives
        _offer(self.harm, [(self._harm_in_words(harm), harm) for harm in harms] or none())
        self.ask.disabled = self.harm.disabled = not harms
        possible = [] if found is None else [one for one in found.changed if one.run is not None]
        _offer(self.change, [(one.change.what, one) for one in possible] or none())
        self.opening.layout.display = None if possible else "none"
        if found is None:
            self.table.value = f"<p>{_(ASK if harms else NOTHING)}</p>"
        else:
            self.harm.value = found.harm
            self.table.value = alternatives.table_html(found)
        self.message.show(self.controller)

    def _harm_in_words(self, harm: Harm) -> str:
        return alternatives.harm_in_words(harm, self.controller.now.run.steps[harm.step].name)

    def _ask(self) -> None:
        self.controller.ask_alternatives(self.harm.value)
        self.changed()

    def _open(self) -> None:
        self.controller.try_alternative(self.change.value)
        self.changed()


def none() -> list[tuple[str, str]]:
    """Return the options of a dropdown without choices."""
    return [(_(NONE), "")]


def _offer(dropdown: widgets.Dropdown, options: Sequence[tuple[str, object]]) -> None:
    """Set a dropdown's options; keep the selection if they are unchanged."""
    if tuple(dropdown.options) != tuple(options):
        dropdown.options = options
        dropdown.index = 0
