"""Which cluster it is and under which rules: an import, the release, the seed."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets as widgets

from hawb.lab import fields
from hawb.lab.controller import Controller, Place
from hawb.lab.fields import Changed, Message
from hawb.rules.profiles import PROFILES

ABOUT = (
    "<p>Your own cluster: a definitions export, then if you have them listings of its queues and nodes. They are read"
    " here and kept nowhere.</p>"
)


class ClusterPanel:
    """Import, profile, seed, redo."""

    def __init__(self, controller: Controller, changed: Changed):
        self.controller, self.changed = controller, changed
        self.messages = {place: Message(place) for place in (Place.SCENARIO, Place.PROFILE, Place.SEED)}
        self.definitions = fields.upload("definitions", "open a definitions export: rabbitmqctl export_definitions")
        self.definitions.observe(self._open_definitions, "value")
        self.listings = fields.upload("listings", "then add listings of queues and nodes, such as /api/queues", True)
        self.listings.observe(self._open_listings, "value")
        self.vhost = fields.text("vhost", "the virtual host of an export's entries that name none", width="150px")
        self.profile = fields.dropdown("release", "whose rules: a version of RabbitMQ", profiles(), width="170px")
        self.profile.observe(self._set_profile, "value")
        self.seed = fields.text("seed", "the only source of chance", width="150px")
        self.seed.observe(self._set_seed, "value")
        imported = fields.row(self.definitions, self.listings, self.vhost)
        self.box = fields.column(
            widgets.HTML(ABOUT),
            self.messages[Place.SCENARIO].beside(imported),
            widgets.HTML("<p>The same steps under the rules of another release, or with another seed.</p>"),
            fields.row(
                self.messages[Place.PROFILE].beside(self.profile), self.messages[Place.SEED].beside(self.seed)
            ),
            name="hawb-cluster",
        )  # fmt: skip

    def show(self) -> None:
        """Shows where the controller stands."""
        outcome = self.controller.outcome
        self.profile.value = outcome["version"]
        if Place.SEED not in self.controller.messages:
            self.seed.value = str(outcome["seed"])
        for message in self.messages.values():
            message.show(self.controller)

    def _do(self, action: Callable[[], None]) -> None:
        action()
        self.changed()

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


def profiles() -> list[tuple[str, str]]:
    """(release, version) of each rules profile."""
    return [(profile.release, version) for version, profile in PROFILES.items()]
