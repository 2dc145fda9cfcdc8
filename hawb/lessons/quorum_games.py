"""The games of lessons 17 to 20, 27 and 28: quorum queues, partitions, Khepri."""

from __future__ import annotations

from hawb.cluster import Cluster
from hawb.lessons.exercises import Variation
from hawb.lessons.games import Game, keeps, loses, serves
from hawb.views.formatting import listing

QUORUM = {"x-queue-type": "quorum"}
LATER_S = 60


def group(variation: Variation, version: str = "3.13", **arguments: object) -> Cluster:
    """Return a cluster of three nodes with a quorum queue and messages."""
    cluster = Cluster(*variation.nodes, version=version, seed=variation.seed)
    cluster.declare("orders", node=variation.nodes[0], arguments=QUORUM | arguments)
    return cluster.publish("orders", variation.messages, node=variation.nodes[0]).wait(1)


def empty_mirrors(variation: Variation) -> Cluster:
    """Return a cluster under pause_minority with a mirrored queue whose mirrors are empty.

    Its master is on the third node.
    """
    *others, last = variation.nodes
    handling = {"cluster_partition_handling": "pause_minority"}
    cluster = Cluster(*variation.nodes, version="3.10", seed=variation.seed, **handling)
    cluster.set_policy("ha", "^orders", {"ha-mode": "all"}).declare("orders", node=last)
    cluster.publish("orders", variation.messages, node=last)
    for node in others:
        cluster.stop(node).start(node)
    return cluster


def bare(variation: Variation, version: str) -> Cluster:
    """Return a cluster of three nodes without queues."""
    return Cluster(*variation.nodes, version=version, seed=variation.seed)


def torn(cluster: Cluster, variation: Variation) -> None:
    """Publish, cut off the last node, publish in both partitions, heal, restart it, and kill the first node."""
    first, second, last = variation.nodes
    cluster.publish("orders", variation.messages, node=first).wait(1)
    cluster.partition([first, second], [last]).wait(90).publish("orders", 5, node=last).publish("orders", 5, node=first)
    cluster.wait(30).heal().wait(30).stop(last).start(last).wait(30).kill(first).wait(30)


def burnt(cluster: Cluster, variation: Variation) -> None:
    """Publish, then wipe the first node's disk."""
    first, second, _ = variation.nodes
    cluster.publish("orders", variation.messages, node=second).wait(1).wipe(first).wait(LATER_S)


def crashed(cluster: Cluster, variation: Variation) -> None:
    """Let a worker on the second node take a message and crash, three times."""
    for number in range(3):
        cluster.consume(f"worker {number}", "orders", node=variation.nodes[1], prefetch=1).close(f"worker {number}")


def one_behind(variation: Variation) -> Cluster:
    """Return a cluster of whose quorum queue only the member without the last five messages runs."""
    first, second, last = variation.nodes
    cluster = group(variation, "3.13").partition([first, second], [last]).wait(20).publish("orders", 5, node=first)
    return cluster.wait(1).kill(first, second).heal().wait(30)


def nobody_may_declare(cluster: Cluster, _: Variation) -> str | None:
    """Require that all nodes run, and that metadata can be changed from none of them."""
    cluster.wait(LATER_S)
    if down := [node for node, state in cluster.outcome["nodes"].items() if state != "running"]:
        return f"{listing(down)} {'does' if len(down) == 1 else 'do'} not run: anybody can do that."
    if can := cluster.outcome["metadata_store"]["writable_from"]:
        return f"A client on {listing(can)} can still declare a queue."
    return None


def all_there(cluster: Cluster, variation: Variation) -> str | None:
    """Require that after the crashes all messages are in orders or in dead."""
    crashed(cluster, variation)
    names = [name for name in ("orders", "dead") if name in cluster.queues]
    left = sum(cluster.queues[name]["messages"] for name in names)
    if left < variation.messages:
        return "Lost: the message that the worker crashed with was thrown away, as the delivery limit says."
    return None


GAMES = (
    Game(
        key="17-the-tempting-command",
        title="The tempting command",
        question="orders is a quorum queue on a, b and c. While c could not be reached, five more messages were "
        "confirmed. Then a and b were killed, and c alone is no majority. The handbook has a command that makes c the "
        "only member at once. You have two moves, after which orders must be available.",
        fate="all nodes are started",
        hints=(
            "Which of the three disks have all messages?",
            "How many members are a majority of three?",
        ),
        begin=one_behind,
        judge=serves("orders"),
        verbs=("start", "force_shrink", "delete_member", "wait"),
        most=2,
        par=1,
    ),
    Game(
        key="18-find-the-cut",
        title="Find the cut",
        question="orders is mirrored, and its master is on c. The nodes a and b were restarted, so their mirrors are "
        "empty. The owner says that no network failure can cause a loss, because the cluster uses pause_minority. Show "
        "that this is wrong, without stopping or killing a node. You have two moves.",
        hints=(
            "Which mirror takes over on the side that continues, and which messages does it have?",
            "The nodes must detect the partition (wait a minute or two), and the partition must end.",
        ),
        begin=empty_mirrors,
        judge=loses(),
        verbs=("partition", "heal", "wait"),
        most=2,
        par=2,
    ),
    Game(
        key="19-one-declaration",
        title="One declaration",
        question="You declare the queue orders, but you cannot influence what follows. When the network fails, "
        "publishers are on both sides. When it works again, an administrator restarts the node that was alone, and "
        "then a is killed. The cluster runs 3.10 with the default cluster_partition_handling (ignore). You have two "
        "moves.",
        fate="c is cut off, a client on either side publishes, the network heals, c is restarted, a is killed",
        hints=(
            "A mirrored queue continues on both sides, and RabbitMQ discards the messages of one side.",
            "Which queue type needs a majority?",
        ),
        begin=lambda variation: bare(variation, "3.10"),
        judge=keeps(torn, "orders"),
        verbs=("declare", "set_policy"),
        most=2,
        par=1,
    ),
    Game(
        key="20-the-old-script",
        title="The old script",
        question="You have a new cluster of 4.0, and the script of your old cluster: it sets a policy with ha-mode: "
        "all, then it declares the queue orders. What do you run instead, so that no message is lost if a loses its "
        "disk? You have two moves.",
        fate="messages come, and a loses its disk",
        hints=(
            "Does 4.0 accept ha-mode?",
            "The type of a queue is an argument, and you cannot change it later.",
        ),
        begin=lambda variation: bare(variation, "4.0"),
        judge=keeps(burnt, "orders"),
        verbs=("declare", "set_policy"),
        most=2,
        par=1,
    ),
    Game(
        key="27-nobody-decides",
        title="Nobody decides",
        question="Three nodes of 4.3. Find one move after which all three nodes run, but no client on any node can "
        "declare a queue.",
        hints=(
            "The nodes of a majority must reach each other.",
            "How many sides can a network have?",
        ),
        begin=lambda variation: group(variation, "4.3"),
        judge=nobody_may_declare,
        verbs=("stop", "kill", "partition", "cut", "wait"),
        most=1,
        par=1,
    ),
    Game(
        key="28-one-bad-worker",
        title="One bad worker",
        question="orders is a quorum queue of 4.3. The policy limits sets its delivery limit to 0, so that no message "
        "is delivered twice. But the queue has no dead letter exchange. A worker will crash three times. You have two "
        "moves, and no message may be lost: the messages with which it crashed may wait in a queue named dead.",
        fate="a worker takes a message and crashes, three times",
        hints=("What does a quorum queue do with a message above its limit?", "One policy applies: which one?"),
        begin=lambda variation: group(variation, "4.3").set_policy("limits", "^orders$", {"delivery-limit": 0}),
        judge=all_there,
        verbs=("set_policy", "clear_policy", "declare"),
        most=2,
        par=1,
    ),
)
