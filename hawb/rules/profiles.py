"""Differences between the releases of RabbitMQ that a scenario can name, as one table.

A profile is an exact release, so that it can be compared with a real broker. Sources: each release's `rabbit_policies`,
`rabbit_mirror_queue_misc`, `rabbit_policy`, the queue types' `capabilities`, and the settings of `rabbit`'s application
file. Settings that come from the federation plugin count as known: a cluster that is imported with them had it.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace


class Profile(Struct, frozen=True):
    """One release's facts.

    `unsupported_settings` names, by queue type, the policy settings that make a policy pass that type over; a type that
    is not listed takes any. `declare_knows_type` is True if that also holds for a queue that is just being declared.
    `quorum_cluster_size` is the size of a new quorum queue, None for all members of the cluster. `locates_exclusive` is
    True if the master locator also places exclusive queues (`rabbit_classic_queue:declare` no longer does so).
    `leader_locator` is True if `rabbit_queue_location` places classic queues too (4.0): balanced or with the client,
    whatever queue_master_locator is configured. `limits_sync_throughput` is True if there is
    mirroring_sync_max_throughput (3.10.0).

    `drain_moves_masters` is True if a drained node gives away the masters of mirrored queues
    (`rabbit_maintenance:do_drain` up to 3.8.11), `drain_stops_members` if it stops all members of quorum queues, not
    only leaders (3.8.12), `drain_awaits_elections` if followers stop once the leaders have successors
    (`rabbit_quorum_queue:drain`, 4.2.0), `rebalance_spares_drained` if rebalancing leaves drained nodes out
    (`rabbit_amqqueue:maybe_rebalance`). `exclusive_counts_as_mirrored` is True if an exclusive queue under a policy
    that mirrors, which has no mirrors, is reported as mirrored (`rabbit_mirror_queue_misc:is_mirrored`, which reads the
    policy alone up to 3.8.11). `lone_boot_rounds` is how often a node that boots and finds no other goes through all
    its tries for tables: before 3.11 the check of feature flags does so first, and its failure does not count
    (`rabbit_feature_flags:verify_which_feature_flags_are_actually_enabled`, `rabbit_core_ff`); a 3.10.8 node waited ten
    minutes.

    `counts_deliveries` is True if a classic queue stores how far its deliveries have come, and not each delivery
    (3.10.0, until 4.3.0). `remembers_returns` is True if it stores what was requeued, and not what is with consumers as
    its process ends (4.3.0). `requeues_at_mirrors` is True if a promoted mirror informs the other mirrors of what it
    requeues (3.13.0). `orphaned_mirrors_confirm` is True if a channel takes the end of a mirror that finds itself on no
    record, or refuses promotion, for a confirm (`rabbit_channel:handle_publishing_queue_down`, until 3.9.0).
    `keeps_records` is True if the record of a durable classic queue stays in memory when its node goes down, mirrored
    or not (3.11.0, `rabbit_amqqueue:queues_to_delete_when_node_down`). `khepri` is True if metadata is kept in Khepri,
    by Raft, and not in Mnesia (4.3 has nothing else; 4.0 can be configured so). `denied_features` are deprecated
    features that are not permitted unless configured otherwise (`rabbit_deprecated_features`);
    `hawb.rules.denied_features` describes them.

    `lists_blocked` is True if listings of consumers show those that a classic queue has blocked
    (`rabbit_queue_consumers:all`, 4.3). `unicode_errors` is True if error texts show strings as Unicode (`~tp`), False
    for byte by byte (`~p`). `types_as_terms` is True if the refusal of basic.get from a queue with a single active
    consumer shows the queue's type as an Erlang term (`rabbit_channel:handle_basic_get`, 4.3).
    """

    version: str
    release: str
    apply_to: tuple[str, ...]
    apply_to_advice: str
    policy_settings: frozenset[str]
    operator_policy_settings: frozenset[str]
    unsupported_settings: tuple[tuple[str, frozenset[str]], ...]
    declare_knows_type: bool
    quorum_cluster_size: int | None
    lone_boot_rounds: int
    locates_exclusive: bool
    leader_locator: bool
    limits_sync_throughput: bool
    drain_moves_masters: bool
    drain_stops_members: bool
    rebalance_spares_drained: bool
    exclusive_counts_as_mirrored: bool
    late_answers_count: bool
    counts_deliveries: bool
    requeues_at_mirrors: bool
    orphaned_mirrors_confirm: bool
    keeps_records: bool
    khepri: bool
    denied_features: frozenset[str]
    lists_blocked: bool
    unicode_errors: bool
    consumer_timeout_ms: int | None
    queues_set_consumer_timeout: bool
    quorum_commands_soft_limit: int = 32
    drain_awaits_elections: bool = False
    types_as_terms: bool = False
    remembers_returns: bool = False
    channels_time_out: bool = True

    @property
    def mirroring(self) -> bool:
        """Return True if classic queues can be mirrored."""
        return "ha-mode" in self.policy_settings

    def unsupported_by(self, queue_type: str) -> frozenset[str]:
        """Return the settings that make a policy pass over queues of this type: classic, quorum or stream."""
        return dict(self.unsupported_settings).get(queue_type, frozenset())


def _settings(text: str) -> frozenset[str]:
    return frozenset(text.split())


HA_SETTINGS = _settings(
    "ha-mode ha-params ha-sync-mode ha-sync-batch-size ha-promote-on-shutdown ha-promote-on-failure"
)
FEDERATION_SETTINGS = _settings("federation-upstream federation-upstream-set federation-upstream-pattern")

_LIMITS = _settings(
    "expires message-ttl max-length max-length-bytes max-in-memory-length max-in-memory-bytes delivery-limit"
)
_SETTINGS_3_8 = (
    _LIMITS
    | HA_SETTINGS
    | FEDERATION_SETTINGS
    | _settings("alternate-exchange dead-letter-exchange dead-letter-routing-key")
    | _settings("queue-mode overflow queue-master-locator")
)
_SETTINGS_3_10 = _SETTINGS_3_8 | _settings(
    "dead-letter-strategy queue-version max-age stream-max-segment-size-bytes queue-leader-locator initial-cluster-size"
)
_SETTINGS_3_13 = _SETTINGS_3_10 | _settings("consumer-timeout stream-filter-size-bytes target-group-size")

_DELAYED_RETRY = _settings("delayed-retry-type delayed-retry-min delayed-retry-max")
_SETTINGS_4_0 = _SETTINGS_3_13 - HA_SETTINGS
_SETTINGS_4_3 = _SETTINGS_4_0 | _DELAYED_RETRY | {"consumer-disconnected-timeout"}

_OPERATOR_3_13 = _LIMITS | _settings("queue-version overflow target-group-size ha-mode ha-params ha-sync-mode")
_OPERATOR_4_0 = (_OPERATOR_3_13 - HA_SETTINGS) | {"queue-master-locator"}

# 3.8.9 lists the settings that a quorum queue supports, later releases those that it does not.
_QUORUM_SUPPORTS_3_8 = _settings(
    "max-length max-length-bytes max-in-memory-length max-in-memory-bytes delivery-limit"
    " dead-letter-exchange dead-letter-routing-key"
)
_NOT_IN_QUORUM = _settings(
    "max-priority queue-mode single-active-consumer ha-mode ha-params ha-sync-mode ha-promote-on-shutdown"
    " ha-promote-on-failure queue-master-locator max-age stream-max-segment-size-bytes initial-cluster-size"
)
_NOT_IN_STREAM_3_10 = _settings(
    "expires message-ttl dead-letter-exchange dead-letter-routing-key max-length max-in-memory-length"
    " max-in-memory-bytes max-priority overflow queue-mode single-active-consumer delivery-limit ha-mode ha-params"
    " ha-sync-mode ha-promote-on-shutdown ha-promote-on-failure queue-master-locator dead-letter-strategy"
)
_NOT_IN_STREAM_3_13 = _NOT_IN_STREAM_3_10 | {"target-group-size"}
_NOT_IN_CLASSIC_4_0 = _settings(
    "max-age stream-max-segment-size-bytes initial-cluster-size delivery-limit dead-letter-strategy"
    " max-in-memory-length max-in-memory-bytes target-group-size"
)
_NOT_IN_CLASSIC_3_10 = _settings(
    "max-age stream-max-segment-size-bytes queue-leader-locator initial-cluster-size"
    " delivery-limit dead-letter-strategy"
)

_APPLY_TO_ADVICE = "should be 'queues', 'exchanges' or 'all'"
_APPLY_TO_ADVICE_3_12 = (
    "should be one of: 'queues', 'classic_queues',  'quorum_queues', 'streams', 'exchanges', or 'all'"
)
_APPLY_TO = ("queues", "exchanges", "all")
_APPLY_TO_3_12 = ("queues", "classic_queues", "quorum_queues", "streams", "exchanges", "all")

_PROFILE_3_8 = Profile(
    version="3.8",
    release="3.8.9",
    apply_to=_APPLY_TO,
    apply_to_advice=_APPLY_TO_ADVICE,
    policy_settings=_SETTINGS_3_8,
    operator_policy_settings=_LIMITS,
    unsupported_settings=(("quorum", _SETTINGS_3_8 - _QUORUM_SUPPORTS_3_8),),
    declare_knows_type=False,
    quorum_cluster_size=None,
    lone_boot_rounds=2,
    locates_exclusive=True,
    leader_locator=False,
    limits_sync_throughput=False,
    drain_moves_masters=True,
    drain_stops_members=False,
    rebalance_spares_drained=False,
    exclusive_counts_as_mirrored=True,
    late_answers_count=False,
    counts_deliveries=False,
    requeues_at_mirrors=False,
    orphaned_mirrors_confirm=True,
    keeps_records=False,
    khepri=False,
    denied_features=frozenset(),
    lists_blocked=False,
    unicode_errors=False,
    consumer_timeout_ms=None,
    queues_set_consumer_timeout=False,
)

_PROFILE_3_10 = replace(
    _PROFILE_3_8,
    version="3.10",
    release="3.10.8",
    policy_settings=_SETTINGS_3_10,
    unsupported_settings=(
        ("classic", _NOT_IN_CLASSIC_3_10),
        ("quorum", _NOT_IN_QUORUM),
        ("stream", _NOT_IN_STREAM_3_10),
    ),
    declare_knows_type=True,
    quorum_cluster_size=3,
    locates_exclusive=False,
    limits_sync_throughput=True,
    drain_moves_masters=False,
    drain_stops_members=True,
    rebalance_spares_drained=True,
    exclusive_counts_as_mirrored=False,
    late_answers_count=True,
    counts_deliveries=True,
    orphaned_mirrors_confirm=False,
    consumer_timeout_ms=1_800_000,
)

_PROFILE_3_13 = replace(
    _PROFILE_3_10,
    version="3.13",
    release="3.13.7",
    apply_to=_APPLY_TO_3_12,
    apply_to_advice=_APPLY_TO_ADVICE_3_12,
    policy_settings=_SETTINGS_3_13,
    operator_policy_settings=_OPERATOR_3_13,
    unsupported_settings=(
        ("classic", _NOT_IN_CLASSIC_4_0 | {"queue-leader-locator"}),
        ("quorum", _NOT_IN_QUORUM),
        ("stream", _NOT_IN_STREAM_3_13),
    ),
    lone_boot_rounds=1,
    requeues_at_mirrors=True,
    keeps_records=True,
    unicode_errors=True,
    queues_set_consumer_timeout=True,
)

_PROFILE_4_0 = replace(
    _PROFILE_3_13,
    version="4.0",
    release="4.0.5",
    policy_settings=_SETTINGS_4_0,
    operator_policy_settings=_OPERATOR_4_0,
    unsupported_settings=(
        ("classic", _NOT_IN_CLASSIC_4_0),
        ("quorum", _NOT_IN_QUORUM),
        ("stream", _NOT_IN_STREAM_3_13),
    ),
    leader_locator=True,
)

_PROFILE_4_3 = replace(
    _PROFILE_4_0,
    version="4.3",
    release="4.3.6",
    policy_settings=_SETTINGS_4_3,
    operator_policy_settings=_OPERATOR_4_0 | _DELAYED_RETRY,
    counts_deliveries=False,
    khepri=True,
    denied_features=_settings("queue_master_locator global_qos"),
    lists_blocked=True,
    drain_awaits_elections=True,
    types_as_terms=True,
    remembers_returns=True,
    channels_time_out=False,
)

PROFILES: dict[str, Profile] = {
    one.version: one for one in (_PROFILE_3_8, _PROFILE_3_10, _PROFILE_3_13, _PROFILE_4_0, _PROFILE_4_3)
}
"""The profiles by the version that a scenario names. Each is written as its changes to the one before."""
