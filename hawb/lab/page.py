"""The page: the panels in their places. Whatever a panel does, all of them show the controller anew."""

from __future__ import annotations

from pathlib import Path

import ipywidgets as widgets

from hawb.lab import fields
from hawb.lab.cluster_panel import ClusterPanel
from hawb.lab.controller import Controller
from hawb.lab.ledger_panel import LedgerPanel
from hawb.lab.policy_panel import PolicyPanel
from hawb.lab.story_panel import StoryPanel
from hawb.lab.toolbar_panel import ToolbarPanel
from hawb.views import lanes

STYLE = Path(__file__).with_name("lab.css").read_text(encoding="utf-8")


class Lab(widgets.VBox):
    """The lab as one widget; `controller` is what it shows."""

    def __init__(self, controller: Controller):
        self.controller = controller
        self.toolbar = ToolbarPanel(controller, self.redraw)
        self.cluster = ClusterPanel(controller, self.redraw)
        self.policy = PolicyPanel(controller, self.redraw)
        self.ledger = LedgerPanel(controller)
        self.story = StoryPanel(controller)
        self.lanes = fields.named(widgets.HTML(), "hawb-lanes")
        left = fields.column(self.cluster.box, self.ledger.box, name="hawb-left")
        right = fields.column(self.policy.box, self.story.box, name="hawb-right")
        panels = fields.named(widgets.HBox([left, right]), "hawb-panels")
        style = widgets.HTML(f"<style>{STYLE}</style>", layout={"display": "none"})
        super().__init__([style, self.toolbar.box, panels, self.lanes])
        self.add_class("hawb-lab")
        self.redraw()

    def redraw(self) -> None:
        """Shows where the controller stands."""
        for panel in (self.toolbar, self.cluster, self.policy, self.ledger, self.story):
            panel.show()
        outcome, queue = self.controller.outcome, self.controller.queue
        self.lanes.value = lanes.svg(outcome, queue if queue in outcome["queues"] else None)

    def __repr__(self) -> str:
        return "hawb lab"


def show() -> Lab:
    """A new lab, to be the last line of a notebook's cell."""
    return Lab(Controller())
