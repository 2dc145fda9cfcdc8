"""Find problems of a cluster's queues: each check looks at one queue and the policies that apply to it.

Queues that differ only in their names are checked once (`hawb.planning.lint`): no check looks at more of a queue's name
than `by_name`.

`before_quorum` finds what prevents declaring a queue as a quorum queue. `hawb.planning.quorum_translation` separates
what blocks from what only has to change. Quorum queues ignore a policy with mirroring settings: they need no mirroring,
but the policy's other settings have to come from another policy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from msgspec import to_builtins

from hawb.engine.classic.sync_effort import Effort
from hawb.planning.assignments import Assignment
from hawb.planning.findings import Finding
from hawb.planning.ghosts import change
from hawb.planning.inventory import Inventory, Queue
from hawb.planning.quorum_translation import SERVER_NAMED, Weight, becoming
from hawb.rules.owned_queues import owner
from hawb.rules.policies import Mirroring, Promote, mirroring
from hawb.rules.profiles import HA_SETTINGS, Profile
from hawb.rules.quorum import tolerated_failures
from hawb.rules.streams import STREAM_PROFILES

ASSUMED_BYTES = 1024
GUIDE_BATCH_BYTES = 50_000 * 1024
"""The guide's example of a batch to think about: 50,000 messages of 1 KB."""

SMALLEST_BATCH = 2
"""A ha-sync-batch-size of 1 stands for the default."""

MIB = 2**20
PILED = 1.5
"""Factor of the equal share of masters and leaders above which a node has too many."""


Found = tuple[str, dict[str, Any]]
"""Code and facts of a finding, without its queue."""


def by_name(queue: Queue) -> tuple[bool, bool]:
    """Return whether, by its name, a queue belongs to a plugin, and whether the broker generated the name."""
    return owner(queue.name, queue.facts.arguments) is not None, queue.name.startswith(SERVER_NAMED)


def queue_found(assignment: Assignment, inventory: Inventory) -> list[Found]:
    """Return the findings about one queue; none for an exclusive queue, which ends with its connection."""
    queue = assignment.queue
    if queue.facts.exclusive:
        return []
    checked = (check(assignment, inventory) for check in CHECKS.get(queue.type, ()))
    return [found for found in checked if found is not None]


# Policies


def _no_policy(assignment: Assignment, inventory: Inventory) -> Found | None:
    in_force = assignment.in_force
    alone = inventory.policies_listed and in_force.policy is None and in_force.mirroring is None
    return ("no-policy", {}) if alone and _could_be_mirrored(assignment, inventory) else None


def _could_be_mirrored(assignment: Assignment, inventory: Inventory) -> bool:
    """Return True if the release mirrors classic queues and, as far as the files say, there is a node for a mirror.

    Return False for a queue that has mirrors, and for a queue that a plugin declares itself.
    """
    queue = assignment.queue
    if owner(queue.name, queue.facts.arguments) is not None:
        return False
    return inventory.profile.mirroring and len(inventory.nodes) != 1 and not queue.facts.mirrors


def _silenced(assignment: Assignment, inventory: Inventory) -> Found | None:
    """Return a finding if an overridden policy asks for mirrors, or has settings that no applied policy has."""
    if len(assignment.policies) < 2:
        return None
    policy, definition = assignment.policies[0].name, assignment.in_force.definition
    if assignment.in_force.mirroring is None:
        mirrors = [one.name for one in assignment.silenced if mirroring(one.definition)]
        if mirrors:
            return "mirroring-silenced", {"policy": policy, "silenced": mirrors}
    given = definition.keys() | ({"ha-params"} if "ha-mode" in definition else set())
    by = {one.name: [key for key, _ in one.settings if key not in given] for one in assignment.silenced}
    if keys := sorted({key for more in by.values() for key in more}):
        return "settings-silenced", {"policy": policy, "keys": keys, "silenced": [name for name in by if by[name]]}
    return None


def _listed_otherwise(assignment: Assignment, inventory: Inventory) -> Found | None:
    listed, policy = assignment.queue.facts.policy, assignment.in_force.policy
    if listed is None or listed == policy:
        return None
    return "policy-differs", {"listed": listed, "policy": "none" if policy is None else repr(policy)}


# Replicas


def _one_replica(assignment: Assignment, inventory: Inventory) -> Found | None:
    """Return a finding for a classic queue that has no mirror though a policy applies to it."""
    said, facts = assignment.in_force.mirroring, assignment.queue.facts
    if not _could_be_mirrored(assignment, inventory) or assignment.in_force.definition is None:
        return None
    if said is None:
        policy = assignment.in_force.policy
        return None if policy is None else ("one-replica", {"reason": f"policy {policy!r} asks for no mirror"})
    if said.count == 1:
        return "one-replica", {"reason": "ha-mode exactly 1"}
    return ("no-mirror-runs", {}) if facts.mirrors == [] else None


def _classic(assignment: Assignment, inventory: Inventory) -> Found | None:
    """Return a finding for a classic queue that could be a quorum queue, in a release without mirroring.

    Return None for a queue that a plugin declares itself.
    """
    queue = assignment.queue
    if inventory.profile.mirroring or len(inventory.nodes) == 1 or owner(queue.name, queue.facts.arguments) is not None:
        return None
    if before_quorum(assignment, inventory.profile)["blocks"]:
        return None
    return "classic-queue", {"release": inventory.release or inventory.profile.release}


def _unsynchronised(assignment: Assignment, inventory: Inventory) -> Found | None:
    facts = assignment.queue.facts
    if not inventory.profile.mirroring or not facts.mirrors or facts.synchronised is None:
        return None
    behind = [node for node in facts.mirrors if node not in facts.synchronised]
    waits = facts.node is not None and inventory.nodes.get(facts.node) is False
    detail = {"unsynchronised": len(behind), "mirrors": len(facts.mirrors)} | ({"start": facts.node} if waits else {})
    return ("unsynchronised-mirrors", detail) if behind else None


def _ghosts(assignment: Assignment, inventory: Inventory) -> Found | None:
    """Return a finding for members on nodes outside the cluster: they count for a majority and never come back."""
    members = assignment.queue.facts.members or ()
    ghosts = [node for node in members if inventory.nodes and node not in inventory.nodes]
    if not ghosts:
        return None
    facts, running = assignment.queue.facts, [node for node, runs in inventory.nodes.items() if runs]
    online = [node for node in members if node in (running if facts.online is None else facts.online)]
    free, down = (_free(assignment, inventory, runs) for runs in (True, False))
    streams = STREAM_PROFILES.get(inventory.profile.version)
    deletes = assignment.queue.type != "stream" or (streams is not None and streams.deletes_where_down)
    detail = {"ghosts": ghosts, "members": len(members), "free": free, "type": assignment.queue.type}
    steps = to_builtins(change(members, online, ghosts, free, down, deletes))
    return "member-without-node", detail | {"steps": steps, "at": (online or running or [""])[0]}


def _free(assignment: Assignment, inventory: Inventory, running: bool = True) -> list[str]:
    """Return the nodes without a member of the queue that run, or do not run, those with the fewest members first.

    The list is empty if no file lists the queue's members.
    """
    members = assignment.queue.facts.members
    nodes = [node for node, runs in inventory.nodes.items() if runs is running] if members else []
    return sorted((node for node in nodes if node not in members), key=lambda node: inventory.hosted.get(node, 0))


def _members(assignment: Assignment, inventory: Inventory) -> Found | None:
    members = _members_count(assignment.queue, len(inventory.nodes))
    if members is None or members < 1 or len(inventory.nodes) == 1 or _ghosts(assignment, inventory):
        return None
    if members == 1:
        return "one-member", {"free": _free(assignment, inventory), "type": assignment.queue.type}
    if members % 2:
        return None
    tolerated = tolerated_failures(members)
    detail = {"members": members, "tolerated": tolerated or "none", "fewer": members - 1}
    return "even-members", detail | {"free": _free(assignment, inventory), "type": assignment.queue.type}


def _members_count(queue: Queue, nodes: int) -> int | None:
    """Return how many members a queue has, or was declared with; None if no file says.

    `nodes` is the number of the cluster's nodes, 0 if unknown.
    """
    facts = queue.facts
    if facts.members:
        return len(facts.members)
    key = "x-initial-cluster-size" if queue.type == "stream" else "x-quorum-initial-group-size"
    asked = (facts.arguments or {}).get(key)
    return min(asked, nodes or asked) if isinstance(asked, int) else None


def _offline(assignment: Assignment, inventory: Inventory) -> Found | None:
    facts = assignment.queue.facts
    members = facts.members or ()
    offline = [node for node in facts.offline() if not inventory.nodes or node in inventory.nodes]
    by_node = {runs: [node for node in offline if inventory.nodes.get(node) is runs] for runs in (True, False)}
    detail = {"offline": len(offline), "members": len(members), "type": assignment.queue.type}
    return ("members-offline", detail | {"start": by_node[False], "again": by_node[True]}) if offline else None


# Costs of mirrors, and their effect on publishers


def _keeps_mirrors(said: Mirroring | None, inventory: Inventory) -> bool:
    return said is not None and said.count != 1 and len(inventory.nodes) != 1


def _sync_batch(assignment: Assignment, inventory: Inventory) -> Found | None:
    """Compare a synchronisation batch with net_ticktime, and with the guide's example."""
    said, facts = assignment.in_force.mirroring, assignment.queue.facts
    if not _keeps_mirrors(said, inventory):
        return None
    known = facts.messages and facts.message_bytes is not None
    size_bytes = -(-facts.message_bytes // facts.messages) if known else ASSUMED_BYTES
    batch_size = said.sync_batch_size or inventory.sync_batch_size
    limit = inventory.sync_max_bytes_per_s
    batch_bytes = min(batch_size * size_bytes, limit) if limit else batch_size * size_bytes
    most_bytes = min(GUIDE_BATCH_BYTES, inventory.network_bytes_per_s * inventory.net_ticktime_s)
    if batch_bytes < most_bytes or SMALLEST_BATCH * size_bytes >= most_bytes:
        return None
    effort = Effort(((batch_size, size_bytes),), batch_size, 0, 2**63, inventory.network_bytes_per_s, limit)
    too_slow = effort.too_slow_us(round(inventory.net_ticktime_s * 1_000_000)) is not None
    return "sync-batch-over-ticktime" if too_slow else "sync-batch-large", {
        "batch_size": batch_size,
        "size_bytes": size_bytes,
        "assumed": "" if known else " (assumed)",
        "batch_mib": batch_bytes / MIB,
        "batch_s": batch_bytes / inventory.network_bytes_per_s,
        "network_mb_s": inventory.network_bytes_per_s / 1_000_000,
        "net_ticktime_s": inventory.net_ticktime_s,
    }


def _needs_confirms(assignment: Assignment, inventory: Inventory) -> Found | None:
    said = assignment.in_force.mirroring
    if not _keeps_mirrors(said, inventory) or said.promote_on_failure is not Promote.WHEN_SYNCED:
        return None
    if not inventory.published:
        return "when-synced-needs-confirms", {}
    return None if inventory.confirmed else ("when-synced-without-confirms", {"published": inventory.published})


def _before_quorum(assignment: Assignment, inventory: Inventory) -> Found | None:
    """Return the finding about what blocks the move to a quorum queue; else about what the move changes; else None."""
    found = before_quorum(assignment, inventory.profile)
    for weight, code in (("blocks", "blocks-quorum"), ("changes", "changes-for-quorum")):
        if found[weight]:
            return code, {weight: "; ".join(found[weight])}
    return None


CHECKS = {
    "classic": (
        _no_policy, _silenced, _listed_otherwise, _one_replica, _classic, _unsynchronised, _sync_batch, _needs_confirms,
        _before_quorum,
    ),
    "quorum": (_silenced, _listed_otherwise, _ghosts, _members, _offline),
    "stream": (_silenced, _listed_otherwise, _ghosts, _members, _offline),
}  # fmt: skip
"""The checks by type of queue."""


# Nodes


def node_findings(inventory: Inventory) -> Iterator[Finding]:
    """Yield the findings about nodes."""
    yield from _alone(inventory)
    yield from _piled(inventory)


def _alone(inventory: Inventory) -> Iterator[Finding]:
    """Yield a finding for the only node of a cluster with queues that could have replicas on other nodes."""
    if len(inventory.nodes) == 1 and any(not queue.facts.exclusive for queue in inventory.queues):
        [node] = inventory.nodes
        yield Finding("one-node", "node", node)


def _piled(inventory: Inventory) -> Iterator[Finding]:
    """Yield nodes with more than their share of the masters and leaders in listings.

    The share is RabbitMQ's when it rebalances (`rabbit_amqqueue:maybe_rebalance`), over the running nodes. A node that
    would keep too many, because queues without another replica cannot be moved, is left out.
    """
    masters = _masters(inventory)
    movable = Counter(queue.facts.leader or queue.facts.node for queue in inventory.queues if _is_movable(queue))
    nodes = sharing(inventory)
    total = sum(masters.values())
    if len(nodes) < 2 or total < 2 * len(nodes):
        return
    share = -(-total // len(nodes))
    for node, count in masters.most_common():
        if count > PILED * share >= count - movable[node]:
            yield Finding("masters-piled", "node", node, {"masters": count, "queues": total, "share": share})


def sharing(inventory: Inventory) -> list[str]:
    """Return the nodes among which masters and leaders are spread.

    These are the running nodes; if no file says which nodes run, the nodes that have a master or leader.
    """
    return [node for node, runs in inventory.nodes.items() if runs] or list(_masters(inventory))


def _masters(inventory: Inventory) -> Counter[str | None]:
    masters = Counter(queue.facts.leader or queue.facts.node for queue in inventory.queues)
    del masters[None]
    return masters


def _is_movable(queue: Queue) -> bool:
    """Return True unless the files say that a queue has no other replica."""
    others = queue.facts.mirrors if queue.type == "classic" else (queue.facts.members or [])[1:]
    return others is None or bool(others)


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
