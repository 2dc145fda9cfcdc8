"""Texts for each kind of finding: severity, what was found, why it matters, where that is written, what to do.

`what` is a template that is filled in with a finding's facts; {name!r} puts a name into quotes. "The guide" is
RabbitMQ's guide to mirroring (ha.html) of 3.8, unless another guide is named.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Severity = Literal["error", "warning", "note"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""Severities, worst first. An error: messages can be lost, or a policy does not do what it says. A warning: something
costs or endangers more than necessary. A note: worth knowing."""


class Advice(Struct, frozen=True):
    """The severity and the texts of a kind of finding: what was found, why it matters, the source, and what to do."""

    severity: Severity
    what: str
    why: str
    source: str
    remedy: str


ADVICE: dict[str, Advice] = {
    # --- policies ---
    "policy-refused": Advice(
        "error",
        "RabbitMQ {release} would refuse it: {reason}",
        "A policy that the broker does not accept applies to nothing.",
        "rabbit_policy:validation, rabbit_policies, rabbit_mirror_queue_misc:validate_policy",
        "Correct the setting that the refusal names, and set the policy again.",
    ),
    "unknown-settings": Advice(
        "error",
        "RabbitMQ {release} does not know {keys}{where}",
        "A setting that a release no longer supports stays in the policy after an upgrade, without effect.",
        "rabbit_policies of each release",
        "Remove the settings. If the policy mirrored queues, declare these queues again as quorum queues. If only an"
        " operator policy does not accept a setting, set it in a policy.",
    ),
    "fits-no-type": Advice(
        "error",
        "apply-to is {apply_to}, but no queue type that this includes supports all of the policy's settings: {clashes}",
        "RabbitMQ ignores the whole policy for a queue type that does not support one of its settings.",
        "rabbit_policy:match, is_policy_applicable; rabbitmq-server#11987",
        "Make a policy for each queue type: from 3.12 on with apply-to for that type, before that with patterns"
        " that match queues of one type only.",
    ),
    "passes-over": Advice(
        "warning",
        "ignored for the {type} queues that it matches ({queues:,}): that type does not support {keys}",
        "RabbitMQ ignores the whole policy for a queue type that does not support one of its settings; the next"
        " policy that matches applies.",
        "rabbit_policy:match, is_policy_applicable; rabbitmq-server#7350",
        "Make a policy for each queue type: from 3.12 on with apply-to for that type, before that with patterns"
        " that match queues of one type only.",
    ),
    "matches-nothing": Advice(
        "warning",
        "the pattern {pattern!r} matches no queue that the policy could apply to",
        "The queues that the policy should protect are not protected.",
        "rabbit_policy:matches; the guide, \"How to Check if a Queue is Mirrored\"",
        "Compare the pattern with the names of the queues: it is a regular expression, and a dot matches any"
        " character. If no queue needs the policy, clear it.",
    ),
    "matches-everything": Advice(
        "note",
        "the pattern {pattern!r} matches every name",
        "It also matches queues that brokers and libraries name themselves (amq.gen-), and competes with every"
        " later policy.",
        "rabbit_policy:matches: a search anywhere in the name",
        "Give the queues a common prefix, and let the pattern begin with ^ and this prefix.",
    ),
    "never-applies": Advice(
        "warning",
        "matches queues ({queues:,}) but applies to none: it is overridden by {winners}",
        "Only one policy applies to a queue; policies are not merged.",
        "rabbit_policy:match_all; the guide, \"How to Check if a Queue is Mirrored\"",
        "Copy the settings that you need into the policies that override this policy, then clear it.",
    ),
    "priority-tie": Advice(
        "error",
        "has the same priority, {priority}, as {others}; they match {queues} of the same queues",
        "Which of them applies is not defined: it depends on the order in which the broker's store lists them.",
        "rabbit_policy:match_all sorts by priority alone",
        "Give each policy its own priority, or patterns that never match the same queue.",
    ),
    "pattern-gives-up": Advice(
        "error",
        "matching {pattern!r} takes too many steps for {queues}",
        "Erlang gives up a match after ten million steps, and the policy then does not apply. hawb does not try"
        " such a pattern on further names.",
        "rabbit_policy:matches; Erlang's re, match_limit",
        "Write the pattern without repeats inside repeats.",
    ),
    "key-without-effect": Advice(
        "warning",
        "{key} has no effect: {reason}",
        "A setting without effect looks like protection.",
        "rabbit_policies, rabbit_mirror_queue_misc, rabbit_quorum_queue of the release",
        "Remove the setting, or add the settings that it needs.",
    ),
    "exactly-promotes-always": Advice(
        "error",
        "ha-mode exactly {count} with ha-promote-on-shutdown always and ha-sync-mode {sync_mode}",
        "A new, empty mirror replaces each node that stops. In a rolling restart, the next stop then promotes this"
        " mirror, and the queue's messages are lost.",
        "the guide, \"Stopping Master Nodes with Only Unsynchronised Mirrors\";"
        " rabbit_mirror_queue_misc:remove_from_queue adds the mirror",
        "Leave ha-promote-on-shutdown at when-synced, synchronise automatically, and let upgrades wait for"
        " rabbitmq-upgrade await_online_synchronized_mirror.",
    ),
    "promotes-always-on-shutdown": Advice(
        "warning",
        "ha-promote-on-shutdown always with ha-mode {mode} and ha-sync-mode {sync_mode}",
        "Stopping the master's node can promote an unsynchronised mirror, such as one that has just restarted. The"
        " messages that only the master had are then lost.",
        "the guide, \"Stopping Master Nodes with Only Unsynchronised Mirrors\"",
        "Leave it at when-synced, unless availability matters more than the messages.",
    ),
    "mirrors-on-all-nodes": Advice(
        "warning",
        "ha-mode all puts a replica on {nodes}",
        "Every message is sent to each node and written there, and publishers wait for the slowest. Replicas on a"
        " majority of the nodes are enough for most purposes.",
        "the guide, \"Replication Factor: How Many Mirrors are Optimal?\"",
        "Set ha-mode exactly, with the majority as ha-params.",
    ),
    "unknown-node": Advice(
        "error",
        "ha-params names {strangers}, which the cluster does not have",
        "A node that does not exist holds no mirror. If none of the listed nodes exists, the master has no mirror.",
        "rabbit_mirror_queue_mode_nodes:suggested_queue_nodes",
        "Write the nodes as rabbitmqctl cluster_status names them, or use ha-mode exactly.",
    ),
    "more-replicas-than-nodes": Advice(
        "note",
        "ha-params {count} on a cluster of {nodes} nodes",
        "Each node already holds a replica; further replicas are created only when nodes join.",
        "rabbit_mirror_queue_mode_exactly:suggested_queue_nodes",
        "Add nodes, or ask for a majority of the existing nodes.",
    ),
    "policy-feeds-itself": Advice(
        "error",
        "also applies to its dead-letter queues {queues}, and sends their dead letters back: {path}",
        "RabbitMQ drops a dead letter that returns to a queue where it was dead-lettered before, and logs one"
        " warning. If a client rejected it on the way, it circulates for ever.",
        "rabbit_dead_letter:detect_cycles; mc:is_death_cycle",
        "Give the dead-letter queues their own policy with a higher priority and without dead-letter-exchange, or"
        " give this policy a pattern that they do not match.",
    ),
    # --- queues ---
    "dead-letter-cycle": Advice(
        "error",
        "dead letters come back: {path}",
        "RabbitMQ drops a dead letter that returns to a queue where it was dead-lettered before, and logs one"
        " warning. If a client rejected it on the way, it circulates for ever.",
        "rabbit_dead_letter:detect_cycles; mc:is_death_cycle",
        "Remove dead-letter-exchange from one of these queues: from its policy, or by declaring it again without"
        " the argument.",
    ),
    "dead-letter-retries": Advice(
        "note",
        "dead letters come back after a wait: {path}",
        "This is a common way to retry. But a message that is rejected each time circulates for ever, and one that"
        " expires in each of these queues is dropped.",
        "rabbit_dead_letter:detect_cycles; mc:is_death_cycle",
        "Limit the retries in the application: the header x-death counts them. If you do not want retries, remove"
        " dead-letter-exchange from one of these queues.",
    ),
    "mirroring-silenced": Advice(
        "error",
        "not mirrored: {policy!r} applies and overrides {silenced}, which would mirror it",
        "Only one policy applies to a queue. A policy with a higher priority and no ha settings, such as one for a"
        " TTL, removes the mirrors.",
        "rabbit_policy:match_all; the guide, \"How to Check if a Queue is Mirrored\"; rabbitmq-server#2125, #2818",
        "Add the ha settings to the policy that applies, or move its settings to an operator policy or to queue"
        " arguments.",
    ),
    "settings-silenced": Advice(
        "warning",
        "{keys} of {silenced} do not apply: {policy!r} overrides it",
        "Only one policy applies to a queue; policies are not merged.",
        "rabbit_policy:match_all",
        "Add the settings to the policy that applies, or set them with queue arguments or an operator policy.",
    ),
    "no-policy": Advice(
        "warning",
        "no policy applies, so there is one replica",
        "While its node is down, the queue cannot be used. If the node's disk is lost, so are the messages.",
        "the guide, \"What is Queue Mirroring\"",
        "Declare it again as a quorum queue, or set a policy with ha-mode that matches its name. If its data may be"
        " lost, leave it.",
    ),
    "one-replica": Advice(
        "warning",
        "one replica: {reason}",
        "While its node is down, the queue cannot be used. If the node's disk is lost, so are the messages.",
        "the guide, \"Non-mirrored Queue Behavior in a Cluster\"",
        "Declare it again as a quorum queue, or add ha-mode with at least one mirror to the policy that applies."
        " If its data may be lost, leave it.",
    ),
    "no-mirror-runs": Advice(
        "warning",
        "one replica: no mirror runs, though the policy asks for one",
        "While its node is down, the queue cannot be used. If the node's disk is lost, so are the messages.",
        "rabbit_mirror_queue_misc:suggested_queue_nodes",
        "Start the nodes that are down; with ha-mode nodes, name nodes that the cluster has.",
    ),
    "classic-queue": Advice(
        "warning",
        "a classic queue, which has one replica in RabbitMQ {release}",
        "While its node is down, the queue cannot be used. If the node's disk is lost, so are the messages. From"
        " 4.0 on, no policy can mirror a queue.",
        "4.0 rabbit_policies, without ha settings; rabbit_classic_queue",
        "Declare it again as a quorum queue. If its data may be lost, leave it.",
    ),
    "one-member": Advice(
        "warning",
        "one replica: one member",
        "While its node is down, the queue cannot be used. If the node's disk is lost, so are the messages.",
        "rabbit_quorum_queue:add_member; rabbit_stream_queue:add_replica",
        "Add members on two other nodes: rabbitmq-queues add_member, for a stream rabbitmq-streams add_replica.",
    ),
    "member-without-node": Advice(
        "error",
        "its members include {ghosts}, which the cluster does not have ({members:,} in all)",
        "A member that never comes back still counts for the majority, so the queue tolerates one failure less.",
        "rabbit_quorum_queue:delete_member; rabbit_stream_queue:delete_replica",
        "Delete these members first: rabbitmq-queues delete_member, for a stream rabbitmq-streams delete_replica."
        " Then add members on nodes that the cluster has. If each node has one already, join another node first.",
    ),
    "even-members": Advice(
        "warning",
        "{tolerated} of {members} members may fail; {fewer} would tolerate as many",
        "An even number of members needs one more for a majority: the last member costs writes and tolerates no"
        " further failure.",
        "the guide to quorum queues, \"Controlling the Initial Replication Factor\"",
        "Add a member on a node that has none. If each node has one, join another node first, or delete a member"
        " if there are at least four.",
    ),
    "members-offline": Advice(
        "warning",
        "not online: {offline} of {members} members",
        "After one more failure there may be no majority.",
        "the guide to quorum queues, \"Availability\"",
        "Start the nodes that are down. On a node that runs, delete the member and add it again.",
    ),
    "unsynchronised-mirrors": Advice(
        "error",
        "not synchronised: {unsynchronised} of {mirrors} mirrors",
        "If one of these mirrors is promoted, the messages that it lacks are lost. With when-synced, the queue instead"
        " waits for its master.",
        "the guide, \"Unsynchronised Mirrors\"",
        "Run rabbitmqctl sync_queue at a time when the queue may be blocked, or let consumers empty the queue. If the"
        " master's node is down, start it first.",
    ),
    "sync-batch-over-ticktime": Advice(
        "error",
        "batches of {batch_size:,} messages of {size_bytes:,} bytes{assumed} are {batch_mib:,.0f} MiB: {batch_s:,.0f} s"
        " on a link of {network_mb_s:g} MB/s, longer than net_ticktime, {net_ticktime_s:g} s",
        "While a batch fills the link, net ticks are delayed, and the nodes consider each other down.",
        "the guide, \"Batch Synchronization\"",
        "Set a smaller ha-sync-batch-size.",
    ),
    "sync-batch-large": Advice(
        "warning",
        "batches of {batch_size:,} messages of {size_bytes:,} bytes{assumed} are {batch_mib:,.0f} MiB: {batch_s:,.1f} s"
        " on a link of {network_mb_s:g} MB/s, and net_ticktime is {net_ticktime_s:g} s",
        "The guide warns of batches of 49 MB: both nodes hold the batch in memory, and the link carries nothing"
        " else meanwhile.",
        "the guide, \"Batch Synchronization\": 50,000 messages of 1 KB",
        "Set a smaller ha-sync-batch-size.",
    ),
    "when-synced-without-confirms": Advice(
        "error",
        "ha-promote-on-failure is when-synced, and the cluster counted {published:,} published messages without a"
        " single confirm",
        "The queue can be without a master while the node is down, and publishers without confirms do not notice.",
        "the guide, \"Promotion of Unsynchronised Mirrors on Failure\"",
        "Publish with confirms.",
    ),
    "when-synced-needs-confirms": Advice(
        "note",
        "ha-promote-on-failure is when-synced, and no file says whether publishers use confirms",
        "The queue can be without a master while the node is down, and publishers without confirms do not notice.",
        "the guide, \"Promotion of Unsynchronised Mirrors on Failure\"",
        "Publish with confirms. Add /api/overview to the files: it says whether publishers use confirms.",
    ),
    "policy-differs": Advice(
        "warning",
        "a listing says that {listed!r} applies; according to the policies in the files it is {policy}",
        "The files were exported at different times, or policies have the same priority.",
        "rabbit_policy:match_all",
        "Export definitions and listings together, and give each policy its own priority.",
    ),
    "blocks-quorum": Advice(
        "note",
        "cannot be declared as a quorum queue: {blocks}",
        "4.0 has no mirrored queues; to move a queue, declare it again with x-queue-type quorum.",
        "rabbit_quorum_queue:check_invalid_arguments, rabbit_queue_type_util:run_checks of the release",
        "Give up this feature, or leave the queue classic, with one replica from 4.0 on. hawb migrate says what"
        " other releases accept.",
    ),
    "changes-for-quorum": Advice(
        "note",
        "can be declared as a quorum queue with changes: {changes}",
        "4.0 has no mirrored queues; to move a queue, declare it again with x-queue-type quorum.",
        "rabbit_quorum_queue:check_invalid_arguments, capabilities; rabbit_policy:is_policy_applicable",
        "Change the application that declares it, and the policy. hawb migrate writes both changes.",
    ),
    # --- nodes ---
    "masters-piled": Advice(
        "warning",
        "hosts {masters:,} of {queues:,} masters and leaders; an equal share would be {share:,}",
        "All operations of a queue go through its master: this node is the busiest, and its failure interrupts the"
        " most queues.",
        "the guide, \"Queue Master Location\"; rabbit_amqqueue:rebalance; cluster-operator#168",
        "Run rabbitmq-queues rebalance all.",
    ),
    "one-node": Advice(
        "warning",
        "the only node of its cluster: no queue can have a second replica",
        "While it is down, no queue can be used. If its disk is lost, so are all messages.",
        "the guide to clustering; rabbit_quorum_queue:add_member",
        "Join two more nodes, and give the queues members or mirrors there.",
    ),
}
"""Advice by finding code."""
