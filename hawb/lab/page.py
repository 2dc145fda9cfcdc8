"""Build the page: the stage, and beside it a drawer with panels.

After each action of the user the stage and the open panel are updated from the controller; the other panels are not.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import ipywidgets as widgets

from hawb import languages
from hawb.cluster import Cluster
from hawb.lab import fields
from hawb.lab.beside_panel import BesidePanel
from hawb.lab.clients_panel import ClientsPanel
from hawb.lab.cluster_panel import ClusterPanel
from hawb.lab.controller import Controller
from hawb.lab.export_panel import ExportPanel
from hawb.lab.ledger_panel import tables
from hawb.lab.policy_panel import PolicyPanel
from hawb.lab.stage import LoneStage, Stage
from hawb.lab.step_panel import StepPanel
from hawb.lab.story_panel import StoryPanel
from hawb.lab.time_panel import TimePanel
from hawb.lab.what_if_panel import WhatIfPanel
from hawb.languages import N_, _
from hawb.scenario.run import Run
from hawb.views.story import pictures

STYLE = Path(__file__).with_name("lab.css").read_text(encoding="utf-8")


class Panel(Protocol):
    """A panel that the drawer can show."""

    box: widgets.Widget

    def show(self) -> None:
        """Update the widgets from the controller."""


class Drawer:
    """Panels by their names; `name` is the open one, "" if none is."""

    def __init__(self, panels: Mapping[str, Panel], closed: Callable[[], None]):
        self.panels, self.name, self._closed = panels, "", closed
        self.title = widgets.HTML()
        self.close_button = fields.button(_("✕ close"), _("closes this panel (Escape)"), self.close)
        self.place = fields.named(widgets.VBox(), "hawb-drawer-place")
        head = fields.row(self.title, self.close_button, name="hawb-title")
        self.box = fields.column(head, self.place, name="hawb-drawer")
        self.box.layout.display = "none"

    def open(self, name: str) -> None:
        """Open a panel in place of the open one."""
        if name != self.name:
            self.name = name
            self.title.value = f"<h2>{_(name)}</h2>"
            self.place.children = [self.panels[name].box]
            self.box.layout.display = None
        self.show()

    def close(self) -> None:
        """Close the open panel."""
        self.name, self.place.children = "", []
        self.box.layout.display = "none"
        self._closed()

    def show(self) -> None:
        """Update the open panel from the controller."""
        if self.name:
            self.panels[self.name].show()


class Lab(fields.Readable, widgets.VBox):
    """The lab as one widget that displays `controller`."""

    def __init__(self, controller: Controller, language: str | None = None):
        super().__init__()
        self.controller = controller
        self.stage = Stage(controller, self, language=language)
        self._style = widgets.HTML(f"<style>{STYLE}</style>", layout={"display": "none"})
        self._furnish()
        self.add_class("hawb-lab")
        self.redraw()

    def _furnish(self) -> None:
        """Make the drawer with its panels, in the stage's language."""
        with languages.language(self.stage.language):
            self.policy = PolicyPanel(self.controller, self.redraw)
            self.step = StepPanel(self.controller, self.redraw)
            self.drawer = Drawer(self._panels(), self._closed)
        self.children = [self._style, self.stage, self.drawer.box]

    def _panels(self) -> dict[str, Panel]:
        controller = self.controller
        return {
            N_("Policy"): self.policy,
            N_("Any step"): self.step,
            N_("Clients"): ClientsPanel(controller, self.redraw, self.open_form),
            N_("Time"): TimePanel(controller, self.redraw),
            **tables(controller, self.redraw),
            N_("What if"): WhatIfPanel(controller, self.redraw),
            N_("Beside"): BesidePanel(controller, self.redraw, self.policy.draft),
            N_("Story"): StoryPanel(controller),
            N_("Cluster"): ClusterPanel(controller, self.redraw),
            N_("Export"): ExportPanel(controller, self.redraw),
        }

    def speak(self, language: str) -> None:
        """Switch all texts to another language; the open panel stays open."""
        panel = self.panel
        self.stage.speak(language)
        self._furnish()
        if panel:
            self.open_panel(panel)

    def redraw(self) -> None:
        """Show the controller's current point."""
        self.stage.show()
        with languages.language(self.stage.language):
            self.drawer.show()

    def follow(self, run: Run) -> None:
        """Show a run as the next action, which can be undone."""
        self.controller.continue_with(run)
        self.redraw()

    def open_panel(self, name: str) -> None:
        """Open a panel of the drawer."""
        with languages.language(self.stage.language):
            self.drawer.open(name)
        self.add_class("hawb-with-drawer")
        self.stage.show()

    def open_form(self, verb: str, **fields: object) -> None:
        """Open the form of a verb, with some of its fields filled in."""
        self.step.open(verb, fields)
        self.open_panel("Any step")

    @property
    def panel(self) -> str:
        """Return the name of the open panel, "" if none is."""
        return self.drawer.name

    def close_panel(self) -> None:
        """Close the open panel."""
        self.drawer.close()

    def _closed(self) -> None:
        self.remove_class("hawb-with-drawer")
        self.stage.show()

    def __repr__(self) -> str:
        return "hawb lab"

    @property
    def picture(self) -> str:
        """Return a picture of the cluster as SVG, for pages that cannot show widgets."""
        now = self.controller.now
        return pictures.svg([pictures.panel("", now.outcome, now.moment.state, now.run.settings.names)], now.was)

    def _display_(self) -> LoneStage:
        """Return the stage alone for marimo, which cannot show ipywidgets' boxes."""
        return LoneStage(self.controller, self.stage.language)


def is_served() -> bool:
    """Return True if Voilà serves this kernel: its visitors must not write files on the server."""
    return os.environ.get("SERVER_SOFTWARE", "").startswith("voila/")


def show(shown: Cluster | str | Path | None = None, language: str | None = None) -> Lab:
    """Return the lab as a widget. Call this function in the last line of a notebook cell.

    `shown` is a cluster, or the path of a scenario file, such as `hawb watch` and `hawb import` write. Without it, the
    lab opens its own example. `language` is one of `hawb.languages.LANGUAGES`; by default, it is the language that the
    environment variable HAWB_LANGUAGE names.
    """
    if isinstance(shown, Cluster):
        lab = shown.lab
        if language is not None:
            lab.speak(language)
        return lab
    controller = Controller(may_save=not is_served())
    if shown is not None:
        controller.open_scenario(Path(shown))
    return Lab(controller, language)


def lab_of(run: Run, follow: Callable[[Run], None]) -> Lab:
    """Return a lab that begins at the end of a run.

    It calls `follow` with the run of each point that the user goes to.
    """
    controller = Controller(run, may_save=not is_served())
    controller.followers.append(follow)
    return Lab(controller)
