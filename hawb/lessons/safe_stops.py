"""The exercises of notebook 21: make a node safe to stop, and find a loss that no check warns of."""

from __future__ import annotations

from hawb.cluster import Cluster
from hawb.lessons.classic_and_quorum import QUORUM
from hawb.lessons.exercises import Exercise, Form, Variation, queue_of
from hawb.planning.safe_to_stop import Forecast, safe_to_stop
from hawb.views.formatting import counted, listing, shown
from hawb.views.planning.forecast import happens, why

QUEUES = ("jobs", "orders", "votes")


def forecast_of(cluster: Cluster, node: str) -> Forecast:
    """Return the forecast for a running node."""
    return next(forecast for forecast in safe_to_stop(cluster.run, [node]))


# Until it is safe


def unsafe(variation: Variation) -> Cluster:
    """Return a cluster in which stopping the first node harms three queues.

    They are a mirrored queue with empty mirrors, a queue without mirrors, and a quorum queue of two members.
    """
    first, second, third = variation.nodes
    cluster = Cluster(first, second, third, version="3.10", seed=variation.seed)
    cluster.set_policy("ha", "^orders$", {"ha-mode": "all"}).declare("orders", node=first).declare("jobs", node=first)
    cluster.declare("votes", node=first, arguments=QUORUM | {"x-quorum-initial-group-size": 1})
    cluster.add_member("votes", second)
    for queue in QUEUES:
        cluster.publish(queue, variation.messages)
    return cluster.stop(second).start(second).stop(third).start(third)


def may_stop(cluster: Cluster, variation: Variation) -> str | None:
    """Require that a controlled stop of the first node harms no queue, and that each has its messages."""
    for queue in QUEUES:
        if (left := queue_of(cluster, queue)["messages"]) < variation.messages:
            return f"{queue} has {counted(left)} left out of {variation.messages:,}."
    hurt = forecast_of(cluster, variation.nodes[0]).hurt("stop")
    if not hurt:
        return None
    return f"When {shown(variation.nodes[0])} is stopped, {shown(hurt[0].queue)} {happens(hurt[0])}. {why(hurt[0])}"


# A loss that no check warns of


def all_is_well(variation: Variation) -> Cluster:
    """Return a cluster of three nodes with a policy that mirrors queues with the prefix ha to all of them."""
    return Cluster(*variation.nodes, version="3.10", seed=variation.seed).set_policy("ha", "^ha", {"ha-mode": "all"})


def lost_unwarned(cluster: Cluster, variation: Variation) -> str | None:
    """Require that both checks pass on the first node, and that its stop loses confirmed messages."""
    first = variation.nodes[0]
    if cluster.outcome["nodes"][first] != "running":
        return f"{shown(first)} does not run, so it cannot be stopped."
    forecast = forecast_of(cluster, first)
    if named := [*forecast.quorum_critical, *forecast.mirror_sync_critical]:
        return f"A check fails on {shown(first)}, and names {listing(named)}: you would not have stopped it."
    if any(effect.lost_confirmed for effect in forecast.effects["stop"]):
        return None
    effects = [f"{shown(effect.queue)} {happens(effect)}" for effect in forecast.hurt("stop")]
    return f"A stop of {shown(first)} loses nothing: {'; '.join(effects) or 'every queue stays in use'}."


EXERCISES = (
    Exercise(
        key="21-safe",
        question="RabbitMQ 3.10, nodes a, b and c. orders is mirrored to all nodes (the policy ha), jobs is not "
        "mirrored, votes is a quorum queue with members on a and b. b and c were restarted, so all masters and the "
        "leader are on a. Make it safe to stop a: after a controlled stop, no message may be lost, and all three "
        "queues must be available.",
        hints=(
            "Three queues, three reasons. What does each of them lack?",
            "Why is {add_member: {queue: votes, node: c}} enough for votes?",
            "A policy that mirrors jobs from now on gives it mirrors that are empty. Which key synchronises them?",
        ),
        form=Form.STEPS,
        begin=unsafe,
        judge=may_stop,
        verbs=("sync_queue", "add_member", "set_policy", "wait"),
    ),
    Exercise(
        key="21-missed",
        question="Nodes a, b and c; the policy ha mirrors queues whose names begin with “ha”. Write steps after which "
        "check_if_node_is_quorum_critical and check_if_node_is_mirror_sync_critical both pass on a, and a controlled "
        "stop of a nevertheless loses messages that were confirmed.",
        hints=(
            "One check covers quorum queues, and the other one covers mirrored queues. Which other queues are there?",
            "A durable queue keeps its persistent messages until its node is back. Which other queues or messages are "
            "lost?",
        ),
        form=Form.STEPS,
        begin=all_is_well,
        judge=lost_unwarned,
        verbs=("declare", "publish", "set_policy", "stop", "start", "sync_queue", "wait"),
    ),
)
