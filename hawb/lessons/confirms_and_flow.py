"""The exercises of lesson 14: confirms, acknowledgements, flow control and net_ticktime."""

from __future__ import annotations

from hawb.cluster import Cluster
from hawb.lessons.a_node_dies import declared, down_together
from hawb.lessons.exercises import Exercise, Form, Variation, queue_of
from hawb.views.formatting import counted, seconds, shown, size

ROOM = 1000
SIZE_BYTES = 100
HOUR_S = 3600
WORKER = "worker"
PREFETCH = 5

RATE = 100
SWITCH_S = 20
"""Seconds for which a restarting network switch drops all packets."""
STANDSTILL_S = 35
EARLIEST, LATEST = 0.75, 1.25
"""Shares of net_ticktime after which Erlang detects a silent node at the earliest and at the latest."""


# A full queue that rejects publishes


def full_and_frank(cluster: Cluster, variation: Variation) -> str | None:
    """Require that confirmed messages survive a full queue and a kill of the master's node."""
    name, (master, *mirrors) = f"orders.{variation.word}", variation.nodes
    cluster.publish(name, ROOM + variation.messages, size=SIZE_BYTES)
    queue, account = queue_of(cluster, name), cluster.ledger[name]
    if (there := len(queue["mirrors"])) != len(mirrors):
        return f"{name} has {counted(there, 'mirror')}; the task asks for one on every other node."
    if queue["messages"] > ROOM:
        return f"{name} holds {counted(queue['messages'])}; at most {ROOM:,} are allowed."
    if dropped := size(account["removed"]["dropped"]):
        return f"{counted(dropped)} had been confirmed and were dropped: by default, a full queue drops its head."
    if queue["messages"] < ROOM:
        return f"{name} holds {counted(queue['messages'])}; the task asks for room for {ROOM:,}."
    cluster.kill(master).wait(HOUR_S)
    if (left := queue_of(cluster, name)["messages"]) < ROOM:
        return (f"{name} has {counted(left)} left out of {ROOM:,} after an hour: something in the policy removes the"
                " others.")  # fmt: skip
    return None


# A restart after which no message is delivered twice


def worked_on(variation: Variation) -> Cluster:
    """Return a cluster with a mirrored queue, and a consumer that holds unacknowledged messages."""
    cluster = Cluster(*variation.nodes, version="3.10", seed=variation.seed)
    cluster.set_policy("ha", "^orders", {"ha-mode": "all"}).declare("orders", node=variation.nodes[0])
    cluster.publish("orders", variation.messages)
    return cluster.consume(WORKER, "orders", node=variation.nodes[-1], prefetch=PREFETCH)


def each_once(cluster: Cluster, variation: Variation) -> str | None:
    """Require that the master's node was restarted, and each message was delivered once and acknowledged."""
    master, account = variation.nodes[0], cluster.ledger["orders"]
    if not any(master in down for down in down_together(cluster)):
        return f"{shown(master)} was not restarted."
    if cluster.outcome["nodes"][master] != "running":
        return f"At the end {shown(master)} is not running."
    if lost := size(account["lost"]):
        return f"That cost {counted(lost)}."
    if twice := size(account["delivered_twice"]):
        return f"{counted(twice)} came twice: delivered, not acknowledged, and delivered again."
    if rejected := size(account["removed"]["rejected"]):
        return f"{counted(rejected)} left without an acknowledgement: a nack without requeue discards messages."
    if left := queue_of(cluster, "orders")["messages"]:
        return f"Not acknowledged yet: {counted(left)} of {variation.messages:,}."
    return None


# How long to wait for a silent node


def shop(variation: Variation, net_ticktime: float) -> Cluster:
    """Return a cluster with a mirrored queue and a steady publisher."""
    cluster = Cluster(*variation.nodes, version="3.10", seed=variation.seed, net_ticktime=net_ticktime)
    cluster.set_policy("ha", "^orders", {"ha-mode": "all"}).declare("orders", node=variation.nodes[0])
    return cluster.publisher("shop", "orders", rate=RATE, node=variation.nodes[0])


def patient_enough(cluster: Cluster, variation: Variation) -> str | None:
    """Require a net_ticktime that outlasts a restarting switch and detects a dead node soon enough.

    Both must hold wherever in its range Erlang detects a silent node.
    """
    net_ticktime, dead = cluster.run.settings.net_ticktime_s, variation.nodes[-1]
    blip = shop(variation, EARLIEST * net_ticktime)
    blip.partition(list(variation.nodes[:-1]), [dead], at=10).heal(at=10 + SWITCH_S).wait(SWITCH_S)
    if blip.outcome["partitions"]:
        after_s = seconds(EARLIEST * net_ticktime)
        return f"The cluster is partitioned: {shown(dead)} may be considered down after {after_s} s of silence."
    gone = shop(variation, LATEST * net_ticktime).power_off(dead, at=10).wait(LATEST * net_ticktime)
    if (blocked_s := gone.outcome["publishers"]["shop"]["blocked_s"]) > STANDSTILL_S:
        return f"{shown(dead)} lost power, and the publisher may be blocked for {seconds(blocked_s)} s."
    return None


EXERCISES = (
    Exercise(
        key="14-full",
        question="Queues whose names begin with “orders.” need a mirror on every other node and room for exactly 1,000 "
        "messages. A client that publishes more messages must be informed: no confirmed message may be missing "
        "afterwards, not even if the master's node is killed. Write the policy.",
        hints=(
            "One key limits a queue's length, in messages.",
            "By default a queue that is too long drops its head: messages that were confirmed long ago.",
            "With one value of the key overflow the queue refuses the new message, and nacks it.",
        ),
        form=Form.POLICY,
        begin=declared,
        judge=full_and_frank,
    ),
    Exercise(
        key="14-once",
        question="The queue orders has its master on a and is mirrored to all nodes. A consumer named worker, "
        "connected to c, holds up to five messages at a time. It has processed them, but not acknowledged them yet. "
        "Restart a so that no message is delivered twice, and that all messages are acknowledged in the end.",
        hints=(
            "Messages that a consumer has not acknowledged when the master goes down are delivered again.",
            "When a consumer acknowledges messages, it receives the next ones, unless it is cancelled.",
            "A cancelled consumer keeps its messages, and can acknowledge them: {cancel: worker}, then {ack: "
            "{consumer: worker}}. Another consumer takes the rest: {consume: {consumer: late, queue: orders}}.",
        ),
        form=Form.STEPS,
        begin=worked_on,
        judge=each_once,
        verbs=("cancel", "ack", "nack", "close", "consume", "get", "stop", "start", "wait"),
    ),
    Exercise(
        key="14-ticktime",
        question="Three nodes, a queue that is mirrored to all of them, and a publisher that sends 100 messages a "
        "second. Now and then a network switch restarts, and for 20 s nothing reaches one of the nodes: this must not "
        "cause a partition. If a mirror's host loses power, the publisher may be blocked for at most 35 s. Which "
        "net_ticktime meets both requirements, whenever Erlang detects a silent node?",
        hints=(
            "Erlang considers a node down after it was silent for three quarters to five quarters of net_ticktime.",
            "For the switch, the earliest detection matters. For the host, the latest detection matters.",
            "The publisher can send between 300 and 600 messages before it is blocked.",
        ),
        form=Form.SETTINGS,
        begin=shop,
        judge=patient_enough,
        settings=("net_ticktime",),
    ),
)
