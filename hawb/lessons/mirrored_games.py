"""The games of lessons 10 to 16, on mirrored queues."""

from __future__ import annotations

from hawb.cluster import Cluster
from hawb.languages import _
from hawb.lessons.exercises import Variation
from hawb.lessons.games import Game, keeps, loses, serves
from hawb.views.formatting import listing, shown

MIRRORED = {"ha-mode": "all"}
FULL = ("set_policy", "sync_queue", "stop", "start")


def alone(variation: Variation) -> Cluster:
    """Return a cluster with a durable queue with messages on the first node, and no policy."""
    cluster = Cluster(*variation.nodes, version="3.10", seed=variation.seed)
    return cluster.declare("orders", node=variation.nodes[0]).publish("orders", variation.messages)


def mirrored(variation: Variation, queues: tuple[str, ...] = ("orders",), **keys: str) -> Cluster:
    """Return a cluster with queues that are mirrored to all nodes and synchronised."""
    cluster = Cluster(*variation.nodes, version="3.10", seed=variation.seed)
    policy = MIRRORED | {key.replace("_", "-"): value for key, value in keys.items()}
    cluster.set_policy("ha", "^orders", policy)
    for name in queues:
        cluster.declare(name, node=variation.nodes[0]).publish(name, variation.messages)
    return cluster


def emptied(variation: Variation, queues: tuple[str, ...] = ("orders",), **keys: str) -> Cluster:
    """Return the cluster of `mirrored` after a restart of each mirror's node: the mirrors are empty."""
    cluster = mirrored(variation, queues, **keys)
    for node in variation.nodes[1:]:
        cluster.stop(node).start(node)
    return cluster


def fully_down(variation: Variation) -> Cluster:
    """Return a cluster whose nodes are all down; the last node to stop has the most messages."""
    first, second, third = variation.nodes
    cluster = mirrored(variation).stop(first).publish("orders", 5, node=second)
    return cluster.stop(second).publish("orders", 5, node=third).stop(third)


def first_is_gone(cluster: Cluster, variation: Variation) -> str | None:
    """Require that the first node is down."""
    node = variation.nodes[0]
    if cluster.outcome["nodes"][node] == "down":
        return None
    return _("{node} still runs: it must be down so that its power supply can be replaced.", node=shown(node))


def returned(cluster: Cluster, variation: Variation) -> str | None:
    """Require that the first node was down, and comes back with all messages of its queue."""
    if reason := first_is_gone(cluster, variation):
        return reason
    return keeps(lambda one, reason: one.start(reason.nodes[0]), "orders")(cluster, variation)


def rebalanced(cluster: Cluster, variation: Variation) -> str | None:
    """Require that all nodes run, and that a rebalance loses no message."""
    if down := [node for node in variation.nodes if cluster.outcome["nodes"][node] != "running"]:
        return f"{listing(down)} {'is' if len(down) == 1 else 'are'} down: all nodes must run when the job starts."
    return keeps(lambda one, _: one.rebalance(), *SIX)(cluster, variation)


SIX = tuple(f"orders.{number}" for number in range(1, 7))

GAMES = (
    Game(
        key="10-two-at-once",
        title="Two at once",
        question="Only node a has a copy of orders. In a minute, nodes a and b will burn at the same moment. No "
        "message may be lost, and the queue must still be available.",
        fate="a and b are killed",
        hints=(
            "How many copies are needed so that one is left when two nodes are lost?",
            "Which messages does a mirror have when it joins a queue that already has messages?",
        ),
        begin=alone,
        judge=keeps(lambda cluster, variation: cluster.kill(*variation.nodes[:2]), "orders"),
        verbs=("set_policy", "sync_queue"),
        most=2,
        par=1,
    ),
    Game(
        key="11-three-moves",
        title="Find the fault",
        question="orders is mirrored to a, b and c, and every mirror has all messages. Lose a confirmed message. You "
        "may stop, start and kill all three nodes, one by one or together, but you have only three moves.",
        hints=(
            "If a synchronised mirror takes over, no message is lost. How do both mirrors lose their messages at the "
            "same time?",
            "A step may name several nodes: {stop: [b, c]}.",
        ),
        begin=mirrored,
        judge=loses(),
        verbs=("stop", "start", "kill"),
        most=3,
        par=3,
    ),
    Game(
        key="12-without-a-shell",
        title="Without a shell",
        question="Both mirrors of orders are empty: their nodes were restarted this morning. You are on a train and "
        "can only open the page of policies; you cannot run rabbitmqctl sync_queue. The host of a is about to fail.",
        fate="a is killed",
        hints=(
            "Which key makes a queue synchronise automatically?",
            "Does a queue with this key wait until the next mirror joins?",
        ),
        begin=emptied,
        judge=keeps(lambda cluster, variation: cluster.kill(variation.nodes[0]), "orders"),
        verbs=("set_policy", "clear_policy"),
        most=2,
        par=1,
    ),
    Game(
        key="13-before-it-leaves",
        title="Before it leaves",
        question="Node a must go down now, because it gets a new power supply. It comes back with its disk. Both "
        "mirrors of orders are empty, and the policy has ha-promote-on-shutdown: always. You have two moves, after "
        "which a must be down.",
        fate="a is started again",
        hints=(
            "There are two promote keys, one for a stop and one for a kill. Which values do they have now?",
            "A mirror that may not take over waits. So does the queue.",
        ),
        begin=lambda variation: emptied(variation, ha_promote_on_shutdown="always"),
        judge=returned,
        verbs=("set_policy", "stop", "kill"),
        most=2,
        par=2,
    ),
    Game(
        key="14-confirmed-by-nobody",
        title="Confirmed by nobody",
        question="orders is durable. Its only copy is on a, and all its messages are on a's disk. Find two moves after "
        "which a confirmed message is in no queue and on no disk.",
        hints=(
            "The messages on the disk come back. What about a message that was never routed to a queue?",
            "Which replicas have to answer if an exchange finds no queue?",
        ),
        begin=alone,
        judge=loses(),
        verbs=("stop", "start", "kill", "publish"),
        most=2,
        par=2,
    ),
    Game(
        key="15-first-light",
        title="First light",
        question="There was a long power cut. a was stopped first, then b, and c last, and clients published to orders "
        "in between. The power is back now, and clients need their messages. Which node do you start? You have two "
        "moves, after which orders must be available. Then all other nodes are started.",
        fate="all nodes are started",
        hints=(
            "The node that stopped last has the newest data.",
            "A node that is forced to boot uses its own data, even if it is older.",
        ),
        begin=fully_down,
        judge=serves("orders"),
        verbs=("start", "force_boot", "forget_cluster_node"),
        most=2,
        par=1,
    ),
    Game(
        key="16-the-nightly-job",
        title="The nightly job",
        question="Six queues have their masters on a, and their mirrors on b and c were restarted and never "
        "synchronised. At midnight a well-meant job runs rabbitmq-queues rebalance. You have two moves "
        "before that, for six queues.",
        fate="rebalance",
        hints=("Which replicas does a move drop, and does it check the destination?", "One policy applies to all six."),
        begin=lambda variation: emptied(variation, SIX),
        judge=rebalanced,
        verbs=FULL,
        most=2,
        par=1,
    ),
)
