"""Which single policy each queue of a cluster is under, and which others it silences; by the rules that the engine has.

A policy that the broker would not have accepted applies to nothing. One whose settings a release has given up applies
with the others that it has. A pattern whose search takes too many steps does not match (`hawb.rules.patterns`); after
`MOST_GIVEN_UP` names it is not tried any more, so that a hostile file costs seconds and not hours.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from msgspec import Struct, field
from msgspec.structs import replace

from hawb.planning.inventory import Inventory, Queue
from hawb.rules.patterns import Match, searched
from hawb.rules.policies import (
    QUEUE_TYPES_BY_APPLY_TO,
    Mirroring,
    Policy,
    effective_definition,
    matching,
    mirroring,
    ties,
)
from hawb.rules.policy_validation import refusal
from hawb.rules.profiles import Profile

MOST_GIVEN_UP = 10


class InForce(Struct, frozen=True, gc=False):
    """What a policy and an operator policy say together. `definition` is None where nothing tells."""

    policy: str | None
    operator_policy: str | None
    definition: dict[str, object] | None
    mirroring: Mirroring | None


class Assignment(Struct, frozen=True, gc=False):
    """A queue, what is in force for it, and the policies that match it, the one that applies first."""

    queue: Queue
    in_force: InForce
    policies: list[Policy]
    operator_policies: list[Policy]

    @property
    def silenced(self) -> list[Policy]:
        """The policies that match and do not apply."""
        return self.policies[1:]


class Reach(Struct):
    """How far one policy goes: the number of queues that it matches and applies to, by whose types; of those that it
    is passed over for, by type; which policies win where it loses, and with which it shares the highest priority, on
    how many queues; the names whose search was given up. `refused` is why the broker would not accept it, `unknown`
    the settings that the release does not know."""

    policy: Policy
    operator: bool
    refused: str | None = None
    unknown: list[str] = field(default_factory=list)
    matched: int = 0
    applied: Counter[str] = field(default_factory=Counter)
    passed_over: Counter[str] = field(default_factory=Counter)
    beaten_by: set[str] = field(default_factory=set)
    tied_with: Counter[str] = field(default_factory=Counter)
    given_up: list[str] = field(default_factory=list)


class Assigned(Struct):
    """The assignments of all queues, and how far each policy goes."""

    assignments: list[Assignment]
    reaches: list[Reach]


def assign(inventory: Inventory) -> Assigned:
    """Every queue with what it is under."""
    profile = inventory.profile
    plain = _Table(inventory.policies, profile, operator=False)
    operator = _Table(inventory.operator_policies, profile, operator=True)
    kept: dict[tuple[str, str | None, str | None], InForce] = {}
    assignments = []
    for queue in inventory.queues:
        if not inventory.policies_told:
            assignments.append(Assignment(queue, _as_listed(queue, profile), [], []))
            continue
        policies, operators = plain.matching(queue), operator.matching(queue)
        mine, theirs = policies[0] if policies else None, operators[0] if operators else None
        key = (queue.vhost, mine and mine.name, theirs and theirs.name)
        if key not in kept:
            definition = effective_definition(mine, theirs)
            kept[key] = InForce(key[1], key[2], definition, mirroring(definition))
        assignments.append(Assignment(queue, kept[key], policies, operators))
    return Assigned(assignments, [*plain.reaches, *operator.reaches])


def _as_listed(queue: Queue, profile: Profile) -> InForce:
    """What a listing says is in force, where no file tells the policies."""
    facts = queue.facts
    definition = facts.effective_definition
    if definition:
        accepted = _accepted(Policy.of("", "", definition), profile, operator=False)[0]
        definition = accepted.definition if accepted else {}
    return InForce(facts.policy, facts.operator_policy, definition, mirroring(definition) if definition else None)


class _Table:
    """The policies, or the operator policies, of a cluster."""

    def __init__(self, policies: Iterable[Policy], profile: Profile, operator: bool) -> None:
        self.profile = profile
        self.reaches: list[Reach] = []
        self._by_vhost: dict[str, list[Policy]] = defaultdict(list)
        self._reach: dict[tuple[str, str], Reach] = {}
        self._given_up: dict[str, list[str]] = defaultdict(list)
        for policy in policies:
            accepted, unknown, refused = _accepted(policy, profile, operator)
            reach = Reach(policy, operator, refused, unknown, given_up=self._given_up[policy.pattern])
            self.reaches.append(reach)
            self._reach[policy.vhost, policy.name] = reach
            if accepted is not None:
                self._by_vhost[policy.vhost].append(accepted)

    def matching(self, queue: Queue) -> list[Policy]:
        """The policies that match a queue, the one that applies first; and the reach of each grows by it."""
        policies = self._by_vhost.get(queue.vhost)
        if not policies:
            return []
        found = matching(
            policies, queue.vhost, queue.name, queue.type, self.profile, declaring=False, found=self._found
        )
        self._count(queue, policies, found)
        return found

    def _count(self, queue: Queue, policies: list[Policy], found: list[Policy]) -> None:
        unsupported = self.profile.unsupported_by(queue.type)
        for policy in found:
            reach = self._reach[policy.vhost, policy.name]
            reach.matched += 1
            if policy is found[0]:
                reach.applied[queue.type] += 1
            else:
                reach.beaten_by.add(found[0].name)
        if len(found) > 1:
            for policy in ties(found):
                others = (other.name for other in ties(found) if other is not policy)
                self._reach[policy.vhost, policy.name].tied_with.update(others)
        for policy in policies if unsupported else ():
            if policy in found or unsupported.isdisjoint(key for key, _ in policy.settings):
                continue
            covers = QUEUE_TYPES_BY_APPLY_TO.get(policy.apply_to, ())
            if queue.type in covers and self._found(policy.pattern, queue.name):
                self._reach[policy.vhost, policy.name].passed_over[queue.type] += 1

    def _found(self, pattern: str, name: str) -> bool:
        given_up = self._given_up[pattern]
        if len(given_up) >= MOST_GIVEN_UP:
            return False
        result = searched(pattern, name)
        if result is Match.GAVE_UP:
            given_up.append(name)
        return result is Match.YES


def _accepted(policy: Policy, profile: Profile, operator: bool) -> tuple[Policy | None, list[str], str | None]:
    """(the policy as the broker goes by it, the settings that its release does not know, why it would refuse it)."""
    known = profile.operator_policy_settings if operator else profile.policy_settings
    unknown = [key for key, _ in policy.settings if key not in known]
    kept = replace(policy, settings=tuple((key, value) for key, value in policy.settings if key in known))
    if unknown and not kept.settings:
        return kept, unknown, None
    fields = {
        "pattern": policy.pattern,
        "definition": kept.definition,
        "priority": policy.priority,
        "apply_to": policy.apply_to,
    }
    refused = refusal(fields, profile, operator=operator)
    return (None if refused else kept), unknown, refused
