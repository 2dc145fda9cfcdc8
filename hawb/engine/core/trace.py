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
    "policy_applied": "A policy, or a new definition of the same policy, now applies to a queue. policy (or null), "
    "was.",
    "operator_policy_in_force": "An operator policy was in force at the start. name, pattern, definition, priority, "
    "vhost.",
    "operator_policy_set": "An operator policy was set. name, pattern, definition, priority, vhost.",
    "operator_policy_cleared": "An operator policy was removed. name, vhost.",
    "operator_policy_applied": "An operator policy, or a new definition of the same one, now applies to a queue. "
    "policy (or null), was.",
    "policy_tie": "Policies of equal priority match; RabbitMQ does not define which one applies. policies, chosen, "
    "kind: user, operator.",
    "pattern_gave_up": "Matching a policy's pattern took too many steps and counts as no match. policy, pattern, kind: "
    "user, operator.",
    "not_simulated": "hawb has no rules for a setting, so it has no effect here. what.",
    "queue_declared": "A queue was declared. master, mirrors, policy, operator_policy, type: classic, quorum, "
    "stream; members (quorum queues, streams).",
    "arguments_ignored": "A quorum queue or stream was declared with arguments that RabbitMQ accepts but ignores. "
    "arguments.",
    "exchange_declared": "A direct exchange was declared, because a queue was bound to it. exchange, vhost.",
    "queue_bound": "A queue was bound to an exchange. exchange, routing_key.",
    "queue_deleted": "A queue was deleted. reason: client, auto_delete, expired, exclusive_owner_gone, node_down, "
    "node_forgotten, node_reset, side_given_up; messages.",
    "queue_purged": "All ready messages were removed from a queue. messages.",
    "messages_published": "A queue accepted messages; the members of a quorum queue committed them. ids, replicas "
    "(nodes that hold them), bytes_replicated; term (quorum queues).",
    "messages_confirmed": "The broker confirmed messages to their publisher. ids.",
    "messages_nacked": "The broker rejected messages to their publisher (basic.nack). ids.",
    "transaction_committed": "The broker confirmed a publisher's transaction (tx.commit-ok). ids.",
    "transaction_failed": "The broker closed the publisher's channel instead of committing its transaction. ids.",
    "messages_unanswered": "The publisher of messages will get neither a confirm nor a nack. ids, reason: "
    "client_node_gone, connection_closed.",
    "messages_held_back": "A channel holds messages back until a quorum queue has registered it. messages.",
    "publisher_held_up": "Flow control holds up a publisher, because a mirror does not answer. messages.",
    "messages_refused": "No queue accepted messages. ids, reason: crashed, home_node_down, master_died, "
    "master_stopped, no_master, no_queue, no_record, client_node_gone, connection_closed, max_length, no_majority, "
    "not_sent_again.",
    "messages_delivered": "Messages were delivered to a consumer. consumer, ids, redelivered.",
    "messages_acknowledged": "A client acknowledged messages, and the queue removed them. consumer, ids.",
    "answers_misplaced": "A client acknowledged or rejected `meant`, deliveries of an earlier master; the present "
    "master applied this to other messages, `ids`. consumer, ids, meant.",
    "acknowledgement_ignored": "A client acknowledged or rejected deliveries of an earlier master, without effect. "
    "consumer, ids.",
    "messages_requeued": "Messages were requeued and marked as redelivered. ids, reason: nack, consumer_gone, "
    "out_of_reach, timed_out.",
    "messages_delayed": "Returned messages wait before they are delivered again (delayed retry). ids, wait_s.",
    "messages_retried": "Returned messages have waited long enough and are ready again. ids.",
    "messages_expired": "Messages at the head of a queue exceeded their TTL. ids.",
    "messages_dropped": "A queue dropped messages that are not dead-lettered. ids, reason: maxlen, delivery_limit, "
    "other_strategy.",
    "messages_dead_lettered": "Messages of a queue were published to its dead letter exchange. ids, reason: expired, "
    "rejected, maxlen, delivery_limit; exchange, targets (queues that received them), cycles (queues that did not get "
    "them, because they had dead-lettered them before).",
    "dead_letters_dropped": "Dead letters did not reach their queue and were dropped. messages, reason: no_queue, "
    "no_master, no_leader, stream.",
    "messages_rejected": "A client rejected messages without requeueing them. consumer, ids.",
    "consumer_started": "A consumer was registered. consumer.",
    "consumer_activated": "A consumer became the single active consumer of its queue. consumer.",
    "consumer_cancelled": "A consumer was cancelled. consumer, reason: client, queue_deleted, failover, master_down, "
    "in_use; "
    "notified.",
    "consumer_closed": "A consumer's channel closed. consumer, reason: client, node_down, drained, connection_failed, "
    "channel_failed, timed_out.",
    "consumer_suspected": "A quorum queue cannot reach a consumer, which keeps its deliveries for a while. consumer, "
    "ids, timeout_s.",
    "channel_timed_out": "RabbitMQ closed a consumer's channel with an error, because the consumer had not "
    "acknowledged a delivery in time. consumer, timeout_s, code, text.",
    "consumer_timed_out": "A quorum queue requeued the deliveries of a consumer that had not acknowledged in time; the "
    "consumer gets no messages until it acknowledges or rejects them. consumer, ids, notified.",
    "answers_too_late": "A client acknowledged or rejected messages that the queue had already requeued. consumer, "
    "ids.",
    "consumer_in_reach": "A quorum queue can reach a suspected consumer again. consumer, ids (its deliveries).",
    "consumer_waits": "A consumer's channel tries to consume again, for at most a minute. consumer.",
    "consumer_moved": "A consumer was registered with the new master; its client was not notified. consumer.",
    "publisher_started": "A client began to publish at a rate. publisher.",
    "publisher_blocked": "A publisher is blocked: its messages wait in the client. publisher.",
    "publisher_unblocked": "A publisher continues, and sends the messages that waited in the client. publisher.",
    "publisher_closed": "A publisher with a rate stopped. publisher, reason: client, node_down, transaction_failed.",
    "node_stopping": "A controlled shutdown began.",
    "node_stopped": "A controlled shutdown was completed.",
    "process_crashed": "The process of a queue crashed on a running node. final (true if it is not restarted).",
    "node_killed": "A node was killed.",
    "node_lost_power": "A node's host lost power; no other node is notified.",
    "links_cut": "Links drop all data from now on; no node has noticed yet. links (pairs of nodes).",
    "links_healed": "All links work again.",
    "links_timed_out": "Nothing came over links for net_ticktime; the nodes at their ends consider each other down. "
    "links.",
    "cluster_partitioned": "The cluster is partitioned: the partitions continue independently of each other. sides "
    "(lists of nodes).",
    "metadata_stalled": "A change of metadata waits: a node that counts as running does not answer, or the metadata "
    "store has no leader with a majority.",
    "metadata_leader_elected": "A member of the metadata store (Khepri) was elected. term.",
    "metadata_available": "The metadata store (Khepri) can be written again. seen_by (in a partitioned cluster: the "
    "nodes that see it so).",
    "metadata_unavailable": "The metadata store (Khepri) has no leader with a majority. seen_by (see "
    "metadata_available).",
    "sides_rejoined": "The links work again, and all partitions continue with the metadata of the majority. nodes.",
    "node_pausing": "A node stops its broker, because it sees too few other nodes. until: majority, preferred, "
    "everybody.",
    "node_paused": "A node has stopped its broker and waits until it sees enough other nodes.",
    "autoheal_started": "Autoheal restarts the nodes of all partitions but one. winner, losers, connections (of "
    "clients to the winner).",
    "records_taken_over": "A node discards its metadata and takes over the metadata of the running nodes.",
    "records_restored": "A node boots with the metadata that it had when it stopped, even if the cluster has changed "
    "since.",
    "node_booting": "A node began to boot.",
    "node_waiting": "A node waits during its boot for nodes that may have newer metadata. waits_for, majority (with "
    "Khepri: how many nodes must be started).",
    "node_gave_up": "A node that waited during its boot gave up and exited. waits_for.",
    "node_boot_refused": "A node did not boot, because it and the other nodes disagree whether it is a member of the "
    "cluster. reason: wiped, forgotten, not_joined.",
    "node_joined": "A node joined the cluster.",
    "node_reset": "A node was reset: it forgot the cluster and deleted its data.",
    "node_forgotten": "The cluster removed a member (forget_cluster_node). origin (the node that ran the command).",
    "node_stands_alone": "A node made itself the only member of its cluster, with its copy of the metadata.",
    "disk_lost": "A node lost its disk.",
    "heir_chosen": "The node of a queue's master is no longer a member, so the queue waits for a node that had a "
    "mirror. was, messages, missing.",
    "messages_returned": "A queue has messages again that had been lost or had left it. ids.",
    "messages_taken_after_all": "A mirror that took over has messages that no queue had accepted. ids.",
    "messages_sent_again": "A channel sent messages again that a quorum queue had not accepted. ids.",
    "node_running": "A node is up.",
    "node_down_noticed": "The other nodes noticed that a node is down. by.",
    "mirror_added": "A mirror joined as an empty replica. synchronised.",
    "mirror_removed": "A queue lost a mirror. reason: node_down, crashed, out_of_reach, policy, master_shutdown, "
    "master_recovered, transfer.",
    "mirror_stays": "The earlier master is back, and its record still names a mirror that waited for it.",
    "mirror_synchronised": "A mirror is synchronised: it holds all messages of its master. how: joined, drained, "
    "synchronisation, promotion.",
    "master_down": "The master process of a queue ended. messages (deleted, if metadata_timed_out), reason: "
    "node_killed, node_lost_power, node_stopped, out_of_reach, crashed, policy, transfer, left_behind, "
    "metadata_timed_out.",
    "rebalance_started": "A rebalancing of masters began. most (masters on a node).",
    "leadership_transferred": "The master of a queue is moved on purpose: all replicas except the one on the node are "
    "dropped. was.",
    "mirrors_stopped": "A master that was shut down stopped its mirrors, because none was synchronised; they delete "
    "their copies. mirrors.",
    "promotion_refused": "A mirror that was not synchronised deleted its copy instead of taking over.",
    "promoted": "A mirror became the master. synchronised, was, messages, missing.",
    "queue_down": "A queue is down: no replica may serve it. reason: no_mirror, mirrors_stopped, promotion_refused, "
    "deleted_by_half, declared_by_half, members_deleted (with members).",
    "queue_recovered": "A master serves its queue again, from its disk. messages, reason: node_running, "
    "process_restarted.",
    "sync_started": "A synchronisation began and blocks the queue. mirrors, messages, batches, expected_s.",
    "sync_held": "A memory alarm pauses a synchronisation before its next batch; the queue stays blocked.",
    "sync_resumed": "The memory alarms are over, and a synchronisation continues. expected_s.",
    "sync_too_slow": "A synchronisation batch has occupied the link for net_ticktime and is not complete. mirrors.",
    "alarm_set": "A node is short of a resource, so publishers on all nodes are blocked. resource (memory or disk).",
    "alarm_cleared": "A resource alarm is over. resource, reason: relieved, node_down.",
    "connection_blocked": "A client published during a resource alarm, so the broker reads nothing more from its "
    "connection. connection, resources.",
    "request_waits": "A client sent a request over a blocked connection. connection.",
    "connection_unblocked": "The broker reads from a connection again. connection.",
    "node_drained": "A node was put into maintenance mode: it closed its clients' connections and accepts no new ones.",
    "follower_stopped": "A node in maintenance mode waited for other members to lead, then stopped its own member, a "
    "follower.",
    "node_revived": "A node is back from maintenance mode.",
    "sync_finished": "A synchronisation was completed. mirrors, bytes_replicated.",
    "sync_ended": "A synchronisation ended early. reason: cancelled, master_down, mirrors_gone.",
    "sync_not_needed": "All mirrors were synchronised already.",
    "leader_elected": "A member of a quorum queue's group was elected. term.",
    "queue_unavailable": "A quorum queue has no leader, or its leader reaches no majority: nothing is committed. "
    "seen_by (in a partitioned cluster: the nodes that see it so).",
    "queue_available": "A quorum queue has a leader that reaches a majority. seen_by (see queue_unavailable).",
    "nodes_suspected": "The failure detector of quorum queues has received nothing over links for a while. links.",
    "member_added": "A node became a member of a quorum queue's group.",
    "shrunk_by_force": "A quorum queue is forced to continue with only its member on one node.",
    "member_removed": "A node is no longer a member of a quorum queue's group.",
    "messages_lost": "Messages were lost. ids, cause.",
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
    "shrunk_by_force": N_("They were only on members that a forced shrink removed."),
    "node_forgotten": N_("Their master's node was forgotten, and no stopped mirror that could take over has them."),
    "side_given_up": N_(
        "They were only on nodes that replaced their metadata with that of other nodes, after a partition or a forced "
        "boot."
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
