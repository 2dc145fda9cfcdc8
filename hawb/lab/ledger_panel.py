"""The figures: the ledger of every queue's messages, and the queues as `rabbitmqctl list_queues` lays them out."""

from __future__ import annotations

import ipywidgets as widgets

from hawb.lab.controller import Controller
from hawb.views import ledger

TABLES = {"Ledger": ledger.html, "Queues": ledger.queues_html}


class LedgerPanel:
    """The tables, each to be put where there is room for one at a time."""

    def __init__(self, controller: Controller):
        self.controller = controller
        self.tables = {name: widgets.HTML() for name in TABLES}

    def show(self) -> None:
        """Shows where the controller stands."""
        for name, table in self.tables.items():
            table.value = TABLES[name](self.controller.outcome, self.controller.was)
