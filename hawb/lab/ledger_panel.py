"""The figures: the ledger of every queue's messages, and the queues as `rabbitmqctl list_queues` lays them out."""

from __future__ import annotations

import ipywidgets as widgets

from hawb.lab import fields
from hawb.lab.controller import Controller
from hawb.views import ledger

TABLES = {"Ledger": ledger.html, "Queues": ledger.queues_html}


class LedgerPanel:
    """One of the tables at a time."""

    def __init__(self, controller: Controller):
        self.controller = controller
        self.tables = {name: widgets.HTML() for name in TABLES}
        self.tabs = widgets.Tab(list(self.tables.values()), titles=list(TABLES))
        self.box = fields.named(fields.panel(self.tabs), "hawb-ledger")

    def show(self) -> None:
        """Shows where the controller stands."""
        for name, table in self.tables.items():
            table.value = TABLES[name](self.controller.outcome, self.controller.was)
