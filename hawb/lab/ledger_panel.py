"""The figures: the ledger of every queue's messages, the queues as `rabbitmqctl list_queues` lays them out, the
forecast and the load of each node."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets as widgets

from hawb.lab.controller import Controller
from hawb.views.cluster import ledger, load, queue_table
from hawb.views.planning import forecast

NOT_ASKED = "<p>The button <em>safe to stop?</em> above plays a stop and a kill of each node ahead.</p>"


class LedgerPanel:
    """The tables, each for a place that shows one at a time. `is_open` says of a name whether anybody sees that table:
    the load of each node is counted over the whole story, for those who look."""

    def __init__(self, controller: Controller, is_open: Callable[[str], bool]):
        self.controller, self.is_open = controller, is_open
        self.tables = {name: widgets.HTML() for name in ("Ledger", "Queues", "Safe?", "Load")}

    def show(self) -> None:
        """Shows where the controller stands."""
        outcome, was, forecasts = self.controller.outcome, self.controller.was, self.controller.forecasts
        self.tables["Ledger"].value = ledger.html(outcome, was)
        self.tables["Queues"].value = queue_table.html(outcome, was)
        self.tables["Safe?"].value = forecast.table_html(list(forecasts.values())) if forecasts else NOT_ASKED
        if self.is_open("Load"):
            self.tables["Load"].value = load.table_html(outcome)
