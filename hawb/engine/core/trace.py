"""The trace: what happened, in order, and the two closed lists that outcomes use, events and causes of loss.

Each entry refers to the entry that caused it (`because`), so that every loss can be followed back to the fault that
began it. A turn writes entries with a `TraceWriter`. Messages of clients with a rate come and go in many small parts:
their entries are merged until another entry about the same queue is written, or the trace is read.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from hawb.engine.core import runs
from hawb.languages import N_


class Entry(Struct, frozen=True):
    """One entry. `node` is an index or NOWHERE, `because` the number of the entry that caused this one."""

    number: int
    t_us: int
    step: int
    event: str
    node: int
    queue: str | None
    detail: Mapping[str, object]
    because: int | None


EVENTS: dict[str, str] = {
    "policy_in_force": "A policy was in force at the start. name, pattern, definition, priority, vhost.",
    "policy_set": "A policy was set. name, pattern, definition, priority, vhost.",
    "policy_cleared": "A policy was removed. name, vhost.",
    "policy_applied": "Another policy, or the same with another definition, applies to a queue. policy (or null), was.",
    "operator_policy_in_force": "An operator policy was in force at the start. name, pattern, definition, priority, "
    "vhost.",
    "operator_policy_set": "An operator policy was set. name, pattern, definition, priority, vhost.",
    "operator_policy_cleared": "An operator policy was removed. name, vhost.",
    "operator_policy_applied": "Another operator policy, or the same with another definition, applies to a queue. "
    "policy (or null), was.",
    "policy_tie": "Policies of equal priority match; RabbitMQ leaves open which one wins. policies, chosen, kind: "
    "user, operator.",
    "pattern_gave_up": "Matching a policy's pattern took too many steps and counts as no match. policy, pattern, kind: "
    "user, operator.",
    "not_simulated": "Something is there that has no rule in hawb and changes nothing here. what.",
    "queue_declared": "A queue was declared. master, mirrors, policy, operator_policy, type: classic, quorum, "
    "stream; members (quorum queues, streams).",
    "arguments_ignored": "A quorum queue or stream was declared with arguments that it takes and that change nothing. "
    "arguments.",
    "exchange_declared": "A direct exchange was declared, because it was bound to. exchange, vhost.",
    "queue_bound": "A queue was bound to an exchange. exchange, routing_key.",
    "queue_deleted": "A queue is gone. reason: client, auto_delete, expired, exclusive_owner_gone, node_down, "
    "node_forgotten, node_reset, side_given_up; messages.",
    "queue_purged": "A queue was emptied of ready messages. messages.",
    "messages_published": "A queue took messages; a quorum queue's members committed them. ids, replicas (nodes that "
    "hold them), bytes_replicated; term (quorum queues).",
    "messages_confirmed": "The broker confirmed messages to their publisher. ids.",
    "messages_nacked": "The broker rejected messages to their publisher (basic.nack). ids.",
    "transaction_committed": "The broker confirmed to the publisher that its transaction is committed. ids.",
    "transaction_failed": "The broker closed the publisher's channel instead of committing its transaction. ids.",
    "messages_unanswered": "Messages are neither confirmed nor nacked. ids, reason: client_node_gone, "
    "connection_closed.",
    "messages_held_back": "A channel that waits to be known to a quorum queue holds messages back. messages.",
    "publisher_held_up": "Flow control lets no more of a batch through: a mirror does not answer. messages.",
    "messages_refused": "No queue took messages. ids, reason: crashed, home_node_down, master_died, master_stopped, "
    "no_master, no_queue, no_record, client_node_gone, connection_closed, max_length, no_majority, not_sent_again.",
    "messages_delivered": "Messages were delivered to a consumer. consumer, ids, redelivered.",
    "messages_acknowledged": "A client acknowledged messages and they left the queue. consumer, ids.",
    "answers_misplaced": "A client answered for `meant`, in whose place the master has others. consumer, ids, meant.",
    "acknowledgement_ignored": "A client acknowledged deliveries of a master that is gone. consumer, ids.",
    "messages_requeued": "Messages went back to their place, marked as redelivered. ids, reason: nack, consumer_gone, "
    "out_of_reach, timed_out.",
    "messages_delayed": "Messages that were given back wait before they are delivered again. ids, wait_s.",
    "messages_retried": "Messages that were given back have waited long enough, and are ready. ids.",
    "messages_expired": "Messages at the head of a queue had outlived their TTL. ids.",
    "messages_dropped": "A queue gave up messages, and they went nowhere. ids, reason: maxlen, delivery_limit, "
    "other_strategy.",
    "messages_dead_lettered": "Messages that a queue gave up were published to its dead letter exchange. ids, reason: "
    "expired, rejected, maxlen, delivery_limit; exchange, targets (queues that they went to), cycles (queues that they "
    "were kept from).",
    "dead_letters_dropped": "Dead letters did not arrive. messages, reason: no_queue, no_master, no_leader, stream.",
    "messages_rejected": "A client rejected messages for good. consumer, ids.",
    "consumer_started": "A consumer was registered. consumer.",
    "consumer_activated": "A consumer became the one that its queue serves. consumer.",
    "consumer_cancelled": "A consumer was cancelled. consumer, reason: client, queue_deleted, failover, master_down, "
    "in_use; "
    "notified.",
    "consumer_closed": "A consumer's channel closed. consumer, reason: client, node_down, drained, connection_failed, "
    "channel_failed, timed_out.",
    "consumer_suspected": "A quorum queue does not reach a consumer, which keeps what it holds for a while. consumer, "
    "ids, timeout_s.",
    "channel_timed_out": "A consumer's channel ended with an error: a delivery had not been answered for in time. "
    "consumer, timeout_s, code, text.",
    "consumer_timed_out": "A consumer had not answered in time: it lost messages, and gets none until it has answered "
    "for them. consumer, ids, notified.",
    "answers_too_late": "A client answered for messages that it had lost because it took too long. consumer, ids.",
    "consumer_in_reach": "A quorum queue reaches a consumer again that it had suspected. consumer, ids (what it has).",
    "consumer_waits": "A consumer's channel tries to consume again, for a minute at most. consumer.",
    "consumer_moved": "A consumer was registered with the new master, without its client knowing. consumer.",
    "publisher_started": "A client began to publish steadily. publisher.",
    "publisher_blocked": "A publisher's next message has to wait at its client. publisher.",
    "publisher_unblocked": "A publisher goes on with what had to wait. publisher.",
    "publisher_closed": "A publisher with a rate closed. publisher, reason: client, node_down, transaction_failed.",
    "node_stopping": "A controlled shutdown began.",
    "node_stopped": "A controlled shutdown was completed.",
    "process_crashed": "A queue's process crashed while its node runs. final (true if it is not restarted).",
    "node_killed": "A node died without warning.",
    "node_lost_power": "A node's host lost power; no other node is notified.",
    "links_cut": "Links drop all messages from now on; no node has noticed yet. links (pairs of nodes).",
    "links_healed": "All links work again.",
    "links_timed_out": "Links were silent for net_ticktime; the nodes at their ends consider each other down. links.",
    "cluster_partitioned": "The cluster is partitioned: each side goes on without the others. sides (lists of nodes).",
    "metadata_stalled": "A change waits because a node that counts as running does not answer, or the metadata store "
    "has no leader with a majority.",
    "metadata_leader_elected": "A member of the metadata store (Khepri) was elected. term.",
    "metadata_available": "The metadata store (Khepri) can be written to again. seen_by (of several sides).",
    "metadata_unavailable": "The metadata store (Khepri) has no leader with a majority. seen_by (of several sides).",
    "sides_rejoined": "Links are mended, and all sides go on with the metadata that the majority wrote. nodes.",
    "node_pausing": "A node that sees too few of the others stops its broker. until: majority, preferred, everybody.",
    "node_paused": "A node's broker has stopped and waits until it sees enough of the others.",
    "autoheal_started": "All sides of a partition but one are to restart. winner, losers, connections (the winner's).",
    "records_taken_over": "A node that comes up forgets its side's records and takes over those of another.",
    "records_restored": "A node boots with the records that it had when it went, whatever the others did since.",
    "node_booting": "A node began to boot.",
    "node_waiting": "A booting node waits for nodes that may know more. waits_for, majority (with Khepri: how many "
    "have to be started).",
    "node_gave_up": "A waiting node gave up and exited. waits_for.",
    "node_boot_refused": "A booting node and the others disagree whether it is one of them, and it is not. reason: "
    "wiped, forgotten, not_joined.",
    "node_joined": "A node joined the cluster.",
    "node_reset": "A node was reset: it lost its data, and the cluster removed it.",
    "node_forgotten": "The cluster removed a member (forget_cluster_node). origin (the node that ran the command).",
    "node_stands_alone": "A node made itself the only member of its cluster, with its copy of the metadata.",
    "disk_lost": "A node lost its disk.",
    "heir_chosen": "A queue whose master's node is no member any more waits for another that had a mirror. was, "
    "messages, missing.",
    "messages_returned": "Messages that had been lost or had left the queue are in it again. ids.",
    "messages_taken_after_all": "A mirror that took over had messages that no queue had taken. ids.",
    "messages_sent_again": "A channel sent messages to a quorum queue again that no queue had taken. ids.",
    "node_running": "A node is up.",
    "node_down_noticed": "The other nodes learnt that a node is gone. by.",
    "mirror_added": "A mirror joined, empty. synchronised.",
    "mirror_removed": "A mirror is gone. reason: node_down, crashed, out_of_reach, policy, "
    "master_shutdown, master_recovered, transfer.",
    "mirror_stays": "A mirror that waited for its master stays on the record of the one that came back.",
    "mirror_synchronised": "A mirror holds all that its master does. how: joined, drained, synchronisation, promotion.",
    "master_down": "A queue's master process is gone. messages (deleted, if metadata_timed_out), reason: node_killed, "
    "node_lost_power, node_stopped, out_of_reach, crashed, policy, transfer, left_behind, metadata_timed_out.",
    "rebalance_started": "Masters are to be shared out evenly. most (masters on a node).",
    "leadership_transferred": "A queue's master moves on purpose: all replicas but the one at node are dropped. was.",
    "mirrors_stopped": "A master that was shut down stopped its mirrors, none of them synchronised; they delete their "
    "copies. mirrors.",
    "promotion_refused": "A mirror that is not synchronised deleted its copy instead of taking over.",
    "promoted": "A mirror became master. synchronised, was, messages, missing.",
    "queue_down": "No replica may serve the queue. reason: no_mirror, mirrors_stopped, promotion_refused, "
    "deleted_by_half, declared_by_half, members_deleted (with members).",
    "queue_recovered": "A master serves the queue from its disk. messages, reason: node_running, process_restarted.",
    "sync_started": "A synchronisation began and blocks the queue. mirrors, messages, batches, expected_s.",
    "sync_held": "A memory alarm holds a synchronisation before its next batch; the queue stays blocked.",
    "sync_resumed": "The memory alarms are gone and a synchronisation goes on. expected_s.",
    "sync_too_slow": "A batch of a synchronisation has taken net_ticktime on the link and is not over. mirrors.",
    "alarm_set": "A node is short of a resource: publishers are blocked everywhere. resource (memory or disk).",
    "alarm_cleared": "A resource alarm is over. resource, reason: relieved, node_down.",
    "connection_blocked": "A client published on a connection, and because of a resource alarm the broker reads no "
    "more from it. connection, resources.",
    "request_waits": "A client asked for something over a connection that is blocked. connection.",
    "connection_unblocked": "The broker reads from a connection again. connection.",
    "node_drained": "A node was put into maintenance mode: its clients' connections are closed and it takes no others.",
    "follower_stopped": "A node that is drained stopped a member that follows, having waited for others to lead.",
    "node_revived": "A node is back from maintenance mode.",
    "sync_finished": "A synchronisation was completed. mirrors, bytes_replicated.",
    "sync_ended": "A synchronisation ended early. reason: cancelled, master_down, mirrors_gone.",
    "sync_not_needed": "All mirrors were synchronised already.",
    "leader_elected": "A member of a quorum queue's group was elected. term.",
    "queue_unavailable": "A quorum queue's leader is gone, or reaches no majority: nothing is committed. seen_by "
    "(where the cluster is partitioned: the nodes that see it so).",
    "queue_available": "A quorum queue has a leader that reaches a majority. seen_by (see queue_unavailable).",
    "nodes_suspected": "The failure detector of quorum queues has heard nothing over links for a while. links.",
    "member_added": "A node became a member of a quorum queue's group.",
    "shrunk_by_force": "A quorum queue is to go on with the member on a node alone, whatever others have.",
    "member_removed": "A node is no longer a member of a quorum queue's group.",
    "messages_lost": "Messages are gone for good. ids, cause.",
    "step_refused": "RabbitMQ refused a step. code, text.",
}
"""Every event, with the fields of its `detail`."""

CAUSES: dict[str, str] = {
    "unsynchronised_promotion": N_(
        "A mirror that did not hold them became master; other copies are deleted when their nodes return."
    ),
    "transient_message": N_("They were not persistent and the last process that held them ended."),
    "transient_queue": N_("Their queue was not durable and the last process that held them ended."),
    "exclusive_queue": N_("Their queue was exclusive and the only process that held them ended."),
    "dropped_replicas": N_("All replicas but one mirror were dropped, and that mirror refused to take over."),
    "disk_lost": N_("They were on a disk that is lost, and no other node had a copy that could be served."),
    "shrunk_by_force": N_("Only members that a forced shrink removed had them."),
    "node_forgotten": N_("Their master's node was forgotten, and no stopped mirror that could take over has them."),
    "side_given_up": N_(
        "Only nodes that replaced their metadata with that of other nodes had them, after a partition or a forced boot."
    ),
    "node_reset": N_("Their master's node was reset, and no stopped mirror that could take over has them."),
    "auto_ack_in_flight": N_(
        "They were sent with automatic acknowledgement, and the sending node or the client's node died."
    ),
}
"""Every cause of loss."""


OF_NO_STEP = -1
"""The step of entries about flows, which belong to no step."""


class TraceWriter:
    """The trace entries of a turn, numbered from `first` on."""

    def __init__(self, first: int):
        self.entries: list[Entry] = []
        self._first = first
        self._flows = FlowTrace()

    def write(
        self, now_us: int, step: int, event: str, node: int, queue: str | None, detail: dict, because: int | None
    ) -> int:
        """Write an entry, after the merged entries about its queue, and return its number.

        Runs become lists, as in outcomes.
        """
        if queue is not None and self._flows.pending:
            self.end_flows(now_us, queue)
        number = self._first + len(self.entries)
        plain = {key: runs.as_lists(value) if key == "ids" else value for key, value in detail.items()}
        self.entries.append(Entry(number, now_us, step, event, node, queue, plain, because))
        return number

    def flow(self, event: str, node: int, queue: str, detail: dict) -> None:
        """Merge an entry about a flow into the one that says the same of other messages."""
        self._flows.add(event, node, queue, detail)

    def end_flows(self, now_us: int, queue: str | None = None) -> None:
        """Write the merged entries about a queue (None: about all queues)."""
        for entry in self._flows.take(queue):
            self.write(now_us, OF_NO_STEP, entry.event, entry.node, entry.queue, entry.detail, None)


class MergedEntry(Struct):
    """A merged entry that is not written yet."""

    event: str
    node: int
    queue: str
    detail: dict[str, object]


class FlowTrace:
    """The merged entries that are not written yet."""

    def __init__(self) -> None:
        self.pending: dict[tuple, MergedEntry] = {}

    def add(self, event: str, node: int, queue: str, detail: dict[str, object]) -> None:
        """Add messages to the entry that is otherwise equal, or begin an entry."""
        rest = tuple(str(value) for field, value in detail.items() if field not in SUMS)
        entry = self.pending.setdefault((event, node, queue, *rest), MergedEntry(event, node, queue, {}))
        grown = SUMS.keys() & entry.detail.keys()
        entry.detail |= detail | {field: SUMS[field](entry.detail[field], detail[field]) for field in grown}

    def take(self, queue: str | None = None) -> list[MergedEntry]:
        """Remove and return the entries of a queue (None: of all queues), in the order in which they began."""
        if not self.pending:
            return []
        taken = {key: entry for key, entry in self.pending.items() if queue in (None, entry.queue)}
        for key in taken:
            del self.pending[key]
        return list(taken.values())


SUMS = {
    "ids": runs.union,
    "redelivered": lambda had, more: runs.as_lists(runs.normal(map(tuple, (*had, *more)))),
    "bytes_replicated": lambda had, more: had + more,
}
"""Fields that are added up when entries are merged. All other fields must be equal."""
