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
    "node_starting": "the broker on the node begins to boot: RabbitMQ `release` on Erlang/OTP `name`",
    "node_started": "the broker has booted",
    "node_waiting": "the booting broker waits for the tables of other nodes (`nodes`, if the message names them), or "
    "for a leader of the metadata store (`name`); `count` retries are left",
    "node_signalled": "the node's process received the signal `name`, which asks it to end",
    "node_stopping": "the broker was asked to stop",
    "node_stopped": "the broker has stopped",
    "node_halting": "the Erlang VM of the node ends (after the broker has stopped)",
    "boot_failed": "the node failed to boot, for `reason`",
    "boot_error": "the node logged an error that may make its boot fail, for `reason`; `name` is the feature flag, "
    "node or port concerned",
    "formed_alone": "the node found no other node to cluster with, and formed a cluster of its own",
    "cookie_refused": "the node refused a connection from `peer`, because their Erlang cookies differ",
    "application_ended": "the Erlang application `name` ended by itself, for `reason`",
    "discovery_failed": "peer discovery failed, for `reason`",
    "boot_disagreed": "the booting node considers `peer` a member of its cluster, but `peer` disagrees",
    "disk_empty": "the node boots on an empty database: it is new, or has lost its disk",
    "node_up": "the node has a distribution connection to `peer`",
    "node_down": "the distribution connection to `peer` was lost, for `reason`",
    "node_silent": "the node received nothing from `peer` for net_ticktime, and closes the connection",
    "rabbit_up": "the broker on `peer` runs",
    "rabbit_down": "the broker on `peer` no longer runs",
    "partition_seen": "Mnesia on the node found that it and `peer` had run separately (`reason`)",
    "partition_partial": "the node lost its connection to `peer`, but node `name` still has one",
    "partition_disconnected": "the node closes its connection to `peer`, so that a partial partition becomes a full"
                              " one",
    "pause_begun": "the node pauses its broker, because it is in a minority or does not see the nodes that "
    "pause_if_all_down lists",
    "autoheal_asked": "the node asks `peer`, the autoheal leader, to heal a partition",
    "autoheal_received": "the autoheal leader received a request from `peer`",
    "autoheal_decided": "the autoheal leader decided: `peer` wins, `nodes` restart",
    "autoheal_denied": "the autoheal leader denied a request, for `reason`",
    "autoheal_winning": "the node is the winner and waits for `nodes` to stop",
    "autoheal_restarting": "the node has to restart, because the partition of `peer` has won",
    "autoheal_losers_stopped": "all losers have stopped, so they start again",
    "autoheal_finished": "autoheal has finished; the partition of `peer` was the winner",
    "autoheal_aborted": "autoheal was aborted, for `reason`",
    "member_joining": "the node joins the cluster of `nodes`",
    "member_joined": "`peer` has become a member of the metadata store",
    "member_forgotten": "`peer` was removed from the cluster",
    "peer_unreachable": "`peer`, a member, did not answer the node's peer discovery",
    "queues_forgotten": "the queues of `peer` were removed, because `peer` was removed from the cluster (4.3 logs "
    "nothing else about this removal)",
    "node_reset": "the node leaves its cluster and empties its database",
    "mirror_added": "a mirror of `queue` was started on `peer`",
    "mirror_failed": "no mirror of `queue` could be started on `peer`, for `reason`",
    "mirror_dropped": "the mirror of `queue` on `peer` was dropped, because the policy no longer includes it",
    "mirror_promoted": "the mirror of `queue` on `peer` became the master",
    "replicas_down": "the replica of `queue` on `peer` (`name`: master or mirror) found the replicas on `nodes` down",
    "mirrors_stopped": "the master of `queue` is shut down, and stops all mirrors, because none is synchronised",
    "queue_stale": "a replica of `queue` found a dead master or mirror in the queue's record, and stopped it or gave "
    "up",
    "sync_begun": "a synchronisation of `queue` begins: `count` messages",
    "sync_mirrors": "the synchronisation sends its messages to the mirrors on `nodes`",
    "sync_progress": "the synchronisation has sent `count` messages",
    "sync_done": "the synchronisation is complete",
    "sync_needless": "a synchronisation was requested, but no mirror needed one",
    "sync_stopped": "a synchronisation ended early, for `reason`",
    "leader_elected": "the node's member of `queue` (or of the group `name`) was elected leader in `term`",
    "leader_stepped_down": "the node's member stepped down as leader; the term is `term`",
    "leader_seen": "the node's member detected that `peer` leads in `term`",
    "leader_lost": "the node's member has lost its leader, for `reason`",
    "leader_doubted": "the node's member waits before it stands for election, because its leader on `peer` may be down",
    "leader_outvoted": "a leader received a higher term, `term`, from `peer`",
    "leader_unknown": "a client's command waits until the node's member knows a leader",
    "vote_granted": "the node's member votes for `peer` in `term`",
    "vote_declined": "the node's member refuses its vote to `peer` in `term`",
    "group_formed": "the members of the new group `name` were started, with `peer` as leader: a quorum queue was "
    "declared",
    "group_not_formed": "the members of the new group `name` could not be started",
    "member_adding": "a member of `queue` on `peer` is being added",
    "member_added": "a member of `queue` on `peer` was added",
    "member_removing": "the member of `queue`, or of every queue, on `peer` is being removed",
    "member_removed": "the member of `queue` on `peer` was removed",
    "member_change_failed": "a member of `queue` on `peer` could not be added or removed, for `reason`",
    "member_deleted": "the node's member of `queue` (or of the group `name`) ended, because the queue was deleted",
    "data_deleted": "the data of the node's member of the group `name` was deleted from the disk",
    "member_not_started": "a member of the quorum queue `queue` could not be started, for `reason`",
    "member_anew": "the node found no data of its member of `queue`, and started a new member, for `reason`",
    "queue_shrunk": "`queue`, or every quorum queue, was shrunk by force to one member",
    "queue_recovered": "the process of a classic queue crashed and was restarted",
    "messages_dropped": "after an unclean shutdown, `queue` did not find `count` persistent messages that its index "
    "lists",
    "queue_refused": "`queue` was not deleted: its node is down",
    "queue_forced": "`queue` was deleted although its node is down or it has no majority",
    "queue_migrated": "the leader of `queue` was moved to `peer`",
    "queues_deleted": "`count` transient queues of `peer` were deleted",
    "rebalance_begun": "queue leaders are being rebalanced",
    "rebalance_done": "the rebalancing of queue leaders has ended",
    "data_corrupt": "a checksum of `name` is wrong: data on the node's disk is damaged",
    "stream_failed": "a replica of the stream `name` on `peer` could not be started, stopped or read, for `reason`",
    "coordinator_failed": "the stream coordinator on `peer` did not start or did not answer, for `reason`",
    "stream_reader_ended": "the process that copies the stream `name` to another replica ended, for `reason`",
    "stream_leading": "the writer of the stream `name` was started on `peer` in `term`",
    "stream_replica_started": "a replica of the stream `name` was started on `peer` in `term`",
    "stream_replica_deleted": "the replica of the stream `name` on `peer` was deleted",
    "alarm_set": "the `name` alarm (such as memory or disk) was set on `peer`, and publishers are blocked",
    "alarm_cleared": "the `name` alarm was cleared on `peer`, or in the whole cluster if there is no `peer`",
    "policy_set": "the policy `name` was set in `vhost`",
    "vhost_added": "`vhost` was added",
    "vhost_deleted": "`vhost` was deleted",
    "vhost_failed": "the messages of the virtual host `vhost` could not be recovered, or the processes of `vhost`"
                    " have stopped",
    "feature_enabled": "the feature flag `name` is enabled",
    "maintenance_begun": "the node is put into maintenance mode",
    "maintenance_ready": "the node may be shut down",
    "maintenance_ended": "the node has left maintenance mode",
    "leaders_leaving": "`count` leaders of quorum queues are transferred to other nodes",
    "connection_accepted": "a client connected",
    "connection_named": "a client gave its connection a name",
    "connection_opened": "a client opened a connection to `vhost`",
    "connection_closed": "a connection was closed by its client, or the client disconnected, for `reason`",
    "connection_failed": "a connection was closed with an error, for `reason`",
    "connections_closed": "`count` connections were closed for maintenance",
    "channel_failed": "a channel was closed with an error, for `reason`",
    "consumer_timed_out": "a consumer of `queue` did not acknowledge in time",
    "queue_unavailable": "a client was refused `queue`, because the queue's process on `peer` does not run, for "
    "`reason`",
    "operation_timed_out": "an operation of a client timed out, for `reason`",
    "process_crashed": "an Erlang process crashed, for `reason`; `name` is the process and `queue` its queue, if the "
    "message names them",
    "child_ended": "a supervisor (`name`) reported that one of its processes ended, for `reason`",
    "operation_failed": "an operation of a client failed with an internal error (541), for `reason`",
    "vhost_down": "a client was refused the virtual host `vhost`, which does not run on the node",
    "flag_not_enabled": "the feature flag `name` could not be enabled, for `reason`, or because `nodes` do not run",
    "erlang_ended": "the Erlang VM ended by itself, for `reason`",
    "noted": "a message of level error or warning that needs no action; it is not counted as an event",
}
"""Every kind of event and what it means."""


class Event(Struct, frozen=True, kw_only=True):
    """A row: the content of one message of one node's log. A field that a kind does not use is None."""

    at_us: Annotated[int, Meta(description="microseconds since 1970 (UTC), by the clock of the node that logged it")]
    node: Annotated[str, Meta(description="the node that logged the message; its Erlang name, if the log has this"
                                          " name")]
    kind: Annotated[str, Meta(description="the kind of event")]
    peer: Annotated[str | None, Meta(description="the node concerned")] = None
    queue: Annotated[str | None, Meta(description="the queue concerned")] = None
    vhost: Annotated[str | None, Meta(description="the virtual host")] = None
    nodes: Annotated[tuple[str, ...], Meta(description="the nodes concerned, for kinds that can have several")] = ()
    name: Annotated[str | None, Meta(description="the name of another object, explained in the table of kinds")] = None
    reason: Annotated[str | None, Meta(description="the reason in RabbitMQ's words; a placeholder stands for any other"
                                                   " word, such as a name")] = None
    term: Annotated[int | None, Meta(description="the Raft term, or the epoch of a stream")] = None
    count: Annotated[int | None, Meta(description="a number, explained in the table of kinds")] = None
    release: Annotated[str | None, Meta(description="the release of RabbitMQ that boots")] = None
    level: Annotated[str, Meta(description="the log level")] = ""
    file: Annotated[str, Meta(description="the log file")] = ""
    line: Annotated[int, Meta(description="the line in the file where the message begins, counted from 1")] = 0
    connection: Annotated[str | None, Meta(description="the client's connection; null unless you ask for it")] = None
    user: Annotated[str | None, Meta(description="the client's user; null unless you ask for it")] = None


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
