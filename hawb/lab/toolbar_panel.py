"""The top of the page: which cluster, under which rules, what can be taken back, and where to keep it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import ipywidgets as widgets

from hawb.lab import fields
from hawb.lab.controller import Controller, Place
from hawb.lab.fields import Changed, Message
from hawb.lab.sources import choices
from hawb.rules.profiles import PROFILES
from hawb.views.formatting import shown

HERE = ""
"""The value of the first scenario in the list: the cluster that is open already."""


class ToolbarPanel:
    """Scenario, import, profile, seed, undo, redo, save."""

    def __init__(self, controller: Controller, changed: Changed, folder: Path | None = None):
        self.controller, self.changed = controller, changed
        self.choices = choices(folder)
        self.messages = {place: Message(place) for place in (Place.SCENARIO, Place.PROFILE, Place.SEED, Place.SAVE)}
        self.scenario = fields.dropdown("scenario", "the cluster and its story; choose one to open it", [("", HERE)])
        self.scenario.observe(self._open, "value")
        self.definitions = fields.upload("definitions", "open a definitions export: rabbitmqctl export_definitions")
        self.definitions.observe(self._open_definitions, "value")
        self.listings = fields.upload("listings", "then add listings of queues and nodes, such as /api/queues", True)
        self.listings.observe(self._open_listings, "value")
        self.profile = fields.dropdown("profile", "whose rules: a version of RabbitMQ", profiles())
        self.profile.observe(self._set_profile, "value")
        self.seed = fields.text("seed", "the only source of chance", width="80px")
        self.seed.observe(self._set_seed, "value")
        self.undo = fields.button("⟲ undo", "take the last action back", lambda: self._do(controller.undo))
        self.redo = fields.button("⟳ redo", "do again what was taken back", lambda: self._do(controller.redo))
        self.name = fields.text("", "a file to save the scenario in, beside the notebook", width="125px")
        self.name.placeholder = "my-outage.yaml"
        self.save = fields.button("save", "save the story so far as a scenario file", self._save)
        self.vhost = fields.text("vhost", "the virtual host of an export's entries that name none", width="90px")
        saving = self.messages[Place.SAVE].beside(fields.row(self.name, self.save))
        imported = fields.row(widgets.HTML("import"), self.definitions, self.listings, self.vhost)
        self.box = fields.row(
            widgets.HTML("<h1>hawb lab</h1>"),
            fields.named(self.messages[Place.SCENARIO].beside(fields.row(self.scenario, imported)), "hawb-grow"),
            self.messages[Place.PROFILE].beside(self.profile),
            self.messages[Place.SEED].beside(self.seed),
            fields.row(self.undo, self.redo),
            *([saving] if controller.may_save else []),
            name="hawb-toolbar",
        )

    def show(self) -> None:
        """Shows where the controller stands."""
        outcome = self.controller.outcome
        title = (shown(outcome["scenario"]), HERE)
        if self.scenario.options[0] != title:
            self.scenario.options = [title, *self.choices]
        self.scenario.value = HERE
        self.profile.value = outcome["version"]
        if Place.SEED not in self.controller.messages:
            self.seed.value = str(outcome["seed"])
        self.undo.disabled = not self.controller.can_undo
        self.redo.disabled = not self.controller.can_redo
        for message in self.messages.values():
            message.show(self.controller)

    def _do(self, action: Callable[[], None]) -> None:
        action()
        self.changed()

    def _open(self, change: dict) -> None:
        if change["new"] is None:  # a heading
            self.scenario.value = HERE
        elif change["new"] != HERE:
            self._do(lambda: self.controller.open(change["new"]))

    def _open_definitions(self, _: dict) -> None:
        self.listings.value = ()
        self._open_uploads()

    def _open_listings(self, _: dict) -> None:
        if self.listings.value:
            self._open_uploads()

    def _open_uploads(self) -> None:
        definitions, listings = fields.uploaded(self.definitions), fields.uploaded(self.listings)
        self._do(lambda: self.controller.open_uploads(definitions, listings, self.vhost.value))

    def _set_profile(self, change: dict) -> None:
        if change["new"] != self.controller.outcome["version"]:
            self._do(lambda: self.controller.set_profile(change["new"]))

    def _set_seed(self, change: dict) -> None:
        if change["new"] != str(self.controller.outcome["seed"]):
            self._do(lambda: self.controller.set_seed(change["new"]))

    def _save(self) -> None:
        self._do(lambda: self.controller.save(self.name.value))


def profiles() -> list[tuple[str, str]]:
    """(release, version) of each rules profile."""
    return [(profile.release, version) for version, profile in PROFILES.items()]
