"""The exercises of lesson 12: unsynchronised mirrors, and the cost of synchronisation."""

from __future__ import annotations

from hawb.cluster import Cluster
from hawb.lessons.exercises import Exercise, Form, Variation, queue_of
from hawb.lessons.mirrored_queues import priorities
from hawb.views.formatting import counted, listing, seconds, shown, size

CLIENTS = ("consume", "get", "ack", "nack", "cancel", "close", "publish", "wait")
STUCK = "stuck"

NETWORK_MB_S = 50
LINK_LATENCY_S = 0.02
FIRST_MISSED_S = 45
"""Three quarters of a net_ticktime of 60 s: the earliest time at which Erlang detects a silent node."""
FILMS = 5000
FILM_BYTES = 2_000_000
EVENTS = 300_000
PATIENCE_S = 20


# A mirror that catches up by itself


def behind_a_stuck_consumer(variation: Variation) -> Cluster:
    """Return a cluster whose mirror joined after all messages; a consumer holds the first one."""
    master, mirror, _ = variation.nodes
    cluster = Cluster(master, mirror, version="3.10", seed=variation.seed)
    cluster.set_policy("ha", "^orders", {"ha-mode": "all"}).declare("orders", node=master)
    cluster.publish("orders", variation.messages).consume(STUCK, "orders", node=master, prefetch=1)
    return cluster.stop(mirror).start(mirror)


def caught_up(cluster: Cluster, variation: Variation) -> str | None:
    """Require that clients' actions have synchronised the mirror, and that no message was rejected."""
    queue, account = queue_of(cluster, "orders"), cluster.ledger["orders"]
    if rejected := size(account["removed"]["rejected"]):
        return f"{counted(rejected)} left without an acknowledgement: a nack without requeue discards messages."
    if queue["synchronised_mirrors"]:
        return None
    mirror = variation.nodes[1]
    lacks = queue["messages"] - queue["replicas"][mirror]["messages"]
    held = size(cluster.outcome["consumers"][STUCK]["unacknowledged"])
    if held == lacks:
        return f"{shown(mirror)} still lacks {counted(lacks)}, and the consumer {STUCK} holds these messages."
    return f"{shown(mirror)} still lacks {counted(lacks)}: no client has acknowledged the older messages."


# A batch size


def films_and_events(variation: Variation) -> Cluster:
    """Return a cluster with slow links, a queue of few large messages and one of many small ones."""
    timing = {"network_mb_s": NETWORK_MB_S, "link_latency_s": LINK_LATENCY_S}
    cluster = Cluster(
        *variation.nodes, version="3.10", seed=variation.seed, net_ticktime=FIRST_MISSED_S, timing=timing
    )
    for queue, messages, size_bytes in (
        (films(variation), FILMS + variation.messages, FILM_BYTES),
        (events(variation), EVENTS, 1000),
    ):
        cluster.declare(queue, node=variation.nodes[0]).publish(queue, messages, size=size_bytes)
    return cluster


def films(variation: Variation) -> str:
    """Return the name of the queue of few large messages."""
    return f"media.{variation.word}.films"


def events(variation: Variation) -> str:
    """Return the name of the queue of many small messages."""
    return f"media.{variation.word}.events"


def sent_in_time(cluster: Cluster, variation: Variation) -> str | None:
    """Require synchronised mirrors without a partition, and without blocking the small messages for long."""
    mirrors = len(variation.nodes) - 1
    for name in (events(variation), films(variation)):
        queue = queue_of(cluster, name)
        if cluster.outcome["partitions"]:
            return "The cluster is partitioned: a batch of films delayed the nodes' ticks for too long."
        if len(queue["mirrors"]) != mirrors:
            return f"{name} has {counted(len(queue['mirrors']), 'mirror')}; the task asks for one on every other node."
        if len(queue["synchronised_mirrors"]) != mirrors:
            return f"{name} is not synchronised: ha-sync-mode has a default."
    if (blocked_s := cluster.outcome["availability"][events(variation)]["sync_blocked_s"]) > PATIENCE_S:
        return f"{events(variation)} was blocked for {seconds(blocked_s)} s: each batch pays the link's latency."
    return None


# Idle queues and queues in use


def standing_and_flowing(variation: Variation) -> Cluster:
    """Return a cluster with mirrored queues, of which the archives have no consumers."""
    cluster = Cluster(*variation.nodes, version="3.10", seed=variation.seed)
    cluster.set_policy("ha", "", {"ha-mode": "all"})
    for queue in (*archives(variation), *others(variation)):
        cluster.declare(queue, node=variation.nodes[0]).publish(queue, variation.messages)
    return cluster


def archives(variation: Variation) -> tuple[str, ...]:
    """Return the queues without consumers."""
    return (f"archive.{variation.word}", f"archive.{variation.word}.old")


def others(variation: Variation) -> tuple[str, ...]:
    """Return the queues that are always in use."""
    return (f"orders.{variation.word}", f"orders.archive.{variation.word}", f"archived-{variation.word}")


def archives_alone(cluster: Cluster, variation: Variation) -> str | None:
    """Require that after restarts of the mirrors' nodes only archives synchronise automatically."""
    _, *mirrors = variation.nodes
    cluster.stop(*mirrors).start(*mirrors)
    for name in archives(variation):
        queue = queue_of(cluster, name)
        if len(found := priorities(cluster, name)) > len(set(found)):
            return f"Both policies match {name} at the same priority: RabbitMQ does not define which of them applies."
        if queue["policy"] == "ha":
            return (
                f"The policy ha still applies to {name}: of the policies that match, the one with the highest priority "
                "applies."
            )
        if queue["messages"] < variation.messages:
            return f"{name} has {counted(queue['messages'])} left out of {variation.messages:,}."
        if len(queue["mirrors"]) != len(mirrors):
            return f"{name} has {counted(len(queue['mirrors']), 'mirror')}; ha gave it one on every other node."
        if behind := [node for node in mirrors if node not in queue["synchronised_mirrors"]]:
            return f"After their nodes' restart the mirrors of {name} on {listing(behind)} are not synchronised."
    for name in others(variation):
        if queue_of(cluster, name)["policy"] != "ha":
            return f"The policy also matches {name}, which is always in use and would be blocked."
    return None


EXERCISES = (
    Exercise(
        key="12-drain",
        question="The queue orders has its master on a. b was restarted, and its mirror lacks every message. A "
        "consumer named stuck holds the first message and does not acknowledge it. Synchronise b without blocking the "
        "queue, using only actions of clients. In the end, every message must be acknowledged.",
        hints=(
            "b is synchronised when all messages that it lacks have been acknowledged, by any client.",
            "When a consumer's connection closes, its unacknowledged messages return to the queue. Then another "
            "consumer can receive them.",
            "The number of messages differs: a consumer without a prefetch receives all of them, and ack acknowledges "
            "all of them. The steps are {consume: {consumer: worker, queue: orders}} and {ack: {consumer: worker}}.",
        ),
        form=Form.STEPS,
        begin=behind_a_stuck_consumer,
        judge=caught_up,
        verbs=CLIENTS,
    ),
    Exercise(
        key="12-batch",
        question="Queues whose names begin with “media.” need a mirror on every other node, and the mirrors must "
        "synchronise without a command. Some queues hold films, messages of 2 MB. One queue holds 300,000 events of 1 "
        "kB, and may be blocked for at most 20 s. The links carry 50 MB a second and have a latency of 20 ms. "
        "net_ticktime is 60 s, and a silent node may count as down after three quarters of it. Write the policy.",
        hints=(
            "A batch is a number of messages. How many films cross the link in 45 s?",
            "At 30,000 messages a second, the events take 10 s. Each batch adds 20 ms. How many batches fit into the "
            "other 10 s?",
        ),
        form=Form.POLICY,
        begin=films_and_events,
        judge=sent_in_time,
    ),
    Exercise(
        key="12-idle",
        question="The policy ha mirrors all queues to all nodes and has priority 0. Queues whose names begin with "
        "“archive.”, including the dot, are idle: no client consumes from them. Their mirrors must be synchronised "
        "after every restart. All other queues are in use. Their mirrors become synchronised without a command, and "
        "these queues must never be blocked. Write one more policy.",
        hints=(
            "Which key makes a queue synchronise automatically, and which queues would it block?",
            "Only one policy applies to a queue. So the new policy also needs the keys of ha.",
        ),
        form=Form.POLICY,
        begin=standing_and_flowing,
        judge=archives_alone,
    ),
)
