"""Map descriptions of what RabbitMQ does to the functions that decide it in hawb.

`hawb rule WORDS` searches the table, `data/rules.md` lists it (`hawb.lessons.rules_page`), and lessons show rules from
it. `rule_sources` adds a rule's code and sources.
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from types import FunctionType

from msgspec import Struct

from hawb.engine import streams
from hawb.engine.classic import (
    confirming,
    crashes,
    failover,
    held_sync,
    mirrors,
    orphaned_mirrors,
    outage,
    places,
    synchronisation,
)
from hawb.engine.clients import confirms, dealing_ports, settling, single_active, subscriptions, timeouts
from hawb.engine.clients.steady import credit_flow
from hawb.engine.cluster import alarms, booting, khepri, links, maintenance, membership, metadata, partition_handling
from hawb.engine.cluster import partitions as open_partitions
from hawb.engine.queues import dead_letters, expiry, lifecycle, policy_changes
from hawb.engine.queues import limits as lengths
from hawb.engine.quorum import losses, out_of_reach, requests, retries, visibility
from hawb.engine.raft_groups import member_changes
from hawb.raft import election, replication
from hawb.rules import (
    consumer_timeouts,
    limits,
    locators,
    mirror_placement,
    partitions,
    patterns,
    policies,
    policy_validation,
    promotion,
    queue_arguments,
    quorum_costs,
    quorum_declaration,
    rebalancing,
)
from hawb.rules import quorum as quorum_rules
from hawb.rules import streams as stream_rules


class Behaviour(Struct, frozen=True):
    """Something that RabbitMQ does: `asked` describes it in a user's words, `function` decides it.

    `says` are statements of data/guide.yaml and data/quorum-guide.yaml, which name scenarios, and `scenarios` are
    further scenarios.
    """

    asked: str
    function: FunctionType
    says: tuple[str, ...] = ()
    scenarios: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return MODULE.FUNCTION."""
        return f"{self.function.__module__.rpartition('.')[2]}.{self.function.__name__}"

    @property
    def text(self) -> str:
        """Return all text in which words are searched."""
        return f"{self.asked} {self.name} {self.summary}"

    @property
    def file(self) -> str:
        """Return the path of the function's file in a checkout."""
        return f"{self.function.__module__.replace('.', '/')}.py"

    @property
    def summary(self) -> str:
        """Return the first paragraph of the function's docstring."""
        return inspect.getdoc(self.function).partition("\n\n")[0].replace("\n", " ")


def _of(asked: str, function: FunctionType, says: str = "", scenarios: str = "") -> Behaviour:
    return Behaviour(asked, function, tuple(says.split()), tuple(scenarios.split()))


BEHAVIOURS: dict[str, tuple[Behaviour, ...]] = {
    "Policies and placement": (
        _of("policies: which queue names a pattern matches", patterns.matches,
            "pattern-is-a-regular-expression not-mirrored-by-name"),
        _of("policies: which policy applies to a queue (priority, apply-to)", policies.matching,
            "configured-by-policy definition-is-added"),
        _of("policies: how an operator policy is merged with a policy",
            policies.effective_definition, "", "operator-policy-merged"),
        _of("policies: which definitions are refused (validation)", policy_validation.refusal, "",
            "refused-policies refused-ha-settings refused-in-order"),
        _of("policies: which mirrors are added and dropped when a policy is set, changed or cleared",
            mirrors.take_effect,
            "policies-change-any-time mirrored-and-back"),
        _of("ha-mode: which nodes get a replica", mirror_placement.wanted_replicas, "two-keys all-nodes nodes-listed"),
        _of("ha-mode exactly: which mirrors are kept, added and dropped", mirror_placement.exactly,
            "exactly-counts-replicas exactly-replaces exactly-with-fewer-nodes"),
        _of("ha-mode nodes: which of the listed nodes get a replica", mirror_placement.listed_nodes,
            "nodes-listed nodes-unknown nodes-none-online nodes-may-end-the-master master-kept-until-synchronised"),
        _of("queue master locator: the node of a new queue's master", locators.locate,
            "three-places client-local min-masters random"),
        _of("queue.declare: which arguments are refused", queue_arguments.refusal, "",
            "refused-arguments refused-arguments-3-10"),
        _of("queue.declare of a queue that exists (redeclared): inequivalent arg, PRECONDITION_FAILED",
            queue_arguments.first_difference, "", "quorum-declared-again declared-again-without-its-type"),
        _of("queue.delete: what happens to the queue and its replicas",
            lifecycle.delete, "", "delete-without-master delete-waits-for-a-returning-mirror"),
    ),
    "Failover of mirrored queues": (
        _of("promotion: which replica takes over", promotion.candidate, "longest-running-mirror oldest-by-default"),
        _of("ha-promote-on-failure: when an unsynchronised mirror takes over from a killed master",
            promotion.refuses_on_failure, "unsynchronised-by-parameters only-on-the-master-is-lost"),
        _of("ha-promote-on-shutdown: when a stopped master also stops its mirrors", promotion.takes_mirrors_down,
            "unsynchronised-by-parameters"),
        _of("promotion: which messages the new master has, and which are lost", failover.promote, "",
            "synchronised-mirror-promoted unsynchronised-mirror-promoted"),
        _of("promotion refused: what remains of the mirror that refused", failover.refuse_promotion, "",
            "refusal-leaves-others-waiting first-to-hear-refuses refusal-ends-with-its-node"),
        _of("a queue that is down, without a master: which replicas remain", outage.await_master, "",
            "killed-master-not-replaced unmirrored-queues-on-a-dead-node"),
        _of("an orphaned mirror that is still in the queue's record takes over while the master runs",
            orphaned_mirrors.promote_orphaned_mirror, "", "strays-take-over"),
        _of("the master's node starts again: what happens to the queue", outage.recover, "",
            "mirrors-anew-when-their-master-is-back policy-cleared-while-mirrors-wait"),
        _of("a queue's process crashes: when it is restarted, and what is lost", crashes.crash, "",
            "crash-of-a-process crash-repeated crash-cancels-consumers"),
        _of("consumers at a failover: which are cancelled (x-cancel-on-ha-failover), and which move to the new master",
            subscriptions.follow_new_master, "pending-is-requeued acknowledgement-lost-before-the-master"),
    ),
    "Synchronisation of mirrors": (
        _of("ha-sync-mode, ha-sync-batch-size and the other ha keys: how a policy is read", policies.mirroring,
            "manual-is-default automatic-when-a-mirror-joins batch-size-argument"),
        _of("automatic synchronisation: when it begins",
            synchronisation.synchronise, "", "sync-automatic-blocks-the-queue"),
        _of("a mirror becomes synchronised by draining: the messages that it lacks leave the queue",
            mirrors.synchronise_drained,
            "draining-synchronises then-it-is-synchronised"),
        _of("a synchronisation is cancelled or ends early", mirrors.abort_sync, "cancel-sync-queue sync-queue"),
        _of("a memory alarm pauses a synchronisation", held_sync.hold_or_resume, "",
            "sync-held-by-a-memory-alarm incident-synchronisation-held-by-an-alarm"),
    ),
    "Publishing": (
        _of("publisher confirms: when a message is confirmed", confirming.answer_us,
            "span-all-mirrors confirm-after-all-mirrors"),
        _of("nack: a message is not confirmed because a queue process crashed", confirms.replica_crashed,
            "still-confirmed"),
        _of("orphaned mirrors, which are in no node's queue record: publishers get no answer",
            orphaned_mirrors.leave_orphaned_mirrors, "", "strays-of-a-transient-queue"),
        _of("flow control: when a publisher's channel has no credit", credit_flow.credit_towards,
            "credit-from-all-mirrors no-credit-stalls stalled-until-disconnected"),
        _of("memory or disk alarm: which publishers' connections are blocked", alarms.blocks_publishing, "",
            "alarm-blocks-publishers alarm-blocks-the-whole-connection"),
        _of("length limits of a queue: x-max-length, max-length-bytes, overflow", limits.limits, "",
            "max-length-bytes"),
        _of("drop-head: a queue that is too long drops its oldest message", lengths.drop_excess, "",
            "max-length-drops-the-head max-length-with-mirrors"),
        _of("reject-publish: when a classic queue is full", limits.room, "",
            "reject-publish rejects-survive-the-master"),
        _of("reject-publish: when a quorum queue is full", limits.is_too_long, "",
            "quorum-reject-publish quorum-reject-publish-in-a-batch"),
        _of("message TTL: expired messages are dropped at the head of the queue", expiry.drop_expired, "",
            "message-ttl message-ttl-outlasts-failover"),
        _of("dead letters: when a message goes to the dead letter exchange", dead_letters.let_go, "",
            "dead-letters dead-letters-do-not-arrive"),
        _of("dead letters at-least-once: how the queue keeps them until they are confirmed",
            dead_letters.keep, "", "quorum-dead-letters-at-least-once"),
        _of("dead letter cycles: when a dead letter is dropped", dead_letters.is_cycle, "", "dead-letter-cycles"),
    ),
    "Consuming": (
        _of("acknowledgements, also late ones after a failover: what ack, nack, reject and requeue do",
            settling.settle, "",
            "given-back-rejected-purged late-answers-for-another-consumer late-answers-give-back"),
        _of("late acknowledgements (ack, nack after a failover): the new master applies them to the messages at the"
            " same positions of its own queue",
            places.meant, "", "late-answers-by-place late-answers-after-a-synchronisation"),
        _of("a late reject crashes a queue with a dead letter exchange", settling.fails, "",
            "late-rejects-crash-the-queue"),
        _of("delivery limit: when a returned message is dropped or dead-lettered", limits.is_given_up, "",
            "quorum-delivery-limit quorum-delivery-limit-of-any-kind"),
        _of("consumer priority and round robin: which consumer gets the next message",
            dealing_ports.circle, "", "consumers-by-priority"),
        _of("single active consumer: which consumer is served", single_active.takes_over, "",
            "single-active-consumer quorum-single-active-priority-4-0"),
        _of("exclusive consumers: when a consumer is refused", subscriptions.is_in_use, "", "exclusive-consumers"),
        _of("a quorum queue suspects a consumer that it cannot reach", out_of_reach.suspect, "",
            "quorum-consumer-out-of-sight quorum-single-active-out-of-sight quorum-consumers-node-killed-4-3 "
            "quorum-consumer-out-of-reach-4-3"),
        _of("consumer-timeout: a consumer of a quorum queue does not acknowledge in time", timeouts.time_out, "",
            "quorum-consumer-timeout-4-3 quorum-consumer-timeout-and-a-new-leader-4-3 consumer-timeout-4-3"),
        _of("consumer_timeout: a channel is closed because it does not acknowledge in time",
            timeouts.channel_ticks, "",
            "consumer-timeout-3-10"),
        _of("consumer-timeout of a queue: which value applies (policy, argument or setting)",
            consumer_timeouts.timeout_ms, "",
            "consumer-timeout-of-a-queue-4-0"),
        _of("delayed retry: returned messages wait before they are delivered again", retries.give_back, "",
            "quorum-delayed-retry-4-3"),
    ),
    "Nodes": (
        _of("boot order: which nodes a booting node waits for", booting.awaited,
            "last-to-stop-is-master and-stays-master"),
        _of("a node gives up waiting for other nodes at boot", booting.give_up, "", "node-gives-up-waiting"),
        _of("force_boot: a node boots without waiting for other nodes", membership.force_boot, "",
            "force-boot-of-the-first-to-stop force-boot-gives-up-what-came-later"),
        _of("join_cluster: a node joins a cluster", membership.join, "", "node-joins"),
        _of("reset: a node leaves its cluster and deletes its data", membership.reset, "", "node-reset"),
        _of("force_reset: a node deletes its data without notifying the cluster",
            membership.force_reset, "", "node-reset-by-force khepri-no-forced-reset"),
        _of("a lost disk: what the node has lost, and what the cluster still knows", membership.wipe, "", "lost-disk"),
        _of("forget_cluster_node: what the cluster removes with the node", membership.forget_cluster_node, "",
            "forgotten-master-and-the-oldest-mirror khepri-minority-forgets-from-queues"),
        _of("forget_cluster_node without a majority of the metadata store: when it succeeds",
            khepri.gains_majority_without, "",
            "khepri-forgotten-gives-a-majority"),
        _of("force_standalone_khepri_boot: a node becomes the only member of its cluster", membership.stand_alone, "",
            "khepri-stands-alone khepri-stands-alone-at-boot"),
        _of("forget_cluster_node --offline: a node that is down forgets another node", membership.forget_offline, "",
            "forgotten-offline forgotten-offline-by-each"),
        _of("forget_cluster_node --offline of a master's node: which stopped mirror is promoted",
            promotion.offline_candidate,
            "forgetting-promotes-a-stopped-mirror most-recently-stopped only-stopped-mirrors"),
        _of("maintenance mode (drain): which connections, masters and leaders move", maintenance.drain, "",
            "drain-moves-masters drain-closes-connections khepri-minority-drained"),
        _of("maintenance mode: which members of quorum queues stop, and when", member_changes.drain, "",
            "quorum-drained-node quorum-drained-without-a-candidate-4-3 quorum-drain-awaits-elections-4-3"),
        _of("rebalance: which queue moves next", rebalancing.next_to_move, "", "rebalance quorum-rebalance"),
        _of("transfer of a master or a leader: how it moves", maintenance.transfer_leadership, "",
            "transfer-to-a-synchronised-mirror transfer-to-an-unsynchronised-mirror transfer-refused-by-the-mirror"),
        _of("transfer of a quorum queue's leader: when it is refused (not_up_to_date)", quorum_rules.is_sent_all, "",
            "quorum-transfer-not-up-to-date-4-3"),
    ),
    "Partitions": (
        _of("net_ticktime: nodes notice a silent link (timeout)", links.time_out, "",
            "net-ticktime-ends-the-wait-for-a-silent-mirror"),
        _of("pause_minority: when a node is in the majority", partitions.has_majority, "",
            "partition-pause-minority partition-exactly-half pause-minority-when-nodes-die"),
        _of("pause_if_all_down: when a node pauses", partitions.is_preferred, "",
            "partition-pause-if-all-down pause-if-all-down-when-nodes-die"),
        _of("autoheal: which partition wins", partitions.wins, "", "partition-autoheal autoheal-who-wins"),
        _of("pause_minority and pause_if_all_down: which nodes pause",
            partition_handling.decide_who_pauses, "", "pause-promises-nothing-false"),
        _of("ignore: a booting node discards the metadata of its partition and takes over that of another partition",
            open_partitions.take_over_records, "",
            "quorum-and-mirrored-in-a-partition"),
    ),
    "The metadata store": (
        _of("metadata changes (declare, delete, bind, policies): which nodes must answer, with Mnesia and with Khepri",
            metadata.is_writable, "", "failover-waits-for-a-silent-node khepri-minority-declares-nothing"),
        _of("Khepri without a majority: a change of metadata times out", khepri.times_out, "",
            "khepri-minority-declares-nothing"),
        _of("boot with Khepri: which members a booting node waits for", booting.lacked_by_store, "",
            "khepri-nodes-boot-in-any-order khepri-node-alone-gives-up"),
        _of("the partitions of a cluster with Khepri join again", links.rejoin, "", "khepri-sides-find-together"),
        _of("a node joins the metadata store (Khepri), also after it lost its disk", khepri.node_joins, "",
            "khepri-disk-lost-joins-again"),
    ),
    "Quorum queues and Raft": (
        _of("quorum queue declared: which arguments are refused", quorum_declaration.refusal,
            "always-durable never-exclusive not-for-temporary-queues"),
        _of("quorum queue declared: which nodes get a member (initial group size)", quorum_rules.members, "",
            "quorum-group-size-3-10 quorum-cluster-size-configured"),
        _of("quorum critical: when the loss of one more member would lose the majority", quorum_rules.is_critical,
            "more-than-half-available"),
        _of("quorum: how many failures a queue tolerates", quorum_rules.tolerated_failures,
            "failure-tolerance-table even-sizes-gain-nothing"),
        _of("election: which member may be elected leader", election.up_to_date,
            "follower-becomes-leader confirmed-is-not-lost"),
        _of("pre-vote: when a member would vote for a candidate",
            election.on_pre_vote, "", "quorum-partition-leader-in-the-majority"),
        _of("commit: how the leader finds out which entries a majority has", replication.agreed_commit,
            "replicas-agree-on-content confirmed-once-replicated"),
        _of("a new leader: which messages the publishers' channels send again", visibility.send_again, "",
            "quorum-steady-clients quorum-sent-before-the-loss-is-noticed"),
        _of("a quorum queue without a majority: how long a channel waits for an operation", requests.patience_us, "",
            "quorum-minority-waits-3-10 quorum-reading-in-a-minority"),
        _of("add_member, delete_member: how the membership of a quorum queue changes", member_changes.add_member, "",
            "quorum-grown-and-shrunk quorum-membership-refused quorum-membership-without-a-majority"),
        _of("add_member: when it times out (badmatch, timeout)", member_changes.await_member, "",
            "quorum-add-member-without-a-majority-4-3"),
        _of("forced shrink: a quorum queue that has lost its majority for ever continues with one member",
            member_changes.force_shrink, "", "quorum-shrunk-by-force khepri-stands-alone-at-boot"),
        _of("grow and shrink: which quorum queues get or lose a member",
            member_changes.grow, "", "quorum-grown-and-shrunk quorum-shrunk-to-the-last"),
        _of("a policy is changed while a quorum queue has no leader", policy_changes.watch, "",
            "quorum-policy-while-leaderless quorum-policy-while-leaderless-4-0 quorum-policy-while-leaderless-4-3"),
        _of("quorum queue: which messages remain if most members lose their disks",
            losses.kept, "", "quorum-majority-of-disks-lost"),
        _of("snapshots: when the log of a quorum queue is cut", quorum_costs.cut_up_to, "",
            "quorum-log-of-requeues-3-8 quorum-log-of-requeues-3-10"),
    ),
    "Streams": (
        _of("stream declared: which arguments are refused", stream_rules.refusal, "",
            "streams-refused streams-refused-4-0 streams-refused-4-3 streams-none-in-3-8"),
        _of("stream declared: how many replicas (initial cluster size), and which node leads (leader locator)",
            stream_rules.settings, "", "streams-declared"),
        _of("stream coordinator without a majority: coordinator_unavailable", streams.coordinates, "",
            "streams-coordinator streams-coordinator-unavailable streams-khepri-minority"),
        _of("grow and shrink of streams: which commands also change streams", member_changes.changes_with_all, "",
            "streams-replicas-changed streams-grow-4-3"),
        _of("rebalance of streams: whether their leaders move",
            maintenance.moves, "", "streams-leaders-stay-3-10 streams-leaders-move"),
    ),
}  # fmt: skip
"""The behaviour of replicated queues in RabbitMQ, by area."""


def all_behaviours() -> tuple[Behaviour, ...]:
    """Return all behaviours, in the table's order."""
    return tuple(behaviour for area in BEHAVIOURS.values() for behaviour in area)


EMPTY_WORDS = frozenset(["rabbitmqctl", "rabbitmq", "a", "an", "the", "of", "to", "in", "is", "and"])
"""Words that are ignored in a search, because they occur in many descriptions."""


def found(words: str) -> list[Behaviour]:
    """Return the behaviours that contain all words, or words that begin with them, in any order and case.

    Behaviours with more of the words in `asked`, rather than in their function's name or summary, come first.
    """
    wanted = stems_of(words)
    if not wanted:
        return []
    having = [each for each in all_behaviours() if shared(wanted, each.text) == wanted]
    return sorted(having, key=lambda each: -len(shared(wanted, each.asked)))


def nearest(words: str, count: int = 3) -> list[Behaviour]:
    """Return the behaviours that contain the most of these words; among equals those with rarer words first."""
    known = {each.name: shared(stems_of(words), each.text) for each in all_behaviours()}
    often = Counter(stem for stems in known.values() for stem in stems)

    def rank(each: Behaviour) -> tuple[int, float]:
        stems = known[each.name]
        return len(stems), sum(1 / often[stem] for stem in stems)

    return [each for each in sorted(all_behaviours(), key=rank, reverse=True)[:count] if known[each.name]]


def shared(stems: set[str], text: str) -> set[str]:
    """Return the stems with which words of a text begin."""
    there = words_of(text)
    return {stem for stem in stems if any(word.startswith(stem) for word in there)}


def stems_of(words: str) -> set[str]:
    """Return the words to search for, without a plural ending and without EMPTY_WORDS."""
    return {word.removesuffix("s") for word in words_of(words) if word not in EMPTY_WORDS}


def words_of(text: str) -> list[str]:
    """Return the words of a text, in lower case."""
    return re.findall(r"[a-z0-9]+", text.lower())
