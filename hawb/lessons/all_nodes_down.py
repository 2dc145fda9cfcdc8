"""The exercises of lesson 15: start order after a full stop, and masters lost while their mirrors are stopped."""

from __future__ import annotations

from hawb.cluster import Cluster
from hawb.lessons.exercises import Exercise, Form, Variation, of_the_first, queue_of
from hawb.views.formatting import counted, listing, shown, size

MEMBERSHIP = ("start", "stop", "forget_cluster_node", "force_boot", "join", "wait")
LATER = 10
"""Number of messages that are published after a mirror has stopped."""


def mirrored(variation: Variation, definition: dict) -> Cluster:
    """Return a cluster with a mirrored queue and messages; its master is on the first node."""
    cluster = Cluster(*variation.nodes, version="3.10", seed=variation.seed)
    cluster.set_policy("ha", "^orders", definition).declare("orders", node=variation.nodes[0])
    return cluster.publish("orders", variation.messages)


def in_the_end(cluster: Cluster, count: int, nodes: tuple[str, ...]) -> str | None:
    """Require that the queue runs with its first `count` messages, and that these nodes run."""
    if "orders" not in cluster.queues:
        return "orders was deleted: when its master's node was forgotten no node that was down had a copy of it."
    if away := [node for node in nodes if cluster.outcome["nodes"][node] != "running"]:
        return f"At the end {listing(away)} {'is' if len(away) == 1 else 'are'} not running."
    queue = cluster.queues["orders"]
    if queue["state"] != "running":
        return f"orders is {queue['state']}: it waits for {shown(queue['master'])}."
    if (left := of_the_first(count, queue["ids"])) < count:
        return f"orders has {counted(left)} of {count:,}. Whose copy became the queue?"
    return None


# A master lost for good


def burnt(variation: Variation) -> Cluster:
    """Return a cluster whose mirror's node is stopped and whose master's node has lost its disk.

    The third node runs and has no replica.
    """
    first, second, _ = variation.nodes
    cluster = mirrored(variation, {"ha-mode": "nodes", "ha-params": [first, second]})
    return cluster.stop(second).wipe(first)


def brought_back(cluster: Cluster, variation: Variation) -> str | None:
    """Require that the mirror's messages are the queue's."""
    return in_the_end(cluster, variation.messages, variation.nodes[1:])


# The better of two copies


def two_copies_left(variation: Variation) -> Cluster:
    """Return a cluster whose nodes are all down; the master's node has lost its disk.

    The older mirror stopped earlier and lacks the latest messages.
    """
    first, second, third = variation.nodes
    cluster = mirrored(variation, {"ha-mode": "all"}).stop(second)
    return cluster.publish("orders", LATER).stop(third).wipe(first)


def all_of_it(cluster: Cluster, variation: Variation) -> str | None:
    """Require that the replica with all messages is the queue, and that both remaining nodes run."""
    return in_the_end(cluster, variation.messages + LATER, variation.nodes[1:])


# Nodes that are started one by one


def one_is_behind(variation: Variation) -> Cluster:
    """Return a cluster with an unsynchronised mirror, whose node was restarted; another node has the master."""
    first, second, third = variation.nodes
    cluster = Cluster(first, second, third, version="3.10", seed=variation.seed)
    cluster.set_policy("ha", "^orders", {"ha-mode": "all"}).declare("orders", node=third)
    return cluster.publish("orders", variation.messages).stop(first).start(first)


def comes_up_in_order(cluster: Cluster, variation: Variation) -> str | None:
    """Require that nodes that are started one by one, each when the one before runs, lose no message.

    All nodes must be down at first.
    """
    if up := [node for node in variation.nodes if cluster.outcome["nodes"][node] != "down"]:
        return f"{listing(up)} {'is' if len(up) == 1 else 'are'} not stopped."
    for node in variation.nodes:
        if cluster.start(node).outcome["nodes"][node] != "running":
            return f"{shown(node)} is started alone and waits: it was not the last to stop."
        if node == variation.nodes[0] and queue_of(cluster, "orders")["state"] != "running":
            return f"{shown(node)} runs, but orders is down: no mirror was synchronised when its master was stopped."
    if lost := size(cluster.ledger["orders"]["lost"]):
        return f"That cost {counted(lost)}."
    return in_the_end(cluster, variation.messages, variation.nodes)


EXERCISES = (
    Exercise(
        key="15-forget",
        question="The queue orders is mirrored to a and b; c has no copy of it. b was stopped. Then a, which had the "
        "master, was lost with its disk. Only c runs. In the end, orders must be available with all its messages, and "
        "b and c must run.",
        hints=(
            "If a mirror's node starts while the queue record names another master, the mirror discards its messages.",
            "forget_cluster_node makes a mirror the master if its node is down. The order of steps decides.",
            "The step is {forget_cluster_node: {node: a}}.",
        ),
        form=Form.STEPS,
        begin=burnt,
        judge=brought_back,
        verbs=MEMBERSHIP,
    ),
    Exercise(
        key="15-heir",
        question="orders is mirrored to all three nodes. b was stopped, ten more messages were published, c was "
        "stopped, and then a, which had the master, was lost with its disk. No node runs. In the end, orders must be "
        "available with all its messages, and b and c must run.",
        hints=(
            "With all nodes down: {forget_cluster_node: {node: a, from: c, offline: true}}.",
            "The oldest mirror whose node is a member and down becomes the master. Which mirror is that, and which "
            "messages does it have?",
            "A node that is not a member of the cluster cannot get the master. A forgotten node boots again after "
            "reset and join.",
        ),
        form=Form.STEPS,
        begin=two_copies_left,
        judge=all_of_it,
        verbs=(*MEMBERSHIP, "reset"),
    ),
    Exercise(
        key="15-ordered",
        question="The queue orders is mirrored to all nodes, and its master is on c. a was restarted a while ago. Stop "
        "all nodes so that in the morning a can be started first, then b, then c, each as soon as the previous node "
        "runs. No node may have to wait, orders must be available as soon as a runs, and no message may be lost.",
        hints=(
            "The last node to stop does not wait when it starts.",
            "Which messages does a have since its restart? And what does a master do when it is stopped while its "
            "mirrors are not synchronised?",
        ),
        form=Form.STEPS,
        begin=one_is_behind,
        judge=comes_up_in_order,
        verbs=("stop", "start", "sync_queue", "wait"),
    ),
)
