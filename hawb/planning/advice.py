"""What is known of each kind of finding: how bad it is, why, where that stands, and what to do.

`what` is filled in with a finding's facts; {name!r} puts a name into quotes. "The guide" is RabbitMQ's guide to
mirroring (ha.html) of 3.8, unless another is named.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Severity = Literal["error", "warning", "note"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""The worst first. An error: messages can be lost, or a policy does not do what it says; a warning: something costs or
endangers more than it has to; a note: worth knowing."""


class Advice(Struct, frozen=True):
    """How bad a kind of finding is, the text for what was found, why it matters, where that is written, what to do."""

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
        "Correct what the broker names, and set the policy again.",
    ),
    "unknown-settings": Advice(
        "error",
        "{keys} mean nothing to RabbitMQ {release}",
        "A setting that a release has given up stays in the policy after an upgrade, and nothing comes of it.",
        "rabbit_policies of each release",
        "Take the settings out; where they mirrored queues, declare those anew as quorum queues.",
    ),
    "fits-no-type": Advice(
        "error",
        "no type of queue that apply-to {apply_to} covers has all its settings: {clashes}",
        "A policy with one setting that a type does not have is passed over as a whole for queues of that type.",
        "rabbit_policy:match, is_policy_applicable; rabbitmq-server#11987",
        "Make a policy for each type, with its own settings: from 3.12 on with apply-to for that type, before with"
        " patterns that tell the queues apart.",
    ),
    "passes-over": Advice(
        "warning",
        "passed over as a whole for {type} queues that it matches ({queues:,}): {keys} is not for that type",
        "A policy with one setting that a type does not have is passed over as a whole for queues of that type, and the"
        " next policy that matches applies.",
        "rabbit_policy:match, is_policy_applicable; rabbitmq-server#7350",
        "Make a policy for each type, with its own settings: from 3.12 on with apply-to for that type, before with"
        " patterns that tell the queues apart.",
    ),
    "matches-nothing": Advice(
        "warning",
        "the pattern {pattern!r} is found in the name of no queue that it could apply to",
        "What the policy was to protect is not protected.",
        "rabbit_policy:matches; the guide, \"How to Check if a Queue is Mirrored\"",
        "Compare the pattern with the queues' names: it is a regular expression, and a dot stands for any character. Or"
        " clear the policy.",
    ),
    "matches-everything": Advice(
        "note",
        "the pattern {pattern!r} is found in every name",
        "It takes in the queues that libraries and brokers name themselves (amq.gen-), and competes with every policy"
        " that comes later.",
        "rabbit_policy:matches: a search anywhere in the name",
        "Begin queues' names with what they have in common, and the pattern with ^ and that.",
    ),
    "never-applies": Advice(
        "warning",
        "matches queues ({queues:,}) and applies to none: there it yields to {winners}",
        "One policy applies to a queue; policies are not added up.",
        "rabbit_policy:match_all; the guide, \"How to Check if a Queue is Mirrored\"",
        "Write what is to apply of its settings into the policies that win, and clear it.",
    ),
    "priority-tie": Advice(
        "error",
        "priority {priority} is also that of {others}, which match {queues} of the same queues",
        "Which of them applies is not defined: it follows the order in which the broker's store lists them.",
        "rabbit_policy:match_all sorts by priority alone",
        "Give each its own priority, or patterns that no name has both of.",
    ),
    "pattern-gives-up": Advice(
        "error",
        "the search for {pattern!r} takes too many steps in {queues}",
        "Erlang gives a search up after ten million steps, and then the policy does not apply. Here such a pattern is"
        " not tried on the names that come after these.",
        "rabbit_policy:matches; Erlang's re, match_limit",
        "Write the pattern without repeats inside repeats.",
    ),
    "key-without-effect": Advice(
        "warning",
        "{key} has no effect: {reason}",
        "A setting that does nothing reads like protection.",
        "rabbit_policies, rabbit_mirror_queue_misc, rabbit_quorum_queue of the release",
        "Take the setting out, or add what it needs.",
    ),
    "exactly-promotes-always": Advice(
        "error",
        "ha-mode exactly {count} with ha-promote-on-shutdown always and ha-sync-mode {sync_mode}",
        "Each node that stops is replaced by a new mirror that is empty at first. In a rolling restart the next stop"
        " promotes it, and what the queue held is gone.",
        "the guide, \"Stopping Master Nodes with Only Unsynchronised Mirrors\";"
        " rabbit_mirror_queue_misc:remove_from_queue adds the mirror",
        "Leave ha-promote-on-shutdown at when-synced, synchronise automatically, and let upgrades wait for"
        " rabbitmq-upgrade await_online_synchronized_mirror.",
    ),
    "promotes-always-on-shutdown": Advice(
        "warning",
        "ha-promote-on-shutdown always with ha-mode {mode} and ha-sync-mode {sync_mode}",
        "A stop of the master's node promotes a mirror that is not synchronised, as one is that has just come back, and"
        " loses what only the master had.",
        "the guide, \"Stopping Master Nodes with Only Unsynchronised Mirrors\"",
        "Leave it at when-synced, unless being available counts for more than the messages.",
    ),
    "mirrors-on-all-nodes": Advice(
        "warning",
        "ha-mode all puts a replica on {nodes}",
        "Every message is sent to each node and written there, and a publisher waits for the slowest. A majority of the"
        " nodes tolerates as much as most need.",
        "the guide, \"Replication Factor: How Many Mirrors are Optimal?\"",
        "Set ha-mode exactly, with the majority as ha-params.",
    ),
    "unknown-node": Advice(
        "error",
        "ha-params name {strangers}, of which the cluster has none",
        "A node that does not exist holds no mirror; with none of the listed ones there, the master stands alone.",
        "rabbit_mirror_queue_mode_nodes:suggested_queue_nodes",
        "Write the nodes as rabbitmqctl cluster_status names them, or use ha-mode exactly.",
    ),
    "more-replicas-than-nodes": Advice(
        "note",
        "ha-params {count} on a cluster of {nodes} nodes",
        "Each node holds a replica; the rest waits for nodes to come.",
        "rabbit_mirror_queue_mode_exactly:suggested_queue_nodes",
        "Add nodes, or ask for a majority of those there are.",
    ),
    "policy-feeds-itself": Advice(
        "error",
        "applies to {queues} too, where its dead letters go, and leads theirs back: {path}",
        "RabbitMQ drops a dead letter that comes back to a queue where it has died, with one warning in the log, unless"
        " a client has rejected it on the way round. A rejected one goes round for ever.",
        "rabbit_dead_letter:detect_cycles; mc:is_death_cycle",
        "Give the dead-letter queues a policy of their own, of a higher priority and without dead-letter-exchange, or"
        " this policy a pattern that they do not match.",
    ),
    # --- queues ---
    "dead-letter-cycle": Advice(
        "error",
        "dead letters come back: {path}",
        "RabbitMQ drops a dead letter that comes back to a queue where it has died, with one warning in the log, unless"
        " a client has rejected it on the way round. A rejected one goes round for ever.",
        "rabbit_dead_letter:detect_cycles; mc:is_death_cycle",
        "Take dead-letter-exchange from one of these queues: out of its policy, or by declaring it anew without the"
        " argument.",
    ),
    "dead-letter-retries": Advice(
        "note",
        "dead letters come back after a wait: {path}",
        "This is how retries are made. A message that is rejected each time goes round for ever, and one that expires"
        " in each of these queues is dropped.",
        "rabbit_dead_letter:detect_cycles; mc:is_death_cycle",
        "End the retries in the application, which finds their number in the header x-death; if none are meant, take"
        " dead-letter-exchange from one of these queues.",
    ),
    "mirroring-silenced": Advice(
        "error",
        "not mirrored: {policy!r} applies alone, and {silenced}, which would mirror it, do not",
        "One policy applies to a queue. One with a TTL or a length limit and a higher priority takes the mirrors away.",
        "rabbit_policy:match_all; the guide, \"How to Check if a Queue is Mirrored\"; rabbitmq-server#2125, #2818",
        "Write the ha settings into the policy that applies too, or make its settings an operator policy or arguments.",
    ),
    "settings-silenced": Advice(
        "warning",
        "{keys} of {silenced} do not apply: {policy!r} does, alone",
        "One policy applies to a queue; policies are not added up.",
        "rabbit_policy:match_all",
        "Write the settings into the policy that applies, or give them by arguments or an operator policy.",
    ),
    "no-policy": Advice(
        "warning",
        "no policy applies, so there is one replica",
        "When its node is down the queue cannot be used, and when its disk is lost so are the messages.",
        "the guide, \"What is Queue Mirroring\"",
        "Declare it anew as a quorum queue, or set a policy with ha-mode that matches its name; for data that may go,"
        " leave it.",
    ),
    "one-replica": Advice(
        "warning",
        "one replica: {reason}",
        "When its node is down the queue cannot be used, and when its disk is lost so are the messages.",
        "the guide, \"Non-mirrored Queue Behavior in a Cluster\"",
        "Declare it anew as a quorum queue, or write ha-mode into the policy that applies, with at least one mirror;"
        " for data that may go, leave it.",
    ),
    "no-mirror-runs": Advice(
        "warning",
        "one replica: no mirror runs, though the policy asks for one",
        "When its node is down the queue cannot be used, and when its disk is lost so are the messages.",
        "rabbit_mirror_queue_misc:suggested_queue_nodes",
        "Start the nodes that are down; with ha-mode nodes, name nodes that the cluster has.",
    ),
    "classic-queue": Advice(
        "warning",
        "a classic queue, of which RabbitMQ {release} keeps one replica",
        "When its node is down the queue cannot be used, and when its disk is lost so are the messages. No policy"
        " mirrors a queue from 4.0 on.",
        "4.0 rabbit_policies, without ha settings; rabbit_classic_queue",
        "Declare it anew as a quorum queue; for data that may go, leave it.",
    ),
    "one-member": Advice(
        "warning",
        "one replica: one member",
        "When its node is down the queue cannot be used, and when its disk is lost so are the messages.",
        "rabbit_quorum_queue:add_member; rabbit_stream_queue:add_replica",
        "Add members on two other nodes: rabbitmq-queues add_member, of a stream rabbitmq-streams add_replica.",
    ),
    "member-without-node": Advice(
        "error",
        "{ghosts}, of which the cluster has none, count among its {members} members",
        "A member that never comes back counts for the majority, so one failure less is tolerated.",
        "rabbit_quorum_queue:delete_member; rabbit_stream_queue:delete_replica",
        "Delete these members first: rabbitmq-queues delete_member, of a stream rabbitmq-streams delete_replica. Then"
        " add others on nodes that the cluster has.",
    ),
    "even-members": Advice(
        "warning",
        "of {members} members {tolerated} may fail, as of {fewer}",
        "A majority of an even number is one more: the last member costs writes and tolerates nothing.",
        "the guide to quorum queues, \"Controlling the Initial Replication Factor\"",
        "Add a member on a node that has none; where each node has one, join a node first, or of four members and more"
        " delete one.",
    ),
    "members-offline": Advice(
        "warning",
        "not online: {offline} of {members} members",
        "One failure more, and no majority may be left.",
        "the guide to quorum queues, \"Availability\"",
        "Start the nodes that are down. On a node that runs, delete the member and add it again.",
    ),
    "unsynchronised-mirrors": Advice(
        "error",
        "not synchronised: {unsynchronised} of {mirrors} mirrors",
        "If one of them is promoted, what it does not have is lost; with when-synced, the queue waits for its master.",
        "the guide, \"Unsynchronised Mirrors\"",
        "Run rabbitmqctl sync_queue when the queue may stand still for that long, or let consumers drain it.",
    ),
    "sync-batch-over-ticktime": Advice(
        "error",
        "batches of {batch_size:,} messages of {size_bytes:,} bytes{assumed} are {batch_mib:,.0f} MiB: {batch_s:,.0f} s"
        " on a link of {network_mb_s:g} MB/s, longer than net_ticktime, {net_ticktime_s:g} s",
        "While one batch fills the link no tick comes through, and the nodes take each other for dead.",
        "the guide, \"Batch Synchronization\"",
        "Set a smaller ha-sync-batch-size.",
    ),
    "sync-batch-large": Advice(
        "warning",
        "batches of {batch_size:,} messages of {size_bytes:,} bytes{assumed} are {batch_mib:,.0f} MiB: {batch_s:,.1f} s"
        " on a link of {network_mb_s:g} MB/s, and net_ticktime is {net_ticktime_s:g} s",
        "The guide warns of 49 MB: memory for one batch on each side, and a link that carries nothing else meanwhile.",
        "the guide, \"Batch Synchronization\": 50,000 messages of 1 KB",
        "Set a smaller ha-sync-batch-size.",
    ),
    "when-synced-without-confirms": Advice(
        "error",
        "ha-promote-on-failure when-synced, and the cluster has counted {published:,} messages and not one confirm",
        "The queue can be without a master for as long as its node is away, and a publisher without confirms does not"
        " notice.",
        "the guide, \"Promotion of Unsynchronised Mirrors on Failure\"",
        "Publish with confirms.",
    ),
    "when-synced-needs-confirms": Advice(
        "note",
        "ha-promote-on-failure when-synced, and no file tells whether publishers use confirms",
        "The queue can be without a master for as long as its node is away, and a publisher without confirms does not"
        " notice.",
        "the guide, \"Promotion of Unsynchronised Mirrors on Failure\"",
        "Publish with confirms; /api/overview among the files tells whether publishers do.",
    ),
    "policy-differs": Advice(
        "warning",
        "a listing says {listed!r} applies; by the policies in the files it is {policy}",
        "The files are of different times, or of policies with the same priority.",
        "rabbit_policy:match_all",
        "Export definitions and listings together, and give each policy its own priority.",
    ),
    "blocks-quorum": Advice(
        "note",
        "cannot be declared as a quorum queue: {blocks}",
        "4.0 mirrors nothing; a queue is moved by declaring it anew with x-queue-type quorum.",
        "rabbit_quorum_queue:check_invalid_arguments, rabbit_queue_type_util:run_checks of the release",
        "Do without that, or leave the queue classic, with one replica from 4.0 on. hawb migrate tells what another"
        " release takes.",
    ),
    "changes-for-quorum": Advice(
        "note",
        "can be declared as a quorum queue with changes: {changes}",
        "4.0 mirrors nothing; a queue is moved by declaring it anew with x-queue-type quorum.",
        "rabbit_quorum_queue:check_invalid_arguments, capabilities; rabbit_policy:is_policy_applicable",
        "Change who declares it, and the policy. hawb migrate writes both.",
    ),
    # --- nodes ---
    "masters-piled": Advice(
        "warning",
        "{masters:,} of {queues:,} masters and leaders; an equal share is {share:,}",
        "All work of a queue goes through its master: this node is the busiest, and its loss interrupts the most.",
        "the guide, \"Queue Master Location\"; rabbit_amqqueue:rebalance; cluster-operator#168",
        "Run rabbitmq-queues rebalance all.",
    ),
    "one-node": Advice(
        "warning",
        "the only node of its cluster: no queue can have a second replica",
        "When it is down no queue can be used, and when its disk is lost so are all messages.",
        "the guide to clustering; rabbit_quorum_queue:add_member",
        "Join two more nodes, and give the queues members or mirrors there.",
    ),
}
"""The advice by code."""
