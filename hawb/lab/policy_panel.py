"""Edit a policy: a field for each key, RabbitMQ's validation at each keystroke, and commands for other tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from html import escape

import ipywidgets as widgets

from hawb.lab import fields
from hawb.lab.controller import Controller, Place
from hawb.lab.fields import Changed
from hawb.lab.policy_draft import KINDS, OPERATOR_POLICY, POLICY, TOOLS, PolicyDraft, Reached
from hawb.languages import N_, _
from hawb.views.formatting import html, listing, shown

UNSET = N_("(not set)")
CHOICES: dict[str, tuple[str, ...]] = {
    "ha-mode": ("all", "exactly", "nodes"),
    "ha-sync-mode": ("manual", "automatic"),
    "ha-promote-on-failure": ("always", "when-synced"),
    "ha-promote-on-shutdown": ("when-synced", "always"),
    "queue-master-locator": ("client-local", "min-masters", "random"),
}
"""The values that RabbitMQ accepts for keys with fixed values, its default first except for ha-mode."""

TEXTS = {"ha-params": N_('2 or ["a", "b"]'), "ha-sync-batch-size": "4096"}
"""The keys that take JSON, with an example."""

NEW = PolicyDraft(settings={"ha-mode": "all"})


class PolicyPanel:
    """The policies in force, the fields of one, RabbitMQ's validation of it, and the queues that it matches."""

    def __init__(self, controller: Controller, changed: Changed):
        self.controller, self.changed = controller, changed
        self.policy = fields.dropdown(_("edit"), _("a policy in force, or a new one"), [(_("a new policy"), NEW)])
        fields.watch(self.policy, self._edit)
        self.kind = fields.dropdown(
            _("kind"), _("a policy or an operator policy"), [(words(kind), kind) for kind in KINDS]
        )
        self.name = fields.text("name", _("the policy's name"), live=True)
        self.pattern = fields.text("pattern", _("a regular expression, matched anywhere in a queue's name"), live=True)
        self.apply_to = fields.dropdown("apply-to", _("what it applies to"), controller.profile.apply_to)
        self.priority = fields.text("priority", _("of the policies that match, the one with the highest priority"
                                                  " applies"), live=True)
        self.vhost = fields.text("vhost", _("the virtual host of the policy"), live=True)
        self.others = fields.text(_("other keys"), _("any other keys, as a JSON object"), live=True)
        self.others.placeholder = '{"message-ttl": 60000}'
        self.settings = {key: self._setting(key) for key in (*CHOICES, *TEXTS)}
        self.opinion = fields.named(widgets.HTML(), "hawb-opinion")
        self.tool = widgets.ToggleButtons(options=list(TOOLS), tooltips=[_("how to set this policy with this"
                                                                           " tool")] * 4)
        self.rendering = fields.named(widgets.HTML(), "hawb-rendering")
        self.elsewhere = fields.column(self.tool, self.rendering)
        self.set = fields.button(
            _("set policy"), _("rabbitmqctl set_policy or set_operator_policy"), self._doing(controller.set_policy)
        )
        self.clear = fields.button(
            _("clear policy"),
            _("rabbitmqctl clear_policy or clear_operator_policy"),
            self._doing(controller.clear_policy),
        )
        self._take_up(NEW)
        for field in (*self._plain_fields(), *self.settings.values(), self.tool):
            fields.watch(field, lambda _: self._judge())
        self.box = fields.column(*self._layout())

    def show(self) -> None:
        """Update the widgets from the controller, but keep fields that the user has edited."""
        if self.apply_to.options != self.controller.profile.apply_to:
            kept = self.apply_to.value
            self.apply_to.options = self.controller.profile.apply_to
            self.apply_to.value = kept if kept in self.apply_to.options else "queues"
        in_force = self._in_force()
        options = [(_("a new policy"), NEW), *((policy_title(draft), draft) for draft in in_force)]
        if list(self.policy.options) != options:
            mine, taken_up = self.draft(), self._taken_up
            same = next((draft for draft in in_force if draft.sets_the_same(mine)), None)
            untouched = mine == taken_up
            chosen = same or (in_force[0] if untouched and in_force else NEW)
            self.policy.options = options
            self.policy.value = chosen
            if untouched:
                self._take_up(chosen)
            else:
                self._write(mine)
                self._taken_up = taken_up
        self._judge()
        if answer := self.controller.messages.get(Place.POLICY):
            self.opinion.value = opinion_html(answer)

    def _in_force(self) -> list[PolicyDraft]:
        return [
            *(PolicyDraft.of(policy, POLICY) for policy in self.controller.policies),
            *(PolicyDraft.of(policy, OPERATOR_POLICY) for policy in self.controller.operator_policies),
        ]

    def draft(self) -> PolicyDraft:
        """Return the policy that the fields describe."""
        settings = {key: field.value for key, field in self.settings.items() if field.value not in (_(UNSET), "")}
        name, pattern, apply_to, priority, vhost, others, kind = (field.value for field in self._plain_fields())
        return PolicyDraft(name, pattern, apply_to, priority, vhost, settings, others, kind)

    def _plain_fields(self) -> Sequence[widgets.Widget]:
        return self.name, self.pattern, self.apply_to, self.priority, self.vhost, self.others, self.kind

    def _setting(self, key: str) -> widgets.Widget:
        if key in CHOICES:
            return fields.dropdown(key, _("the key {key}", key=key), (_(UNSET), *CHOICES[key]))
        field = fields.text(key, _("the key {key}, such as {example}", key=key, example=_(TEXTS[key])), live=True)
        field.placeholder = _(TEXTS[key])
        return field

    def _layout(self) -> list[widgets.Widget]:
        keys = self.settings
        grid = widgets.GridBox([
            self.name, self.pattern,
            self.priority, self.apply_to,
            self.vhost, keys["queue-master-locator"],
            keys["ha-mode"], keys["ha-promote-on-failure"],
            keys["ha-params"], keys["ha-promote-on-shutdown"],
            keys["ha-sync-mode"], keys["ha-sync-batch-size"],
            self.others,
        ])  # fmt: skip
        return [
            fields.row(self.policy, self.kind, self.set, self.clear, name="hawb-title"),
            fields.named(grid, "hawb-fields"),
            self.opinion,
            self.elsewhere,
        ]

    def _edit(self, change: dict) -> None:
        if change["new"] is not None:
            self._take_up(change["new"])

    def _take_up(self, draft: PolicyDraft) -> None:
        """Write a policy into the fields; they follow the policy in force until the user edits them."""
        self._write(draft)
        self._taken_up = self.draft()

    def _write(self, draft: PolicyDraft) -> None:
        for key, field in self.settings.items():
            value = draft.settings.get(key, _(UNSET) if key in CHOICES else "")
            if key in CHOICES and value not in field.options:  # 4.0 accepts any queue-master-locator
                field.options = (*field.options, value)
            field.value = value
        values = (draft.name, draft.pattern, draft.apply_to, draft.priority, draft.vhost, draft.others, draft.kind)
        for field, value in zip(self._plain_fields(), values, strict=True):
            field.value = value

    def _judge(self) -> None:
        draft, profile = self.draft(), self.controller.profile
        wrong = draft.message(profile)
        if wrong:
            self.opinion.value = opinion_html(wrong)
        else:
            other = words(POLICY if draft.is_operator else OPERATOR_POLICY)
            is_set = any(draft.says_the_same(each) for each in self._in_force())
            self.opinion.value = reach_html(self.controller.reach(draft), other, is_set)
        self.rendering.value = f"<pre>{escape(draft.renderings(profile).get(self.tool.value, ''))}</pre>"
        self.elsewhere.layout.display = "none" if wrong else None

    def _doing(self, act: Callable[[PolicyDraft], None]) -> Callable[[], None]:
        def pressed() -> None:
            act(self.draft())
            self.changed()

        return pressed


def words(kind: str) -> str:
    """Return the name of a kind of policies."""
    return _("operator policy") if kind == OPERATOR_POLICY else _("policy")


def policy_title(draft: PolicyDraft) -> str:
    """Return the label of a policy in the list of those in force."""
    name = shown(draft.name if draft.vhost == "/" else f"{draft.vhost}::{draft.name}")
    return f"{name} ({words(draft.kind)})" if draft.is_operator else name


def opinion_html(wrong: str) -> str:
    """Return RabbitMQ's error as HTML, without its empty lines."""
    return "".join(f"<div>{escape(line)}</div>" for line in f"✕ {wrong}".splitlines() if line)


def reach_html(reached: Sequence[Reached], other: str, is_set: bool) -> str:
    """Return HTML that says which queues a valid draft matches.

    `other` is the name of the other kind of policies; `is_set` is True if the draft is in force unchanged.
    """
    names = listing(one.queue for one in reached) or _("no existing queue")
    valid = N_("✓ valid; matches {queues}") if is_set else N_("✓ valid, not set yet; matches {queues}")
    lines, by = [_(valid, queues=names)], N_("{queue} by {policy}")
    beaten = [_(by, queue=shown(one.queue), policy=shown(one.winner)) for one in reached if not one.wins]
    if beaten:
        lines.append(_("overridden for {queues}", queues=listing(beaten)))
    if tied := sorted({name for one in reached for name in one.tied}):
        lines.append(_("same priority as {policies}: RabbitMQ does not define which one wins", policies=listing(tied)))
    merged = dict.fromkeys((one.partner, json.dumps(one.merged)) for one in reached if one.partner is not None)
    together = N_("merged with {kind} {name}: {definition}")
    lines += [_(together, kind=other, name=shown(name), definition=definition) for name, definition in merged]
    return f"<div>{html('; '.join(lines))}</div>"
