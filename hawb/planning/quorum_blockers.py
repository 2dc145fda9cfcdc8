"""What stands in the way of declaring a queue anew as a quorum queue, by the rules of its cluster's release.

Settings of policies block nothing: a policy that quorum queues do not take is passed over, and its settings are gone.
Those of mirroring are not missed, the others are named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hawb.planning.assignments import Assignment
from hawb.rules.profiles import HA_SETTINGS, Profile
from hawb.rules.quorum_declaration import refusal

PROPERTIES = (("durable", False, "not durable"), ("exclusive", True, "exclusive"), ("auto_delete", True, "auto-delete"))
"""What a quorum queue cannot be: the fact, the value that blocks, and its name."""

WITH = {"x-dead-letter-routing-key": {"x-dead-letter-exchange": ""}}
"""An argument that is refused without another is tried with it."""


def quorum_blockers(assignment: Assignment, profile: Profile) -> list[str]:
    """What blocks the move of a classic queue, in a few words each; empty if nothing does."""
    facts = assignment.queue.facts
    found = [name for fact, blocks, name in PROPERTIES if getattr(facts, fact) is blocks]
    if facts.arguments:
        found += _arguments(facts.arguments, profile)
    if assignment.policies:
        found += _settings(assignment, profile)
    return found


def _arguments(arguments: Mapping[str, object], profile: Profile) -> Iterator[str]:
    for key, value in arguments.items():
        if key != "x-queue-type" and refusal({key: value} | WITH.get(key, {}), "", profile):
            yield f"argument {key}"


def _settings(assignment: Assignment, profile: Profile) -> Iterator[str]:
    """The policy that would be passed over, where something beside mirroring goes with it."""
    policy = assignment.policies[0]
    keys = policy.definition.keys()
    if keys & profile.unsupported_by("quorum") and (lost := sorted(keys - HA_SETTINGS)):
        yield f"its policy is passed over, with {', '.join(lost)}"
