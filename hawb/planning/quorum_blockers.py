"""Find what prevents declaring a queue as a quorum queue, by the rules of its cluster's release.

`hawb.planning.quorum_translation` separates what blocks from what only has to change. Quorum queues pass over a policy
with mirroring settings: they need no mirroring, but the policy's other settings have to come from another policy.
"""

from __future__ import annotations

from collections.abc import Iterator

from hawb.planning.assignments import Assignment
from hawb.planning.quorum_translation import SERVER_NAMED, Weight, becoming
from hawb.rules.owned_queues import owner
from hawb.rules.profiles import HA_SETTINGS, Profile


def before_quorum(assignment: Assignment, profile: Profile) -> dict[Weight, list[str]]:
    """Return what blocks the move of a classic queue, and what changes with it, in a few words each; both may be empty.

    Both are empty for a queue that a plugin declares itself.
    """
    facts, definition = assignment.queue.facts, assignment.in_force.definition or {}
    found: dict[Weight, list[str]] = {"blocks": [], "changes": []}
    if owner(assignment.queue.name, facts.arguments) is not None:
        return found
    named = assignment.queue.name.startswith(SERVER_NAMED)
    if named or facts.arguments or facts.durable is False or facts.exclusive or facts.auto_delete or definition:
        for reason in becoming(assignment.queue, definition, {}, profile).reasons:
            found[reason.weight].append(reason.what)
    if assignment.policies:
        found["changes"] += _passed_over(assignment, profile)
    return found


def _passed_over(assignment: Assignment, profile: Profile) -> Iterator[str]:
    """Yield the policy that a quorum queue would pass over, if the queue could have some of its settings."""
    keys = assignment.policies[0].definition.keys()
    unsupported = profile.unsupported_by("quorum")
    if keys & unsupported and (lost := sorted(keys - HA_SETTINGS - unsupported)):
        yield f"its policy is passed over, with {', '.join(lost)}"
