"""The exercises of lesson 19: which type of queue for which work, how many copies, and nodes that are replaced."""

from __future__ import annotations

from hawb.cluster import Cluster
from hawb.lessons.exercises import Exercise, Form, Variation, queue_of
from hawb.lessons.mirrored_queues import PATIENCE_S
from hawb.rules.quorum import majority
from hawb.views.words import counted, listing, shown, size

QUORUM = {"x-queue-type": "quorum"}
FURTHER = ("d", "e", "f", "g")
"""The nodes beside those of a variation, where a cluster is larger."""
FAILURES = 2
MOST_RETURNS = 3
ELECTION_S = 10


# As many copies as needed


def seven_nodes(variation: Variation, quorum_cluster_size: int) -> Cluster:
    """A quorum queue of the size that the nodes are configured for."""
    nodes = (*variation.nodes, *FURTHER)
    cluster = Cluster(*nodes, version="3.10", seed=variation.seed, quorum_cluster_size=quorum_cluster_size)
    return cluster.declare("orders", node=nodes[0], arguments=QUORUM).publish("orders", variation.messages)


def two_may_fail(cluster: Cluster, variation: Variation) -> str | None:
    """The queue is served after any two of its members were killed, and one member less would not do."""
    members = cluster.queues["orders"]["members"]
    if len(members) <= FAILURES:
        return f"orders has {counted(len(members), 'member')}, and two nodes can take all of it with them."
    cluster.kill(*members[:FAILURES]).wait(ELECTION_S)
    if cluster.queues["orders"]["state"] != "running":
        needed = majority(len(members))
        return f"Two of the {len(members)} members were killed, and orders waits: a majority of them is {needed}."
    needed = 2 * FAILURES + 1
    if len(members) > needed:
        return f"orders survives, with {len(members)} copies of every message, where {needed} would do."
    return None


# The right queue for each work


def four_applications(variation: Variation) -> Cluster:
    """A policy that mirrors every classic queue, and a quorum queue for dead letters."""
    cluster = Cluster(*variation.nodes, version="3.10", seed=variation.seed)
    cluster.set_policy("ha", "", {"ha-mode": "all"})
    return cluster.declare("dead", node=variation.nodes[0], arguments=QUORUM)


def each_as_it_needs(cluster: Cluster, variation: Variation) -> str | None:
    """Each of the four queues does what its application asks for."""
    for name in ("orders", "urgent", "answers", "jobs"):
        if name not in cluster.queues:
            return f"There is no queue {name}."
    judges = (orders_are_kept, urgent_ones_first, answers_go_with_their_client, jobs_are_given_up)
    return next((wrong for judge in judges if (wrong := judge(cluster.copy(), variation))), None)


def orders_are_kept(cluster: Cluster, variation: Variation) -> str | None:
    """Confirmed messages survive restarts of the others and the death of the node that served them."""
    cluster.publish("orders", variation.messages).wait(1)
    served_on = home(cluster, "orders")
    for node in variation.nodes:
        if node != served_on:
            cluster.stop(node).start(node)
    cluster.kill(served_on).wait(ELECTION_S)
    if lost := cluster.ledger["orders"]["lost_confirmed"]:
        return f"The other nodes were restarted and {shown(served_on)} killed: {counted(lost)} of orders lost."
    if cluster.queues.get("orders", {}).get("state") != "running":
        return f"The other nodes were restarted and {shown(served_on)} killed, and nobody serves orders."
    return None


def home(cluster: Cluster, name: str) -> str:
    """The node that serves a queue."""
    queue = cluster.queues[name]
    return queue["leader"] if queue["type"] == "quorum" else queue["master"]


def urgent_ones_first(cluster: Cluster, variation: Variation) -> str | None:
    """A message of high priority overtakes those of low priority."""
    many = variation.messages
    cluster.publish("urgent", many, priority=1).publish("urgent", priority=9).wait(1).get("urgent", count=1)
    if cluster.ledger["urgent"]["acknowledged"] != [[many + 1, many + 1]]:
        return "A message of priority 9 was published to urgent last, and did not come first."
    return None


def answers_go_with_their_client(cluster: Cluster, _variation: Variation) -> str | None:
    """The queue is gone as soon as its connection is."""
    if "answers" in cluster.close("client").queues:
        return "The connection client was closed, and answers is still there."
    return None


def jobs_are_given_up(cluster: Cluster, _variation: Variation) -> str | None:
    """A message of jobs may be given back so often, and no oftener."""
    return given_up(cluster, "jobs", MOST_RETURNS)


def given_up(cluster: Cluster, name: str, most_returns: int) -> str | None:
    """A message may be given back to a queue so often, and then goes to the queue dead."""
    cluster.publish(name).wait(1).consume("clumsy", name, prefetch=1)
    for _ in range(most_returns):
        cluster.nack("clumsy").wait(1)
    if not cluster.queues[name]["messages"]:
        return f"A message was given back to {name} {most_returns} times, which is allowed, and is gone."
    cluster.nack("clumsy").wait(1)
    if cluster.queues[name]["messages"]:
        return f"A message was given back to {name} {most_returns + 1} times, and is delivered again."
    if not cluster.queues["dead"]["messages"]:
        return f"A message that was given back too often is gone from {name}, and did not come to dead."
    return None


# Three new machines


def both_types(variation: Variation) -> Cluster:
    """A mirrored and a quorum queue with the same messages."""
    first = variation.nodes[0]
    cluster = Cluster(*variation.nodes, version="3.10", seed=variation.seed)
    cluster.set_policy("ha", "^mirrored$", {"ha-mode": "all"}).declare("mirrored", node=first)
    return cluster.declare("quorum", node=first, arguments=QUORUM).publish(["mirrored", "quorum"], variation.messages)


def on_new_machines(cluster: Cluster, variation: Variation) -> str | None:
    """Every node has lost its disk once, and both queues have three complete copies again."""
    cluster.wait(PATIENCE_S)
    replaced = {event["node"] for event in cluster.events if event["event"] == "disk_lost"}
    if old := [node for node in variation.nodes if node not in replaced]:
        return f"{listing(old)} {'has' if len(old) == 1 else 'have'} not been replaced."
    if away := [node for node in variation.nodes if cluster.outcome["nodes"][node] != "running"]:
        return f"At the end {listing(away)} {'is' if len(away) == 1 else 'are'} not running."
    for name in ("mirrored", "quorum"):
        queue = queue_of(cluster, name)
        if lost := size(cluster.ledger[name]["lost"]):
            return f"{name} lost {counted(lost)}."
        complete = sorted(node for node, replica in queue["replicas"].items() if replica["synchronised"])
        if len(complete) < len(variation.nodes):
            return f"In the end {name} has everything on {listing(complete)} alone."
    return None


EXERCISES = (
    Exercise(
        key="19-size",
        question="Seven nodes, and a quorum queue orders that is declared without a size of its own. It is to be "
        "served though any two nodes are down, and to have no more copies than that takes. Which quorum_cluster_size?",
        hints=(
            "A majority of all members has to be there, whether the others are down or not.",
            "How many are left when two of n are gone, and from which n on is that more than half?",
        ),
        form=Form.SETTINGS,
        begin=seven_nodes,
        judge=two_may_fail,
        settings=("quorum_cluster_size",),
    ),
    Exercise(
        key="19-choose",
        question="RabbitMQ 3.10, and a policy that mirrors every classic queue to all nodes. Declare four queues. "
        "orders: nothing that was confirmed may be lost when the other nodes are restarted, nobody synchronises, and "
        "the node that serves it is killed. urgent: ten priorities; what is published with priority 9 overtakes what "
        "has priority 1. answers: belongs to the connection named client and goes with it. jobs: a message that is "
        "given back for the fourth time goes to the queue dead, which exists.",
        hints=(
            "Two of them can only be classic, one can only be a quorum queue. Which ones does the table say?",
            "The step is {declare: {queue: urgent, arguments: {x-max-priority: 10}}}; exclusive: true and connection: "
            "client stand beside queue.",
            "For jobs: x-delivery-limit, x-dead-letter-exchange '' (the default exchange), x-dead-letter-routing-key.",
        ),
        form=Form.STEPS,
        begin=four_applications,
        judge=each_as_it_needs,
        verbs=("declare",),
    ),
    Exercise(
        key="19-replace",
        question="All three machines are replaced, one after the other, each by a new one of the same name with an "
        "empty disk: {wipe: a}, {forget_cluster_node: {node: a}}, {join: a}. The queue mirrored is mirrored to all "
        "nodes (manual synchronisation), the queue quorum has a member on each. In the end both are to have "
        "everything on all three nodes.",
        hints=(
            "What does each type do by itself when a node joins?",
            "mirrored gets an empty mirror, and somebody has to fill it before the next machine goes.",
            "quorum gets nothing: {grow: {node: a}} gives all quorum queues a member there.",
        ),
        form=Form.STEPS,
        begin=both_types,
        judge=on_new_machines,
        verbs=("wipe", "forget_cluster_node", "join", "sync_queue", "grow", "add_member", "wait"),
    ),
)
