"""Build the engine's first moment from a scenario's cluster, policies and queues."""

from __future__ import annotations

from collections.abc import Callable

from hawb.engine import first_state
from hawb.engine.core.moment import Moment
from hawb.engine.core.naming import described, join_queue, split_queue
from hawb.engine.core.settings import PartitionHandling, Settings, Timing
from hawb.engine.core.state import CLASSIC, NOWHERE
from hawb.engine.first_state import Standing
from hawb.engine.queues import lifecycle
from hawb.rules import queue_arguments
from hawb.rules.nearest_profile import profile_for
from hawb.rules.policies import Policy
from hawb.rules.policy_validation import refusal
from hawb.scenario.document import PauseIfAllDown, QueueEntry, Scenario
from hawb.scenario.document import Timing as TimingEntry
from hawb.scenario.fields import PolicyEntry
from hawb.scenario.refused import ScenarioRefused

SYNC_BATCH_SIZE = 4096
QUORUM_CLUSTER_SIZE = 3
MICROSECONDS = 1_000_000


def settings_of(scenario: Scenario) -> Settings:
    """Return the settings, which do not change while the scenario runs."""
    entry = scenario.cluster
    names = tuple(sorted(scenario.known_nodes))
    profile = profile_for(entry.version)
    return Settings(
        names=names,
        file_order=tuple(names.index(name) for name in scenario.known_nodes),
        profile=profile,
        seed=scenario.seed,
        timing=timing_of(entry.timing),
        net_ticktime_s=entry.net_ticktime,
        partition_handling=handling_of(entry.cluster_partition_handling, names.index),
        queue_master_locator=entry.queue_master_locator,
        quorum_cluster_size=entry.quorum_cluster_size or profile.quorum_cluster_size or QUORUM_CLUSTER_SIZE,
        quorum_commands_soft_limit=entry.quorum_commands_soft_limit or profile.quorum_commands_soft_limit,
        consumer_timeout=entry.consumer_timeout,
        sync_batch_size=entry.mirroring_sync_batch_size or SYNC_BATCH_SIZE,
        sync_max_bytes_per_s=(entry.mirroring_sync_max_throughput or 0) if profile.limits_sync_throughput else 0,
    )


def handling_of(entry: str | PauseIfAllDown, node: Callable[[str], int]) -> PartitionHandling:
    """Return cluster_partition_handling, with nodes' indices."""
    if isinstance(entry, str):
        return PartitionHandling(entry)
    return PartitionHandling("pause_if_all_down", tuple(map(node, entry.pause_if_all_down)), entry.recover)


def timing_of(entry: TimingEntry) -> Timing:
    """Return the contract's seconds and megabytes as exact microseconds and bytes."""
    return Timing(
        link_latency_us=microseconds(entry.link_latency_s),
        network_bytes_per_s=max(1, round(entry.network_mb_s * 1_000_000)),
        fsync_us=microseconds(entry.fsync_s),
        stop_us=microseconds(entry.stop_s),
        start_us=microseconds(entry.start_s),
        boot_retry_us=microseconds(entry.boot_retry_s),
        sync_messages_per_s=max(1, round(entry.sync_messages_s)),
        election_us=microseconds(entry.election_s),
    )


def microseconds(seconds: float) -> int:
    """Return seconds as whole microseconds."""
    return round(seconds * MICROSECONDS)


def begin(scenario: Scenario, settings: Settings) -> Moment:
    """Return the moment before the first step.

    Raise ScenarioRefused for a policy, or a queue, that RabbitMQ would not have accepted.
    """
    for field, operator in (("policies", False), ("operator_policies", True)):
        for index, entry in enumerate(getattr(scenario, field)):
            reason = policy_refusal(entry, settings, operator=operator)
            if reason is not None:
                raise ScenarioRefused(f"RabbitMQ would refuse this policy: {reason}", (field, index))
    for index, entry in enumerate(scenario.queues):
        if not settings.profile.mirroring and (entry.mirrors or entry.recoverable_mirrors):
            problem = f"RabbitMQ {settings.profile.version} has no mirrored queues"
            raise ScenarioRefused(problem, ("queues", index, "mirrors"))
        reason = queue_refusal(entry, settings)
        if reason is not None:
            raise ScenarioRefused(f"RabbitMQ would refuse this queue: {reason}", ("queues", index, "arguments"))
    return first_state.begin(
        settings,
        {settings.node(name): how for name, how in scenario.cluster.down.items()},
        [policy_of(entry) for entry in scenario.policies],
        [standing_of(entry, settings.node) for entry in scenario.queues],
        [policy_of(entry) for entry in scenario.operator_policies],
        {settings.node(name) for name in settings.names if name not in scenario.cluster.nodes},
    )


def policy_refusal(entry: PolicyEntry, settings: Settings, *, operator: bool = False) -> str | None:
    """Return RabbitMQ's reason for refusing to set a policy, or an operator policy; None if it accepts it."""
    fields = {
        "pattern": entry.pattern,
        "definition": entry.definition,
        "priority": entry.priority,
        "apply_to": entry.apply_to,
    }
    return refusal(fields, settings.profile, operator=operator)


def queue_refusal(entry: QueueEntry, settings: Settings) -> str | None:
    """Return RabbitMQ's reason for refusing to declare a queue with these arguments; None if it accepts them."""
    name = join_queue(*split_queue(entry.queue))
    if not lifecycle.is_known_type(entry.type, settings.profile):
        return queue_arguments.unknown_type(entry.type, described(name), settings.profile)
    return lifecycle.RULES[entry.type].refusal(dict(arguments_of(entry.arguments)), described(name), settings.profile)


def policy_of(entry: PolicyEntry) -> Policy:
    """Return a policy that RabbitMQ would accept, as the engine has it."""
    return Policy.of(entry.name, entry.pattern, entry.definition, entry.priority, entry.apply_to, entry.vhost)


def standing_of(entry: QueueEntry, node: Callable[[str], int]) -> Standing:
    """Return a queue of the file, as the engine has it."""
    place = entry.master if entry.type == CLASSIC else entry.leader
    return Standing(
        name=join_queue(*split_queue(entry.queue)),
        type=entry.type,
        durable=entry.durable,
        auto_delete=entry.auto_delete,
        arguments=arguments_of(entry.arguments),
        messages=entry.messages,
        unacknowledged=entry.unacknowledged,
        size_bytes=entry.size,
        master=NOWHERE if place is None else node(place),
        mirrors=tuple(map(node, entry.mirrors)),
        synchronised=tuple(map(node, entry.synchronised_mirrors)),
        recoverable=None if entry.recoverable_mirrors is None else tuple(map(node, entry.recoverable_mirrors)),
        members=tuple(map(node, entry.members)),
        stopped_members=tuple(map(node, entry.stopped_members)),
    )


def arguments_of(arguments: dict[str, object]) -> tuple[tuple[str, object], ...]:
    """Return queue arguments as a value: pairs, with lists as tuples and maps as text.

    They stay in the order in which the client sends them, since RabbitMQ names the first that it refuses.
    """
    return tuple((key, frozen(value)) for key, value in arguments.items())


def frozen(value: object) -> object:
    """Return a value of a file as one that can be compared and hashed."""
    if isinstance(value, list):
        return tuple(map(frozen, value))
    return value if isinstance(value, str | int | float | bool | None) else repr(value)
