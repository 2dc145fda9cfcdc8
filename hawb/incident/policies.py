"""Find the definition of a policy that is in no export: the one that agrees best with the mirrors that came and went.

A log names a policy that is set, without its definition (`rabbit_policy:parse_set0`), and exported definitions hold
only the last one of a name. An earlier definition shows in its effects: mirrors that are added or dropped show their
number, and a promotion shows whether an unsynchronised mirror may be promoted. So for each policy the known definitions
of its name are tried, with other numbers of mirrors, and with both answers about promotion of unsynchronised mirrors.
The number of plays grows with the number of policies, not with their combinations.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from msgspec.structs import replace

from hawb.incident.cluster_event import ClusterEvent
from hawb.incident.compared import Comparison
from hawb.incident.doubts import Doubt
from hawb.incident.reconstruction import Reconstruction
from hawb.scenario.verbs import SetPolicy

SHOWN = frozenset({"mirror_added", "mirror_dropped", "mirror_promoted", "mirrors_stopped"})
"""Kinds of events that follow from a policy's mirroring settings."""
AS_EXPORTED, WORKED_OUT = "policy_as_exported", "policy_worked_out"
PROMOTES = ("ha-promote-on-shutdown", "ha-promote-on-failure")
"""Keys that decide if an unsynchronised mirror is promoted."""
Definition = dict[str, Any]


def guessed_policies(reconstructed: Reconstruction) -> Iterator[int]:
    """Yield the places of steps that set a policy whose definition no export holds."""
    moments = {(doubt.name, doubt.from_us) for doubt in reconstructed.doubts if doubt.kind in (AS_EXPORTED, WORKED_OUT)}
    for place, source in enumerate(reconstructed.sources):
        if isinstance(reconstructed.scenario.steps[place].verb, SetPolicy) and any(
            one.kind == "policy_set" and (one.name, one.at_us) in moments for one in source
        ):
            yield place


def has_unexpected_mirrors(comparison: Comparison, since: ClusterEvent) -> bool:
    """Return True if mirrors came, went or were promoted unexpectedly after a policy was set."""
    return any(pair.kind in SHOWN and pair.at_us >= since.at_us for pair in comparison.apart)


def with_other_definitions(reconstructed: Reconstruction, place: int) -> Iterator[Reconstruction]:
    """Yield the scenario with other definitions for the policy that a step sets.

    These are the known ones of its name, and other numbers of mirrors, each with both answers about promotion of
    unsynchronised mirrors.
    """
    for definition in _known(reconstructed, place):
        bare = {key: value for key, value in definition.items() if key != "ha-params"}
        for mirrored in (definition, *(bare | mode for mode in _modes(len(reconstructed.scenario.cluster.nodes)))):
            for answers in product(*(((key, "when-synced"), (key, "always")) for key in PROMOTES)):
                yield with_definition(reconstructed, place, mirrored | dict(answers))


def with_definition(reconstructed: Reconstruction, place: int, definition: Definition) -> Reconstruction:
    """Return the scenario with a definition for the policy that a step sets."""
    steps = list(reconstructed.scenario.steps)
    policy = _set(reconstructed, place)
    steps[place] = replace(steps[place], verb=replace(policy, definition=definition))
    moments = {one.at_us for one in reconstructed.sources[place]}
    doubts = tuple(replace(doubt, kind=WORKED_OUT) if _is_of(doubt, policy.name, moments) else doubt
                   for doubt in reconstructed.doubts)  # fmt: skip
    return replace(reconstructed, scenario=replace(reconstructed.scenario, steps=tuple(steps)), doubts=doubts)


def _is_of(doubt: Doubt, name: str, moments: set[int]) -> bool:
    return doubt.kind == AS_EXPORTED and doubt.name == name and doubt.from_us in moments


def _set(reconstructed: Reconstruction, place: int) -> SetPolicy:
    verb = reconstructed.scenario.steps[place].verb
    assert isinstance(verb, SetPolicy), verb
    return verb


def _known(reconstructed: Reconstruction, place: int) -> Iterator[Definition]:
    """Yield each definition of the same policy name that the scenario holds, once."""
    policy = _set(reconstructed, place)
    set_ = [step.verb for step in reconstructed.scenario.steps if isinstance(step.verb, SetPolicy)]
    found = [dict(one.definition) for one in (*reconstructed.scenario.policies, *set_) if one.name == policy.name]
    yield from (one for number, one in enumerate(found) if one not in found[:number])


def _modes(nodes: int) -> Iterator[Definition]:
    yield {"ha-mode": "all"}
    yield from ({"ha-mode": "exactly", "ha-params": count} for count in range(1, nodes))
