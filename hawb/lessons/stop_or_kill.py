"""The exercises of lesson 13: controlled and uncontrolled shutdown, and the two promote keys."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hawb.cluster import Cluster
from hawb.languages import _
from hawb.lessons.a_node_dies import NOTICEABLE_S, declared, down_together
from hawb.lessons.exercises import Exercise, Form, Variation, of_the_first, queue_of, restart_in_haste
from hawb.views.formatting import counted, listing, seconds, shown, whole

BACK_S = 30.0
"""Seconds after which the master's node comes back."""


# A queue that must stay available


def goes_on(cluster: Cluster, variation: Variation) -> str | None:
    """Require that the queue survives a kill and a stop of its master's node before its mirrors have synchronised."""
    name, master = f"orders.{variation.word}", variation.nodes[0]
    needed_s = restart_in_haste(cluster, name, variation)
    down = {
        "kill": _("{node} was killed, and {queue} was down for {seconds} s, until it was back."),
        "stop": _("{node} was stopped, and {queue} was down for {seconds} s, until it was back."),
    }
    for fault, text in down.items():
        story = cluster.copy()
        story.run.apply_plain({fault: master, "at": needed_s})
        state = queue_of(story, name)["state"]
        story.wait(BACK_S).start(master)
        queue_of(story, name)
        down_s = story.outcome["availability"][name]["publish_down_s"]
        if state == "down" or down_s > NOTICEABLE_S:
            return text.format(node=shown(master), queue=name, seconds=seconds(down_s))
    return None


# A night without a cluster


def two_copies_on_the_move(variation: Variation) -> Cluster:
    """Return a cluster with a queue of two replicas whose mirrors are replaced, and promoted unsynchronised."""
    cluster = Cluster(*variation.nodes, version="3.10", seed=variation.seed)
    definition = {"ha-mode": "exactly", "ha-params": 2, "ha-promote-on-shutdown": "always"}
    cluster.set_policy("two", "^orders", definition).declare("orders", node=variation.nodes[0])
    return cluster.publish("orders", variation.messages)


def slept(cluster: Cluster, variation: Variation) -> str | None:
    """Require that all nodes were down together, and that all nodes and messages are back."""
    nodes, past = cluster.outcome["nodes"], down_together(cluster)
    if not any(len(down) == len(nodes) for down in past):
        return _("At no time were all nodes down.")
    gone = next((gone for before, after in pairwise(past) if len(gone := sorted({*after} - {*before})) > 1), None)
    if gone:
        return _("{nodes} went down at once; the task asks for one node at a time.", nodes=listing(gone))
    if away := [node for node, state in nodes.items() if state != "running"]:
        return not_running(away)
    left = of_the_first(variation.messages, queue_of(cluster, "orders")["ids"])
    if left < variation.messages:
        return _("In the morning orders has {messages} of {number}: an empty copy took over.",
                 messages=counted(left), number=whole(variation.messages))  # fmt: skip
    return None


def not_running(away: Sequence[str]) -> str:
    """Return that nodes are not running at the end, in words."""
    if len(away) == 1:
        return _("At the end {nodes} is not running.", nodes=listing(away))
    return _("At the end {nodes} are not running.", nodes=listing(away))


# A loss under when-synced


def all_are_complete(variation: Variation) -> Cluster:
    """Return a cluster with two synchronised mirrors under ha-promote-on-failure when-synced."""
    cluster = Cluster(*variation.nodes, version="3.10", seed=variation.seed)
    cluster.set_policy("ha", "^orders", {"ha-mode": "all", "ha-promote-on-failure": "when-synced"})
    return cluster.declare("orders", node=variation.nodes[0]).publish("orders", variation.messages)


def lost_all_the_same(cluster: Cluster, variation: Variation) -> str | None:
    """Require that all initial messages are lost, though no unsynchronised mirror may be promoted."""
    queue = queue_of(cluster, "orders")
    if of_the_first(variation.messages, cluster.ledger["orders"]["lost"]) == variation.messages:
        return None
    master = shown(queue["master"])
    if queue["state"] == "down":
        return _("orders is down and waits for {node}, on whose disk its messages are. A queue that is down keeps the"
                 " messages on its node's disk.", node=master)
    return _("Nothing is lost: {node} has all messages.", node=master)


EXERCISES = (
    Exercise(
        key="13-calls",
        question="Queues whose names begin with “orders.” carry requests that are worthless after a second. Write a "
        "policy that mirrors them to every node. Whenever their master's node is stopped or killed, they must be "
        "available again within a second, whether their mirrors are synchronised or not. Messages may be lost.",
        hints=(
            "Which of the two keys makes a queue wait by default?",
            "The other key must not make the queue wait, either. What is its default?",
            "A synchronisation takes time, and the node may be stopped before it ends.",
        ),
        form=Form.POLICY,
        begin=declared,
        judge=goes_on,
    ),
    Exercise(
        key="13-night",
        question="Three nodes. The policy of the queue orders is exactly 2 with ha-promote-on-shutdown always, and you "
        "may not change it. The master is on a, and all messages are persistent. Stop all nodes one by one, and start "
        "them again, so that the queue has every message in the morning.",
        hints=(
            "With exactly 2, RabbitMQ replaces a mirror at once when its node goes down. Which messages does the new "
            "mirror have?",
            "sync_queue synchronises the new mirror before you stop the next node. Or is there an order in which no "
            "mirror ever takes over?",
            "The node that stopped last must start before the other nodes can start.",
        ),
        form=Form.STEPS,
        begin=two_copies_on_the_move,
        judge=slept,
        verbs=("stop", "start", "sync_queue", "publish", "wait"),
    ),
    Exercise(
        key="13-moment",
        question="The queue orders is mirrored to all nodes, its master is on a, and the mirrors on b and c are "
        "synchronised. ha-promote-on-failure is when-synced, so that no unsynchronised mirror takes over. Lose all "
        "messages nevertheless, with kill and start.",
        hints=(
            "A mirror refuses promotion if the queue record lists no synchronised mirror. What if the record lists a "
            "mirror whose node is down?",
            "RabbitMQ corrects the record as soon as it detects that a node is down. It may detect two failures at the "
            "same time.",
            "In the end, an empty mirror must be left. kill accepts a list of nodes.",
        ),
        form=Form.STEPS,
        begin=all_are_complete,
        judge=lost_all_the_same,
        verbs=("kill", "start", "publish", "wait"),
    ),
)
