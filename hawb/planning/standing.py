"""Describe a cluster at a later stop of its upgrade path: the same nodes and queues under the rules of that release.

A run keeps the rules of its own release. For a later one its nodes, queues and policies are taken as they are at its
end, without clients, exclusive queues and unacknowledged deliveries. From the step on that ends mirroring, mirrored
queues are what `hawb migrate` makes of them: quorum queues with members on their replicas' nodes, and on further nodes
if they are to have more; or, if they cannot be moved, classic queues with one replica.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from hawb.engine.core.state import GROUPED
from hawb.exports.queue_rows import QueueFacts
from hawb.planning.inventory import Inventory, Queue, of_run
from hawb.planning.migration import Move, migrate
from hawb.planning.refused_there import refused_arguments
from hawb.rules.feature_matrix import Feature
from hawb.rules.policies import Policy
from hawb.rules.profiles import HA_SETTINGS, PROFILES, Profile
from hawb.scenario.document import PolicyEntry, QueueEntry, Scenario
from hawb.scenario.run import Run


def standing_at(run: Run, version: str, moved: bool, matrix: Mapping[str, Feature]) -> Scenario:
    """Return the scenario of a run's cluster when it runs another version; the run's own scenario if nothing changes.

    `moved` is True if its mirrored queues have been moved to quorum queues.
    """
    inventory, own = of_run(run), run.scenario
    mirrored = any(queue.facts.mirrors for queue in inventory.queues) or _mirrors(inventory.policies)
    if version == own.cluster.version and not (moved and mirrored):
        return own
    target = PROFILES[version]
    policies, operators = inventory.policies, inventory.operator_policies
    if moved:
        plan = migrate(inventory, version, matrix)
        entries = [_moved(move, target, inventory.nodes) for move in plan.moves if not move.queue.facts.exclusive]
        policies, operators = plan.policies(operator=False), plan.policies(operator=True)
    else:
        entries = list(_as_they_are(inventory, target))
    down = {node: "stopped" for node, runs in inventory.nodes.items() if not runs}
    named = (node for entry in entries for node in entry.members)
    down |= {node: "forgotten" for node in named if node not in inventory.nodes}
    nodes = tuple(dict.fromkeys((*inventory.nodes, *down)))
    return replace(
        own,
        cluster=replace(own.cluster, nodes=nodes, version=version, down=down),
        policies=tuple(_policies(policies, moved or not target.mirroring)),
        operator_policies=tuple(_policies(operators, moved or not target.mirroring)),
        queues=tuple(entries),
        steps=(),
        expect=None,
        racy=None,
    )


def _mirrors(policies: list[Policy]) -> bool:
    return any(HA_SETTINGS & policy.definition.keys() for policy in policies)


def _as_they_are(inventory: Inventory, target: Profile) -> Iterator[QueueEntry]:
    for queue in inventory.queues:
        facts = queue.facts
        if facts.exclusive:
            continue
        refused = refused_arguments(queue, target)
        common = _common(queue.full_name, facts) | {
            "arguments": {key: value for key, value in (facts.arguments or {}).items() if key not in refused},
        }
        if queue.type in GROUPED:
            yield _group(common, queue, inventory.nodes)
        elif facts.node is None or not target.mirroring:
            yield QueueEntry(**common, master=facts.node)
        else:
            yield QueueEntry(**common, master=facts.node, mirrors=tuple(facts.mirrors or ()),
                             synchronised_mirrors=tuple(facts.synchronised or ()))  # fmt: skip


def _group(common: Mapping, queue: Queue, nodes: Mapping[str, bool]) -> QueueEntry:
    """Return the entry of a queue with members; members that do not run though their node does stay stopped."""
    facts = queue.facts
    return QueueEntry(**common, type=queue.type, members=tuple(facts.members or ()), leader=facts.leader,
                      stopped_members=tuple(facts.stopped(nodes)))  # fmt: skip


def _moved(move: Move, target: Profile, nodes: Mapping[str, bool]) -> QueueEntry:
    facts = move.queue.facts
    if move.queue.type in GROUPED:
        return _group(_common(move.queue.full_name, facts) | {"arguments": move.arguments}, move.queue, nodes)
    if move.mirrored and move.type == "quorum":
        common = _common(move.queue.full_name, facts) | {"arguments": move.arguments, "durable": True}
        members = () if facts.node is None else _members(facts.node, facts.mirrors or (), nodes, _size(move, target))
        return QueueEntry(**common, type="quorum", members=members, leader=facts.node)
    refused = refused_arguments(move.queue, target)
    kept = {key: value for key, value in (facts.arguments or {}).items() if key not in refused}
    return QueueEntry(**_common(move.queue.full_name, facts), arguments=kept, master=facts.node)


def _size(move: Move, target: Profile) -> int | None:
    size = move.arguments.get("x-quorum-initial-group-size", target.quorum_cluster_size)
    return size if isinstance(size, int) else None


def _members(master: str, mirrors: Iterable[str], nodes: Iterable[str], size: int | None) -> tuple[str, ...]:
    """Return as many members as the queue is declared with, replicas' nodes first; all nodes without a size."""
    return tuple(dict.fromkeys((master, *mirrors, *nodes)))[:size]


def _common(name: str, facts: QueueFacts) -> dict:
    messages = facts.messages or 0
    size = {"size": round((facts.message_bytes or 0) / messages)} if messages else {}
    return {"queue": name, "durable": facts.durable is not False, "messages": messages,
            "auto_delete": facts.auto_delete is True, **size}  # fmt: skip


def _policies(policies: list[Policy], unmirrored: bool) -> Iterator[PolicyEntry]:
    """Yield policies as scenario entries.

    If nothing is mirrored, leave out the mirroring settings, for which the release would refuse the policy.
    """
    for policy in policies:
        definition = {key: value for key, value in policy.definition.items() if not (unmirrored and key in HA_SETTINGS)}
        if definition:
            yield PolicyEntry(name=policy.name, vhost=policy.vhost, pattern=policy.pattern, definition=definition,
                              priority=policy.priority, apply_to=policy.apply_to)  # fmt: skip
