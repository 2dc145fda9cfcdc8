"""A policy while a person edits it: every field is text, and at each moment RabbitMQ's opinion of it is known.

A text that is no JSON, where a number or a list belongs, is passed on as text, so that RabbitMQ's own complaint about
it is shown.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from hawb.engine.core.naming import split_queue
from hawb.languages import _
from hawb.rules.policies import Policy, effective_definition, matching, ties
from hawb.rules.policy_validation import refusal
from hawb.rules.profiles import Profile
from hawb.views.rules import policy_commands

TEXT_KEYS = ("ha-mode", "ha-sync-mode", "ha-promote-on-failure", "ha-promote-on-shutdown", "queue-master-locator")
JSON_KEYS = ("ha-params", "ha-sync-batch-size")
KEYS = (*TEXT_KEYS, *JSON_KEYS)
"""Keys with a field of their own: those that change something in the simulation. All others share one field."""

POLICY, OPERATOR_POLICY = KINDS = ("policy", "operator_policy")
"""The kinds of policies, as the verbs call them."""


@dataclass(frozen=True)
class PolicyDraft:
    """The editor's fields. `settings` has the text of those of `KEYS` that are filled in, `others` a JSON object, and
    `kind` is one of KINDS."""

    name: str = ""
    pattern: str = ""
    apply_to: str = "queues"
    priority: str = "0"
    vhost: str = "/"
    settings: Mapping[str, str] = field(default_factory=dict)
    others: str = ""
    kind: str = POLICY

    @classmethod
    def of(cls, policy: Policy, kind: str = POLICY) -> PolicyDraft:
        """The draft that would set a policy as it is."""
        definition = policy.definition
        settings = {key: as_text(key, definition.pop(key)) for key in KEYS if key in definition}
        others = json.dumps(definition) if definition else ""
        names = (policy.name, policy.pattern, policy.apply_to, str(policy.priority), policy.vhost)
        return cls(*names, settings, others, kind)

    @property
    def is_operator(self) -> bool:
        """Whether it is an operator policy."""
        return self.kind == OPERATOR_POLICY

    def sets_the_same(self, other: PolicyDraft) -> bool:
        """Whether setting this draft would replace the other."""
        return (self.kind, self.vhost, self.name) == (other.kind, other.vhost, other.name)

    def says_the_same(self, other: PolicyDraft) -> bool:
        """Whether both drafts are the same policy, however they are written. Neither has a complaint."""
        return self.kind == other.kind and self.argument() == other.argument()

    @property
    def complaint(self) -> str | None:
        """Why the draft could not even be sent to RabbitMQ; None if it could."""
        if not self.name:
            return _("name: missing; a policy needs a name")
        if self.others.strip() and not isinstance(as_json(self.others), dict):
            return _("other keys: not a JSON object; example: {example}", example='{"message-ttl": 60000}')
        return None

    def definition(self) -> dict[str, object]:
        """The definition as it would be sent."""
        others = as_json(self.others)
        given = {key: text.strip() for key, text in self.settings.items() if text.strip()}
        own = {key: as_json(text) if key in JSON_KEYS else text for key, text in given.items()}
        return (others if isinstance(others, dict) else {}) | own

    def argument(self) -> dict[str, object]:
        """The argument of `set_policy`, as a scenario file writes it."""
        priority = as_json(self.priority)
        return {
            "name": self.name,
            "pattern": self.pattern,
            "definition": self.definition(),
            "priority": priority,
            "apply_to": self.apply_to,
            "vhost": self.vhost,
        }

    def message(self, profile: Profile) -> str | None:
        """Why the draft cannot be set, in RabbitMQ's words and then in ours; None if it can."""
        refused = refusal(self.argument(), profile, operator=self.is_operator)
        return "\n".join(filter(None, [refused, self.complaint])) or None

    def policy(self, profile: Profile) -> Policy | None:
        """The policy that setting it would make; None while something is wrong."""
        return None if self.message(profile) else Policy.of(**self.argument())

    def reach(
        self,
        queues: Mapping[str, Mapping],
        policies: Iterable[Policy],
        profile: Profile,
        operators: Iterable[Policy] = (),
    ) -> list[Reached]:
        """The queues (of an outcome) that the draft matches, which policy of its kind would win there, and what that
        policy would say together with the applying one of the other kind."""
        mine = self.policy(profile)
        if mine is None:
            return []
        rivals, partners = (operators, policies) if self.is_operator else (policies, operators)
        rivals = [mine, *(rival for rival in rivals if (rival.vhost, rival.name) != (mine.vhost, mine.name))]
        reached = []
        for queue, seen in queues.items():
            vhost, name = split_queue(queue)
            found = matching(rivals, vhost, name, seen["type"], profile, declaring=False)
            if mine in found:
                tied = [policy.name for policy in ties(found) if policy is not mine] if mine in ties(found) else []
                merging = partners if found[0] is mine else ()
                partner = next(iter(matching(merging, vhost, name, seen["type"], profile, declaring=False)), None)
                one = Reached(queue, found[0].name, found[0] is mine, tuple(tied))
                if partner is not None:
                    both = (partner, mine) if self.is_operator else (mine, partner)
                    one = replace(one, partner=partner.name, merged=effective_definition(*both))
                reached.append(one)
        return reached

    def renderings(self, profile: Profile) -> dict[str, str]:
        """How a person would set the policy elsewhere, and clear it again, by tool; empty while something is wrong."""
        policy = self.policy(profile)
        return {} if policy is None else {tool: render(policy, self.is_operator) for tool, render in TOOLS.items()}


def by_name(policies: Iterable[Policy]) -> tuple[Policy, ...]:
    """Policies in the order of their virtual hosts and names."""
    return tuple(sorted(policies, key=lambda policy: (policy.vhost, policy.name)))


@dataclass(frozen=True)
class Reached:
    """A queue that a draft matches: the policy that would win there, whether it is the draft, and who ties with it.
    Where the draft wins and one of the other kind applies too, that one's name and what both would say together."""

    queue: str
    winner: str
    wins: bool
    tied: tuple[str, ...]
    partner: str | None = None
    merged: Mapping[str, object] = field(default_factory=dict)


def as_json(text: str) -> object:
    """The JSON value that a text is, or the text."""
    try:
        return json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return text.strip()


def _no_number(word: str) -> None:
    raise ValueError(word)


def as_text(key: str, value: object) -> str:
    """The text that stands for a key's value."""
    return json.dumps(value) if key in JSON_KEYS else str(value)


def _http(policy: Policy, operator: bool) -> str:
    setting, clearing = policy_commands.http_set(policy, operator), policy_commands.http_clear(policy, operator)
    return f"{setting.method} {setting.path}\n{setting.body}\n{clearing.method} {clearing.path}"


def _ui(policy: Policy, operator: bool) -> str:
    setting, clearing = policy_commands.ui_set(policy, operator), policy_commands.ui_clear(policy, operator)
    steps = [f"{number}. {step}" for number, step in enumerate(setting, 1)]
    return "\n".join([*steps, _("To clear it: {steps}", steps="; ".join(clearing))])


def _lines(write: Callable[[list[str]], str]) -> Callable[[Policy, bool], str]:
    def render(policy: Policy, operator: bool) -> str:
        arguments = policy_commands.set_arguments(policy, operator), policy_commands.clear_arguments(policy, operator)
        try:
            return "\n".join(map(write, arguments))
        except ValueError as error:
            return str(error)

    return render


TOOLS: dict[str, Callable[[Policy, bool], str]] = {
    "rabbitmqctl": _lines(policy_commands.unix_line),
    "Windows": _lines(policy_commands.windows_line),
    "HTTP API": _http,
    "Management UI": _ui,
}
"""How a policy, or an operator policy, is set and cleared with each tool."""
