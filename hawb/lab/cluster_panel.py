"""Choose the cluster and its rules: an import, the release, the seed."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets as widgets

from hawb.lab import fields
from hawb.lab.controller import Controller, Place
from hawb.lab.fields import Changed, Message
from hawb.languages import N_, _
from hawb.rules.profiles import PROFILES

ABOUT = N_(
    "Your own cluster: a definitions export and, if you have them, listings of its queues and nodes. hawb reads these"
    " files here and does not store them."
)
OTHERWISE = N_("The same steps under the rules of another release, or with another seed.")


class ClusterPanel:
    """The panel with uploads, the RabbitMQ release and the seed."""

    def __init__(self, controller: Controller, changed: Changed):
        self.controller, self.changed = controller, changed
        self.messages = {place: Message(place) for place in (Place.SCENARIO, Place.PROFILE, Place.SEED)}
        self.definitions = fields.upload(
            _("definitions"), _("open a definitions export: rabbitmqctl export_definitions")
        )
        fields.watch(self.definitions, self._open_definitions)
        self.listings = fields.upload(
            _("listings"), _("then add listings of queues and nodes, such as /api/queues"), True
        )
        fields.watch(self.listings, self._open_listings)
        self.vhost = fields.text("vhost", _("the virtual host of entries that do not name one"), width="150px")
        whose = _("the RabbitMQ release whose rules apply")
        self.profile = fields.dropdown(_("release"), whose, profiles(), width="170px")
        fields.watch(self.profile, self._set_profile)
        self.seed = fields.text(_("seed"), _("the seed of all random choices"), width="150px")
        fields.watch(self.seed, self._set_seed)
        imported = fields.row(self.definitions, self.listings, self.vhost)
        self.box = fields.column(
            widgets.HTML(f"<p>{_(ABOUT)}</p>"),
            self.messages[Place.SCENARIO].beside(imported),
            widgets.HTML(f"<p>{_(OTHERWISE)}</p>"),
            fields.row(
                self.messages[Place.PROFILE].beside(self.profile), self.messages[Place.SEED].beside(self.seed)
            ),
            name="hawb-cluster",
        )  # fmt: skip

    def show(self) -> None:
        """Update the widgets from the controller."""
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
    """Return (release, version) of each rules profile."""
    return [(profile.release, version) for version, profile in PROFILES.items()]
