"""The sentences for the events of `hawb.engine.core.trace.EVENTS`, filled in by `telling`.

`client_sentences` has the part about clients and messages.
"""

from __future__ import annotations

from hawb.languages import N_
from hawb.views.story.client_sentences import CLIENT_SENTENCES, Template

TONES = ("plain", "fault", "recovery", "promotion", "loss", "refusal")

VARIED_BY = {
    "node_pausing": "until",
    "consumer_cancelled": "reason",
    "messages_lost": "cause",
    "mirror_added": "synchronised",
    "pattern_gave_up": "kind",
    "policy_tie": "kind",
    "process_crashed": "final",
    "mirror_synchronised": "how",
    "promoted": "synchronised",
    "queue_declared": "type",
}
"""The field of an event's detail that selects its sentence, where it is not `reason`. See also `telling._variant`."""

SENTENCES: dict[str, tuple[str, Template | dict[object, Template]]] = {
    "policy_in_force": (
        "plain",
        N_("Policy {name} is in force from the start for queues that match {pattern}: {definition}."),
    ),
    "policy_set": ("plain", N_("Policy {name} was set for queues that match {pattern}: {definition}.")),
    "policy_cleared": ("plain", N_("Policy {name} was cleared.")),
    "policy_applied": (
        "plain",
        {
            "none": N_("Policy {was} does not apply to {queues} any more, and no other policy does."),
            "first": N_("Policy {policy} now applies to {queues}."),
            "same": N_("Policy {policy} applies to {queues} with its new definition."),
            "other": N_("Policy {policy} now applies to {queues} in place of {was}."),
        },
    ),
    "operator_policy_in_force": (
        "plain",
        N_("Operator policy {name} is in force from the start for queues that match {pattern}: {definition}."),
    ),
    "operator_policy_set": (
        "plain",
        N_("Operator policy {name} was set for queues that match {pattern}: {definition}."),
    ),
    "operator_policy_cleared": ("plain", N_("Operator policy {name} was cleared.")),
    "operator_policy_applied": (
        "plain",
        {
            "none": N_("Operator policy {was} does not apply to {queues} any more, and no other operator policy does."),
            "first": N_("Operator policy {policy} now applies to {queues}, besides any policy."),
            "same": N_("Operator policy {policy} applies to {queues} with its new definition."),
            "other": N_("Operator policy {policy} now applies to {queues} in place of {was}."),
        },
    ),
    "policy_tie": (
        "plain",
        {
            "user": N_(
                "Policies {policies} match {queues} with equal priority. RabbitMQ does not define which one"
                " applies; here it is {chosen}."
            ),
            "operator": N_(
                "Operator policies {policies} match {queues} with equal priority. RabbitMQ does not define which"
                " one applies; here it is {chosen}."
            ),
        },
    ),
    "pattern_gave_up": (
        "plain",
        {
            "user": N_("Matching the pattern {pattern} of policy {policy} took too many steps and counts as no match."),
            "operator": N_(
                "Matching the pattern {pattern} of operator policy {policy} took too many steps and counts as no match."
            ),
        },
    ),
    "not_simulated": (
        "plain",
        {
            True: N_("hawb has no rules for {what} of {queues}, so it has no effect here."),
            False: N_("hawb has no rules for {what}, so it has no effect here."),
        },
    ),
    "queue_declared": (
        "plain",
        {
            "classic": N_("{queues} was declared on {node}, {placed}."),
            "quorum": N_("Quorum queue {queues} was declared, led by {node}, with members on {members} ({in_force})."),
            "stream": N_("Stream {queues} was declared, led by {node}, with replicas on {members} ({in_force})."),
        },
    ),
    "queue_deleted": (
        "plain",
        {
            "client": N_("{queues} was deleted with {messages} in it."),
            "expired": N_("{queues} was deleted with {messages} in it: it had been unused for too long."),
            "auto_delete": N_("{queues} was deleted with {messages} in it: its last consumer has gone."),
            "exclusive_owner_gone": N_("{queues} was deleted with {messages} in it: its owner's connection has gone."),
            "node_down": N_("{queues} is gone, because its node went down and it was not durable."),
            "node_forgotten": N_(
                "{queues} was deleted: its master's node was forgotten, and no stopped node had a mirror."
            ),
            "node_reset": N_("{queues} was deleted: its master's node was reset, and no stopped node had a mirror."),
            "side_given_up": N_("{queues} is gone: the remaining nodes never knew it."),
        },
    ),
    "arguments_ignored": ("plain", N_("{queues} was declared with {arguments}, which has no effect.")),
    "exchange_declared": ("plain", N_("Exchange {exchange} was declared, direct and durable.")),
    "queue_bound": ("plain", N_("{queues} was bound to {exchange_name} with the routing key {routing_key}.")),
    "queue_purged": ("plain", N_("{queues} was purged of {messages}.")),
    **CLIENT_SENTENCES,
    "node_stopping": ("fault", N_("{node} was shut down in a controlled way.")),
    "node_stopped": ("fault", N_("The controlled shutdown of {node} was completed.")),
    "process_crashed": (
        "fault",
        {
            False: N_("The process of {queues} on {node} crashed and is started again."),
            True: N_("The process of {queues} on {node} crashed too often within 10 s and is not started again."),
        },
    ),
    "node_killed": ("fault", N_("{node} was killed.")),
    "node_lost_power": ("fault", N_("The host of {node} lost power, without closing its connections.")),
    "links_cut": ("fault", N_("From now on, the network passes nothing between {links}; no node has noticed yet.")),
    "links_healed": ("recovery", N_("All links work again.")),
    "links_timed_out": (
        "fault",
        N_("Nothing has passed between {links} for net_ticktime: each node considers the other down."),
    ),
    "cluster_partitioned": ("fault", N_("The cluster is partitioned: {sides} continue independently of each other.")),
    "publisher_held_up": (
        "fault",
        N_(
            "Flow control holds up a publisher on {node}: {messages} for {queues} wait for a mirror that does not "
            "answer."
        ),
    ),
    "messages_held_back": (
        "fault",
        N_("A channel on {node} waits until a quorum queue has registered it; {messages} for {queues} wait meanwhile."),
    ),
    "metadata_stalled": ("fault", N_("A change of the cluster's metadata waits: the store cannot write it now.")),
    "metadata_leader_elected": ("promotion", N_("{node} was elected to lead the metadata store, in term {term}.")),
    "metadata_available": ("recovery", N_("{Metadata} can be written: {node} leads and has a majority.")),
    "metadata_unavailable": (
        "fault",
        N_("{Metadata} can be read but not written: the store has no leader that reaches a majority."),
    ),
    "sides_rejoined": ("recovery", N_("The partitions of the cluster are joined again, with the metadata of {nodes}.")),
    "node_pausing": (
        "fault",
        {
            "majority": N_("{node} sees no majority of the cluster's nodes and stops its broker."),
            "preferred": N_("{node} sees none of the nodes that pause_if_all_down lists and stops its broker."),
            "everybody": N_(
                "{node} no longer sees a node that other nodes still see, and stops its broker until it sees all"
                " nodes again."
            ),
        },
    ),
    "node_paused": ("fault", N_("{node} is paused until it sees enough of the other nodes.")),
    "autoheal_started": ("recovery", N_("{losers} restart, to join {winner} again (autoheal).")),
    "records_taken_over": (
        "fault",
        N_("{node} discards its metadata and takes over that of the running nodes."),
    ),
    "records_restored": ("fault", N_("{node} boots with the metadata that it had when it stopped, even if the"
                                     " cluster has changed since.")),
    "node_booting": ("plain", N_("{node} began to boot.")),
    "node_waiting": (
        "fault",
        {
            False: N_("{node} waits during its boot for {waits_for}, which may have newer metadata."),
            True: N_("{node} waits during its boot for {waits_for}, until a majority of the metadata store runs."),
        },
    ),
    "node_gave_up": ("fault", N_("{node} gave up waiting for {waits_for} and exited.")),
    "node_boot_refused": (
        "refusal",
        {
            "wiped": N_("{node} did not boot as a member of the cluster: its disk is empty."),
            "forgotten": N_("{node} did not boot: it considers itself a member of the cluster, but the other nodes"
                            " have forgotten it."),
            "not_joined": N_("{node} did not boot as a member of the cluster: it has not joined it."),
        },
    ),
    "node_joined": ("recovery", N_("{node} joined the cluster.")),
    "node_reset": ("fault", N_("{node} was reset: it forgot the cluster and deleted its data.")),
    "node_forgotten": ("fault", N_("forget_cluster_node was run on {origin}: {node} is no longer a member of the "
                                   "cluster.")),
    "node_stands_alone": (
        "fault",
        N_("{node} is the only member of the cluster from now on, and its copy of the metadata is authoritative."),
    ),
    "disk_lost": ("fault", N_("{node} lost its disk.")),
    "heir_chosen": (
        "promotion",
        N_("{queues}, whose master was on {was}, now waits for {node}, which has {messages} on its disk and lacks"
           " {missing}."),
    ),
    "node_running": ("recovery", N_("{node} is up.")),
    "node_down_noticed": ("fault", N_("{by} noticed that {node} is gone.")),
    "mirror_added": (
        "plain",
        {
            True: N_("{node} joined {queues} as a mirror. It is synchronised, because the queue is empty."),
            False: N_(
                "{node} joined {queues} as an empty mirror that is not synchronised: it receives only messages that"
                " are published from now on."
            ),
        },
    ),
    "mirror_removed": (
        "fault",
        {
            "node_down": N_("{queues} lost the mirror on {node}: the node went down."),
            "crashed": N_("{queues} lost the mirror on {node}, whose process had crashed."),
            "out_of_reach": N_("{queues} continues without the mirror on {node}, which could not be reached."),
            "policy": N_("{queues} dropped the mirror on {node}, as the policy requires; the mirror's copy was"
                         " deleted."),
            "master_shutdown": N_("The mirror of {queues} on {node} was stopped and deleted its copy."),
            "master_recovered": N_("{queues} has its earlier master again, which does not know the mirror on {node}."),
            "transfer": N_("{queues} dropped the mirror on {node} so that the master moves; the mirror's copy was"
                           " deleted."),
        },
    ),
    "mirror_stays": (
        "fault",
        N_(
            "{queues} has its earlier master again. Because the policy changed meanwhile, the queue record"
            " still lists the mirror on {node}. The mirror stays, but no longer confirms the messages that channels"
            " sent it while it waited."
        ),
    ),
    "mirror_synchronised": (
        "recovery",
        {
            "joined": N_("The mirror of {queues} on {node} is synchronised: it lacks no message."),
            "drained": N_("The mirror of {queues} on {node} is synchronised: all messages that it lacked have left"
                          " the queue."),
            "synchronisation": N_("The mirror of {queues} on {node} is synchronised: the master sent it all messages."),
            "promotion": N_("The mirror of {queues} on {node} is synchronised: it holds all messages that the new"
                            " master holds."),
        },
    ),
    "master_down": (
        "fault",
        {
            "node_killed": N_("{queues} lost the master on {node}: the node was killed."),
            "node_lost_power": N_("{queues} lost the master on {node}: its host lost power."),
            "out_of_reach": N_("{queues} can no longer be reached: its master is on {node}."),
            "crashed": N_("{queues} lost the master on {node}: its process crashed."),
            "node_stopped": N_("The master of {queues} on {node} was shut down with its node."),
            "policy": N_("{queues} dropped the master on {node}, as the policy requires; the master's copy was"
                         " deleted."),
            "transfer": N_("{queues} dropped the master on {node} so that another replica takes over; the master's"
                           " copy was deleted."),
            "left_behind": N_(
                "{node} no longer serves {queues}: the messages of the master there are out of reach."
            ),
            "metadata_timed_out": N_(
                "The process of {queues} on {node} has ended with {messages} in it, because metadata could not be "
                "changed."
            ),
        },
    ),
    "rebalance_started": ("plain", N_("Masters are being rebalanced: at most {most} on a node.")),
    "leadership_transferred": ("plain", N_("The master of {queues} is moved from {was} to {node} on purpose.")),
    "mirrors_stopped": (
        "fault",
        N_(
            "None of the mirrors of {queues} on {mirrors} was synchronised, so the master that was shut down "
            "stopped them."
        ),
    ),
    "promotion_refused": (
        "refusal",
        N_(
            "{node} deleted its copy of {queues} instead of taking over: no mirror was synchronised, and "
            "ha-promote-on-failure is when-synced."
        ),
    ),
    "promoted": (
        "promotion",
        {
            True: N_("{node}, a synchronised mirror, took over {queues} from {was} with {messages}."),
            False: N_(
                "{node}, a mirror that was not synchronised, took over {queues} from {was} with {messages}; "
                "it lacked {missing}."
            ),
        },
    ),
    "leader_elected": ("promotion", N_("{node} was elected to lead {queues}, in term {term}.")),
    "queue_unavailable": (
        "fault",
        {
            True: N_(
                "{as_seen}{queues} no longer commits anything: {node} leads it and reaches no majority of its members."
            ),
            False: N_(
                "{as_seen}{queues} has lost its leader: nothing is committed until a majority has elected another."
            ),
        },
    ),
    "queue_available": (
        "recovery",
        N_("{as_seen}{queues} commits again: {node} leads it and reaches a majority of its members."),
    ),
    "nodes_suspected": (
        "fault",
        N_("No data came over {links} for a while, so quorum queue members on these nodes consider each other down."),
    ),
    "member_added": ("plain", N_("{node} became a member of {queues}; the leader will send it the log.")),
    "shrunk_by_force": ("fault", N_("{queues} is forced to continue with only its member on {node}.")),
    "member_removed": ("plain", N_("{node} is no longer a member of {queues}.")),
    "queue_down": (
        "fault",
        {
            "no_mirror": N_("{queues} is down: there is no mirror to take over from {node}."),
            "mirrors_stopped": N_("{queues} is down until {node} is back: its mirrors were stopped."),
            "promotion_refused": N_("{queues} is down until {node} is back: no mirror may take over."),
            "declared_by_half": N_(
                "The declaration of {queues} timed out for its client. The metadata store has the queue all the same, "
                "but no process serves it."
            ),
            "members_deleted": N_(
                "{queues} is down: its members on {members} have deleted all their messages. Its record stays as"
                " long as metadata cannot be changed."
            ),
            "deleted_by_half": N_(
                "{queues} is down: its process on {node} has deleted all its messages. Its record stays as long as"
                " metadata cannot be changed."
            ),
        },
    ),
    "queue_recovered": (
        "recovery",
        {
            "node_running": N_("{queues} is served by {node} again, from its disk, with {messages}."),
            "process_restarted": N_(
                "The process of {queues} was started again on {node}, from its disk, with {messages}."
            ),
        },
    ),
    "sync_started": (
        "plain",
        N_("{queues} began to send its {messages} to the mirror on {mirrors}; the queue is blocked for {expected_s}"
           " s."),
    ),
    "sync_held": ("fault", N_("A memory alarm pauses the synchronisation of {queues}; the queue stays blocked"
                              " meanwhile.")),
    "sync_resumed": ("recovery", N_("The synchronisation of {queues} continues and takes {expected_s} s more.")),
    "sync_too_slow": (
        "fault",
        N_(
            "{node} and {mirrors} have received nothing from each other for net_ticktime: a synchronisation batch"
            " of {queues} occupies their link."
        ),
    ),
    "alarm_set": ("fault", N_("{node} is short of {resource}: publishers on all nodes are blocked.")),
    "alarm_cleared": (
        "recovery",
        {
            "relieved": N_("{node} has enough {resource} again."),
            "node_down": N_("{node} is gone, so its {resource} alarm ends."),
        },
    ),
    "connection_blocked": (
        "fault",
        N_(
            "A client published on connection {connection} to {node}. The connection is now blocked for lack of"
            " {resources}: {node} reads nothing from it."
        ),
    ),
    "request_waits": (
        "fault",
        N_("Requests on connection {connection} to {node} wait, because it is blocked."),
    ),
    "connection_unblocked": ("recovery", N_("{node} reads from connection {connection} again.")),
    "node_drained": (
        "fault",
        N_("{node} is being drained: it closed its clients' connections and accepts no new ones."),
    ),
    "follower_stopped": ("fault", N_("{node}, which is being drained, stopped its member of {queues}.")),
    "node_revived": ("recovery", N_("{node} was revived and takes clients again.")),
    "sync_finished": ("recovery", N_("The mirror of {queues} on {mirrors} was sent all messages and is synchronised.")),
    "sync_ended": (
        "fault",
        {
            "cancelled": N_("The synchronisation of {queues} was cancelled; the mirrors that took part are empty now."),
            "master_down": N_(
                "The synchronisation of {queues} ended with its master; the mirrors that took part are empty now."
            ),
            "mirrors_gone": N_("The synchronisation of {queues} ended, because the mirrors that took part are gone."),
        },
    ),
    "sync_not_needed": ("plain", N_("There was nothing to synchronise: all mirrors of {queues} are synchronised.")),
    "step_refused": ("refusal", N_("RabbitMQ refused this: {refusal}.")),
}
"""Each event's tone and sentence, or its sentences by the field that VARIED_BY names."""
