"""The exercises of notebook 22: a rolling restart by hand, and a policy for upgrades that wait only for a probe."""

from __future__ import annotations

from hawb.cluster import Cluster
from hawb.lessons.classic_and_quorum import QUORUM
from hawb.lessons.exercises import Exercise, Form, Variation, queue_of
from hawb.planning.upgrade import baselines, played_plan, task_of
from hawb.views.formatting import counted, listing, seconds, shown, size

MOMENT_S = 1.0
"""Shorter outages, in seconds, do not count: a master is transferred, a leader elected."""

QUEUES = ("calls", "orders", "votes")
BY_PROBE = "Kubernetes"


# By hand


def at_work(variation: Variation) -> Cluster:
    """Return a cluster with two mirrored queues and a quorum queue, all led by the first node.

    One mirrored queue promotes unsynchronised mirrors at a controlled shutdown.
    """
    first, second, third = variation.nodes
    cluster = Cluster(first, second, third, version="3.10", seed=variation.seed)
    cluster.set_policy("ha", "^orders$", {"ha-mode": "all"})
    cluster.set_policy("calls", "^calls$", {"ha-mode": "all", "ha-promote-on-shutdown": "always"})
    for queue in QUEUES:
        cluster.declare(queue, node=first, arguments=QUORUM if queue == "votes" else {})
        cluster.publish(queue, variation.messages)
    return cluster


def rolled(cluster: Cluster, variation: Variation) -> str | None:
    """Require that each node was stopped and runs again, without loss, and with outages below MOMENT_S."""
    stopped = {event["node"] for event in cluster.events if event["event"] == "node_stopped"}
    if left := [node for node in variation.nodes if node not in stopped]:
        return f"{listing(left)} {'was' if len(left) == 1 else 'were'} not restarted."
    if away := [node for node in variation.nodes if cluster.outcome["nodes"][node] != "running"]:
        return f"At the end {listing(away)} {'is' if len(away) == 1 else 'are'} not running."
    for queue in QUEUES:
        queue_of(cluster, queue)
        if lost := size(cluster.ledger[queue]["lost"]):
            return f"{queue} lost {counted(lost)}."
        if (down_s := cluster.outcome["availability"][queue]["publish_down_s"]) > MOMENT_S:
            return f"{queue} was down for {seconds(down_s)} s."
    return None


# By a probe


def of_two_copies(variation: Variation) -> Cluster:
    """Return a cluster with a queue on each node, each with one mirror."""
    cluster = Cluster(*variation.nodes, version="3.10", seed=variation.seed)
    cluster.set_policy("two", r"^orders\.", {"ha-mode": "exactly", "ha-params": 2}, priority=-1)
    for number, node in enumerate(variation.nodes):
        cluster.declare(f"orders.{variation.word}.{number}", node=node)
        cluster.publish(f"orders.{variation.word}.{number}", variation.messages)
    return cluster


def survives_the_probe(cluster: Cluster, variation: Variation) -> str | None:
    """Require no loss, and outages below MOMENT_S, if nodes are replaced from the last to the first.

    Each node is replaced as soon as the one before is ready.
    """
    names = [f"orders.{variation.word}.{number}" for number in range(len(variation.nodes))]
    for name in names:
        if (left := queue_of(cluster, name)["messages"]) < variation.messages:
            return f"{shown(name)} has {counted(left)} left out of {variation.messages:,}."
        if cluster.queues[name]["policy"] != "answer":
            return f"Your policy does not apply to {shown(name)}."
    task = task_of(cluster.run)
    turns = next(turns for name, turns in baselines(task).items() if name.startswith(BY_PROBE))
    predicted = played_plan(cluster.run, task, turns).prediction
    for effect in predicted.effects:
        if effect.lost:
            return f"The probe lets the next node go, and {shown(effect.queue)} loses {counted(effect.lost)}."
    for effect in sorted(predicted.effects, key=lambda one: -one.down_s):
        if effect.down_s > MOMENT_S:
            return f"The probe lets the next node go, and {shown(effect.queue)} is down for {seconds(effect.down_s)} s."
    return None


EXERCISES = (
    Exercise(
        key="22-roll",
        question="Nodes a, b and c of RabbitMQ 3.10. orders and calls are mirrored to all nodes (for calls "
        "ha-promote-on-shutdown is always), and votes is a quorum queue with three members. The masters and the leader "
        "are on a. Restart each node, one after the other. No message may be lost, and no queue may be unavailable for "
        "longer than a second.",
        hints=(
            "After its node was restarted, a mirror is empty. Before which stop does this matter?",
            "A step without a time begins when all earlier steps have ended, so it waits for a synchronisation. Which "
            "queues need a command to synchronise?",
        ),
        form=Form.STEPS,
        begin=at_work,
        judge=rolled,
        verbs=("stop", "start", "sync_queue", "wait"),
    ),
    Exercise(
        key="22-probe",
        question="Nodes a, b and c run as pods. An upgrade replaces them in reverse order, each node as soon as the "
        "previous one is ready, and does not wait for mirrors. Queues whose names begin with “orders.” have a master "
        "on each of the nodes, and one mirror (the policy two, priority -1). Write a policy for these queues. With it, "
        "such an upgrade must lose no message, and none of these queues may be unavailable for longer than a second.",
        hints=(
            "A queue has two copies, and there are three nodes. Where does RabbitMQ place a copy when its node goes "
            "down?",
            "How does a mirror get the missing messages without a command?",
        ),
        form=Form.POLICY,
        begin=of_two_copies,
        judge=survives_the_probe,
    ),
)
