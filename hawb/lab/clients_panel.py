"""Show the clients: consumers, named holders and steady publishers, and what each of them does next."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets as widgets

from hawb.lab import fields
from hawb.lab.controller import Controller, Place
from hawb.lab.fields import Changed, Message
from hawb.lab.typed import number
from hawb.languages import N_, _
from hawb.views.cluster import clients


class ClientsPanel:
    """The tables of clients, and operations on the chosen client.

    `open_form` opens the form of a verb.
    """

    def __init__(self, controller: Controller, changed: Changed, open_form: Callable[[str], None]):
        self.controller, self.changed = controller, changed
        self.message = Message(Place.CLIENTS)
        self.table = fields.named(widgets.HTML(), "hawb-table")
        self.client = fields.combobox(_("client"), _("the client that the buttons act on"), _("a name"), width="170px")
        many = _("the number of deliveries to acknowledge, reject or requeue, the oldest first; or: all")
        self.count = fields.text(_("count"), many, "all", width="90px")
        closing = _("the client disconnects and its deliveries are requeued")
        operations = fields.row(
            fields.button(_("consume…"), "basic.consume", lambda: open_form("consume")),
            fields.button(_("publisher…"), _("a steady publisher"), lambda: open_form("publisher")),
            self.client,
            self.count,
            self._button("ack", "basic.ack", self._settling),
            self._button("nack", _("basic.nack, requeued"), self._settling),
            self._button(N_("cancel"), "basic.cancel", lambda: self.client.value),
            self._button(N_("close"), closing, lambda: self.client.value),
        )
        self.box = fields.column(fields.named(self.message.beside(operations), "hawb-operations"), self.table)

    def show(self) -> None:
        """Update the widgets from the controller."""
        outcome = self.controller.outcome
        self.table.value = clients.html(outcome, self.controller.now.was)
        self.client.options = (*outcome["consumers"], *outcome["publishers"])
        self.message.show(self.controller)

    def _settling(self) -> dict:
        return {"consumer": self.client.value, "count": number(self.count.value)}

    def _button(self, verb: str, what: str, argument: Callable[[], object]) -> widgets.Button:
        def pressed() -> None:
            self.controller.act(verb, argument(), Place.CLIENTS)
            self.changed()

        return fields.button(_(verb), what, pressed)
