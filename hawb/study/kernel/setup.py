"""Design and environment as whole numbers, and what the kernel cannot do with them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import floor

import numpy as np
from msgspec.structs import asdict

from hawb.engine.classic.record_ports import NO_MIRRORS
from hawb.engine.core.settings import Settings, setup_of
from hawb.engine.core.state import Queue
from hawb.engine.quorum.fifo import RELEASES, UNLIMITED_PREFETCH
from hawb.rules.consumer_timeouts import configured_ms
from hawb.rules.policies import Mirroring
from hawb.rules.profiles import HA_SETTINGS
from hawb.rules.quorum_profiles import QUORUM_PROFILES
from hawb.scenario import beginning
from hawb.study import histories
from hawb.study.design import Design
from hawb.study.engine_trial import scenario
from hawb.study.environment import HOURS, ByHour, Environment
from hawb.study.kernel.khepri_state import KHEPRI_TRIAL, PARTITIONED_KHEPRI_TRIAL
from hawb.study.kernel.many_clients_state import MANY_CLIENTS_KHEPRI_TRIAL, MANY_CLIENTS_TRIAL
from hawb.study.kernel.partitioned_quorum_state import PARTITIONED_QUORUM_TRIAL
from hawb.study.kernel.partitioned_state import PARTITIONED_TRIAL
from hawb.study.kernel.quorum_state import QUORUM_TRIAL
from hawb.study.kernel.state import NEVER, TRIAL
from hawb.study.work import pause_us

DELIVERY_LIMIT = "delivery-limit"
KNOWN_SETTINGS = HA_SETTINGS | {"queue-master-locator", "queue-mode"}
LONGEST_HORIZON_US = 100 * 365 * histories.DAY_US
LARGEST = 2**62


def begin_trial(design: Design, environment: Environment, seed: int) -> np.ndarray:
    """Return a trial before it is played: one row.

    It is of `state.TRIAL`, of `khepri_state.KHEPRI_TRIAL` for a classic queue of 4.3, or of `quorum_state.QUORUM_TRIAL`
    for a quorum queue; if links may fail, of the type of the same name with PARTITIONED_. Raise ValueError with the
    reason for what the kernel cannot do.
    """
    reason = refused(design, environment)
    if reason is not None:
        raise ValueError(f"the kernel does not play {reason}")
    trial = np.zeros(1, kind_of(design, environment))
    begun = scenario(design, environment, seed)
    settings = beginning.settings_of(begun)
    (queue,) = beginning.begin(begun, settings).state.queues.values()
    mirroring, traffic = queue.mirroring, environment.traffic
    consumed = rate_of(traffic.consume_per_s) / clients_of(design, environment)
    listed = [settings.node(name) for name in (mirroring.nodes if mirroring else ()) if name in settings.names]
    values = {
        **of_settings(settings), **of_mirroring(mirroring, settings), "seed": seed,
        "late_answers_count": settings.profile.late_answers_count,
        "size_bytes": traffic.message_size_bytes, "persistent": traffic.persistent,
        "confirms": traffic.mode == "confirm", "automatic": traffic.ack == "auto",
        "listed": len(listed), "client_local": places_by_client(design),
        "consume_ticks": consumed.numerator, "consume_us": consumed.denominator,
        "prefetch": traffic.prefetch or (UNLIMITED_PREFETCH if design.queue_type == "quorum" else NEVER),
        "deadline_us": beginning.microseconds(traffic.late_after_s),
        **procedure(design, environment),
    }  # fmt: skip
    if design.queue_type == "quorum":
        values |= group(queue, settings)
    else:
        trial["listed"][0, : len(listed)] = listed
    for name, value in values.items():
        trial["setup"][name] = value
    trial["rates"] = rates(design, environment)
    return trial


def of_settings(settings: Settings) -> dict[str, int]:
    """Return the settings of a cluster."""
    timing = settings.timing
    return {
        **asdict(setup_of(settings)), "orphaned_mirrors_confirm": settings.profile.orphaned_mirrors_confirm,
        "sync_messages_per_s": timing.sync_messages_per_s,
        "sync_bytes_per_s": settings.sync_max_bytes_per_s, "sync_batch_size": settings.sync_batch_size,
    }  # fmt: skip


def of_mirroring(mirroring: Mirroring | None, settings: Settings) -> dict[str, int]:
    """Return the settings of a queue's mirrors."""
    mirroring = mirroring or NO_MIRRORS
    return {
        "mirrored": mirroring.mirrored, "mode": int(mirroring.mode), "count": mirroring.count or 0,
        "promote_on_shutdown": int(mirroring.promote_on_shutdown),
        "promote_on_failure": int(mirroring.promote_on_failure),
        "sync_automatic": int(mirroring.sync_automatic),
        "sync_batch_size": mirroring.sync_batch_size or settings.sync_batch_size,
    }


def kind_of(design: Design, environment: Environment) -> np.dtype:
    """Return the record type of a trial."""
    if environment.traffic.clients is not None:
        return MANY_CLIENTS_KHEPRI_TRIAL if design.profile.khepri else MANY_CLIENTS_TRIAL
    if design.queue_type == "quorum":
        return QUORUM_TRIAL if environment.partitions is None else PARTITIONED_QUORUM_TRIAL
    if design.profile.khepri:
        return KHEPRI_TRIAL if environment.partitions is None else PARTITIONED_KHEPRI_TRIAL
    return TRIAL if environment.partitions is None else PARTITIONED_TRIAL


def group(queue: Queue, settings: Settings) -> dict[str, int]:
    """Return the settings of a quorum queue and its group."""
    profile = QUORUM_PROFILES[settings.profile.version]
    return {
        "group_size": queue.quorum_settings.group_size, "shuffles": not profile.places_by_load,
        "registers": profile.registers_enqueuers, "asks_leader_first": profile.asks_leader_first,
        "least_cut": profile.least_cut, "shrinks": profile.shrinks_as_forgetting,
        "resends": profile.resends_at_soft_limit,
        "snapshot_every": profile.snapshot_every, "snapshot_every_at_most": profile.snapshot_every_at_most,
        "drain_stops_members": settings.profile.drain_stops_members,
        "drain_awaits_elections": settings.profile.drain_awaits_elections,
        "soft_limit": settings.quorum_commands_soft_limit,
        "hold_us": 1_000 * (queue.quorum_settings.consumer_disconnected_timeout_ms or 0),
        "delivery_limit": most_returns(queue.quorum_settings.delivery_limit),
    }  # fmt: skip


def most_returns(limit: float | None) -> int:
    """Return how often a message may be returned; NEVER if it is never given up for that."""
    return NEVER if limit is None or limit >= NEVER else max(0, floor(limit))


def places_by_client(design: Design) -> bool:
    """Return True if a declared queue gets its master where its client is."""
    keys = set(design.definition) | set(design.operator_policy)
    return design.queue_master_locator == "client-local" and "queue-master-locator" not in keys


def procedure(design: Design, environment: Environment) -> dict[str, int]:
    """Return the procedure of planned work."""
    upgrade, microseconds = design.upgrade, beginning.microseconds
    maintenance, upgrades = environment.maintenance, environment.rolling_upgrades
    return {
        "between_us": pause_us(upgrade),
        "awaits": upgrade.await_online_synchronized_mirror or upgrade.await_online_quorum_plus_one,
        "await_timeout_us": microseconds(upgrade.await_timeout_s),
        "syncs_by_hand": upgrade.sync_queue,
        "drains": upgrade.drain,
        "rebalances": upgrade.rebalance,
        "maintenance_us": microseconds(maintenance.down_s) if maintenance else 0,
        "upgrade_us": microseconds(upgrades.down_s) if upgrades else 0,
    }


def clients_of(design: Design, environment: Environment) -> int:
    """Return the number of publishers, and of consumers, that share the rates."""
    return 1 if environment.traffic.clients is None else design.nodes


def rates(design: Design, environment: Environment) -> np.ndarray:
    """Return a publisher's rates without and with a burst, by the hour, as ticks in microseconds."""
    traffic, clients = environment.traffic, clients_of(design, environment)
    times = (1, traffic.bursts.publish_times if traffic.bursts else 1)
    found = [[rate_of(traffic.publish_per_s, hour, many) / clients for hour in range(HOURS)] for many in times]
    return np.array([[(rate.numerator, rate.denominator) for rate in day] for day in found])


def rate_of(per_s: float | ByHour, hour: int = 0, times: float = 1) -> Fraction:
    """Return a rate in ticks in a microsecond, exactly as written."""
    return Fraction(str(histories.rate_at(per_s, hour) * times)) / 1_000_000


# What the kernel cannot do


def refused(design: Design, environment: Environment) -> str | None:
    """Return why the kernel cannot play a design in an environment; None if it can."""
    return next((reason for reason, applies in REFUSALS.items() if applies(design, environment)), None)


def unknown_settings(design: Design) -> set[str]:
    """Return the settings of its policies that are about more than mirrors."""
    known = KNOWN_SETTINGS | {DELIVERY_LIMIT} if counts_returns(design) else KNOWN_SETTINGS
    return (set(design.definition) | set(design.operator_policy)) - known


def known_arguments(design: Design) -> set[str]:
    """Return the queue's arguments that the kernel plays."""
    return {f"x-{DELIVERY_LIMIT}"} if counts_returns(design) else set()


def counts_returns(design: Design) -> bool:
    """Return True if a quorum queue gives up messages that are returned too often, as the kernel plays it.

    It does so in releases whose consumers do not get too much credit for that.
    """
    return design.queue_type == "quorum" and not RELEASES[design.profile.version].overpays


def is_too_slow(design: Design, environment: Environment) -> bool:
    """Return True if a synchronisation's batch could take net_ticktime, and part the nodes."""
    if design.queue_type == "quorum":
        return False
    batch_size = design.definition.get("ha-sync-batch-size") or design.mirroring_sync_batch_size or 4096
    size_bytes = batch_size * environment.traffic.message_size_bytes
    return size_bytes >= design.net_ticktime * environment.timing.network_mb_s * 1_000_000


def is_too_fine(design: Design, environment: Environment) -> bool:
    """Return True if ticks cannot be counted in 64 bits."""
    consume = rate_of(environment.traffic.consume_per_s) / clients_of(design, environment)
    return any(
        max(publish, consume.numerator) * 2 * LONGEST_HORIZON_US >= LARGEST
        or consume.numerator * per_us * publish >= LARGEST
        for publish, per_us in rates(design, environment).reshape(-1, 2).tolist()
    )


def is_too_late(design: Design, environment: Environment) -> bool:
    """Return True if consumers take longer for the messages of their prefetch than their timeout.

    See `hawb.engine.clients.deadlines.is_late_at_best`.
    """
    timeout_ms, traffic = configured_ms(None, design.profile), environment.traffic
    if timeout_ms is None or traffic.ack == "auto":
        return False
    rate = rate_of(traffic.consume_per_s) / clients_of(design, environment)
    return timeout_ms * 1_000 * rate < max(traffic.prefetch, 1)


def rate_of_day(environment: Environment) -> float:
    """Return the consumption rate in hour 0."""
    return histories.rate_at(environment.traffic.consume_per_s, 0)


REFUSALS: dict[str, Callable[[Design, Environment], bool]] = {
    "arguments: one of the queue's arguments": lambda design, _: bool(set(design.arguments) - known_arguments(design)),
    "policy: keys other than those for mirrors and delivery-limit": lambda design, _: bool(unknown_settings(design)),
    "net_ticktime: a synchronisation batch that takes as long as net_ticktime": is_too_slow,
    "upgrade.drain: maintenance mode, which moves masters in this release": lambda design, _: (
        design.queue_type == "classic" and design.upgrade.drain and design.profile.drain_moves_masters
    ),
    "consume_per_s: a rate that changes during the day": lambda _, environment: any(
        histories.rate_at(environment.traffic.consume_per_s, hour) != rate_of_day(environment) for hour in range(HOURS)
    ),
    "consume_per_s: queues without consumers": lambda _, environment: rate_of_day(environment) == 0,
    "consume_per_s: consumers that need more than consumer_timeout for all messages that they hold": is_too_late,
    "publish_per_s, consume_per_s: rates with so many decimal places": is_too_fine,
    "mode: transactions": lambda _, environment: environment.traffic.mode == "tx",
    "clients: clients on every node of a quorum queue": lambda design, environment: (
        design.queue_type == "quorum" and environment.traffic.clients is not None
    ),
}  # fmt: skip
"""The reasons why the kernel refuses a design, in the order of reports, each with its predicate."""
