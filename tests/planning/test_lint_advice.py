"""What the linter advises can be done on the release that runs, and what was found is gone once it is done."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable

import pytest
from inventories import HA
from lint_cases import CASES
from msgspec.structs import replace

from hawb.planning.advice import ADVICE
from hawb.planning.assignments import assign
from hawb.planning.findings import Finding
from hawb.planning.inventory import Inventory, Queue
from hawb.planning.lint import lint
from hawb.rules.policies import Policy
from hawb.rules.policy_validation import refusal
from hawb.rules.profiles import PROFILES
from hawb.views.planning.lint_verdict import commands

THREE = ["a", "b", "c"]
Done = Callable[[Inventory, Finding], Inventory]


def with_policies(given: Inventory, change: Callable[[Policy], list[Policy]]) -> Inventory:
    changed = [[new for one in table for new in change(one)] for table in (given.policies, given.operator_policies)]
    return replace(given, policies=changed[0], operator_policies=changed[1])


def policy_changed(given: Inventory, found: Finding, change: Callable[[Policy], list[Policy]]) -> Inventory:
    return with_policies(given, lambda one: change(one) if one.name == found.name else [one])


def having(one: Policy, **keys: object) -> list[Policy]:
    """A policy with other settings, None for none; not at all without any."""
    told = one.definition | {key.replace("_", "-"): value for key, value in keys.items()}
    definition = {key: value for key, value in told.items() if value is not None}
    return [Policy.of(one.name, one.pattern, definition, one.priority, one.apply_to, one.vhost)] if definition else []


def without(*keys: str) -> dict[str, None]:
    return dict.fromkeys(keys)


def set_keys(**keys: object) -> Done:
    return lambda given, found: policy_changed(given, found, lambda one: having(one, **keys))


def set_everywhere(**keys: object) -> Done:
    return lambda given, found: with_policies(given, lambda one: having(one, **keys))


def queue_changed(given: Inventory, name: str, **facts: object) -> Inventory:
    queues = [
        Queue(one.vhost, one.name, replace(one.facts, **facts)) if one.full_name == name else one
        for one in given.queues
    ]
    return replace(given, queues=queues)


def quorum(given: Inventory, found: Finding) -> Inventory:
    nodes = list(given.nodes)[:3]
    return queue_changed(
        given, found.name, type="quorum", durable=True, auto_delete=False, arguments={}, node=None, mirrors=None,
        synchronised=None, members=nodes, online=nodes,
    )  # fmt: skip


def by_type(given: Inventory, found: Finding) -> Inventory:
    """A policy for each type, by apply-to or by patterns, each with what its type knows."""
    [policy] = [one for one in (*given.policies, *given.operator_policies) if one.name == found.name]
    parts = []
    for kind in ("classic", "quorum", "stream"):
        unsupported = given.profile.unsupported_by(kind)
        for part in having(policy, **without(*(key for key in policy.definition if key in unsupported))):
            apply_to = "streams" if kind == "stream" else f"{kind}_queues"
            names = "|".join(one.name for one in given.queues if one.type == kind)
            if apply_to in given.profile.apply_to:
                parts.append(replace(part, name=f"{part.name}-{kind}", apply_to=apply_to))
            elif names:
                parts.append(replace(part, name=f"{part.name}-{kind}", pattern=f"^({names})$"))
    return policy_changed(given, found, lambda _: parts)


def merged(given: Inventory, found: Finding) -> Inventory:
    """The settings of silenced policies written into the policy that applies too."""
    [one] = [one for one in assign(given).assignments if one.queue.full_name == found.name]
    more = {key: value for silenced in reversed(one.silenced) for key, value in silenced.definition.items()}
    name = one.in_force.policy
    return with_policies(given, lambda each: having(each, **(more | each.definition)) if each.name == name else [each])


def mirrored(given: Inventory, found: Finding) -> Inventory:
    policies = [*given.policies, Policy.of("mirrors", f"^{found.name}$", {"ha-mode": "exactly", "ha-params": 2})]
    return replace(queue_changed(given, found.name, mirrors=None), policies=policies)


def members_changed(given: Inventory, found: Finding) -> Inventory:
    """The commands that the report shows, by the names that stand in them."""
    [one] = [one for one in given.queues if one.full_name == found.name]
    members = list(one.facts.members)
    assert commands(found)
    for _, verb, *_, node in map(shlex.split, commands(found)):
        (members.append if verb in ("add_member", "add_replica") else members.remove)(node)
        assert node in given.nodes or verb in ("delete_member", "delete_replica")
    return queue_changed(given, found.name, members=members)


def cycle_broken(given: Inventory, found: Finding) -> Inventory:
    given = queue_changed(given, found.name, arguments={})
    return with_policies(given, lambda one: having(one, **without("dead-letter-exchange")))


def policy_set(given: Inventory, found: Finding) -> Inventory:
    """The command that the report shows."""
    [words] = map(shlex.split, commands(found))
    priority, apply_to = words[words.index("--priority") + 1], words[words.index("--apply-to") + 1]
    name, pattern, definition = words[words.index("--") + 1 :]
    new = Policy.of(name, pattern, json.loads(definition), int(priority), apply_to)
    others = [one for one in given.policies if one.name != new.name]
    return replace(given, policies=[*others, new])


def priorities_apart(given: Inventory, _: Finding) -> Inventory:
    apart = [replace(one, priority=number) for number, one in enumerate(given.policies)]
    return replace(given, policies=apart)


def rebalanced(given: Inventory, _: Finding) -> Inventory:
    queues = [
        Queue(one.vhost, one.name, replace(one.facts, node=THREE[number % 3]))
        for number, one in enumerate(given.queues)
    ]
    return replace(given, queues=queues)


def in_force(given: Inventory, found: Finding) -> Inventory:
    [one] = [one for one in assign(given).assignments if one.queue.full_name == found.name]
    return queue_changed(given, found.name, policy=one.in_force.policy)


def nodes_run(given: Inventory, found: Finding) -> Inventory:
    given = replace(given, nodes=dict.fromkeys(THREE, True))
    return queue_changed(given, found.name, mirrors=["b"], synchronised=["b"])


DONE: dict[str, list[Done]] = {
    "policy-refused": [lambda given, found: policy_changed(
        given, found, lambda one: [Policy.of(one.name, "^q", {"max-length": 9})])],
    "unknown-settings": [lambda given, found: policy_changed(
        given, found, lambda one: having(one, **without(*found.detail["keys"])))],
    "fits-no-type": [by_type],
    "passes-over": [by_type],
    "matches-nothing": [lambda given, found: policy_changed(given, found, lambda one: [])],
    "matches-everything": [lambda given, found: policy_changed(
        given, found, lambda one: [replace(one, pattern="^q")])],
    "never-applies": [lambda given, found: policy_changed(given, found, lambda one: [])],
    "priority-tie": [priorities_apart],
    "pattern-gives-up": [lambda given, found: policy_changed(given, found, lambda one: [replace(one, pattern="^a")])],
    "key-without-effect": [lambda given, found: policy_changed(
        given, found, lambda one: having(one, **without(found.detail["key"])))],
    "exactly-promotes-always": [set_keys(ha_promote_on_shutdown="when-synced")],
    "promotes-always-on-shutdown": [set_keys(ha_promote_on_shutdown="when-synced")],
    "mirrors-on-all-nodes": [set_keys(ha_mode="exactly", ha_params=3)],
    "unknown-node": [set_keys(ha_params=["a", "b"]), set_keys(ha_mode="exactly", ha_params=2)],
    "more-replicas-than-nodes": [set_keys(ha_params=2)],
    "policy-feeds-itself": [policy_set],
    "dead-letter-cycle": [cycle_broken],
    "dead-letter-retries": [cycle_broken],
    "mirroring-silenced": [merged],
    "settings-silenced": [merged],
    "no-policy": [quorum, mirrored],
    "one-replica": [quorum, set_everywhere(**HA)],
    "no-mirror-runs": [nodes_run],
    "classic-queue": [quorum],
    "one-member": [members_changed],
    "even-members": [members_changed],
    "member-without-node": [members_changed],
    "members-offline": [lambda given, found: queue_changed(given, found.name, online=THREE)],
    "unsynchronised-mirrors": [lambda given, found: queue_changed(given, found.name, synchronised=["b"])],
    "sync-batch-over-ticktime": [set_everywhere(ha_sync_batch_size=2)],
    "sync-batch-large": [set_everywhere(ha_sync_batch_size=2)],
    "when-synced-without-confirms": [lambda given, found: replace(given, confirmed=9)],
    "when-synced-needs-confirms": [lambda given, found: replace(given, published=9, confirmed=9)],
    "policy-differs": [in_force],
    "blocks-quorum": [lambda given, found: queue_changed(
        replace(given, policies=[]), found.name, durable=True, auto_delete=False, arguments={})],
    "changes-for-quorum": [quorum],
    "masters-piled": [rebalanced],
    "one-node": [lambda given, found: replace(given, nodes=dict.fromkeys(THREE, True))],
}  # fmt: skip
"""For each code the ways to do what its advice says."""

NOT_MIRRORED = ("4.0", "4.3")
OF_MIRRORS = {
    "mirroring-silenced", "no-policy", "one-replica", "no-mirror-runs", "unsynchronised-mirrors",
    "sync-batch-over-ticktime", "sync-batch-large", "when-synced-without-confirms", "when-synced-needs-confirms",
    "exactly-promotes-always", "promotes-always-on-shutdown", "mirrors-on-all-nodes", "unknown-node",
    "more-replicas-than-nodes",
}  # fmt: skip
"""Findings whose advice takes mirrors."""


def test_every_advice_is_done_here():
    assert DONE.keys() == ADVICE.keys()


def refused(after: Inventory, before: Inventory) -> list[str]:
    """Why the release would refuse the policies that an advice sets; of settings that it does not know other findings
    tell."""
    new = [one for one in (*after.policies, *after.operator_policies)
           if one not in (*before.policies, *before.operator_policies)]  # fmt: skip
    fields = [
        {"pattern": one.pattern, "priority": one.priority, "apply_to": one.apply_to, "definition": known}
        for one in new
        if (known := {key: one.definition[key] for key in one.definition.keys() & after.profile.policy_settings})
    ]
    return [why for one in fields if (why := refusal(one, after.profile, operator=False))]


@pytest.mark.parametrize("version", PROFILES)
@pytest.mark.parametrize("case", CASES)
def test_what_was_found_is_gone_once_the_advice_is_followed(case: str, version: str):
    given = replace(CASES[case], profile=PROFILES[version])
    before = lint(given).findings
    if version in NOT_MIRRORED:
        assert OF_MIRRORS.isdisjoint(one.code for one in before)
    for found in before:
        for do in DONE[found.code]:
            after = do(given, found)
            assert not refused(after, given), found.code
            left = lint(after).findings
            assert not any((one.code, one.name, one.detail) == (found.code, found.name, found.detail) for one in left)
            new = {one.code for one in left if one.severity == "error"} - {one.code for one in before}
            assert not new, found.code
