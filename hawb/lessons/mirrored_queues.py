"""The exercises of lesson 10: what a mirrored queue is, and how policies are matched."""

from __future__ import annotations

from hawb.cluster import Cluster
from hawb.languages import _, ngettext
from hawb.lessons.exercises import Exercise, Form, Variation, of_the_first, queue_of
from hawb.rules.patterns import matches
from hawb.views.formatting import counted, listing, size

MIRRORING = {"ha-mode": "exactly", "ha-params": 2, "ha-sync-mode": "automatic"}
LIFETIME_S = 60
PATIENCE_S = 30.0
"""Seconds; longer than any automatic synchronisation of these exercises."""


def copies(queue: dict) -> int:
    """Return how many running replicas a queue has, its master included."""
    return 1 + len(queue["mirrors"])


# Two copies


def several_queues(variation: Variation) -> Cluster:
    """Return a cluster with queues with and without the prefix, none of them mirrored, all with messages."""
    cluster = Cluster(*variation.nodes, version="3.10", seed=variation.seed)
    for queue in (*wanted(variation), *others(variation)):
        cluster.declare(queue, node=variation.nodes[0]).publish(queue, variation.messages)
    return cluster


def wanted(variation: Variation) -> tuple[str, ...]:
    """Return the queues that are to be mirrored."""
    return (f"orders.{variation.word}", f"orders.{variation.word}.slow")


def others(variation: Variation) -> tuple[str, ...]:
    """Return queues with similar names that are not to be mirrored."""
    return (f"reorders.{variation.word}", f"orders-{variation.word}", f"old.orders.{variation.word}")


def two_copies(cluster: Cluster, variation: Variation) -> str | None:
    """Require two complete replicas of the queues that begin with `orders.`, and of no other queue."""
    cluster.wait(PATIENCE_S)
    for name in wanted(variation):
        queue = queue_of(cluster, name)
        if not queue["mirrored"]:
            return _("{queue} is not mirrored: the pattern does not match its name, or the definition has no ha-mode.",
                     queue=name)  # fmt: skip
        if (number := copies(queue)) != 2:
            return ngettext("{queue} has {number} running replica; the task asks for two.",
                            "{queue} has {number} running replicas; the task asks for two.", number,
                            queue=name, number=number)  # fmt: skip
        if queue["messages"] < variation.messages:
            return left(name, queue["messages"], variation)
    for name in others(variation):
        if queue_of(cluster, name)["policy"] is not None:
            return _("The policy also matches {queue}. RabbitMQ searches for a pattern anywhere in a name, and a dot "
                     "matches any character.", queue=name)  # fmt: skip
    return unsynchronised(cluster, wanted(variation))


def left(queue: str, messages: int, variation: Variation) -> str:
    """Return the sentence that not all messages are left."""
    return _("{queue} has {messages} left out of {number}.", queue=queue, messages=counted(messages),
             number=f"{variation.messages:,}")  # fmt: skip


def unsynchronised(cluster: Cluster, names: tuple[str, ...]) -> str | None:
    """Return the sentence about a queue whose mirror is not synchronised; None if there is none."""
    for name in names:
        if not cluster.queues[name]["synchronised_mirrors"]:
            return _("The mirror of {queue} lacks the messages that were published before it joined. With one more "
                     "key, RabbitMQ copies them.", queue=name)  # fmt: skip
    return None


# A second policy


def mirrored_orders(variation: Variation) -> Cluster:
    """Return a cluster with mirrored queues, one of which is to get a TTL.

    That queue is empty: messages from before a message-ttl never expire, and keep the messages behind them from being
    dropped (`rabbit_amqqueue_process:message_properties`, `drop_expired_msgs`).
    """
    cluster = Cluster(*variation.nodes, version="3.10", seed=variation.seed)
    cluster.set_policy("ha", r"^orders\.", MIRRORING)
    for queue in (f"orders.{variation.word}", f"orders.{variation.word}.tmp"):
        cluster.declare(queue, node=variation.nodes[0])
    return cluster.publish(f"orders.{variation.word}", variation.messages)


def expires_and_is_mirrored(cluster: Cluster, variation: Variation) -> str | None:
    """Require that messages of the temporary queue expire, and that both queues stay mirrored."""
    kept, temporary = f"orders.{variation.word}", f"orders.{variation.word}.tmp"
    queues = cluster.queues
    if queues[kept]["policy"] != "ha":
        return _("The policy ha no longer applies to {queue}. Only queues whose names end in .tmp were meant.",
                 queue=kept)  # fmt: skip
    if len(found := priorities(cluster, temporary)) > len(set(found)):
        return _("Both policies match {queue} at the same priority: RabbitMQ does not define which of them applies.",
                 queue=temporary)  # fmt: skip
    if queues[temporary]["policy"] == "ha":
        return _("The policy ha still applies to {queue}: of the policies that match, the one with the highest "
                 "priority applies.",
                 queue=temporary)  # fmt: skip
    if not queues[temporary]["mirrored"]:
        return _("{queue} is no longer mirrored. Only one policy applies to a queue: the keys of ha are not added to "
                 "yours.",
                 queue=temporary)  # fmt: skip
    if (number := copies(queues[temporary])) != 2 or not queues[temporary]["synchronised_mirrors"]:
        return ngettext("{queue} has {number} running replica; before, it had two complete ones.",
                        "{queue} has {number} running replicas; before, it had two complete ones.", number,
                        queue=temporary, number=number)  # fmt: skip
    return expires(cluster, temporary, variation)


def expires(cluster: Cluster, queue: str, variation: Variation) -> str | None:
    """Require that messages exist after half of their TTL, and not after all of it."""
    cluster.publish(queue, variation.messages).wait(LIFETIME_S / 2)
    if queue_of(cluster, queue)["messages"] < variation.messages:
        return _("Messages of {queue} are gone after {seconds} s. A message-ttl is in milliseconds.",
                 queue=queue, seconds=LIFETIME_S // 2)  # fmt: skip
    cluster.wait(LIFETIME_S / 2 + 1)
    if there := queue_of(cluster, queue)["messages"]:
        return _("{queue} still has {messages} that came {seconds} s ago, under your policy.",
                 queue=queue, messages=counted(there), seconds=LIFETIME_S + 1)  # fmt: skip
    return None


def priorities(cluster: Cluster, queue: str) -> list[int]:
    """Return the priorities of all policies that match a queue."""
    return [each.priority for each in cluster.run.moment().state.policies if matches(each.pattern, queue)]


# Mirrors that come late


def one_copy(variation: Variation) -> Cluster:
    """Return a cluster with an unmirrored queue with messages."""
    cluster = Cluster(*variation.nodes, version="3.10", seed=variation.seed)
    return cluster.declare("orders", node=variation.nodes[0]).publish("orders", variation.messages)


def survives(cluster: Cluster, variation: Variation) -> str | None:
    """Require that the queue has all messages after a kill of the first node."""
    master = variation.nodes[0]
    before = queue_of(cluster, "orders")
    if before["master"] != master:
        return _("The master is no longer on {node}, the node that will be killed.", node=master)
    if of_the_first(variation.messages, before["ids"]) < variation.messages:
        return _("Messages are gone before {node} is killed: something in the answer removes them.", node=master)
    mirrors = before["mirrors"]
    cluster.kill(master)
    if queue_of(cluster, "orders")["state"] == "down":
        return _("{node} was killed, and orders is down with it: it had no mirror.", node=master)
    if lost := size(cluster.ledger["orders"]["lost"]):
        return _("{node} was killed, which lost {messages}: {mirrors} held no message from before the policy.",
                 node=master, messages=counted(lost), mirrors=listing(mirrors))  # fmt: skip
    return None


EXERCISES = (
    Exercise(
        key="10-two-copies",
        question="Each queue whose name begins with “orders.”, including the dot, must have two complete copies, in "
        "any cluster. The copies must also have the messages that the queue already has. All other queues stay as they "
        "are. Which policy does this?",
        hints=(
            "The pattern is a regular expression, and RabbitMQ searches for it anywhere in a name. Which character "
            "stands for the beginning of the name?",
            "A dot in a regular expression matches any character. With a backslash before it, it matches only a dot.",
            "exactly counts the master, too. For the messages that the queue already has, see ha-sync-mode.",
        ),
        form=Form.POLICY,
        begin=several_queues,
        judge=two_copies,
    ),
    Exercise(
        key="10-ttl",
        question="The policy ha gives every queue whose name begins with “orders.” two copies (exactly, 2, automatic). "
        "Its priority is 0. From now on, messages that are published to queues whose names end in “.tmp” must expire "
        "after 60 seconds. Write one more policy for this, and do not change the mirroring.",
        hints=(
            "If two policies match, their priorities decide which one applies.",
            "Only one policy applies to a queue. So the new policy also needs the keys of ha.",
            "message-ttl is in milliseconds.",
        ),
        form=Form.POLICY,
        begin=mirrored_orders,
        judge=expires_and_is_mirrored,
    ),
    Exercise(
        key="10-late-mirror",
        question="The queue orders has its master on a. It has messages, but no mirror. Write steps after which a can "
        "be killed without losing any of these messages. Your list ends before a is killed.",
        hints=(
            "A policy adds mirrors to an existing queue. Which messages do these mirrors have?",
            "One verb synchronises the mirrors of a queue, and with one policy key they synchronise automatically.",
        ),
        form=Form.STEPS,
        begin=one_copy,
        judge=survives,
        verbs=("set_policy", "clear_policy", "declare", "publish", "sync_queue", "wait"),
    ),
)
