"""Apply the linter's advice to a cluster and check that it helps.

Reports call `helping`: advice is given for a kind of finding only if the cluster has fewer errors, or as many and fewer
warnings, once all findings of that kind are dealt with as the advice says. If the advice names several alternatives,
one that helps is enough. `hawb.planning.remedies.improved` does the check.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

from msgspec.structs import replace

from hawb.engine.core.naming import join_queue
from hawb.planning.assignments import assign
from hawb.planning.findings import Finding
from hawb.planning.inventory import Inventory, Queue
from hawb.planning.lint import Report, lint
from hawb.planning.queue_checks import sharing
from hawb.planning.remedies import improved
from hawb.rules.patterns import Match, TooSlow
from hawb.rules.policies import Policy, matched
from hawb.rules.quorum import majority

MANY, FEW = 300, 10
"""In clusters with many queues or policies advice is tried on a few of each kind of finding; all would take minutes."""
POLICIES: dict[str, str] = {"policy": "policies", "operator policy": "operator_policies"}
"""The attribute of an inventory, and of an assignment, that has the policies of a kind of finding."""
Way = Callable[[Inventory, Finding], Inventory]
MEMBERS_WANTED = {"one-member": 2, "even-members": 1}
"""Number of members that the advice adds, by code."""
LEAST_TO_DELETE = 4
"""A queue with an even number of members, and at least so many, can do with one less."""
VERBS = {"delete": "delete_member", "add": "add_member"}


def helping(report: Report, most: int) -> tuple[list[str], list[str]]:
    """Return the first `most` codes of errors and warnings whose advice helps, and those whose advice does not.

    Each advice is tried on the cluster with the advice before it applied. A code whose findings are gone by then is in
    neither list.
    """
    helps: list[str] = []
    useless: list[str] = []
    there = _few_of_each(report)
    of_few = _codes(there)
    for code in dict.fromkeys(one.code for one in report.findings if one.severity != "note"):
        if len(helps) == most:
            break
        begin = there if code in of_few else report.of
        played = (improved(begin, [(code, way)], severity, followed) for way in WAYS[code])
        if (better := next(filter(None, played), None)) is not None:
            helps.append(code)
            there = better if code in of_few else there
        elif code in _codes(begin):
            useless.append(code)
    return helps, useless


def _few_of_each(report: Report) -> Inventory:
    """Return the cluster; if it has many queues or policies, with only a few of those that each finding is about.

    A queue brings the policies that match it, a few if there are many.
    """
    given, changed = report.of, {}
    if max(len(given.queues), *(len(getattr(given, table)) for table in POLICIES.values())) <= MANY:
        return given
    names: dict[tuple[str, str], list[str]] = {}
    for one in report.findings:
        those = names.setdefault((one.code, one.kind), [])
        if len(those) < FEW:
            those.append(one.name)
    kept = {(kind, name) for (_, kind), those in names.items() for name in those}
    every = report.assigned.assignments
    queues = [one for one in every if ("queue", one.queue.full_name) in kept] or every[:FEW]
    for kind, table in POLICIES.items():
        matching = (policy for one in queues for policy in getattr(one, table)[:FEW])
        kept.update((kind, join_queue(policy.vhost, policy.name)) for policy in matching)
        changed[table] = [one for one in getattr(given, table) if (kind, join_queue(one.vhost, one.name)) in kept]
    return replace(given, queues=[one.queue for one in queues], **changed)


def _codes(inventory: Inventory) -> set[str]:
    return {one.code for one in lint(inventory).findings}


def severity(inventory: Inventory) -> tuple[int, int]:
    """Return how many errors and warnings the linter finds in a cluster; smaller is better."""
    severities = [one.severity for one in lint(inventory).findings]
    return severities.count("error"), severities.count("warning")


def followed(inventory: Inventory, ways: Iterable[tuple[str, Way]]) -> Inventory:
    """Return the cluster after each code's findings, a few if there are many, are dealt with in the way given."""
    for code, way in ways:
        those = [finding for finding in lint(inventory).findings if finding.code == code]
        for finding in those if len(those) <= MANY else those[:FEW]:
            inventory = way(inventory, finding)
    return inventory


def member_steps(finding: Finding) -> list[tuple[str, str]]:
    """Return the steps that advice about a queue's members amounts to: (verb, node).

    The verb is start, delete_member, rejoin or add_member.
    """
    if finding.code != "member-without-node":
        return [("add_member", str(node)) for node in _listed(finding, "free")[: MEMBERS_WANTED[finding.code]]]
    steps = finding.detail["steps"]
    assert isinstance(steps, dict)
    return [(VERBS.get(key, key), str(node)) for key in ("start", "delete", "rejoin", "add") for node in steps[key]]


def _listed(finding: Finding, key: str) -> Sequence[object]:
    value = finding.detail.get(key, [])
    return value if isinstance(value, list) else []


# Ways to follow advice


def _with_policies(given: Inventory, change: Callable[[Policy], list[Policy]]) -> Inventory:
    changed = [[new for one in table for new in change(one)] for table in (given.policies, given.operator_policies)]
    return replace(given, policies=changed[0], operator_policies=changed[1])


def policy_changed(given: Inventory, found: Finding, change: Callable[[Policy], list[Policy]]) -> Inventory:
    """Return the cluster with the policy of a finding changed, or replaced."""
    return _with_policies(given, lambda one: change(one) if one.name == found.name.rpartition("::")[2] else [one])


def with_settings(one: Policy, keys: Mapping[str, object]) -> list[Policy]:
    """Return the policy with changed settings; None removes one. Return [] if no setting is left."""
    definition = {key: value for key, value in (one.definition | keys).items() if value is not None}
    return [Policy.of(one.name, one.pattern, definition, one.priority, one.apply_to, one.vhost)] if definition else []


def set_keys(**keys: object) -> Way:
    """Return a way that changes settings in the policy of a finding; underscores stand for dashes."""
    settings = {key.replace("_", "-"): value for key, value in keys.items()}
    return lambda given, found: policy_changed(given, found, lambda one: with_settings(one, settings))


def set_everywhere(**keys: object) -> Way:
    """Return a way that changes settings in every mirroring policy."""
    settings = {key.replace("_", "-"): value for key, value in keys.items()}

    def change(one: Policy) -> list[Policy]:
        return with_settings(one, settings) if "ha-mode" in one.definition else [one]

    return lambda given, _: _with_policies(given, change)


def _without(key: str) -> Way:
    """Remove the settings that a finding has under a key."""

    def change(given: Inventory, found: Finding) -> Inventory:
        named = found.detail[key]
        keys = dict.fromkeys(map(str, named) if isinstance(named, list) else [str(named)])
        return policy_changed(given, found, lambda one: with_settings(one, keys))

    return change


def queue_changed(given: Inventory, name: str, **facts: object) -> Inventory:
    """Return the cluster with changed facts of a queue."""
    queues = [
        Queue(one.vhost, one.name, replace(one.facts, **facts)) if one.full_name == name else one
        for one in given.queues
    ]
    return replace(given, queues=queues)


def quorum(given: Inventory, found: Finding) -> Inventory:
    """Redeclare a queue as a quorum queue."""
    nodes = list(given.nodes)[:3] or None
    return queue_changed(
        given, found.name, type="quorum", durable=True, auto_delete=False, arguments={}, node=None, mirrors=None,
        synchronised=None, members=nodes, online=nodes,
    )  # fmt: skip


def mirrored(given: Inventory, found: Finding) -> Inventory:
    """Set a policy with ha-mode that matches a queue's name."""
    [one] = [one for one in given.queues if one.full_name == found.name]
    definition = {"ha-mode": "exactly", "ha-params": 2, "ha-sync-mode": "automatic"}
    policy = Policy.of(f"mirrors {one.name}", f"^{re.escape(one.name)}$", definition, 0, "queues", one.vhost)
    return replace(queue_changed(given, found.name, mirrors=None), policies=[*given.policies, policy])


def mirrored_too(given: Inventory, found: Finding) -> Inventory:
    """Write ha-mode into the policy that applies to a queue."""
    [one] = [one for one in assign(given).assignments if one.queue.full_name == found.name]
    settings = {"ha-mode": "exactly", "ha-params": 2, "ha-sync-mode": "automatic"}
    changed = queue_changed(given, found.name, mirrors=None)
    decides = one.in_force.policy
    return _with_policies(changed, lambda each: with_settings(each, settings) if each.name == decides else [each])


def by_type(given: Inventory, found: Finding) -> Inventory:
    """Split a policy into one for each queue type, by apply-to or by patterns, with the settings that type supports."""

    def parts(policy: Policy) -> list[Policy]:
        made = []
        for kind in _types_matched(given, policy) or ("classic", "quorum", "stream"):
            unsupported = given.profile.unsupported_by(kind)
            for part in with_settings(policy, {key: None for key in policy.definition if key in unsupported}):
                apply_to = "streams" if kind == "stream" else f"{kind}_queues"
                names = "|".join(re.escape(one.name) for one in given.queues if one.type == kind)
                if apply_to in given.profile.apply_to:
                    made.append(replace(part, name=f"{part.name}-{kind}", apply_to=apply_to))
                elif names:
                    made.append(replace(part, name=f"{part.name}-{kind}", pattern=f"^({names})$"))
        return made

    return policy_changed(given, found, parts)


def _types_matched(given: Inventory, policy: Policy) -> list[str]:
    """Return the types of the queues whose names a policy matches."""
    here = [one for one in given.queues if one.vhost == policy.vhost]
    with suppress(TooSlow):
        here = [one for one in here if matched(policy, one.name) is Match.YES]
    return sorted({one.type for one in here} & {"classic", "quorum", "stream"})


def merged(given: Inventory, found: Finding) -> Inventory:
    """Write the settings of silenced policies into the policy that applies too."""
    [one] = [one for one in assign(given).assignments if one.queue.full_name == found.name]
    more = {key: value for silenced in reversed(one.silenced) for key, value in silenced.definition.items()}
    applies = one.in_force.policy

    def change(each: Policy) -> list[Policy]:
        return with_settings(each, more | each.definition) if each.name == applies else [each]

    return _with_policies(given, change)


def members_changed(given: Inventory, found: Finding) -> Inventory:
    """Start nodes, join them again, delete and add members as the advice says.

    If no file lists the nodes, add members on assumed nodes.
    """
    wanted = MEMBERS_WANTED.get(found.code, 0)
    others = [] if given.nodes else [("add_member", f"another node {number}") for number in range(wanted)]
    return _stepped(given, found, member_steps(found) or others)


def _stepped(given: Inventory, found: Finding, steps: Iterable[tuple[str, str]]) -> Inventory:
    [one] = [one for one in given.queues if one.full_name == found.name]
    members, online = list(one.facts.members or ()), one.facts.online
    online = None if online is None else list(online)
    for verb, node in steps:
        if verb in ("start", "rejoin"):
            given = replace(given, nodes={**given.nodes, node: True})
            changed = [online] if online is not None and node in members else []
        else:
            changed = [members, *([online] if online is not None else [])]
        for nodes in changed:
            if verb == "delete_member":
                nodes[:] = [other for other in nodes if other != node]
            elif node not in nodes:
                nodes.append(node)
    return queue_changed(given, found.name, members=members, online=online)


def _odd_without_a_free_node(given: Inventory, found: Finding) -> Inventory:
    """Delete a member of at least four, one that is not online if there is any; of two, add one on a new node."""
    [one] = [one for one in given.queues if one.full_name == found.name]
    members, online = one.facts.members or (), one.facts.online or ()
    if len(members) < LEAST_TO_DELETE:
        return _stepped(given, found, [("start", "another node"), ("add_member", "another node")])
    offline = [node for node in members if node not in online]
    return _stepped(given, found, [("delete_member", (offline or members)[-1])])


def cycle_broken(given: Inventory, found: Finding) -> Inventory:
    """Remove dead-letter-exchange from a queue and from policies."""
    [one] = [one for one in given.queues if one.full_name == found.name]
    own = {key: value for key, value in (one.facts.arguments or {}).items() if key != "x-dead-letter-exchange"}
    changed = queue_changed(given, found.name, arguments=own)
    return _with_policies(changed, lambda policy: with_settings(policy, {"dead-letter-exchange": None}))


def policy_set(given: Inventory, found: Finding) -> Inventory:
    """Set the policy of the advice."""
    fields = found.detail["set"]
    assert isinstance(fields, dict)
    new = Policy.of(*(fields[key] for key in ("name", "pattern", "definition", "priority", "apply_to", "vhost")))
    others = [one for one in given.policies if (one.vhost, one.name) != (new.vhost, new.name)]
    return replace(given, policies=[*others, new])


def priorities_apart(given: Inventory, _: Finding) -> Inventory:
    """Give each policy its own priority, in the order that they have."""
    order = sorted(range(len(given.policies)), key=lambda place: given.policies[place].priority)
    own = {place: priority for priority, place in enumerate(order)}
    return replace(given, policies=[replace(one, priority=own[at]) for at, one in enumerate(given.policies)])


def rebalanced(given: Inventory, _: Finding) -> Inventory:
    """Spread masters and leaders over all nodes that run."""
    nodes = sharing(given)
    queues = [
        Queue(one.vhost, one.name, replace(one.facts, **dict.fromkeys(_led_by(one), nodes[number % len(nodes)])))
        for number, one in enumerate(given.queues)
    ]
    return replace(given, queues=queues)


def _led_by(queue: Queue) -> tuple[str, ...]:
    return ("node",) if queue.facts.leader is None else ("node", "leader")


def _in_force(given: Inventory, found: Finding) -> Inventory:
    """Simulate exporting definitions and listings together: the queue's listing then has the policy in force."""
    [one] = [one for one in assign(given).assignments if one.queue.full_name == found.name]
    return queue_changed(given, found.name, policy=one.in_force.policy)


def _nodes_run(given: Inventory, found: Finding) -> Inventory:
    [one] = [one for one in given.queues if one.full_name == found.name]
    others = [node for node in given.nodes if node != one.facts.node][:1]
    return queue_changed(
        replace(given, nodes=dict.fromkeys(given.nodes, True)), found.name, mirrors=others, synchronised=others
    )


def _all_online(given: Inventory, found: Finding) -> Inventory:
    [one] = [one for one in given.queues if one.full_name == found.name]
    return queue_changed(given, found.name, online=one.facts.members)


def _synchronised(given: Inventory, found: Finding) -> Inventory:
    [one] = [one for one in given.queues if one.full_name == found.name]
    return queue_changed(given, found.name, synchronised=one.facts.mirrors)


def _two_nodes_more(given: Inventory, _: Finding) -> Inventory:
    return replace(given, nodes={**given.nodes, "second node": True, "third node": True})


def _majority(given: Inventory, found: Finding) -> Inventory:
    return set_keys(ha_mode="exactly", ha_params=majority(len(given.nodes)))(given, found)


def _known_nodes(given: Inventory, found: Finding) -> Inventory:
    return set_keys(ha_params=list(given.nodes)[:2])(given, found)


def _cleared(given: Inventory, found: Finding) -> Inventory:
    return policy_changed(given, found, lambda one: [])


WAYS: dict[str, Sequence[Way]] = {
    "policy-refused": [_cleared], "unknown-settings": [_without("keys")], "fits-no-type": [by_type],
    "passes-over": [by_type], "matches-nothing": [_cleared], "never-applies": [_cleared],
    "priority-tie": [priorities_apart],
    "pattern-gives-up": [lambda given, found: policy_changed(given, found, lambda one: [replace(one, pattern="^a")])],
    "key-without-effect": [_without("key")],
    "exactly-promotes-always": [set_keys(ha_promote_on_shutdown="when-synced")],
    "promotes-always-on-shutdown": [set_keys(ha_promote_on_shutdown="when-synced")],
    "mirrors-on-all-nodes": [_majority],
    "unknown-node": [_known_nodes, set_keys(ha_mode="exactly", ha_params=2)],
    "policy-feeds-itself": [policy_set], "dead-letter-cycle": [cycle_broken], "mirroring-silenced": [merged],
    "settings-silenced": [merged], "no-policy": [quorum, mirrored], "one-replica": [quorum, mirrored_too],
    "no-mirror-runs": [_nodes_run], "classic-queue": [quorum], "one-member": [members_changed],
    "even-members": [members_changed, _odd_without_a_free_node], "member-without-node": [members_changed],
    "members-offline": [_all_online],
    "unsynchronised-mirrors": [_synchronised], "sync-batch-over-ticktime": [set_everywhere(ha_sync_batch_size=2)],
    "sync-batch-large": [set_everywhere(ha_sync_batch_size=2)],
    "when-synced-without-confirms": [lambda given, _: replace(given, confirmed=given.published)],
    "policy-differs": [_in_force], "masters-piled": [rebalanced], "one-node": [_two_nodes_more],
}  # fmt: skip
"""Ways to carry out the advice, by code of an error or a warning."""
