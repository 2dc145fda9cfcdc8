"""Compare the story, queue by queue, with the same steps under another policy or queue type."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets as widgets

from hawb.lab import fields
from hawb.lab.beside import variants
from hawb.lab.controller import Controller, Place
from hawb.lab.fields import Changed, Message
from hawb.lab.policy_draft import PolicyDraft
from hawb.languages import N_, _
from hawb.planning.variants import Varied
from hawb.views.cluster import side_by_side
from hawb.views.formatting import html

NOTHING, AS_EDITED = N_("nothing"), N_("the policy that you edit in the Policy panel")
NO_QUEUE = N_("Click a queue to choose a change to it, or edit a policy in the Policy panel.")
NO_VARIANT = N_("Choose a change: hawb then plays the same steps again with this change, from the beginning.")


class BesidePanel:
    """The panel with the choice of a variant and both outcomes.

    `draft` returns the policy in the editor's fields.
    """

    def __init__(self, controller: Controller, changed: Changed, draft: Callable[[], PolicyDraft]):
        self.controller, self.changed, self.draft = controller, changed, draft
        what = _("the change to apply from the beginning")
        self.variant = fields.dropdown(_("another"), what, [_(NOTHING)], width="400px")
        self._offering, self._variants = False, {}
        fields.watch(self.variant, self._vary)
        self.open = fields.button(_("open its story"), _("replace the current story with the changed one"), self._open)
        self.message = Message(Place.BESIDE)
        self.table = widgets.HTML()
        choice = self.message.beside(fields.row(self.variant, self.open))
        self.box = fields.column(choice, self.table, name="hawb-beside-panel")

    def show(self) -> None:
        """Update the widgets from the controller."""
        self.message.show(self.controller)
        varied = self.controller.beside.at(self.controller.now)
        self._offer(_(NOTHING) if varied is None else self.controller.beside.variant.what)
        self.open.layout.display = None if varied is not None and varied.run is not None else "none"
        self.table.value = self._table(varied)

    def _table(self, varied: Varied | None) -> str:
        other = self.controller.beside.outcome(self.controller.now)
        if varied is None:
            return f"<p>{_(NO_VARIANT if self.controller.queue else NO_QUEUE)}</p>"
        if other is None:
            return f"<p>{html(varied.change.what)}: {html(varied.change.impossible)}</p>"
        variant = self.controller.beside.variant
        return side_by_side.table_html(self.controller.outcome, other, varied.change.what, variant.queue)

    def _offer(self, chosen: str) -> None:
        """Offer the chosen queue's variants in the dropdown, and select the one in force."""
        self._variants = variants(self.controller.now, self.controller.queue)
        offered = list(dict.fromkeys([_(NOTHING), _(AS_EDITED), *self._variants, chosen]))
        self._offering = True
        if list(self.variant.options) != offered:
            self.variant.options = offered
        self.variant.value = chosen
        self._offering = False

    def _vary(self, change: dict) -> None:
        if self._offering:
            return
        if change["new"] == _(AS_EDITED):
            self.controller.vary_policy(self.draft())
        else:
            self.controller.vary(self._variants.get(change["new"]))
        self.changed()

    def _open(self) -> None:
        self.controller.go_aside()
        self.changed()
