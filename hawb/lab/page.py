"""The page: the panels in their places. Whatever a panel does, all of them show the controller anew."""

from __future__ import annotations

import os
from pathlib import Path

import ipywidgets as widgets

from hawb.lab import fields
from hawb.lab.beside_panel import BesidePanel
from hawb.lab.clients_panel import ClientsPanel
from hawb.lab.cluster_panel import ClusterPanel
from hawb.lab.controller import Controller
from hawb.lab.export_panel import ExportPanel
from hawb.lab.ledger_panel import LedgerPanel
from hawb.lab.policy_panel import PolicyPanel
from hawb.lab.step_panel import StepPanel
from hawb.lab.story_panel import StoryPanel
from hawb.lab.time_panel import TimePanel
from hawb.lab.toolbar_panel import ToolbarPanel
from hawb.lab.what_if_panel import WhatIfPanel

STYLE = Path(__file__).with_name("lab.css").read_text(encoding="utf-8")


class Lab(widgets.VBox):
    """The lab as one widget; `controller` is what it shows."""

    def __init__(self, controller: Controller):
        self.controller = controller
        self.toolbar = ToolbarPanel(controller, self.redraw)
        self.cluster = ClusterPanel(controller, self.redraw, self.open_form)
        self.policy = PolicyPanel(controller, self.redraw)
        self.step = StepPanel(controller, self.redraw)
        self.clients = ClientsPanel(controller, self.redraw, self.open_form)
        self.ledger = LedgerPanel(controller, self._is_open)
        self.what_if = WhatIfPanel(controller, self.redraw)
        self.beside = BesidePanel(controller, self.redraw, self.policy.draft, lambda: self._is_open("Beside"))
        self.export = ExportPanel(controller)
        self.story = StoryPanel(controller)
        self.time = TimePanel(controller, self.redraw)
        self.editors = widgets.Tab([self.policy.box, self.step.box], titles=["Policy", "Any step"])
        self.tables = widgets.Tab(
            [*self.ledger.tables.values(), self.clients.box, self.what_if.box, self.beside.box, self.export.box],
            titles=[*self.ledger.tables, "Clients", "What if", "Beside", "Export"],
        )
        self.tables.observe(lambda _: self._show_tables(), "selected_index")
        left = fields.column(self.cluster.box, fields.panel(self.tables), name="hawb-left")
        right = fields.column(fields.panel(self.editors), self.story.box, name="hawb-right")
        panels = fields.named(widgets.HBox([left, right]), "hawb-panels")
        style = widgets.HTML(f"<style>{STYLE}</style>", layout={"display": "none"})
        super().__init__([style, self.toolbar.box, panels, self.time.box])
        self.add_class("hawb-lab")
        self.redraw()

    def redraw(self) -> None:
        """Shows where the controller stands."""
        for panel in (self.toolbar, self.cluster, self.policy, self.step, self.story, self.time):
            panel.show()
        self._show_tables()

    def _show_tables(self) -> None:
        for panel in (self.ledger, self.clients, self.what_if, self.beside, self.export):
            panel.show()

    def _is_open(self, title: str) -> bool:
        return self.tables.titles[self.tables.selected_index or 0] == title

    def open_form(self, verb: str) -> None:
        """Opens the form of a verb."""
        self.step.open(verb)
        self.editors.selected_index = 1

    def __repr__(self) -> str:
        return "hawb lab"


def is_served() -> bool:
    """Whether this kernel works for a visitor of Voilà, who is not to write files where the server stands."""
    return os.environ.get("SERVER_SOFTWARE", "").startswith("voila/")


def show(file: str | Path | None = None) -> Lab:
    """A new lab, to be the last line of a notebook's cell. It opens with a scenario file, such as `hawb watch` and
    `hawb import` write, or else with its own."""
    controller = Controller(may_save=not is_served())
    if file is not None:
        controller.open_scenario(Path(file))
    return Lab(controller)
