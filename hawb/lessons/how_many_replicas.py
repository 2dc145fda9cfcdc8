"""The exercises of notebook 23: the fewest members, and the fewest mirrors, that tolerate a number of failures."""

from __future__ import annotations

from itertools import combinations

from hawb.cluster import Cluster
from hawb.lessons.classic_and_quorum import QUORUM
from hawb.lessons.exercises import Exercise, Form, Variation, queue_of
from hawb.planning.replication import members_for
from hawb.rules.quorum import tolerated_failures
from hawb.views.formatting import counted, listing, shown, size

MORE_NODES = ("d", "e")
FAILURES, COPIES = 1, 3


# Members


def pair(variation: Variation) -> Cluster:
    """Return a cluster of five nodes with a quorum queue that has members on two of them."""
    first, second, third = variation.nodes
    cluster = Cluster(first, second, third, *MORE_NODES, version="3.13", seed=variation.seed)
    cluster.declare("orders", node=first, arguments=QUORUM | {"x-quorum-initial-group-size": 1})
    return cluster.add_member("orders", second).publish("orders", variation.messages)


def tolerates_one(cluster: Cluster, variation: Variation) -> str | None:
    """Require that the queue confirms messages after the failure of any node, with the fewest members."""
    members = queue_of(cluster, "orders")["members"]
    for node in (*variation.nodes, *MORE_NODES):
        then = cluster.copy().kill(node).publish("orders", 1)
        if size(then.ledger["orders"]["confirmed"]) == size(cluster.ledger["orders"]["confirmed"]):
            return f"When {shown(node)} fails, nothing more is confirmed: {counted(len(members), 'member')} on " \
                f"{listing(members)}."
    if len(members) > (least := members_for(FAILURES)):
        tolerated = tolerated_failures(len(members))
        return f"{len(members)} members tolerate {counted(tolerated, 'failure')}, and write everything " \
            f"{len(members)} times. {least} would do."
    return None


# Mirrors


def unmirrored(variation: Variation) -> Cluster:
    """Return a cluster of five nodes with a classic queue on the first."""
    cluster = Cluster(*variation.nodes, *MORE_NODES, version="3.13", seed=variation.seed)
    name = f"orders.{variation.word}"
    return cluster.declare(name, node=variation.nodes[0]).publish(name, variation.messages)


def outlives_two(cluster: Cluster, variation: Variation) -> str | None:
    """Require that all messages survive a kill of any two nodes, with the fewest replicas."""
    name = f"orders.{variation.word}"
    copies = 1 + len(queue_of(cluster, name)["mirrors"])
    for nodes in combinations((*variation.nodes, *MORE_NODES), 2):
        queue = cluster.copy().kill(*nodes).queues.get(name, {"messages": 0, "state": "gone"})
        if queue["messages"] < variation.messages or queue["state"] != "running":
            return f"When {listing(nodes)} are killed, {shown(name)} is {queue['state']} with " \
                f"{counted(queue['messages'])} of {variation.messages:,}, of {counted(copies, 'copy', 'copies')}."
    if copies > COPIES:
        return f"There are {copies} copies. With {COPIES}, any two nodes may fail."
    return None


EXERCISES = (
    Exercise(
        key="23-members",
        question="Five nodes a to e of RabbitMQ 3.13. The quorum queue orders was declared while only a ran; later b "
        "was added, and it has two members. Add as few members as possible, so that orders still accepts messages if "
        "any one node fails.",
        hints=(
            "What is a majority of two, of three, of four?",
            "{add_member: {queue: orders, node: c}} adds one.",
        ),
        form=Form.STEPS,
        begin=pair,
        judge=tolerates_one,
        verbs=("add_member", "delete_member", "grow", "shrink", "wait"),
    ),
    Exercise(
        key="23-mirrors",
        question="Five nodes. A classic queue whose name begins with “orders.” has messages and no mirrors. Write a "
        "policy with as few copies as possible, so that the queue is still available with every message if any two "
        "nodes are killed at once.",
        hints=(
            "A mirrored queue needs no majority. If two of n copies are lost, how many are left?",
            "A new mirror does not have the messages that were published before it joined.",
        ),
        form=Form.POLICY,
        begin=unmirrored,
        judge=outlives_two,
    ),
)
