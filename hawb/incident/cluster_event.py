"""An event in a cluster according to its logs: a kind, a time, the objects concerned, and the log events that show it.

Times are by the reference clock (`hawb.incident.clocks`), in microseconds since 1970; queues are named as in scenarios.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from hawb.incident.events import Event

KINDS: Mapping[str, str] = {
    "node_started": "the broker on `node` booted, from the beginning of its boot to `until_us`",
    "node_stopped": "the broker on `node` was asked to stop, and stopped by `until_us`",
    "node_killed": "`node` ended without a shutdown: it was killed, crashed or lost power (`reason`: what the other "
    "nodes logged)",
    "node_paused": "the broker on `node` stopped because of a partition (`name`: pause or autoheal)",
    "boot_failed": "`node` failed to boot, for `reason`; `name` is the object concerned, such as a feature flag",
    "boot_error": "`node` logged a boot error, for `reason`, and no log says whether its boot failed",
    "clusters_apart": "the `nodes` found no other node to cluster with, and each formed a cluster of its own",
    "cookie_refused": "`node` and `name` have different Erlang cookies, and one refused a connection from the other",
    "data_corrupt": "a checksum of `queue`, or of `name`, is wrong: data on the disk of `node` is damaged (`reason`)",
    "application_ended": "the Erlang application `name` ended by itself on `node`, for `reason`",
    "store_crashed": "the member of the metadata store on `node` crashed, for `reason`",
    "queue_crashed": "a process of `queue` on `node` crashed, for `reason`: a classic queue, or a member of a quorum "
    "queue",
    "process_crashed": "a process (`name`) on `node` crashed, for `reason`",
    "coordinator_failed": "the stream coordinator on `node` crashed, did not start or did not answer, for `reason`",
    "stream_failed": "a replica of the stream `name` on `node` failed, for `reason`",
    "member_not_started": "a member of a quorum queue on `node` was not started, for `reason`",
    "group_not_formed": "the members of the new quorum queue `name` could not be started",
    "queue_unavailable": "clients on `node` were refused `queue`, because no process of it runs, for `reason`; `name` "
    "is its node",
    "operation_timed_out": "`count` operations of clients timed out on `node`, for `reason`",
    "consumer_timed_out": "consumers of `queue` on `node` did not acknowledge in time: their channels were closed",
    "operation_failed": "`count` operations of clients on `node` failed with an internal error, for `reason`",
    "vhost_down": "clients were refused the virtual host `name`, which does not run on `node`",
    "flag_not_enabled": "`node` could not enable the feature flag `name`, for `reason`, or because `nodes` do not run",
    "erlang_ended": "the Erlang VM of `node` ended by itself, for `reason`",
    "disk_full": "a process on `node` crashed: the disk is full or cannot be written (`reason`)",
    "files_exhausted": "a process on `node` crashed: it may not open more files (`reason`)",
    "discovery_failed": "`node` could not use the backend of its peer discovery, or join the nodes found, for `reason`",
    "node_gone": "the other nodes lost `node`, whose own log is missing",
    "node_waiting": "`node` boots and waits for other nodes",
    "disk_lost": "`node`, a former member, booted on an empty database",
    "node_drained": "`node` was put into maintenance mode",
    "node_revived": "`node` came back from maintenance mode",
    "node_joined": "`node` joined the cluster",
    "node_forgotten": "`node` was removed from the cluster",
    "node_reset": "`node` left its cluster and emptied its database",
    "partition_begun": "the `pairs` of nodes did not see each other, although all of them ran",
    "partition_healed": "the `pairs` of nodes saw each other again",
    "partition_found": "the `pairs` of nodes found that they had been partitioned; no log says since when",
    "autoheal": "autoheal chose: `node` wins, `nodes` restart",
    "autoheal_refused": "autoheal was denied or aborted, for `reason`",
    "mirror_added": "a mirror of `queue` was started on `node`",
    "mirror_dropped": "the mirror of `queue` on `node` was dropped",
    "mirror_promoted": "the mirror of `queue` on `node` became its master",
    "mirror_failed": "no mirror of `queue` could be started on `node`, for `reason`",
    "mirrors_missed": "the replica of `queue` on `node` found the replicas on `nodes` down",
    "mirrors_stopped": "`queue` went down with its master on `node`: no mirror was synchronised",
    "queue_stale": "a replica of `queue` on `node` found a dead master or mirror in the queue's record",
    "synchronisation": "`queue` sent its `count` messages to the mirrors on `nodes`, until `until_us`; `reason` is "
    "done, needless, or why it ended early",
    "leader_elected": "the member of `queue` on `node` was elected in `term`",
    "store_leader_elected": "the metadata store elected its member on `node` in `term`",
    "leader_left": "the leader of `queue` on `node` stepped down",
    "queue_declared": "the quorum queue `queue` was declared, with `count` members and its leader on `node`",
    "queue_deleted": "the quorum queue `queue` was deleted",
    "member_added": "`queue` got a member on `node`",
    "member_removed": "`queue` lost its member on `node`",
    "member_change_failed": "the member of `queue` on `node` could not be added or removed, for `reason`",
    "member_anew": "`node` found no data of its member of `queue`, and started a new member",
    "messages_dropped": "`queue` on `node` did not find `count` persistent messages that its index lists",
    "queue_shrunk": "`queue`, or every quorum queue, was shrunk by force to its member on `node`",
    "queue_moved": "the leader of `queue` was moved to `node`",
    "queue_restarted": "the process of the classic queue `queue` on `node` crashed, and was restarted",
    "queues_deleted": "`count` transient queues of `node` were deleted",
    "queue_forced": "`queue` was deleted by force",
    "vhost_failed": "the messages of the virtual host `name` could not be recovered on `node`",
    "vhost_deleted": "the virtual host `name` was deleted",
    "alarm_set": "`node` was short of `name`, and publishers were blocked everywhere",
    "alarm_cleared": "the alarm of `name` on `node` was over",
    "policy_set": "the policy `name` was set",
    "rebalanced": "queue leaders were rebalanced",
}
"""Every kind of event and what it means."""

TOGETHER_US = 3_000_000
"""Maximum time between messages about one event."""
HEALED = "autoheal"
"""Name of restarts that autoheal triggers."""


class ClusterEvent(Struct, frozen=True, kw_only=True):
    """An event from `at_us` to `until_us`, if it took time; its kind says which other fields it uses.

    `events` are the log events that show it, in order of time.
    """

    kind: str
    at_us: int
    until_us: int | None = None
    node: str | None = None
    nodes: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    queue: str | None = None
    name: str | None = None
    reason: str | None = None
    term: int | None = None
    count: int | None = None
    events: tuple[Event, ...] = ()


def is_healing(one: ClusterEvent) -> bool:
    """Return True if a node stops because autoheal restarts it."""
    return one.kind == "node_paused" and one.name == HEALED
