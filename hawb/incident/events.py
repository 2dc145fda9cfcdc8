"""Typed events of a broker's log, which are rows of one table.

An event stands for one message of one node's log. It keeps the file and the line at which the message begins, so that a
reader can look up the broker's own words. Times are those of the writer's clock, in microseconds since 1970; the
offsets between nodes are in `hawb.incident.clocks`.

`connection` and `user` name clients, which are confidential: they are empty unless a user asks for them
(`hawb.incident.reading.read_logs`), and no other field holds a part of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, get_type_hints

from msgspec import Meta, Struct

from hawb.engine.core.naming import join_queue

KINDS: Mapping[str, str] = {
    "node_starting": "the broker of the node begins to boot: `release`, on the Erlang of `name`",
    "node_started": "it has booted",
    "node_waiting": "it waits for the tables of other nodes (`nodes`, where they are told), or for a leader of the "
    "metadata store (`name`); `count` tries are left",
    "node_signalled": "its process was told to end by the signal `name`",
    "node_stopping": "the broker was asked to stop",
    "node_stopped": "it has stopped",
    "node_halting": "the Erlang machine ends too",
    "boot_failed": "the node failed to boot, for `reason`",
    "boot_error": "the node says why it may fail to boot: `reason`; `name` is the feature flag, or the node or port",
    "formed_alone": "the node found no other node to cluster with, and began a cluster of its own",
    "cookie_refused": "the node and `peer` have different Erlang cookies, and `peer` was refused",
    "application_ended": "the Erlang application `name` ended by itself, for `reason`",
    "discovery_failed": "peer discovery did not work, for `reason`",
    "boot_disagreed": "as it booted, `peer` did not have it for a member of the cluster",
    "disk_empty": "the node boots on an empty database: it is new, or has lost its disk",
    "node_up": "Erlang on the node has a connection to `peer`",
    "node_down": "that connection is gone, for `reason`",
    "node_silent": "Erlang on the node has heard nothing of `peer` for net_ticktime, and gives the connection up",
    "rabbit_up": "the broker on `peer` has told that it runs",
    "rabbit_down": "the broker on `peer` is gone",
    "partition_seen": "Mnesia on the node finds that it and `peer` have run without each other (`reason`)",
    "partition_partial": "the node misses `peer`, which `name` still sees",
    "partition_disconnected": "the node breaks its connection to `peer`, to make a partial partition whole",
    "pause_begun": "the node finds itself in a minority, or without the nodes that it prefers, and pauses its broker",
    "autoheal_asked": "the node asks `peer`, the leader of autoheal, to heal a partition",
    "autoheal_received": "the leader of autoheal was asked by `peer`",
    "autoheal_decided": "the leader of autoheal has chosen: `peer` wins, `nodes` restart",
    "autoheal_denied": "the leader of autoheal refuses, for `reason`",
    "autoheal_winning": "the node won, and waits for `nodes` to stop",
    "autoheal_restarting": "the node was chosen to restart; `peer` wins",
    "autoheal_losers_stopped": "all losers have stopped, and may start again",
    "autoheal_finished": "autoheal is over; `peer` had won",
    "autoheal_aborted": "autoheal was given up, for `reason`",
    "member_joining": "the node joins the cluster of `nodes`",
    "member_joined": "`peer` has become a member of the metadata store",
    "member_forgotten": "`peer` is removed from the cluster",
    "peer_unreachable": "`peer`, a member, does not answer the node's check of who is there",
    "queues_forgotten": "the queues of `peer` are removed, since that node is (4.3 tells no more of that)",
    "node_reset": "the node leaves its cluster and empties its database",
    "mirror_added": "a mirror of `queue` was started on `peer`",
    "mirror_failed": "no mirror of `queue` could be started on `peer`, for `reason`",
    "mirror_dropped": "the mirror of `queue` on `peer` was taken away by policy",
    "mirror_promoted": "the mirror of `queue` on `peer` has become master",
    "replicas_down": "the replica of `queue` on `peer` (`name`: master or mirror) misses those on `nodes`",
    "mirrors_stopped": "the master of `queue` stops, no mirror is synchronised, and so all mirrors stop",
    "queue_stale": "a replica of `queue` found a dead master or mirror on record and gave up or stopped it",
    "sync_begun": "a synchronisation of `queue` begins: `count` messages",
    "sync_mirrors": "it sends them to the mirrors on `nodes`",
    "sync_progress": "it has come to `count` messages",
    "sync_done": "it is complete",
    "sync_needless": "there was no mirror to be synchronised",
    "sync_stopped": "it ended before its time, for `reason`",
    "leader_elected": "the node's member of `queue` (or of the group `name`) leads in `term`",
    "leader_stepped_down": "it leads no longer; the term is `term`",
    "leader_seen": "the node's member knows `peer` as the leader of `term`",
    "leader_lost": "the node's member has lost its leader, for `reason`",
    "leader_doubted": "the node's member waits, and its leader on `peer` may be down",
    "leader_outvoted": "a leader heard of a higher term, `term`, from `peer`",
    "leader_unknown": "a command waits until a leader is known",
    "vote_granted": "the node's member votes for `peer` in `term`",
    "vote_declined": "the node's member refuses its vote to `peer` in `term`",
    "group_formed": "members of the new group `name` were started, and `peer` leads it: a quorum queue was declared",
    "group_not_formed": "the new group `name` could not be formed",
    "member_adding": "a member of `queue` on `peer` is being added",
    "member_added": "a member of `queue` on `peer` was added",
    "member_removing": "the member of `queue`, or of every queue, on `peer` is being removed",
    "member_removed": "the member of `queue` on `peer` was removed",
    "member_change_failed": "a member of `queue` on `peer` could not be added or removed, for `reason`",
    "member_deleted": "the node's member of `queue` (or of the group `name`) ends because the queue was deleted",
    "data_deleted": "what the node's member of the group `name` had on its disk is deleted",
    "member_not_started": "a member of the quorum queue `queue` could not be started, for `reason`",
    "member_anew": "the node should have had a member of `queue` and found none: one is started anew, for `reason`",
    "queue_shrunk": "`queue`, or every quorum queue, is cut down to one member by force",
    "queue_recovered": "a classic queue's process has crashed and is restarted",
    "messages_dropped": "`queue` had `count` persistent messages on record, after an end without a stop, that it did "
    "not find",
    "queue_refused": "`queue` was not deleted: its node is down",
    "queue_forced": "`queue` was deleted though its node is down, or without a majority",
    "queue_migrated": "the leader of `queue` was moved to `peer`",
    "queues_deleted": "`count` transient queues of `peer` were deleted",
    "rebalance_begun": "queue leaders are being rebalanced",
    "rebalance_done": "that is over",
    "data_corrupt": "a checksum of `name` is wrong: data on the node's disk is damaged",
    "stream_failed": "a replica of the stream `name` on `peer` could not be started, stopped or read, for `reason`",
    "coordinator_failed": "the stream coordinator on `peer` did not start or did not answer, for `reason`",
    "stream_reader_ended": "what copies the stream `name` between two replicas has ended, for `reason`",
    "stream_leading": "the writer of the stream `name` was started on `peer` in `term`",
    "stream_replica_started": "a replica of the stream `name` was started on `peer` in `term`",
    "stream_replica_deleted": "the replica of the stream `name` on `peer` was deleted",
    "alarm_set": "the alarm of `name` (memory, disk) was set on `peer`, and publishers are blocked",
    "alarm_cleared": "the alarm of `name` was cleared on `peer`; without `peer`: in the whole cluster",
    "policy_set": "the policy `name` was set in `vhost`",
    "vhost_added": "`vhost` was added",
    "vhost_deleted": "`vhost` was deleted",
    "vhost_failed": "the messages of `vhost` could not be recovered, or its processes have stopped",
    "feature_enabled": "the feature flag `name` is enabled",
    "maintenance_begun": "the node is put into maintenance mode",
    "maintenance_ready": "it may be shut down",
    "maintenance_ended": "it is back from maintenance mode",
    "leaders_leaving": "`count` leaders of quorum queues are to be moved away from the node",
    "connection_accepted": "a client has begun to connect",
    "connection_named": "it has given its connection a name",
    "connection_opened": "a client has opened a connection to `vhost`",
    "connection_closed": "a connection was closed by its client or with it, for `reason`",
    "connection_failed": "a connection was closed with an error, for `reason`",
    "connections_closed": "`count` connections were closed for maintenance",
    "channel_failed": "a channel was closed with an error, for `reason`",
    "consumer_timed_out": "a consumer of `queue` did not acknowledge in time",
    "queue_unavailable": "a client was refused, since no process of `queue` runs, for `reason`; `peer` is its node",
    "operation_timed_out": "what a client asked for was not done in time, for `reason`",
    "process_crashed": "an Erlang process (`name`, and of `queue`, where they are told) has crashed, for `reason`",
    "child_ended": "a supervisor (`name`) reports that a process below it has ended, for `reason`",
    "operation_failed": "what a client asked for failed inside RabbitMQ (541), for `reason`",
    "vhost_down": "a client was refused `vhost`, whose processes do not run on the node",
    "flag_not_enabled": "the feature flag `name` could not be enabled, for `reason`, or while `nodes` do not run",
    "erlang_ended": "the Erlang machine ended by itself, for `reason`",
    "noted": "RabbitMQ or Erlang notes, at a level that is too high, what needs no answer: it is no event",
}
"""Every kind of event and what it means."""


class Event(Struct, frozen=True, kw_only=True):
    """A row: the content of one message of one node's log. A field that a kind does not use is None."""

    at_us: Annotated[int, Meta(description="when, by the writer's clock, in microseconds since 1970 (UTC)")]
    node: Annotated[str, Meta(description="the node that wrote it, by its Erlang name if its log has it")]
    kind: Annotated[str, Meta(description="what happened: one of the kinds")]
    peer: Annotated[str | None, Meta(description="the node that it is about")] = None
    queue: Annotated[str | None, Meta(description="the queue that it is about")] = None
    vhost: Annotated[str | None, Meta(description="the virtual host")] = None
    nodes: Annotated[tuple[str, ...], Meta(description="the nodes that it is about, where there may be several")] = ()
    name: Annotated[str | None, Meta(description="what else it is about: see its kind")] = None
    reason: Annotated[str | None, Meta(description="why, in RabbitMQ's words; other words are replaced")] = None
    term: Annotated[int | None, Meta(description="the term of Raft, or the epoch of a stream")] = None
    count: Annotated[int | None, Meta(description="how many: see its kind")] = None
    release: Annotated[str | None, Meta(description="the release of RabbitMQ that boots")] = None
    level: Annotated[str, Meta(description="the level at which it was logged")] = ""
    file: Annotated[str, Meta(description="the file that has the message")] = ""
    line: Annotated[int, Meta(description="the line at which it begins there, from 1")] = 0
    connection: Annotated[str | None, Meta(description="the client's connection, only if asked for")] = None
    user: Annotated[str | None, Meta(description="the client's user, only if asked for")] = None


def queue_of(event: Event) -> str | None:
    """Return the queue of an event as scenarios write it."""
    return None if event.queue is None else join_queue(event.vhost or "/", event.queue)


def group_name(event: Event) -> str:
    """Return Ra's name for the group of an event's quorum queue (`rabbit_quorum_queue:qname_to_internal_name`)."""
    return f"{'%2F' if event.vhost in ('/', None) else event.vhost}_{event.queue}"


def columns() -> dict[str, str]:
    """Return the description of each field of an event."""
    hints = get_type_hints(Event, include_extras=True)
    return {name: hints[name].__metadata__[0].description for name in Event.__struct_fields__}
