"""The exercises of lesson 18: partitions, partition handling, and members in several places."""

from __future__ import annotations

from hawb.cluster import Cluster
from hawb.lessons.exercises import Exercise, Form, Variation, of_the_first, queue_of
from hawb.lessons.mirrored_queues import PATIENCE_S
from hawb.lessons.quorum_queues import QUORUM, confirmed
from hawb.views.formatting import counted, listing, shown, size

COMMON = 10
"""Number of messages that were published before the partition."""
LATER = 7
"""Number of messages that are published in the partition that is to be given up."""
CUT_S, EARLY_S, LATE_S, HEALED_S = 10, 20, 100, 200
"""Seconds at which the network fails, clients publish before and after its detection, and the network recovers."""
SOUTH = ("d", "e")
COPIES = 3


def mirrored(variation: Variation, **settings: object) -> Cluster:
    """Return a cluster with a queue that is mirrored to all nodes; its master is on the last one."""
    cluster = Cluster(*variation.nodes, version="3.10", seed=variation.seed, **settings)
    cluster.set_policy("ha", "^orders$", {"ha-mode": "all"}).declare("orders", node=variation.nodes[-1])
    return cluster.publish("orders", COMMON, node=variation.nodes[-1])


# Which partition is to be given up


def two_histories(variation: Variation) -> Cluster:
    """Return a cluster with an unhandled partition whose network works again.

    Both partitions have confirmed messages.
    """
    *larger, alone = variation.nodes
    cluster = mirrored(variation).partition(larger, [alone], at=CUT_S)
    cluster.publish("orders", variation.messages, node=alone, at=LATE_S)
    return cluster.publish("orders", LATER, node=larger[0]).heal(at=HEALED_S)


def the_better_history(cluster: Cluster, variation: Variation) -> str | None:
    """Require one cluster again, with the messages that the last node confirmed."""
    if away := [node for node in variation.nodes if cluster.outcome["nodes"][node] != "running"]:
        return f"At the end {listing(away)} {'is' if len(away) == 1 else 'are'} not running."
    wanted = COMMON + variation.messages
    queue = queue_of(cluster, "orders")
    if parts := cluster.outcome["partitions"]:
        sides = " | ".join(map(listing, parts))
        return (
            f"The cluster is still partitioned: {sides}. If a node boots while another node of its side runs, it joins "
            "that side again."
        )
    if queue["state"] != "running":
        return f"orders is {queue['state']}: it waits for {shown(queue['master'])}."
    if (left := of_the_first(wanted, queue["ids"])) < wanted:
        return (
            f"orders has {counted(left)} of the {wanted:,} that {shown(variation.nodes[-1])} had: that node discarded "
            "its messages."
        )
    return None


# Partition handling


def handled(variation: Variation, cluster_partition_handling: object) -> Cluster:
    """Return a cluster with a mirrored queue under a partition handling."""
    return mirrored(variation, cluster_partition_handling=cluster_partition_handling)


def loses_no_promise(cluster: Cluster, variation: Variation) -> str | None:
    """Require that, whichever node is cut off, the rest runs, no confirmed message is lost, and partitions heal."""
    for alone in variation.nodes:
        others = [node for node in variation.nodes if node != alone]
        story = cluster.copy().partition(others, [alone], at=CUT_S)
        for node, time_s in ((alone, EARLY_S), (others[0], EARLY_S), (alone, LATE_S)):
            story.publish("orders", variation.messages, node=node, at=time_s)
        before = size(confirmed(story))
        story.publish("orders", node=others[0], at=2 * LATE_S - EARLY_S)
        case = f"With {shown(alone)} cut off"
        if size(confirmed(story)) == before:
            return f"{case} orders is not available on {listing(others)}."
        story.heal(at=HEALED_S).wait(PATIENCE_S)
        if lost := story.ledger["orders"]["lost_confirmed"]:
            return f"{case} {counted(lost)} that had been confirmed are lost: one side's messages were discarded."
        if story.outcome["partitions"]:
            return f"{case} both sides have continued, and the cluster stays partitioned when the network works."
        if away := [node for node in variation.nodes if story.outcome["nodes"][node] != "running"]:
            return f"{case} {listing(away)} did not come back by itself."
    return None


# Members in three places


def places(variation: Variation) -> dict[str, tuple[str, ...]]:
    """Return the nodes in each place."""
    first, second, third = variation.nodes
    return {"the north": (first, second), "the third place": (third,), "the south": SOUTH}


def most_in_the_north(variation: Variation) -> Cluster:
    """Return a cluster with a quorum queue with two members in the north and one in the south."""
    first, _, third = variation.nodes
    cluster = Cluster(*variation.nodes, *SOUTH, version="3.10", seed=variation.seed)
    cluster.declare("orders", node=first, arguments=QUORUM | {"x-quorum-initial-group-size": 5})
    cluster.delete_member("orders", third).delete_member("orders", SOUTH[1])
    return cluster.publish("orders", variation.messages, node=first)


def survives_any_place(cluster: Cluster, variation: Variation) -> str | None:
    """Require that the queue has all messages, three members, and runs without any one of the places."""
    queue = queue_of(cluster.wait(PATIENCE_S), "orders")
    if queue["messages"] < variation.messages:
        return f"orders has {counted(queue['messages'])} of {variation.messages:,}."
    if (count := len(queue["members"])) > COPIES:
        return f"orders has {count} members, and each stores every message; the task asks for {COPIES}."
    for place, nodes in places(variation).items():
        others = [node for node in cluster.outcome["nodes"] if node not in nodes]
        story = cluster.copy().partition(others, list(nodes)).wait(PATIENCE_S)
        before = size(confirmed(story))
        if size(confirmed(story.publish("orders", node=others[0]).wait(PATIENCE_S))) == before:
            left = [node for node in queue["members"] if node in others]
            there = f"of {counted(count, 'member')} {listing(left) or 'none'} can be reached"
            return f"With {place} cut off, orders is not available in the other places: {there}."
    return None


EXERCISES = (
    Exercise(
        key="18-restart",
        question="cluster_partition_handling is ignore, and c was cut off from a and b. Since then, the queue orders, "
        "which is mirrored to all nodes, has had two masters. Clients on c have published a hundred messages that must "
        "not be lost. Clients on a have published seven messages that may be lost. The network works again. End the "
        "partition: all nodes must run, and the queue must have c's messages.",
        hints=(
            "A node that boots while other nodes run replaces its data with their data. Which nodes must boot again, "
            "and which node must run meanwhile?",
            "If a node is restarted while another node of its own side runs, it joins that side again.",
            "stop and start accept lists of nodes.",
        ),
        form=Form.STEPS,
        begin=two_histories,
        judge=the_better_history,
        verbs=("stop", "start", "kill", "sync_queue", "wait"),
    ),
    Exercise(
        key="18-handling",
        question="orders is mirrored to all three nodes, and all mirrors are synchronised. If any single node is cut "
        "off for some minutes, the queue must stay available on the other two nodes, no confirmed message may be lost, "
        "and the partition must end without an administrator when the network works again. Which "
        "cluster_partition_handling achieves this?",
        hints=(
            "If both sides continue, both confirm messages. RabbitMQ discards the messages of one side.",
            "Which nodes should pause: the nodes of the smaller side, or the nodes that cannot reach a certain node?",
            "The answer is one of ignore, autoheal, pause_minority and {pause_if_all_down: [NODES], recover: "
            "ignore|autoheal}.",
        ),
        form=Form.SETTINGS,
        begin=handled,
        judge=loses_no_promise,
        settings=("cluster_partition_handling",),
    ),
    Exercise(
        key="18-sites",
        question="Five nodes in three places: a and b in the north, c in a third place, d and e in the south. The "
        "quorum queue orders has members on a, b and d. If any one place is cut off from the other two, the queue must "
        "stay available in these two. Change its members to achieve this. In the end, it must have three members.",
        hints=(
            "Which places can be cut off now while the queue stays available? Where is the majority then?",
            "No place may have a majority of the members.",
            "The steps are {add_member: {queue: orders, node: c}} and {delete_member: {queue: orders, node: b}}, for "
            "the nodes of your choice.",
        ),
        form=Form.STEPS,
        begin=most_in_the_north,
        judge=survives_any_place,
        verbs=("add_member", "delete_member", "grow", "shrink", "wait"),
    ),
)
