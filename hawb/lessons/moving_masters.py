"""The exercises of lesson 16: where masters are placed, and what moves them."""

from __future__ import annotations

from hawb.cluster import Cluster
from hawb.lessons.exercises import Exercise, Form, Variation, queue_of
from hawb.lessons.mirrored_queues import PATIENCE_S
from hawb.views.formatting import counted, listing, shown, size

NEW = 6
"""Number of queues that are declared."""
QUEUES = ("bills", "mails", "orders")
"""The queues that are to be distributed, one to each node."""


# New queues are distributed


def one_queue_each(variation: Variation) -> Cluster:
    """Return a cluster with an unmirrored queue on each node."""
    cluster = Cluster(*variation.nodes, version="3.10", seed=variation.seed)
    for number, node in enumerate(variation.nodes, 1):
        cluster.declare(f"standing.{number}", node=node)
    return cluster


def declared_and_spread(cluster: Cluster, variation: Variation) -> str | None:
    """Require that new queues, declared on the first node, are distributed evenly; a queue of another name is not."""
    first, *_ = variation.nodes
    names = [f"orders.{variation.word}.{number}" for number in range(1, NEW + 1)]
    other = f"reorders.{variation.word}"
    for name in (*names, other):
        cluster.declare(name, node=first)
    if queue_of(cluster, other)["policy"] is not None:
        return f"The policy also matches {other}. RabbitMQ searches for a pattern anywhere in a name."
    for name in names:
        if (mirrors := len(queue_of(cluster, name)["mirrors"])) != len(variation.nodes) - 1:
            return f"{name} has {counted(mirrors, 'mirror')}; the task asks for one on every other node."
    homes = [cluster.queues[name]["master"] for name in names]
    fullest = max(variation.nodes, key=homes.count)
    if (most := homes.count(fullest)) * len(variation.nodes) > NEW:
        return f"{shown(fullest)} got {most} of the {NEW} new masters. Which locator considers the existing ones?"
    return None


# A queue moves to another node


def on_two_nodes(variation: Variation) -> Cluster:
    """Return a cluster with a queue on two listed nodes; its master's node is to be removed."""
    first, second, _ = variation.nodes
    cluster = Cluster(*variation.nodes, version="3.10", seed=variation.seed)
    cluster.set_policy("place", "^orders$", {"ha-mode": "nodes", "ha-params": [first, second]})
    return cluster.declare("orders", node=first).publish("orders", variation.messages)


def moved_with_two_copies(cluster: Cluster, variation: Variation) -> str | None:
    """Require complete replicas on the second and third node, and two complete replicas at any time."""
    _, *wanted = variation.nodes
    cluster.wait(PATIENCE_S)
    queue = queue_of(cluster, "orders")
    if lost := size(cluster.ledger["orders"]["lost"]):
        return f"That cost {counted(lost)}."
    if queue["messages"] < variation.messages:
        return "Messages are gone that no client consumed: something in the answer removes them."
    copies = sorted((queue["master"], *queue["mirrors"]))
    if copies != sorted(wanted):
        return f"orders has copies on {listing(copies)}; the task asks for copies on {listing(wanted)}."
    if lonely := alone_with_everything(cluster):
        return f"For a while, only {shown(lonely)} had all messages: a failure of this node would have lost them."
    if not queue["synchronised_mirrors"]:
        return f"In the end, only {shown(queue['master'])} has all messages."
    return None


def alone_with_everything(cluster: Cluster) -> str | None:
    """Return the first node that had the only complete replica after another one was removed; None if none had."""
    complete: set[str] = set()
    for event in cluster.events:
        match event["event"]:
            case "queue_declared" | "mirror_synchronised":
                complete.add(event["node"])
            case "mirror_removed" | "master_down":
                complete.discard(event["node"])
                if len(complete) == 1:
                    return complete.pop()
    return None


# Masters are distributed


def all_on_one(variation: Variation) -> Cluster:
    """Return a cluster with three queues whose masters are on one node and whose mirrors are empty.

    The mirrors' nodes have been restarted.
    """
    first, *others = variation.nodes
    cluster = Cluster(*variation.nodes, version="3.10", seed=variation.seed)
    cluster.set_policy("ha", "", {"ha-mode": "all"})
    for name in QUEUES:
        cluster.declare(name, node=first).publish(name, variation.messages)
    for node in others:
        cluster.stop(node).start(node)
    return cluster


def shared_out(cluster: Cluster, variation: Variation) -> str | None:
    """Require a master on each node, only synchronised mirrors, and no lost message."""
    cluster.wait(PATIENCE_S)
    queues = {name: queue_of(cluster, name) for name in QUEUES}
    if lost := sum(size(cluster.ledger[name]["lost"]) for name in QUEUES):
        return f"That cost {counted(lost)}: a master was moved to a mirror that was not synchronised."
    if away := [name for name, queue in queues.items() if queue["state"] != "running"]:
        return f"{listing(away)} {'is' if len(away) == 1 else 'are'} not running."
    if short := [name for name, queue in queues.items() if queue["messages"] < variation.messages]:
        return f"Messages of {listing(short)} are gone that no client consumed: something in the answer removes them."
    for node in variation.nodes:
        if len(at := [name for name, queue in queues.items() if queue["master"] == node]) > 1:
            return f"{shown(node)} has the masters of {listing(at)}."
    others = len(variation.nodes) - 1
    if behind := [name for name, queue in queues.items() if len(queue["synchronised_mirrors"]) < others]:
        return f"Not all mirrors of {listing(behind)} are synchronised. What do mirrors have after a move?"
    return None


EXERCISES = (
    Exercise(
        key="16-spread",
        question="Each node has one queue so far. An application that is connected to a is about to declare six more, "
        "whose names begin with “orders.”. They need a mirror on every other node, and their masters are to be "
        "spread evenly, two on each node. You cannot change the application. Other queues stay as they are. Write "
        "the policy.",
        hints=(
            "The locator of a new queue's master can be set in three places. One of them is a policy.",
            "One of the locators takes the node with the fewest masters.",
            "One policy applies to a queue, so the same policy must set the mirrors and the locator.",
        ),
        form=Form.POLICY,
        begin=one_queue_each,
        judge=declared_and_spread,
    ),
    Exercise(
        key="16-move",
        question="Three nodes. The policy place keeps the queue orders on a and b (ha-mode nodes). Its master is on a, "
        "and the mirror on b is synchronised. Node a will be removed. Move the queue to b and c: in the end, only b "
        "and c have a copy, and both copies are complete. At every moment, at least two nodes must have all messages.",
        hints=(
            "If c gets a copy before a deletes its own, there are three copies for a while.",
            "A new mirror is empty. What synchronises it, and when may you remove a from the list?",
            "{set_policy: {name: place, pattern: '^orders$', definition: {ha-mode: nodes, ha-params: [a, b]}}} made "
            "the present policy. The step may be used more than once.",
        ),
        form=Form.STEPS,
        begin=on_two_nodes,
        judge=moved_with_two_copies,
        verbs=("set_policy", "clear_policy", "sync_queue", "rebalance", "wait"),
    ),
    Exercise(
        key="16-share",
        question="Three nodes and three queues: bills, mails and orders. The policy ha (pattern “”, ha-mode all, "
        "everything else by default) mirrors them to all nodes. All three masters are on a; b and c were restarted a "
        "moment ago. Distribute the masters, one to each node. No message may be lost, and in the end all mirrors must "
        "be synchronised.",
        hints=(
            "rebalance moves masters to mirrors. Which messages do the mirrors have after the restarts?",
            "And which messages do the mirrors of a queue have after its master has moved?",
            "Synchronise each queue, or let the policy do it. The step is {rebalance: true}.",
        ),
        form=Form.STEPS,
        begin=all_on_one,
        judge=shared_out,
        verbs=("sync_queue", "rebalance", "set_policy", "wait"),
    ),
)
