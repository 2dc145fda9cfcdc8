"""Facts on each series of RabbitMQ from 3.8 to 4.3 as a stop of an upgrade, as one table.

They were read at the newest tag of each series, of 4.2 and 4.3 at 4.2.9 and 4.3.5; `latest` is the newest release that
RabbitMQ's guide Erlang Version Requirements names. Flags are those of `rabbit_core_ff` and of the plugins' modules:
from the release on in which a flag is `required` there, a node needs it. Up to 4.0, and with the level `hard` later, a
node without it ends its boot (`rabbit_ff_registry_factory`: "required feature flag not enabled! It must be enabled
before upgrading RabbitMQ."). Those that 4.3 adds are of the level `soft`: its first node enables them itself when it
boots, if every running node knows them (`rabbit_ff_controller:sync_cluster_task`, `enable_many`).

Tried on real nodes: 3.10.8 -> 4.0.5 fails with that text; so does 4.0.5 -> 4.3.6 node by node, with and without
khepri_db (`amqp_filter_set_bug`: unsupported). Without khepri_db, the node that was refused went back to 4.0.5 with its
folder as it was, and the other nodes lost their tables (no_exists); with a copy of the folder from before, all
continued. With khepri_db enabled and all three nodes stopped, 4.3.6 boots on the folders of 4.0.5 and has every durable
message: not supported, though it boots.

The least Erlang is that of `rabbit_prelaunch_erlang_compat`, or of the release notes where they ask for a later one;
the newest is that of the same guide.
"""

from __future__ import annotations

from msgspec import Struct


class Fact(Struct, frozen=True):
    """A change that comes with a release: what it is, its source, and what to do before the upgrade."""

    what: str
    source: str
    do: str = ""


MACHINE_BY_LEADER = Fact(
    "a quorum queue uses the new rules once a member on an upgraded node becomes its leader. Members on nodes of the"
    " old release do not vote for such a leader; they store its log entries, but apply them only when their node is"
    " upgraded",
    "Ra up to 2.15: ra_server:process_pre_vote, apply_with; rabbit_fifo:version",
)
MACHINE_BY_ALL = Fact(
    "a quorum queue uses the old release's rules until the nodes of all its members are upgraded",
    "Ra since 2.16: ra_server, machine_upgrade_strategy all; rabbit_fifo:version",
)


class Release(Struct, frozen=True, kw_only=True):
    """One series.

    `since` are the series whose nodes can be upgraded to it one by one, `least` the least patch release of them.
    `flags` have to be enabled before its first node boots, beside all that came before; `without` is what happens
    otherwise. `brings` are flags to enable once all nodes are upgraded. `machine` is the version of quorum queues'
    rules (`rabbit_fifo:version`), `machine_waits` when a queue starts to use it. `mixed` is what else does not work
    while older nodes are left.
    """

    series: str
    latest: str
    since: tuple[str, ...] = ()
    source: str = ""
    least: tuple[tuple[str, str], ...] = ()
    erlang: str
    erlang_most: str
    erlang_note: str = ""
    machine: int
    machine_waits: Fact = MACHINE_BY_LEADER
    flags: tuple[str, ...] = ()
    flags_of_plugins: tuple[str, ...] = ()
    without: str = ""
    brings: tuple[str, ...] = ()
    removed: tuple[Fact, ...] = ()
    mixed: tuple[Fact, ...] = ()


REFUSES_TO_BOOT = "the first node of the new release does not boot: required feature flag not enabled"

_3_8 = Release(
    series="3.8",
    latest="3.8.35",
    machine=1,
    erlang="23.2",
    erlang_most="24.3",
    brings=("quorum_queue", "implicit_default_bindings", "virtual_host_metadata", "maintenance_mode_status",
            "user_limits"),
)  # fmt: skip
_3_9 = Release(
    series="3.9",
    latest="3.9.29",
    machine=1,
    since=("3.8",),
    source="release notes of 3.9.0, Upgrading to 3.9",
    erlang="24.3.4.2",
    erlang_most="25.2",
    brings=("stream_queue",),
    mixed=(
        Fact("a quorum queue cannot be declared on a node of the release that fewer nodes run",
             "release notes of 3.9.0, Quorum Queue Declaration"),
        Fact("the management API has fewer metrics, or metrics of fewer queues",
             "release notes of 3.9.0, Classic Queue Metrics"),
    ),
)  # fmt: skip
_3_10 = Release(
    series="3.10",
    latest="3.10.25",
    machine=2,
    since=("3.9",),
    source="release notes of 3.10.0, Upgrading to 3.10",
    erlang="24.3.4.8",
    erlang_most="25.3",
    brings=("classic_mirrored_queue_version", "classic_queue_type_delivery_support"),
    removed=(
        Fact("max-in-memory-length and max-in-memory-bytes no longer have an effect on quorum queues",
             "release notes of 3.10.0, Core Server"),
    ),
)  # fmt: skip
_3_11 = Release(
    series="3.11",
    latest="3.11.28",
    machine=3,
    since=("3.10",),
    source="release notes of 3.11.0, Upgrading to 3.11",
    erlang="25.0",
    erlang_most="25.3",
    flags=("quorum_queue", "implicit_default_bindings", "virtual_host_metadata", "maintenance_mode_status",
           "user_limits"),
    without=REFUSES_TO_BOOT,
    brings=("stream_single_active_consumer", "feature_flags_v2", "direct_exchange_routing_v2",
            "listener_records_in_ets", "tracking_records_in_ets", "stream_sac_coordinator_unblock_group"),
)  # fmt: skip
_3_12 = Release(
    series="3.12",
    latest="3.12.14",
    machine=3,
    since=("3.11",),
    source="release notes of 3.12.0, Upgrading to 3.12",
    least=(("3.11", "3.11.18"),),
    erlang="25.0",
    erlang_most="26.2",
    erlang_note="upgrade to Erlang 26 together with RabbitMQ 3.12 or later, never before: a cluster of 3.11 is not"
                " safe with Erlang 26 if any node runs a release below 3.11.17",
    flags=("stream_queue", "classic_mirrored_queue_version", "classic_queue_type_delivery_support",
           "stream_single_active_consumer", "feature_flags_v2", "direct_exchange_routing_v2",
           "listener_records_in_ets", "tracking_records_in_ets"),
    flags_of_plugins=("empty_basic_get_metric", "drop_unroutable_metric"),
    without=REFUSES_TO_BOOT,
    brings=("restart_streams", "delete_ra_cluster_mqtt_node"),
    removed=(
        Fact("x-queue-mode and queue-mode no longer have an effect: all classic queues now move messages to disk"
             " early, as lazy queues did", "release notes of 3.12.0, Highlights"),
    ),
)  # fmt: skip
_3_13 = Release(
    series="3.13",
    latest="3.13.7",
    machine=3,
    since=("3.12",),
    source="release notes of 3.13.0, Upgrading to 3.13",
    erlang="26.0",
    erlang_most="26.2",
    erlang_note="on Erlang 26, TLS clients (shovels, federation, LDAP) verify certificates by default",
    brings=("stream_filtering", "message_containers", "stream_update_config_command", "quorum_queue_non_voters",
            "message_containers_deaths_v2", "detailed_queues_endpoint", "mqtt_v5"),
    removed=(
        Fact("khepri_db is experimental in 3.13: a cluster on which it is enabled cannot be upgraded to 4.0 or later",
             "release notes of 4.0.1, Migrating 3.13.x Clusters with Khepri Enabled",
             "do not enable khepri_db before 4.2"),
    ),
)  # fmt: skip
_4_0 = Release(
    series="4.0",
    latest="4.0.9",
    machine=5,
    since=("3.13",),
    source="release notes of 4.0.1, Upgrading to 4.0",
    erlang="26.2",
    erlang_most="27",
    flags=("stream_sac_coordinator_unblock_group", "restart_streams", "stream_filtering", "message_containers",
           "stream_update_config_command"),
    flags_of_plugins=("delete_ra_cluster_mqtt_node", "mqtt_v5"),
    without=REFUSES_TO_BOOT,
    brings=("rabbitmq_4.0.0",),
    removed=(
        Fact("mirrored queues: the mirroring keys of policies have no effect, and each queue has one replica",
             "release notes of 4.0.1, Classic Queues is Now a Non-Replicated Queue Type",
             "before the upgrade, move every mirrored queue and clear the ha- settings of policies"),
        Fact("storage version 1 of classic queues: a node converts such queues when it boots, and does not start if"
             " rabbitmq.conf has classic_queue.default_version = 1",
             "release notes of 4.0.1, CQv1 Storage Implementation was Removed",
             "remove this line from rabbitmq.conf"),
        Fact("cluster_formation.randomized_startup_delay_range.*: a node with this setting does not start",
             "release notes of 4.0.1", "remove this setting from rabbitmq.conf"),
        Fact("quorum queues without a delivery limit now have a limit of 20",
             "release notes of 4.0.1, Quorum Queues Now Have a Default Redelivery Limit",
             "give these queues a dead letter exchange, or set another limit by policy"),
        Fact("messages above 16 MiB are refused, unless max_message_size allows larger ones",
             "release notes of 4.0.1, Default Maximum Message Size Reduced to 16 MiB"),
        Fact("RabbitMQ no longer interprets the x-death header of a message that a client publishes",
             "release notes of 4.0.1, AMQP 0.9.1 x-death header"),
    ),
    mixed=(
        Fact("shovels on 3.13 nodes can use AMQP 1.0 to connect to a new node only from 3.13.7 on",
             "release notes of 4.0.1, Shovels"),
    ),
)  # fmt: skip
_4_1 = Release(
    series="4.1",
    latest="4.1.8",
    machine=7,
    machine_waits=MACHINE_BY_ALL,
    since=("3.13", "4.0"),
    source="release notes of 4.1.0, Upgrading to 4.1.0",
    erlang="26.2",
    erlang_most="27",
    brings=("rabbitmq_4.1.0",),
    removed=(
        Fact("clients with a frame_max below 8192, such as Node.js's amqplib before 0.10.7, cannot connect",
             "release notes of 4.1.0, Initial AMQP 0-9-1 Maximum Frame Size", "upgrade such clients first"),
    ),
)  # fmt: skip
_4_2 = Release(
    series="4.2",
    latest="4.2.11",
    machine=7,
    machine_waits=MACHINE_BY_ALL,
    since=("3.13", "4.0", "4.1"),
    source="release notes of 4.2.0, Upgrading to 4.2.0",
    erlang="27.0",
    erlang_most="27",
    erlang_note="use Erlang 27, not 28: with Khepri, nodes on Erlang 27 and nodes on Erlang 28 are not compatible"
                " during an upgrade",
    brings=("rabbitmq_4.2.0",),
    removed=(
        Fact("AMQP 1.0: a message without a header section is not durable", "release notes of 4.2.0", "set durable"),
        Fact("metrics that begin with rabbitmq_raft have other names", "release notes of 4.2.0, Ra Metric Changes"),
    ),
)  # fmt: skip
_4_3 = Release(
    series="4.3",
    latest="4.3.6",
    machine=8,
    machine_waits=MACHINE_BY_ALL,
    since=("4.2",),
    source="release notes of 4.3.0, Upgrading to 4.3.0",
    erlang="27.0",
    erlang_most="28",
    erlang_note="stay on Erlang 27 for this step. Upgrade to Erlang 28 only when every node runs 4.3.6 or later: in"
    " earlier releases with Khepri, nodes on Erlang 27 and nodes on Erlang 28 are not compatible",
    flags=("khepri_db", "quorum_queue_non_voters", "message_containers_deaths_v2", "rabbitmq_4.0.0", "rabbitmq_4.1.0",
           "rabbitmq_4.2.0"),
    flags_of_plugins=("detailed_queues_endpoint",),
    without="the first node of 4.3 enables the missing flags while it boots, if every node of the cluster runs and"
    " supports them, and then moves metadata to Khepri. Otherwise, it does not boot (incompatible_feature_flags), and"
    " its metadata may already have moved. Before this node runs the old release again, restore the copy of its data"
    " folder: otherwise, the running nodes can lose their metadata",
    brings=("rabbitmq_4.3.0", "track_qq_members_uids", "tie_binding_to_dest_with_keep_while_cond",
            "topic_binding_projection_v4", "topic_binding_projection_v5"),
    removed=(
        Fact("Mnesia: metadata is only in Khepri. Without a majority of the nodes, no queue, binding, policy or user"
             " can be declared or changed, and no node boots",
             "release notes of 4.3.0, Khepri is Now The Only Metadata Store; rabbit_khepri:setup",
             "have three nodes or more, and always keep more than half of them running"),
        Fact("partition handling: cluster_partition_handling has no effect, so no node pauses or restarts in a"
             " partition",
             "release notes of 4.3.0; rabbit_node_monitor",
             "remove cluster_partition_handling from rabbitmq.conf, and remove alerts that expect nodes to pause or"
             " restart"),
        Fact("force_boot does nothing; force_reset and forget_cluster_node --offline are refused",
             "rabbit_db:force_load_on_next_boot, force_reset", "remove these commands from scripts"),
        Fact("queues that are neither durable nor exclusive: up to 4.3.5, RabbitMQ refuses to declare one (541), and"
             " no node boots while the cluster has one (failed_to_deny_deprecated_features); 4.3.6 accepts such"
             " queues",
             "rabbit_ff_controller:list_deprecated_features_that_cant_be_denied; rabbitmq-server#17163",
             "upgrade directly to 4.3.6, delete such queues first, or set"
             " deprecated_features.permit.transient_nonexcl_queues = true on every node"),
        Fact("x-queue-master-locator and queue-master-locator are refused", "rabbit_classic_queue:validate_policy;"
             " deprecated feature queue_master_locator", "use queue-leader-locator"),
        Fact("a prefetch for a whole channel (basic.qos with global) applies to each consumer separately",
             "rabbit_channel:is_global_qos_permitted; deprecated feature global_qos"),
        Fact("x-queue-version 1 is refused; x-queue-mode is accepted without effect, although the release notes say"
             " that it is refused", "rabbit_amqqueue:check_queue_version, declare_args"),
        Fact("classic queues and streams have no consumer timeout", "release notes of 4.3.0, Consumer Timeouts are No"
             " Longer Evaluated"),
        Fact("RAM nodes", "release notes of 4.3.0, Deprecated Features", "change them to disc nodes first"),
        Fact("rabbitmqadmin v1 can no longer be downloaded from a node", "release notes of 4.3.0"),
        Fact("in a cluster that had the plugin rabbitmq_amqp1_0 in 3.13, every node must be restarted once more, one"
             " after the other, after rabbitmq_4.0.0 was enabled and before this step", "release notes of 4.3.0, New"
                 " Required Feature"
             " Flags"),
    ),
    mixed=(
        Fact("a queue that is neither durable nor exclusive, declared on a node of 4.2, keeps the next node of 4.3 from"
             " booting", "rabbitmq-server#17163"),
        Fact("before 4.3.5, a node of 4.2 cannot report on members of quorum queues on a node of 4.3",
             "release notes of 4.3.5; rabbitmq-server#17128"),
    ),
)  # fmt: skip

RELEASES: dict[str, Release] = {
    one.series: one for one in (_3_8, _3_9, _3_10, _3_11, _3_12, _3_13, _4_0, _4_1, _4_2, _4_3)
}
"""The series in their order."""

MIXED_ALWAYS = (
    Fact("new features are off until their feature flags are enabled, and no flag can be enabled while a node is"
         " stopped, cannot be reached, or still runs the old release", "rabbit_ff_controller:enable_task,"
         " missing_clustered_nodes"),
    Fact("once a feature flag of the new release is enabled, no node can return to the old release",
         "rabbit_ff_controller:check_node_compatibility"),
    Fact("a cluster with two releases should last only for the hours of an upgrade, not for days",
         "release notes of every series, Mixed version cluster compatibility"),
)  # fmt: skip
"""Facts on every cluster of two releases."""
