"""What does not change in a trial: a design and an environment, read once for all trials."""

from __future__ import annotations

from fractions import Fraction

from msgspec import Struct

from hawb.engine.core.settings import Timing
from hawb.rules.policies import HaMode, Mirroring, Promote, SyncMode, mirroring
from hawb.scenario.beginning import settings_of
from hawb.study.design import Design
from hawb.study.engine_trial import scenario
from hawb.study.environment import Environment, Traffic
from hawb.study.histories import CONSUMERS_AWAY, CONSUMERS_BACK, KILL, START, STOP

FAULTS = (START, STOP, KILL, CONSUMERS_AWAY, CONSUMERS_BACK)
"""What may happen in a history, of `hawb.study.histories`."""


class Given(Struct, frozen=True):
    """A cluster of so many nodes, its queue and its clients. Rates are messages a microsecond, exactly as written;
    `by_lot` is whether the first mirrors are in an order that is drawn, `late_answers_count` whether an acknowledgement
    meant for a master that is gone counts for a message that was sent again."""

    nodes: int
    by_lot: bool
    timing: Timing
    lone_boot_rounds: int
    late_answers_count: bool
    syncs: bool
    sync_batch_size: int
    most_sync_bytes_per_s: int
    size_bytes: int
    published: Fraction
    consumed: Fraction

    def link_us(self, one: int, other: int) -> int:
        """Return the latency from one node to another."""
        return 0 if one == other else self.timing.link_latency_us

    def transfer_us(self, count: int) -> int:
        """Return how long a number of messages takes from one node to another."""
        return self.timing.link_latency_us + count * self.size_bytes * 1_000_000 // self.timing.network_bytes_per_s

    def sync_us(self, count: int) -> int:
        """How long a synchronisation sends so many messages: whatever is slowest, and a latency for each batch."""
        size_bytes = count * self.size_bytes
        paces = [(count, self.timing.sync_messages_per_s), (size_bytes, self.timing.network_bytes_per_s)]
        if self.most_sync_bytes_per_s:
            paces.append((size_bytes, self.most_sync_bytes_per_s))
        batches = -(-count // self.sync_batch_size)
        return max(amount * 1_000_000 // pace for amount, pace in paces) + batches * self.timing.link_latency_us


def read(design: Design, environment: Environment) -> Given:
    """A design and an environment as the model takes them. Raises ValueError for what it does not model."""
    policy, traffic = mirroring(design.definition), environment.traffic
    unknown = sorted(name for name, modelled in modelled_of(design, policy, traffic).items() if not modelled)
    if unknown:
        raise ValueError(f"not modelled here: {', '.join(unknown)}; the module's docstring tells what is")
    settings = settings_of(scenario(design, environment, 0))
    return Given(
        nodes=design.nodes,
        by_lot=policy.mode == HaMode.EXACTLY,
        timing=settings.timing,
        lone_boot_rounds=settings.profile.lone_boot_rounds,
        late_answers_count=settings.profile.late_answers_count,
        syncs=policy.sync_mode == SyncMode.AUTOMATIC,
        sync_batch_size=policy.sync_batch_size or settings.sync_batch_size,
        most_sync_bytes_per_s=settings.sync_max_bytes_per_s,
        size_bytes=traffic.message_size_bytes,
        published=Fraction(str(traffic.publish_per_s)) / 1_000_000,
        consumed=Fraction(str(traffic.consume_per_s)) / 1_000_000,
    )


def modelled_of(design: Design, policy: Mirroring | None, traffic: Traffic) -> dict[str, bool]:
    """What a design and its traffic may differ in, and whether the model has it."""
    everywhere = policy is not None and (policy.mode == HaMode.ALL or policy.count == design.nodes)
    return {
        "a queue without a mirror on every node": everywhere,
        "ha-promote-on-failure": everywhere and policy.promote_on_failure == Promote.ALWAYS,
        "ha-promote-on-shutdown": everywhere and policy.promote_on_shutdown == Promote.WHEN_SYNCED,
        "cluster_partition_handling": design.cluster_partition_handling == "pause_minority",
        "operator_policy": not design.operator_policy,
        "arguments": not design.arguments,
        "mode": traffic.mode == "confirm",
        "ack": traffic.ack == "manual",
        "prefetch": not traffic.prefetch,
        "persistent": traffic.persistent,
        "publish_per_s": isinstance(traffic.publish_per_s, int | float) and traffic.publish_per_s > 0,
        "consume_per_s": isinstance(traffic.consume_per_s, int | float) and traffic.consume_per_s > 0,
    }
