"""Find which policy applies to each queue of a cluster, and which policies it overrides, by the engine's rules.

A policy that the broker would refuse applies to no queue. A policy with settings that the release has removed applies
with its other settings. A pattern whose search takes too many steps does not match; a file whose searches take too many
steps in total is refused (`hawb.rules.patterns`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.msgpack import encode
from msgspec.structs import replace

from hawb.planning.inventory import Inventory, Queue
from hawb.rules.beginnings import ByBeginning, is_all
from hawb.rules.patterns import Budget, Match, searched
from hawb.rules.policies import (
    QUEUE_TYPES_BY_APPLY_TO,
    Mirroring,
    Policy,
    candidates,
    effective_definition,
    matched,
    mirroring,
    ties,
)
from hawb.rules.policy_validation import refusal
from hawb.rules.profiles import Profile

GIVEN_UP = {"expires": 1}
"""Stands in for a definition of which the release knows no setting any more: the policy is still there, and silences
others."""


class InForce(Struct, frozen=True, gc=False):
    """The policy and operator policy that apply to a queue, and their merged definition.

    `definition` is None if no file holds it.
    """

    policy: str | None
    operator_policy: str | None
    definition: dict[str, object] | None
    mirroring: Mirroring | None


class Assignment(Struct, frozen=True, gc=False):
    """A queue, the policies that apply to it, and all policies that match it, the one that applies first."""

    queue: Queue
    in_force: InForce
    policies: list[Policy]
    operator_policies: list[Policy]

    @property
    def silenced(self) -> list[Policy]:
        """Return the policies that match but do not apply, because another one wins."""
        return self.policies[1:]


MOST_TIED = 100
"""Minimum number of policies to name of those that share the highest priority: of thousands, naming all of them for
each of them would take minutes."""


class Reach(Struct):
    """The queues that a policy reaches.

    `matched` counts the queues that it matches, `applied` those of each type that it applies to, `passed_over` those of
    each type whose type it does not apply to. `beaten_by` are the policies that win where this one loses, `tied_with`
    the policies that share the highest priority with it and on how many queues, `given_up` the queue names whose match
    took too many steps. `refused` is the broker's reason to refuse the policy, `unknown` the settings that the release
    does not know.
    """

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

    @property
    def definition(self) -> dict[str, object]:
        """Return the settings of the policy that its release knows."""
        return {key: value for key, value in self.policy.definition.items() if key not in self.unknown}


class Assigned(Struct):
    """The assignment of each queue and the reach of each policy."""

    assignments: list[Assignment]
    reaches: list[Reach]


def assign(inventory: Inventory) -> Assigned:
    """Assign to each queue the policies that apply to it.

    Raise TooSlow, which names a policy, if the patterns take too many steps.
    """
    with Budget().in_force():
        return _assign(inventory)


def _assign(inventory: Inventory) -> Assigned:
    profile = inventory.profile
    plain = _Table(inventory.policies, profile, operator=False)
    operator = _Table(inventory.operator_policies, profile, operator=True)
    kept: dict[tuple[str, str | None, str | None], InForce] = {}
    assignments = []
    if not inventory.policies_listed:
        return Assigned(_as_listed(inventory.queues, profile), [])
    for queue in inventory.queues:
        policies, operators = plain.matching(queue), operator.matching(queue)
        mine, theirs = policies[0] if policies else None, operators[0] if operators else None
        key = (queue.vhost, mine and mine.name, theirs and theirs.name)
        if key not in kept:
            definition = effective_definition(mine, theirs)
            kept[key] = InForce(key[1], key[2], definition, mirroring(definition))
        assignments.append(Assignment(queue, kept[key], policies, operators))
    return Assigned(assignments, [*plain.counted(), *operator.counted()])


def _as_listed(queues: Iterable[Queue], profile: Profile) -> list[Assignment]:
    """Return the assignments that listings report, for a cluster whose policies no file holds.

    Queues with equal listings share one InForce.
    """
    kept: dict[tuple[str | None, str | None, bytes], InForce] = {}
    assignments = []
    for queue in queues:
        facts = queue.facts
        key = facts.policy, facts.operator_policy, encode(facts.effective_definition)
        if key not in kept:
            definition = _known(facts.effective_definition, profile)
            kept[key] = InForce(key[0], key[1], definition, mirroring(definition) if definition else None)
        assignments.append(Assignment(queue, kept[key], [], []))
    return assignments


def _known(definition: dict[str, object] | None, profile: Profile) -> dict[str, object] | None:
    """Return the part of a definition that the release knows, or None if no file holds the definition."""
    if not definition:
        return definition
    accepted = _accepted(Policy.of("", "", definition), profile, operator=False)[0]
    return accepted.definition if accepted else {}


class _Table:
    """All policies, or all operator policies, of a cluster."""

    def __init__(self, policies: Iterable[Policy], profile: Profile, operator: bool) -> None:
        self.profile = profile
        self.reaches: list[Reach] = []
        self._accepted: dict[str, list[tuple[Policy, Reach]]] = defaultdict(list)
        self._candidates: dict[tuple[str, str], tuple[_Candidates, _Candidates]] = {}
        self._given_up: dict[str, list[str]] = defaultdict(list)
        self._matching: dict[tuple[int, ...], _Matching] = {}
        for policy in policies:
            accepted, unknown, refused = _accepted(policy, profile, operator)
            reach = Reach(policy, operator, refused, unknown, given_up=self._given_up[policy.pattern])
            self.reaches.append(reach)
            if accepted is not None:
                self._accepted[policy.vhost].append((accepted, reach))

    def matching(self, queue: Queue) -> list[Policy]:
        """Return the policies that match a queue, the one that applies first.

        Queues with equal results share the list.
        """
        key, name = (queue.vhost, queue.type), queue.name
        if key not in self._candidates:
            self._candidates[key] = self._of(*key)
        in_order, passed_over = self._candidates[key]
        found = [one for one in in_order.of(name) if self._matches(one, name)]
        alike = self._matching.get(ids := tuple(map(id, found)))
        if alike is None:
            alike = self._matching[ids] = _Matching(found)
        alike.queues[queue.type] += 1
        for one in passed_over.of(name):
            if self._matches(one, name):
                one.reach.passed_over[queue.type] += 1
        return alike.policies

    def counted(self) -> list[Reach]:
        """Count the queues in the reach of the policies that match them; return the reach of each policy."""
        for alike in self._matching.values():
            for queue_type, queues in alike.queues.items() if alike.found else ():
                _count(alike.found, queue_type, queues)
        return self.reaches

    def _of(self, vhost: str, queue_type: str) -> tuple[_Candidates, _Candidates]:
        """Return the policies that apply to a queue type in a vhost, in order of precedence, and those passed over."""
        reaches = {id(policy): reach for policy, reach in self._accepted[vhost]}
        accepted = [policy for policy, _ in self._accepted[vhost]]
        in_order = candidates(accepted, vhost, queue_type, self.profile, declaring=False)
        taken = {id(policy) for policy in in_order}
        passed_over = [
            policy
            for policy in accepted
            if id(policy) not in taken and queue_type in QUEUE_TYPES_BY_APPLY_TO.get(policy.apply_to, ())
        ]

        def known(policies: list[Policy]) -> _Candidates:
            found = [_Candidate(one, reaches[id(one)], is_all(one.pattern)) for one in policies]
            return ByBeginning(found, lambda candidate: candidate.policy.pattern)

        return known(in_order), known(passed_over)

    def _matches(self, candidate: _Candidate, name: str) -> bool:
        """Return True if the candidate's pattern matches the name; the fixed beginning has been compared already."""
        if candidate.begins_is_all:
            return True
        result = matched(candidate.policy, name, searched)
        if result is Match.GAVE_UP:
            self._given_up[candidate.policy.pattern].append(name)
        return result is Match.YES


class _Candidate(NamedTuple):
    """A policy that could apply to queues; says whether its pattern only fixes how their names begin."""

    policy: Policy
    reach: Reach
    begins_is_all: bool


_Candidates = ByBeginning[_Candidate]


class _Matching:
    """Policies that match some queues, and how many of each type."""

    def __init__(self, found: list[_Candidate]) -> None:
        self.found = found
        self.policies = [one.policy for one in found]
        self.queues: Counter[str] = Counter()


def _count(found: list[_Candidate], queue_type: str, queues: int) -> None:
    """Add queues to the reach of the policies that match them."""
    winner = found[0]
    winner.reach.applied[queue_type] += queues
    for one in found:
        one.reach.matched += queues
        if one is not winner:
            one.reach.beaten_by.add(winner.policy.name)
    tied = [policy.name for policy in ties([one.policy for one in found])]
    named = dict.fromkeys(tied[: MOST_TIED + 1], queues)
    for one in found[: len(tied)]:
        one.reach.tied_with.update({name: times for name, times in named.items() if name != one.policy.name})


def _accepted(policy: Policy, profile: Profile, operator: bool) -> tuple[Policy | None, list[str], str | None]:
    """Return the policy as the broker applies it, the settings unknown to its release, and the reason to refuse it."""
    known = profile.operator_policy_settings if operator else profile.policy_settings
    unknown = [key for key, _ in policy.settings if key not in known]
    kept = replace(policy, settings=tuple((key, value) for key, value in policy.settings if key in known))
    fields = {
        "pattern": policy.pattern,
        "definition": kept.definition or (GIVEN_UP if unknown else {}),
        "priority": policy.priority,
        "apply_to": policy.apply_to,
    }
    refused = refusal(fields, profile, operator=operator)
    return (None if refused else kept), unknown, refused
