"""The exercises of lesson 10: what a mirrored queue is, and how policies choose."""

from __future__ import annotations

from hawb.cluster import Cluster
from hawb.lessons.exercises import Exercise, Form, Variation, of_the_first, queue_of
from hawb.rules.patterns import matches
from hawb.views.formatting import counted, listing, size

MIRRORING = {"ha-mode": "exactly", "ha-params": 2, "ha-sync-mode": "automatic"}
LIFETIME_S = 60
PATIENCE_S = 30.0
"""Longer than any automatic synchronisation of these exercises."""


def copies(queue: dict) -> int:
    """How many running replicas a queue has, its master included."""
    return 1 + len(queue["mirrors"])


# Two copies


def several_queues(variation: Variation) -> Cluster:
    """Queues with and without the prefix, none of them mirrored, all with messages."""
    cluster = Cluster(*variation.nodes, version="3.10", seed=variation.seed)
    for queue in (*wanted(variation), *others(variation)):
        cluster.declare(queue, node=variation.nodes[0]).publish(queue, variation.messages)
    return cluster


def wanted(variation: Variation) -> tuple[str, ...]:
    """The queues that are to be mirrored."""
    return (f"orders.{variation.word}", f"orders.{variation.word}.slow")


def others(variation: Variation) -> tuple[str, ...]:
    """The queues that only look like those to be mirrored."""
    return (f"reorders.{variation.word}", f"orders-{variation.word}", f"old.orders.{variation.word}")


def two_copies(cluster: Cluster, variation: Variation) -> str | None:
    """Two complete copies of what begins with `orders.`, and of nothing else."""
    cluster.wait(PATIENCE_S)
    for name in wanted(variation):
        queue = queue_of(cluster, name)
        if not queue["mirrored"]:
            return f"{name} is not mirrored: the pattern does not match its name, or the definition has no ha-mode."
        if copies(queue) != 2:
            return f"{name} has {counted(copies(queue), 'running replica')}, two were asked for."
        if queue["messages"] < variation.messages:
            return f"{name} has {counted(queue['messages'])} left of {variation.messages:,}."
    for name in others(variation):
        if queue_of(cluster, name)["policy"] is not None:
            return f"The policy reaches {name} too. A pattern is searched anywhere in a name, and a dot is any letter."
    return unsynchronised(cluster, wanted(variation))


def unsynchronised(cluster: Cluster, names: tuple[str, ...]) -> str | None:
    """What is wrong with mirrors that lack the messages from before they joined, in words."""
    for name in names:
        if not cluster.queues[name]["synchronised_mirrors"]:
            return f"The mirror of {name} lacks the messages that were there before it. One more key has them copied."
    return None


# A second policy


def mirrored_orders(variation: Variation) -> Cluster:
    """Mirrored queues, one of which is to get a time to live.

    That one is empty: messages from before a message-ttl never expire, and keep those behind them from being dropped
    (`rabbit_amqqueue_process:message_properties`, `drop_expired_msgs`).
    """
    cluster = Cluster(*variation.nodes, version="3.10", seed=variation.seed)
    cluster.set_policy("ha", r"^orders\.", MIRRORING)
    for queue in (f"orders.{variation.word}", f"orders.{variation.word}.tmp"):
        cluster.declare(queue, node=variation.nodes[0])
    return cluster.publish(f"orders.{variation.word}", variation.messages)


def expires_and_is_mirrored(cluster: Cluster, variation: Variation) -> str | None:
    """What is published to the temporary queue expires, and everything stays mirrored."""
    kept, temporary = f"orders.{variation.word}", f"orders.{variation.word}.tmp"
    queues = cluster.queues
    if queues[kept]["policy"] != "ha":
        return f"{kept} no longer follows the policy ha; only queues that end in .tmp were meant."
    if len(found := priorities(cluster, temporary)) > len(set(found)):
        return f"Both policies match {temporary} at the same priority: RabbitMQ leaves open which of them applies."
    if queues[temporary]["policy"] == "ha":
        return f"{temporary} still follows ha: of the policies that match, the one with the highest priority applies."
    if not queues[temporary]["mirrored"]:
        return f"{temporary} is no longer mirrored. One policy applies to a queue: ha's keys do not join yours."
    if copies(queues[temporary]) != 2 or not queues[temporary]["synchronised_mirrors"]:
        return f"{temporary} has {counted(copies(queues[temporary]), 'running replica')}; two complete ones were there."
    cluster.publish(temporary, variation.messages).wait(LIFETIME_S / 2)
    if queue_of(cluster, temporary)["messages"] < variation.messages:
        return f"Messages of {temporary} are gone after {LIFETIME_S // 2} s. A message-ttl is in milliseconds."
    cluster.wait(LIFETIME_S / 2 + 1)
    if left := queue_of(cluster, temporary)["messages"]:
        return f"{temporary} still has {counted(left)} that came {LIFETIME_S + 1} s ago, under your policy."
    return None


def priorities(cluster: Cluster, queue: str) -> list[int]:
    """The priorities of all policies that match a queue."""
    return [each.priority for each in cluster.run.moment().state.policies if matches(each.pattern, queue)]


# Mirrors that come late


def one_copy(variation: Variation) -> Cluster:
    """An unmirrored queue with messages."""
    cluster = Cluster(*variation.nodes, version="3.10", seed=variation.seed)
    return cluster.declare("orders", node=variation.nodes[0]).publish("orders", variation.messages)


def survives(cluster: Cluster, variation: Variation) -> str | None:
    """The first node dies, and the queue goes on with everything."""
    master = variation.nodes[0]
    before = queue_of(cluster, "orders")
    if before["master"] != master:
        return f"The master is no longer on {master}, where it is to die."
    if of_the_first(variation.messages, before["ids"]) < variation.messages:
        return f"Messages are gone before {master} is killed: something in the answer removes them."
    mirrors = before["mirrors"]
    cluster.kill(master)
    if queue_of(cluster, "orders")["state"] == "down":
        return f"{master} was killed, and orders is down with it: it had no mirror."
    if lost := size(cluster.ledger["orders"]["lost"]):
        went = f"{master} was killed, and with it went {counted(lost)}"
        return f"{went}: {listing(mirrors)} held nothing from before the policy."
    return None


EXERCISES = (
    Exercise(
        key="10-two-copies",
        question="Queues whose names begin with “orders.”, dot included, are to have two complete copies each, in any "
        "cluster, with the messages that they hold already. All other queues stay as they are. Which policy does it?",
        hints=(
            "The pattern is a regular expression that is searched anywhere in a name: what stands for the beginning?",
            "A dot in a regular expression is any character. A backslash before it makes it a dot.",
            "exactly counts the master too. For what is there already look at ha-sync-mode.",
        ),
        form=Form.POLICY,
        begin=several_queues,
        judge=two_copies,
    ),
    Exercise(
        key="10-ttl",
        question="The policy ha gives every queue beginning with “orders.” two copies (exactly, 2, automatic) at "
        "priority 0. What is published from now on to those that end in “.tmp” is to expire after 60 seconds. "
        "Write one more policy for that, and leave the mirroring as it is.",
        hints=(
            "Which of two matching policies applies is a matter of priority.",
            "Only one applies. Whatever ha does for the queue, the new policy has to do as well.",
            "message-ttl is in milliseconds.",
        ),
        form=Form.POLICY,
        begin=mirrored_orders,
        judge=expires_and_is_mirrored,
    ),
    Exercise(
        key="10-late-mirror",
        question="The queue orders has its master on a, messages, and no mirror. Write the steps after which a can be "
        "killed and not one of these messages is lost. Your list ends before a is killed.",
        hints=(
            "A policy adds mirrors to a queue that is there. What do they hold?",
            "There is a verb that has a queue's mirrors filled, and a key that does it by itself.",
        ),
        form=Form.STEPS,
        begin=one_copy,
        judge=survives,
        verbs=("set_policy", "clear_policy", "declare", "publish", "sync_queue", "wait"),
    ),
)
