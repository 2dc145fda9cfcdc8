"""The figures: the ledger of every queue's messages, the queues as `rabbitmqctl list_queues` lays them out, and what
would come of stopping each node."""

from __future__ import annotations

import ipywidgets as widgets

from hawb.lab.controller import Controller
from hawb.views import forecast, ledger

NOT_ASKED = "<p>The button <em>safe to stop?</em> above plays a stop and a kill of each node ahead.</p>"


class LedgerPanel:
    """The tables, each to be put where there is room for one at a time."""

    def __init__(self, controller: Controller):
        self.controller = controller
        self.tables = {name: widgets.HTML() for name in ("Ledger", "Queues", "Safe?")}

    def show(self) -> None:
        """Shows where the controller stands."""
        outcome, was, forecasts = self.controller.outcome, self.controller.was, self.controller.forecasts
        self.tables["Ledger"].value = ledger.html(outcome, was)
        self.tables["Queues"].value = ledger.queues_html(outcome, was)
        self.tables["Safe?"].value = forecast.table_html(list(forecasts.values())) if forecasts else NOT_ASKED
