"""Queues that behave alike, so that looking ahead plays one of each kind: the same type, place, arguments and policies.

Only queues that exist at the start of a scenario without steps are grouped: that is what an export is. A queue stays
alone if its course depends on more than itself: the rules place it at random, or dead letters come from it or go to it.
The answer says nothing about queues whose course the files do not determine (`unknown`). Of these, one of each type and
policy is played, and those that RabbitMQ would refuse, and those that receive dead letters of other queues.
Queues of a kind are empty together or hold messages together; those with limits or unacknowledged messages hold exactly
as many. With `by_backlog`, because a backlog decides how long a synchronisation takes, they hold messages of the same
order of magnitude. The fullest stands for its kind.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Container

from msgspec import Struct
from msgspec.structs import replace

from hawb.engine.core.naming import join_queue, split_queue
from hawb.exports.queue_rows import QueueFacts
from hawb.planning.assignments import InForce, assign
from hawb.planning.inventory import Inventory, Queue
from hawb.rules.limits import LIMIT_SETTINGS, Limits, limits
from hawb.rules.nearest_profile import profile_for
from hawb.scenario.beginning import policy_of, queue_refusal, settings_of
from hawb.scenario.document import QueueEntry, Scenario


class Alike(Struct, frozen=True):
    """A scenario with one queue of each kind.

    Maps each one's full name to all queues that it stands for, itself first.
    """

    scenario: Scenario
    kinds: dict[str, tuple[QueueEntry, ...]]

    def counts(self) -> dict[str, int]:
        """Return how many queues each representative stands for."""
        return {name: len(entries) for name, entries in self.kinds.items()}


def alike(scenario: Scenario, by_backlog: bool = False, unknown: Container[str] = ()) -> Alike:
    """Group the scenario's queues by kind and keep one representative of each.

    `unknown` holds the full names of queues about which the files say too little; no claim is made about them.
    """
    entries = scenario.queues
    if scenario.steps:
        return Alike(scenario, {full_name(entry): (entry,) for entry in entries})
    found: dict[tuple, list[QueueEntry]] = defaultdict(list)
    settings, each = settings_of(scenario), list(zip(entries, _in_force(scenario), strict=True))
    uncertain = {entry.queue for entry in entries if full_name(entry) in unknown}
    targets = {_limits(entry, force).dead_letter_routing_key for entry, force in each if entry.queue not in uncertain}
    for entry, force in each:
        if entry.queue in uncertain:
            alone = entry.queue in targets or (entry.arguments and queue_refusal(entry, settings) is not None)
            kind = entry.type, entry.durable, split_queue(entry.queue)[0], force.policy, force.operator_policy
        else:
            lettered = _limits(entry, force).dead_letter_exchange is not None
            alone = lettered or entry.queue in targets or not (entry.master or entry.members)
            kind = () if alone else _kind(entry, force, by_backlog)
        found[(entry.queue,) if alone else kind].append(entry)
    kinds = {}
    for those in found.values():
        first = max(those, key=lambda entry: entry.messages * entry.size)
        kinds[full_name(first)] = (first, *(entry for entry in those if entry is not first))
    return Alike(replace(scenario, queues=tuple(those[0] for those in kinds.values())), kinds)


def full_name(entry: QueueEntry) -> str:
    """Return the queue's full name, whichever way the scenario file writes it."""
    return join_queue(*split_queue(entry.queue))


def _kind(entry: QueueEntry, force: InForce, by_backlog: bool) -> tuple:
    exactly = entry.unacknowledged > 0 or bool(_limited(entry, force))
    backlog: tuple[int, ...] = (entry.messages > 0,)
    if exactly:
        backlog = entry.messages, entry.unacknowledged, entry.size
    elif by_backlog:
        backlog = entry.messages.bit_length(), (entry.messages * entry.size).bit_length()
    return (
        entry.type, entry.durable, entry.auto_delete, json.dumps(entry.arguments, sort_keys=True),
        entry.master, entry.mirrors, entry.synchronised_mirrors, entry.recoverable_mirrors, entry.leader, entry.members,
        entry.stopped_members, split_queue(entry.queue)[0], force.policy, force.operator_policy, backlog,
    )  # fmt: skip


def _limited(entry: QueueEntry, force: InForce) -> set[str]:
    """Return the names of the limits that apply to the queue, by policy or by argument, as policies name them."""
    return LIMIT_SETTINGS & {*(force.definition or {}), *(key.removeprefix("x-") for key in entry.arguments)}


def _limits(entry: QueueEntry, force: InForce) -> Limits:
    return limits(force.definition or {}, entry.arguments)


def _in_force(scenario: Scenario) -> list[InForce]:
    """Return the policies in force for each queue of the scenario."""
    queues = [Queue(*split_queue(entry.queue), QueueFacts(type=entry.type)) for entry in scenario.queues]
    inventory = Inventory(
        profile=profile_for(scenario.cluster.version),
        policies=[policy_of(entry) for entry in scenario.policies],
        operator_policies=[policy_of(entry) for entry in scenario.operator_policies],
        queues=queues,
    )
    return [assignment.in_force for assignment in assign(inventory).assignments]
