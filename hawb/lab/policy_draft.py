"""Hold a policy while the user edits it: all fields are text, and RabbitMQ's validation is available at any time.

Text that is not JSON, where a number or a list is needed, is passed on as text, so that RabbitMQ's own error is shown.
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
"""Keys with a field of their own: those that have an effect in the simulation. All other keys share one field."""

POLICY, OPERATOR_POLICY = KINDS = ("policy", "operator_policy")
"""The kinds of policies, as in the names of the verbs."""


@dataclass(frozen=True)
class PolicyDraft:
    """The editor's fields.

    `settings` has the text of those of `KEYS` that are filled in, `others` a JSON object, and `kind` is one of KINDS.
    """

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
        """Return the draft that would set a policy as it is."""
        definition = policy.definition
        settings = {key: as_text(key, definition.pop(key)) for key in KEYS if key in definition}
        others = json.dumps(definition) if definition else ""
        names = (policy.name, policy.pattern, policy.apply_to, str(policy.priority), policy.vhost)
        return cls(*names, settings, others, kind)

    @property
    def is_operator(self) -> bool:
        """Return True for an operator policy."""
        return self.kind == OPERATOR_POLICY

    def sets_the_same(self, other: PolicyDraft) -> bool:
        """Return True if setting this draft would replace the other."""
        return (self.kind, self.vhost, self.name) == (other.kind, other.vhost, other.name)

    def says_the_same(self, other: PolicyDraft) -> bool:
        """Return True if both drafts, which have no complaint, define the same policy."""
        return self.kind == other.kind and self.argument() == other.argument()

    @property
    def complaint(self) -> str | None:
        """Return why the draft could not even be sent to RabbitMQ; None if it could."""
        if not self.name:
            return _("name: missing; a policy needs a name")
        if self.others.strip() and not isinstance(as_json(self.others), dict):
            return _("other keys: not a JSON object; example: {example}", example='{"message-ttl": 60000}')
        return None

    def definition(self) -> dict[str, object]:
        """Return the definition that would be sent."""
        others = as_json(self.others)
        given = {key: text.strip() for key, text in self.settings.items() if text.strip()}
        own = {key: as_json(text) if key in JSON_KEYS else text for key, text in given.items()}
        return (others if isinstance(others, dict) else {}) | own

    def argument(self) -> dict[str, object]:
        """Return the argument of `set_policy`, as in a scenario file."""
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
        """Return why the draft cannot be set, first in RabbitMQ's words, then in hawb's; None if it can be."""
        refused = refusal(self.argument(), profile, operator=self.is_operator)
        return "\n".join(filter(None, [refused, self.complaint])) or None

    def policy(self, profile: Profile) -> Policy | None:
        """Return the policy that the draft would set; None if it cannot be set."""
        return None if self.message(profile) else Policy.of(**self.argument())

    def reach(
        self,
        queues: Mapping[str, Mapping],
        policies: Iterable[Policy],
        profile: Profile,
        operators: Iterable[Policy] = (),
    ) -> list[Reached]:
        """Return the queues of an outcome that the draft matches, each with the winning policy of its kind.

        Where the draft wins, the result also has the applying policy of the other kind and the merged definition.
        """
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
        """Return the commands that set and clear the policy, by tool; empty if it cannot be set."""
        policy = self.policy(profile)
        return {} if policy is None else {tool: render(policy, self.is_operator) for tool, render in TOOLS.items()}


def by_name(policies: Iterable[Policy]) -> tuple[Policy, ...]:
    """Return policies in the order of their vhosts and names."""
    return tuple(sorted(policies, key=lambda policy: (policy.vhost, policy.name)))


@dataclass(frozen=True)
class Reached:
    """A queue that a draft matches.

    `winner` is the policy that would win there, `wins` is True if it is the draft, and `tied` are the policies that tie
    with it. Where the draft wins and a policy of the other kind applies as well, `partner` is its name and `merged` the
    definition of both together.
    """

    queue: str
    winner: str
    wins: bool
    tied: tuple[str, ...]
    partner: str | None = None
    merged: Mapping[str, object] = field(default_factory=dict)


def as_json(text: str) -> object:
    """Return the JSON value of a text, or the text itself if it is not JSON."""
    try:
        return json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return text.strip()


def _no_number(word: str) -> None:
    raise ValueError(word)


def as_text(key: str, value: object) -> str:
    """Return a key's value as text for its field."""
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
"""The function that renders a policy or an operator policy, by tool."""
