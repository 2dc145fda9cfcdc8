"""The exercise of notebook 29: reconstruct a story from lines of two logs."""

from __future__ import annotations

from hawb.cluster import Cluster
from hawb.lessons.exercises import Exercise, Form, Variation
from hawb.views.formatting import counted, shown

SAID = {
    "node_stopping": "{} is asked to stop",
    "node_killed": "{} is killed",
    "node_lost_power": "{} loses its power, and is noticed only after net_ticktime",
    "node_running": "{} starts",
    "promoted": "the mirror on {} is promoted",
}
"""The meaning of a log line, by the event of the model that causes it."""


def before(variation: Variation) -> Cluster:
    """Return a cluster of three nodes with a mirrored queue and confirmed messages."""
    first, *_ = variation.nodes
    cluster = Cluster(*variation.nodes, version="3.10", seed=variation.seed)
    cluster.set_policy("ha", "^orders$", {"ha-mode": "all"}).declare("orders", node=first)
    return cluster.publish("orders", variation.messages)


def as_logged(cluster: Cluster, variation: Variation) -> str | None:
    """Require the events of the logs, in their order, and no others.

    The second node is stopped and started, the third is stopped, the first is killed, and the mirror on the second is
    promoted.
    """
    first, second, third = variation.nodes
    logged = [("node_stopping", second), ("node_running", second), ("node_stopping", third), ("node_killed", first),
              ("promoted", second)]  # fmt: skip
    events = [(event["event"], event["node"]) for event in cluster.events if event["event"] in SAID]
    for place, line in enumerate(logged):
        if place == len(events):
            return f"Your story ends too early: in the logs, {says(*line)}."
        if events[place] != line:
            return f"In your story {says(*events[place])}; in the logs, {says(*line)}."
    if len(events) > len(logged):
        return f"Your story continues: {says(*events[len(logged)])}. No log line shows this."
    lost = cluster.ledger["orders"]["lost_confirmed"]
    if lost == variation.messages:
        return None
    return f"It loses {counted(lost)} of {variation.messages:,}: it contains something that no log line shows."


def says(event: str, node: str) -> str:
    """Return the meaning of a log line, in words."""
    return SAID[event].format(shown(node))


EXERCISES = (
    Exercise(
        key="29-retold",
        question="Nodes a, b and c of 3.10; orders is mirrored to all of them, its master is on a, and every mirror is "
        "synchronised when the logs begin. On b: “10:02:11 RabbitMQ is asked to stop”, “10:02:40 Starting RabbitMQ "
        "3.10.8”, “10:02:44 Mirrored queue 'orders': Adding mirror on node b”, “10:07:31 node a down: "
        "connection_closed”, “10:07:31 Mirrored queue 'orders': Promoting mirror on b to master”. On c: “10:07:03 "
        "RabbitMQ is asked to stop”, and nothing after it. a's log ends suddenly at 10:06:58. Write the steps that "
        "these log lines describe. hawb derives the loss from these steps.",
        hints=(
            "A node that is asked to stop logs this. A node that is killed logs nothing. Which node logs the kill?",
            "connection_closed is detected at once. What would b have logged if a had lost power?",
            "You need no steps for the mirror and the promotion: they follow from the rules.",
        ),
        form=Form.STEPS,
        begin=before,
        judge=as_logged,
        verbs=("stop", "start", "kill", "power_off", "sync_queue", "wait"),
    ),
)
