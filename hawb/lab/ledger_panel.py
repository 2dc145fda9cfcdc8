"""Show the tables: the ledger of each queue's messages, the queues as in `rabbitmqctl list_queues`, forecasts, load."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets as widgets

from hawb.lab import fields
from hawb.lab.controller import Controller
from hawb.lab.fields import Changed
from hawb.languages import N_, _
from hawb.views.cluster import ledger, load, queue_table
from hawb.views.planning import forecast


class TablePanel:
    """A panel with a table, which `html` makes from the controller."""

    def __init__(self, controller: Controller, html: Callable[[Controller], str]):
        self.controller, self.html = controller, html
        self.table = widgets.HTML()
        self.box = fields.column(self.table, name="hawb-tables")

    def show(self) -> None:
        """Update the widgets from the controller."""
        self.table.value = self.html(self.controller)


class SafePanel:
    """The forecast of a stop and a kill of each node, and a checkbox that shows it beside the nodes as well."""

    def __init__(self, controller: Controller, changed: Changed):
        self.controller, self.changed = controller, changed
        self.beside = widgets.Checkbox(
            description=_("show the forecast beside each node"), tooltip=_("updated after every step, until you untick"
                                                                       " this"), indent=False
        )
        fields.watch(self.beside, self._forecast)
        self.table = widgets.HTML()
        self.box = fields.column(self.beside, self.table, name="hawb-tables")

    def show(self) -> None:
        """Update the widgets from the controller."""
        self.beside.value = self.controller.forecasting
        self.table.value = forecast.table_html(list(self.controller.now.forecasts.values()))

    def _forecast(self, change: dict) -> None:
        if change["new"] != self.controller.forecasting:
            self.controller.forecasting = change["new"]
            self.changed()


def tables(controller: Controller, changed: Changed) -> dict[str, TablePanel | SafePanel]:
    """Return the panels by their names."""
    return {
        N_("Ledger"): TablePanel(controller, lambda shown: ledger.html(shown.outcome, shown.now.was)),
        N_("Queues"): TablePanel(controller, lambda shown: queue_table.html(shown.outcome, shown.now.was)),
        N_("Load"): TablePanel(controller, lambda shown: load.table_html(shown.outcome)),
        N_("Safe?"): SafePanel(controller, changed),
    }
