"""Find changes that exports made after the logs show, but no log records.

Such changes are declared or deleted classic queues, cleared policies, policies set by a release that does not log this,
and added or removed members of quorum queues. Their times are unknown, and are assumed to be the end of the logs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hawb.incident.before import Before, Exports
from hawb.incident.doubts import Doubt
from hawb.incident.step_context import TimedStep
from hawb.rules.quorum_profiles import QUORUM_PROFILES
from hawb.scenario import verbs
from hawb.scenario.fields import Verb

BETWEEN_US = 100_000
"""Assumed time between these steps."""


def later_steps(later: Exports, before: Before, timed: Sequence[TimedStep], ends_us: int) -> list[TimedStep]:
    """Return the steps that lead from the queues and policies at the end of the story to those of the later exports.

    The story begins with `before`, and its steps are `timed`. The returned steps begin at `ends_us`, one after the
    other, because a group accepts no member change while another one is under way.
    """
    steps = [*_policies(later, before, timed)] if later.defined else []
    if later.placed:
        steps += _queues(later.placed, before, timed)
    return [TimedStep(ends_us + place * BETWEEN_US, step, ()) for place, step in enumerate(steps)]


def doubts(steps: Sequence[TimedStep]) -> Iterator[Doubt]:
    """Yield the assumption about the time of each of these steps."""
    for step in steps:
        match step.verb:
            case verbs.Declare(queue=queue):
                yield Doubt(kind="declared_meanwhile", queue=queue, from_us=step.at_us)
            case verbs.Delete(queue=queue):
                yield Doubt(kind="deleted_meanwhile", queue=queue, from_us=step.at_us)
            case verbs.AddMember(queue=queue, node=node) | verbs.DeleteMember(queue=queue, node=node):
                yield Doubt(kind="members_changed", queue=queue, node=node, from_us=step.at_us)
            case verbs.SetPolicy(name=name) | verbs.SetOperatorPolicy(name=name):
                yield Doubt(kind="policy_set_meanwhile", name=name, from_us=step.at_us)
            case verbs.ClearPolicy(name=name) | verbs.ClearOperatorPolicy(name=name):
                yield Doubt(kind="policy_cleared", name=name, from_us=step.at_us)


def _policies(later: Exports, before: Before, steps: Sequence[TimedStep]) -> Iterator[Verb]:
    """Yield the steps that set or clear policies, except policies that the release refuses (left by an upgrade)."""
    refused = {doubt.name for doubt in before.doubts if doubt.kind == "policy_refused"}
    for kind, policies, sets, clears in (
        ("policies", before.policies, verbs.SetPolicy, verbs.ClearPolicy),
        ("operator_policies", before.operator_policies, verbs.SetOperatorPolicy, verbs.ClearOperatorPolicy),
    ):
        known = {(step.name, step.vhost): step for step in (sets(**policy) for policy in policies)}
        known |= {(step.verb.name, step.verb.vhost): step.verb for step in steps if isinstance(step.verb, sets)}
        kept = {(step.name, step.vhost): step for step in (sets(**policy) for policy in later.document[kind])}
        yield from (clears(*policy) for policy in known if policy not in kept)
        yield from (step for policy, step in kept.items() if known.get(policy) != step and step.name not in refused)


def _queues(placed: Sequence[dict[str, Any]], before: Before, steps: Sequence[TimedStep]) -> Iterator[Verb]:
    known = {entry["queue"] for entry in before.queues}
    anew: set[str] = set()
    for step in steps:
        if isinstance(step.verb, verbs.Declare):
            known.add(step.verb.queue)
            anew.add(step.verb.queue)
        elif isinstance(step.verb, verbs.Delete):
            known.discard(step.verb.queue)
    listed = {entry["queue"]: entry for entry in placed}
    yield from (verbs.Delete(queue) for queue in sorted(known - listed.keys()))
    for queue in sorted(listed.keys() - known):
        entry = listed[queue]
        yield verbs.Declare(
            queue, entry.get("master") or entry.get("leader"), durable=entry.get("durable", True),
            auto_delete=entry.get("auto_delete", False), arguments=entry.get("arguments", {}),
        )  # fmt: skip
    for entry in before.queues:
        if entry["queue"] in known & listed.keys() - anew:
            yield from _members(entry, listed[entry["queue"]], steps, before.cluster["version"])


def _members(
    before: dict[str, Any], listed: dict[str, Any], steps: Sequence[TimedStep], version: str
) -> Iterator[Verb]:  # fmt: skip
    """Yield the steps that add and remove a quorum queue's members, which releases before 3.11 do not log.

    Leave out the members on forgotten nodes if the release removes them with the node.
    """
    queue, members = before["queue"], {*before.get("members", ())}
    for step in steps:
        match step.verb:
            case verbs.AddMember(queue=name, node=node) if name == queue:
                members.add(node)
            case verbs.DeleteMember(queue=name, node=node) if name == queue:
                members.discard(node)
            case verbs.ForgetClusterNode(node=node) if QUORUM_PROFILES[version].shrinks_as_forgetting:
                members.discard(node)
            case verbs.ForceShrink():
                return
    if "members" in listed and members:
        yield from (verbs.AddMember(queue, node) for node in sorted({*listed["members"]} - members))
        yield from (verbs.DeleteMember(queue, node) for node in sorted(members - {*listed["members"]}))
