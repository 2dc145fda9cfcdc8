"""The sentences for the events of `hawb.engine.trace.EVENTS`: the one table that `telling` fills in, of which
`client_sentences` is a part."""

from __future__ import annotations

from hawb.views.story.client_sentences import CLIENT_SENTENCES

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
"""The field of its detail that an event's sentence depends on, where that is not `reason`. See also `_variant`."""

SENTENCES: dict[str, tuple[str, str | dict[object, str]]] = {
    "policy_in_force": (
        "plain",
        "Policy {name} is in force from the start for queues that match {pattern}: {definition}.",
    ),
    "policy_set": ("plain", "Policy {name} was set for queues that match {pattern}: {definition}."),
    "policy_cleared": ("plain", "Policy {name} was cleared."),
    "policy_applied": (
        "plain",
        {
            "none": "Policy {was} does not apply to {queues} any more, and no other does.",
            "first": "Policy {policy} now applies to {queues}.",
            "same": "Policy {policy} applies to {queues} with its new definition.",
            "other": "Policy {policy} now applies to {queues} in place of {was}.",
        },
    ),
    "operator_policy_in_force": (
        "plain",
        "Operator policy {name} is in force from the start for queues that match {pattern}: {definition}.",
    ),
    "operator_policy_set": ("plain", "Operator policy {name} was set for queues that match {pattern}: {definition}."),
    "operator_policy_cleared": ("plain", "Operator policy {name} was cleared."),
    "operator_policy_applied": (
        "plain",
        {
            "none": "Operator policy {was} does not apply to {queues} any more, and no other does.",
            "first": "Operator policy {policy} now applies to {queues}, besides any policy.",
            "same": "Operator policy {policy} applies to {queues} with its new definition.",
            "other": "Operator policy {policy} now applies to {queues} in place of {was}.",
        },
    ),
    "policy_tie": (
        "plain",
        {
            "user": "Policies {policies} match {queues} with equal priority. RabbitMQ leaves open which wins; here "
            "{chosen} does.",
            "operator": "Operator policies {policies} match {queues} with equal priority. RabbitMQ leaves open which "
            "wins; here {chosen} does.",
        },
    ),
    "pattern_gave_up": (
        "plain",
        {
            "user": "Matching the pattern {pattern} of policy {policy} took too many steps and counts as no match.",
            "operator": "Matching the pattern {pattern} of operator policy {policy} took too many steps and counts as "
            "no match.",
        },
    ),
    "not_simulated": ("plain", "There are no rules for {what}{of_queues} here: nothing follows from it."),
    "queue_declared": (
        "plain",
        {
            "classic": "{queues} was declared on {node}, {placed}.",
            "quorum": "Quorum queue {queues} was declared, led by {node}, with members on {members} ({in_force}).",
            "stream": "Stream {queues} was declared, led by {node}, with replicas on {members} ({in_force}).",
        },
    ),
    "queue_deleted": (
        "plain",
        {
            "client": "{queues} was deleted with {messages} in it.",
            "expired": "{queues} was deleted with {messages} in it: it had been unused for too long.",
            "auto_delete": "{queues} was deleted with {messages} in it: its last consumer has gone.",
            "exclusive_owner_gone": "{queues} was deleted with {messages} in it: its owner's connection has gone.",
            "node_down": "{queues} is gone with its node: it was not durable.",
            "node_forgotten": "{queues} was deleted: its master's node was forgotten, and no stopped one had a mirror.",
            "node_reset": "{queues} was deleted: its master's node was reset, and no stopped one had a mirror.",
            "side_given_up": "{queues} is gone: the nodes that are left have never known of it.",
        },
    ),
    "arguments_ignored": ("plain", "{queues} takes {arguments}, and RabbitMQ makes nothing of it."),
    "exchange_declared": ("plain", "Exchange {exchange} was declared, direct and durable."),
    "queue_bound": ("plain", "{queues} was bound to {exchange_name} with the routing key {routing_key}."),
    "queue_purged": ("plain", "{queues} was purged of {messages}."),
    **CLIENT_SENTENCES,
    "node_stopping": ("fault", "{node} was shut down in a controlled way."),
    "node_stopped": ("fault", "The controlled shutdown of {node} was completed."),
    "process_crashed": (
        "fault",
        {
            False: "The process of {queues} on {node} crashed and is started again.",
            True: "The process of {queues} on {node} crashed too often within 10 s and is not started again.",
        },
    ),
    "node_killed": ("fault", "{node} was killed."),
    "node_lost_power": ("fault", "The host of {node} lost power, and nobody was told."),
    "links_cut": ("fault", "From now on nothing passes between {links}, and nobody has noticed."),
    "links_healed": ("recovery", "All links work again."),
    "links_timed_out": ("fault", "Nothing has passed between {links} for net_ticktime: each takes the other for dead."),
    "cluster_partitioned": ("fault", "The cluster is partitioned: {sides} go on without knowing of each other."),
    "publisher_held_up": (
        "fault",
        "Flow control holds up a publisher on {node}: {messages} for {queues} wait for a mirror that does not answer.",
    ),
    "messages_held_back": (
        "fault", "A channel on {node} waits until a quorum queue knows it; {messages} for {queues} wait behind that."
    ),
    "metadata_stalled": ("fault", "A change of the cluster's metadata waits: it cannot be written now."),
    "metadata_leader_elected": ("promotion", "{node} was elected to lead the metadata store, in term {term}."),
    "metadata_available": ("recovery", "{Metadata} can be written: {node} leads and has a majority."),
    "metadata_unavailable": (
        "fault", "{Metadata} can be read and not written: the store has no leader that reaches a majority."
    ),
    "sides_rejoined": ("recovery", "The sides of the cluster are one again, with the metadata of {nodes}."),
    "node_pausing": (
        "fault",
        {
            "majority": "{node} sees no majority of the cluster's nodes and stops its broker.",
            "preferred": "{node} sees none of the nodes that pause_if_all_down lists and stops its broker.",
            "everybody": "{node} lost sight of a node that others still see, and stops its broker until all are back.",
        },
    ),
    "node_paused": ("fault", "{node} is paused until it sees enough of the others."),
    "autoheal_started": ("recovery", "{losers} restart, to join {winner} again (autoheal)."),
    "records_taken_over": (
        "fault", "{node} gives up the records that it had, and takes over those of the nodes that it finds running."
    ),
    "records_restored": ("fault", "{node} boots with the records that it had when it went, whatever came after."),
    "node_booting": ("plain", "{node} began to boot."),
    "node_waiting": (
        "fault",
        {
            False: "{node} waits with its boot for {waits_for}, which may know more than it does.",
            True: "{node} waits with its boot until a majority of the metadata store runs, for {waits_for}.",
        },
    ),
    "node_gave_up": ("fault", "{node} gave up waiting for {waits_for} and exited."),
    "node_boot_refused": (
        "refusal",
        {
            "wiped": "{node} did not boot as one of the cluster: its disk is empty, and knows of none.",
            "forgotten": "{node} did not boot: it counts itself as a member, but the others have forgotten it.",
            "not_joined": "{node} did not boot as one of the cluster, which it has not joined.",
        },
    ),
    "node_joined": ("recovery", "{node} joined the cluster."),
    "node_reset": ("fault", "{node} was reset: it forgot the cluster and its data."),
    "node_forgotten": ("fault", "{origin} was told to forget {node}: it is no member of the cluster any more."),
    "node_stands_alone": (
        "fault",
        "{node} is the only member of the cluster from now on, and its copy of the metadata is the truth.",
    ),
    "disk_lost": ("fault", "{node} lost its disk."),
    "heir_chosen": (
        "promotion",
        "{queues}, which was on {was}, now waits for {node} and the {messages} on its disk; it lacks {missing}.",
    ),
    "messages_returned": (
        "fault",
        "{Ids} {were} in {queues} again, though they had left it: the disk that is served now is older than that.",
    ),
    "node_running": ("recovery", "{node} is up."),
    "node_down_noticed": ("fault", "{by} learnt that {node} is gone."),
    "mirror_added": (
        "plain",
        {
            True: "{node} joined {queues} as a mirror, and as there were no messages it is synchronised.",
            False: "{node} joined {queues} as an empty mirror that is not synchronised: it gets what is published from "
            "now on.",
        },
    ),
    "mirror_removed": (
        "fault",
        {
            "node_down": "{queues} lost the mirror on {node} with its node.",
            "crashed": "{queues} lost the mirror on {node}, whose process had crashed.",
            "out_of_reach": "{queues} goes on without the mirror on {node}, which could not be reached.",
            "policy": "{queues} dropped the mirror on {node}, as the policy asks for; its copy was deleted.",
            "master_shutdown": "The mirror of {queues} on {node} was stopped and deleted its copy.",
            "master_recovered": "{queues} has its master again, which knows nothing of the mirror on {node}.",
            "transfer": "{queues} dropped the mirror on {node} so that its master moves; its copy was deleted.",
        },
    ),
    "mirror_stays": (
        "fault",
        "{queues} has its master again, whose record names the mirror on {node}, for the policy changed meanwhile: it "
        "stays, and answers no more of what channels have sent it while it waited.",
    ),
    "mirror_synchronised": (
        "recovery",
        {
            "joined": "The mirror of {queues} on {node} is synchronised: there is nothing that it lacks.",
            "drained": "The mirror of {queues} on {node} is synchronised: all that it lacked has left the queue.",
            "synchronisation": "The mirror of {queues} on {node} is synchronised: it was sent everything.",
            "promotion": "The mirror of {queues} on {node} is synchronised: it holds all that the new master does.",
        },
    ),
    "master_down": (
        "fault",
        {
            "node_killed": "{queues} lost the master on {node} with its node.",
            "node_lost_power": "{queues} lost the master on {node} with its host.",
            "out_of_reach": "{queues} can no longer be reached where the master is, on {node}.",
            "crashed": "{queues} lost the master on {node} with its process.",
            "node_stopped": "The master of {queues} on {node} was shut down with its node.",
            "policy": "{queues} dropped the master on {node}, as the policy asks for; its copy was deleted.",
            "transfer": "{queues} dropped the master on {node} so that another takes over; its copy was deleted.",
            "left_behind": "{queues} is not served on {node} any more: what the master there holds is out of reach.",
            "metadata_timed_out": "The process of {queues} on {node} has ended with {messages} in it, since metadata "
            "could not be changed.",
        },
    ),
    "rebalance_started": ("plain", "Masters are to be shared out: at most {most} on a node."),
    "leadership_transferred": ("plain", "The master of {queues} is moved from {was} to {node} on purpose."),
    "mirrors_stopped": (
        "fault",
        "None of the mirrors of {queues} on {mirrors} was synchronised, so the master that was shut down stopped them.",
    ),
    "promotion_refused": (
        "refusal",
        "{node} deleted its copy of {queues} instead of taking over: no mirror was synchronised, and "
        "ha-promote-on-failure is when-synced.",
    ),
    "promoted": (
        "promotion",
        {
            True: "{node}, a synchronised mirror, took over {queues} from {was} with {messages}.",
            False: "{node}, a mirror that was not synchronised, took over {queues} from {was} with {messages}; "
            "it lacked {missing}.",
        },
    ),
    "leader_elected": ("promotion", "{node} was elected to lead {queues}, in term {term}."),
    "queue_unavailable": (
        "fault",
        {
            True: "{as_seen}{queues} commits nothing any more: {node} leads it and reaches no majority of its members.",
            False: "{as_seen}{queues} has lost its leader: nothing is committed until a majority has elected another.",
        },
    ),
    "queue_available": (
        "recovery",
        "{as_seen}{queues} commits again: {node} leads it and reaches a majority of its members.",
    ),
    "nodes_suspected": (
        "fault",
        "Nothing was heard over {links} for a while: members of quorum queues there take each other for dead.",
    ),
    "member_added": ("plain", "{node} became a member of {queues}, to be sent its log."),
    "shrunk_by_force": ("fault", "{queues} is made to go on with its member on {node} alone."),
    "member_removed": ("plain", "{node} is no longer a member of {queues}."),
    "queue_down": (
        "fault",
        {
            "no_mirror": "{queues} is down: there is no mirror to take over from {node}.",
            "mirrors_stopped": "{queues} is down until {node} is back: its mirrors were stopped.",
            "promotion_refused": "{queues} is down until {node} is back: no mirror may take over.",
            "declared_by_half": "{queues} is on record, though its client was told that the declaration timed out, and "
            "nothing serves it.",
            "members_deleted": "{queues} is down: its members on {members} have deleted all that they held, its record "
            "stays as long as metadata cannot be changed.",
            "deleted_by_half": "{queues} is down: its process on {node} has deleted all that it held, its record stays "
            "as long as metadata cannot be changed.",
        },
    ),
    "queue_recovered": (
        "recovery",
        {
            "node_running": "{queues} is served by {node} again, from its disk, with {messages}.",
            "process_restarted": "The process of {queues} was started again on {node}, from its disk, with {messages}.",
        },
    ),
    "sync_started": (
        "plain",
        "{queues} began to send its {messages} to the mirror on {mirrors}; nobody is served for {expected_s} s.",
    ),
    "sync_held": ("fault", "A memory alarm holds the synchronisation of {queues}, which stays blocked meanwhile."),
    "sync_resumed": ("recovery", "The synchronisation of {queues} goes on and takes {expected_s} s more."),
    "sync_too_slow": (
        "fault",
        "{node} and {mirrors} have heard nothing of each other for net_ticktime: a batch of the synchronisation of "
        "{queues} keeps their link.",
    ),
    "alarm_set": ("fault", "{node} is short of {resource}: whoever publishes, on any node, is blocked."),
    "alarm_cleared": (
        "recovery",
        {
            "relieved": "{node} has enough {resource} again.",
            "node_down": "{node} is gone, and its alarm for want of {resource} with it.",
        },
    ),
    "connection_blocked": (
        "fault",
        "Somebody published on connection {connection} to {node}, which is blocked now for want of {resources}: "
        "nothing is read from it.",
    ),
    "request_waits": ("fault", "What was asked over connection {connection} to {node} waits, because that is blocked."),
    "connection_unblocked": ("recovery", "{node} reads from connection {connection} again."),
    "node_drained": ("fault", "{node} is being drained: its clients' connections were closed, and it takes no others."),
    "follower_stopped": ("fault", "{node}, which is being drained, stopped its member of {queues}."),
    "node_revived": ("recovery", "{node} was revived and takes clients again."),
    "sync_finished": ("recovery", "The mirror of {queues} on {mirrors} was sent everything and is synchronised."),
    "sync_ended": (
        "fault",
        {
            "cancelled": "The synchronisation of {queues} was cancelled; the mirrors that took part are empty now.",
            "master_down": "The synchronisation of {queues} ended with its master; the mirrors that took part are "
            "empty now.",
            "mirrors_gone": "The synchronisation of {queues} ended, because the mirrors that took part are gone.",
        },
    ),
    "sync_not_needed": ("plain", "There was nothing to synchronise: all mirrors of {queues} are synchronised."),
    "messages_lost": (
        "loss",
        {
            "unsynchronised_promotion": "{Ids} of {queues} {were} lost: the new master does not have them.",
            "transient_message": "{Ids} of {queues} {were} lost: no process holds them any more, and they were not "
            "persistent.",
            "transient_queue": "{Ids} of {queues} {were} lost with its last process: the queue was not durable.",
            "exclusive_queue": "{Ids} of {queues} {were} lost with its only process: the queue was exclusive.",
            "dropped_replicas": "{Ids} of {queues} {were} lost: every copy was dropped but one, and that mirror "
            "deleted its own.",
            "disk_lost": "{Ids} of {queues} {were} lost with the disk that they were on.",
            "shrunk_by_force": "{Ids} of {queues} {were} lost: only members had them that were given up by force.",
            "side_given_up": "{Ids} of {queues} {were} lost: nodes that had them gave up their records for others that "
            "do not know of them.",
            "node_forgotten": "{Ids} of {queues} {were} lost: their master's node was forgotten, and no stopped mirror "
            "has them.",
            "node_reset": "{Ids} of {queues} {were} lost: their master's node was reset, and no stopped mirror has "
            "them.",
            "auto_ack_in_flight": "{Ids} of {queues} {were} lost on the way to their consumer with a node that died: "
            "with automatic acknowledgement the queue had let go of them.",
        },
    ),
    "step_refused": ("refusal", "RabbitMQ refused this: {refusal}."),
}
"""Each event's tone and sentence, or its sentences by the field that VARIED_BY names."""
