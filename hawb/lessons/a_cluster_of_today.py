"""The exercises of lesson 28: running quorum queues of RabbitMQ 4.3."""

from __future__ import annotations

from hawb.cluster import Cluster
from hawb.lessons.exercises import Exercise, Form, Variation, queue_of
from hawb.lessons.metadata_of_a_majority import running
from hawb.lessons.mirrored_queues import PATIENCE_S
from hawb.lessons.quorum_queues import NEWCOMER, QUORUM, no_majority
from hawb.views.formatting import counted, listing, seconds, shown, size

VERSION = "4.3"
VICTIMS = 3
"""Number of workers that a message may crash."""
MOST_TRIES = 40
"""Maximum number of workers tried, more than any answer needs."""
HELD = 2
"""Number of messages that a worker holds."""
CUT_S = 80
"""Seconds for which the link to a worker is cut; it is noticed after net_ticktime."""
SOON_S = 40
"""Seconds after a kill until another worker must have the messages of the killed node's worker."""
DEEP, BODY = 40_000, 10_000
"""Number of messages in a deep queue, and the size of each in bytes."""
MOMENTS_S = 2.0
"""Seconds for which a queue may be unavailable while leaders change."""
FEW = 100
"""Maximum number of messages in each of several queues."""
QUEUES = tuple(f"orders.{number}" for number in range(1, 7))
"""The queues whose leaders are to be distributed, two to each node."""


# A message that crashes each worker


def may_crash_workers(variation: Variation) -> Cluster:
    """Return a cluster with two quorum queues without a policy, and a queue for dead letters."""
    first = variation.nodes[0]
    cluster = Cluster(*variation.nodes, version=VERSION, seed=variation.seed)
    cluster.declare("looked into", node=first, arguments=QUORUM)
    cluster.bind(queue="looked into", exchange="rescue", routing_key="poison")
    for name in (orders(variation), f"re{orders(variation)}"):
        cluster.declare(name, node=first, arguments=QUORUM).publish(name, variation.messages, node=first)
    return cluster


def orders(variation: Variation) -> str:
    """Return the name of the queue that the exercise is about."""
    return f"orders.{variation.word}"


def is_put_aside(cluster: Cluster, variation: Variation) -> str | None:
    """Require that a message crashes three workers, no fourth, and is dead-lettered; the other queue is unchanged."""
    name, other = orders(variation), f"re{orders(variation)}"
    if queue_of(cluster, other)["policy"] is not None:
        return f"The policy also matches {other}. RabbitMQ searches for a pattern anywhere in a name."
    victims = crashed(cluster, name, variation)
    if victims != VICTIMS:
        return f"The message has crashed {counted(victims, 'worker')}; the task asks for exactly {VICTIMS}."
    if left := queue_of(cluster, "looked into")["messages"]:
        kept = left + queue_of(cluster, name)["messages"]
        return None if kept == variation.messages else f"Of {counted(variation.messages)} {kept:,} are left."
    return f"Then the message was gone: nothing came to “looked into”, and {name} has no place for its dead letters."


def crashed(cluster: Cluster, name: str, variation: Variation) -> int:
    """Return how many workers the first message crashes, one after the other."""
    for number in range(MOST_TRIES):
        worker = f"worker {number}"
        cluster.consume(worker, name, node=variation.nodes[1], prefetch=1)
        if cluster.outcome["consumers"][worker]["unacknowledged"] != [[1, 1]]:
            return number
        cluster.close(worker)
    return MOST_TRIES


# A worker whose node is unreachable


def workers_far_and_near(variation: Variation) -> Cluster:
    """Return a cluster with a quorum queue led by the first node."""
    cluster = Cluster(*variation.nodes, version=VERSION, seed=variation.seed)
    return cluster.declare(orders(variation), node=variation.nodes[0], arguments=QUORUM)


def waits_just_long_enough(cluster: Cluster, variation: Variation) -> str | None:
    """Require that a cut link takes no worker's messages, and that a killed node's messages are requeued soon."""
    first, second, third = variation.nodes
    name = orders(variation)
    cluster.consume("far", name, node=third, prefetch=HELD).publish(name, HELD, node=first)
    cluster.consume("near", name, node=second, prefetch=HELD)
    if queue_of(cluster, name)["messages_unacknowledged"] != HELD:
        return f"The worker on {shown(third)} does not get its messages: something in the answer keeps them back."
    cut = cluster.copy().partition([first, second], [third]).wait(CUT_S).heal().wait(PATIENCE_S)
    if twice := size(cut.ledger[name]["delivered_twice"]):
        return f"The link was back after {CUT_S} s, and {counted(twice)} had been given to another worker meanwhile."
    killed = cluster.kill(third).wait(SOON_S)
    if killed.outcome["consumers"]["near"]["unacknowledged"] != [[1, HELD]]:
        return f"{SOON_S} s after {shown(third)} was killed, no other worker has its worker's messages."
    return None


# One node is replaced


def one_is_to_go(variation: Variation) -> Cluster:
    """Return a cluster with two deep quorum queues on three nodes.

    One queue is led by the node that is to be replaced. A fourth node is ready to join.
    """
    first, _, third = variation.nodes
    cluster = Cluster(*variation.nodes, NEWCOMER, version=VERSION, seed=variation.seed).stop(NEWCOMER).reset(NEWCOMER)
    for name, node in (("orders", third), ("bills", first)):
        cluster.declare(name, node=node, arguments=QUORUM).publish(name, DEEP, size=BODY, node=node)
    return cluster


def replaced_without_risk(cluster: Cluster, variation: Variation) -> str | None:
    """Require that the new node has the old one's members, and that each step would have survived a node failure.

    The old node must have left the cluster.
    """
    *others, third = variation.nodes
    begun = len(one_is_to_go(variation).run.steps)
    for step in range(begun, len(cluster.run.steps) + 1):
        if wrong := stands_still(cluster.copy().rewind(step)):
            return f"After step {step - begun}: {wrong}" if step > begun else wrong
    cluster.wait(PATIENCE_S)
    for name in ("orders", "bills"):
        queue = queue_of(cluster, name)
        if sorted(queue["members"]) != sorted((*others, NEWCOMER)):
            return f"At the end the members of {name} are on {listing(queue['members'])}."
        if queue["messages"] < DEEP:
            return f"{name} has {counted(queue['messages'])} of {DEEP:,}."
    if third in cluster.outcome["metadata_store"]["members"]:
        return f"{shown(third)} is still a member of the cluster."
    return None


def stands_still(cluster: Cluster) -> str | None:
    """Return which queue has no majority, or would lose it with one more node; None if all are safe."""
    for name, queue in cluster.queues.items():
        for node in queue["online"] if queue["state"] == "running" else ():
            if cluster.copy().kill(node).queues[name]["state"] != "running":
                return f"if {shown(node)} were killed now, {name} would be unavailable, with {no_majority(queue)}."
        if queue["state"] != "running":
            return f"{name} is unavailable: of its {no_majority(queue)}."
    return None


# Leaders are distributed


def all_led_by_one(variation: Variation) -> Cluster:
    """Return a cluster with six quorum queues, all led by the node whose client declared them."""
    first = variation.nodes[0]
    cluster = Cluster(*variation.nodes, version=VERSION, seed=variation.seed)
    for name in QUEUES:
        cluster.declare(name, node=first, arguments=QUORUM).publish(name, min(variation.messages, FEW), node=first)
    return cluster


def restarted_and_shared_out(cluster: Cluster, variation: Variation) -> str | None:
    """Require that each node was restarted and leads two queues, and that outages stayed below MOMENTS_S."""
    cluster.wait(PATIENCE_S)
    if away := [node for node in variation.nodes if node not in running(cluster)]:
        return f"At the end {listing(away)} {'is' if len(away) == 1 else 'are'} not running."
    stopped = {event["node"] for event in cluster.events if event["event"] == "node_stopped"}
    if left := [node for node in variation.nodes if node not in stopped]:
        return f"{listing(left)} {'was' if len(left) == 1 else 'were'} not restarted by rabbitmqctl stop."
    for name in QUEUES:
        down_s = cluster.outcome["availability"][name]["publish_down_s"]
        if down_s > MOMENTS_S:
            return f"{name} was out of use for {seconds(down_s)} s."
    leaders = [queue_of(cluster, name)["leader"] for name in QUEUES]
    for node in variation.nodes:
        if (leads := leaders.count(node)) != len(QUEUES) // len(variation.nodes):
            return f"{shown(node)} leads {counted(leads, 'queue')}."
    return None


EXERCISES = (
    Exercise(
        key="28-poison",
        question="RabbitMQ 4.3. Now and then a message in a queue whose name begins with “orders.” crashes the worker "
        "that gets it, and the next one as well. It may crash three workers, but not a fourth. Then it must be in the "
        "queue “looked into”, which is bound to the exchange rescue by the key poison. Other queues stay as they are. "
        "Write the policy.",
        hints=(
            "What counts towards the delivery limit, and which count is one too many?",
            "Without a dead letter exchange the message is gone.",
            "The keys are delivery-limit, dead-letter-exchange and dead-letter-routing-key.",
        ),
        form=Form.POLICY,
        begin=may_crash_workers,
        judge=is_put_aside,
    ),
    Exercise(
        key="28-reach",
        question="RabbitMQ 4.3, net_ticktime is 60 s. Workers of a queue whose name begins with “orders.” are on other "
        f"nodes than its leader. Sometimes a link fails for {CUT_S} s. Then each worker must keep its messages, and no "
        "other worker may receive them. If a worker's node is killed, other workers must receive its messages within "
        f"{SOON_S} s. Write the policy.",
        hints=(
            "Nodes detect a kill at once. When do they detect that a link drops all data?",
            "From then on, the timeout runs after which a consumer out of reach loses its messages.",
            "The key is consumer-disconnected-timeout, in milliseconds.",
        ),
        form=Form.POLICY,
        begin=workers_far_and_near,
        judge=waits_just_long_enough,
    ),
    Exercise(
        key="28-replace",
        question="RabbitMQ 4.3. The quorum queues orders and bills have members on a, b and c. Replace c by d, a new "
        "machine: in the end, the members must be on a, b and d, and c must not be in the cluster. After each of your "
        "steps, both queues must stay available if any one node is killed.",
        hints=(
            "While c is down, how many more nodes may fail?",
            "Do you first add a fourth member, or first remove the third one?",
            "A node must be down before it is forgotten. You can remove its members before that.",
        ),
        form=Form.STEPS,
        begin=one_is_to_go,
        judge=replaced_without_risk,
        verbs=("join", "grow", "shrink", "add_member", "delete_member", "stop", "forget_cluster_node", "wait"),
    ),
    Exercise(
        key="28-leaders",
        question="RabbitMQ 4.3. Six quorum queues, orders.1 to orders.6, were declared by a client on a, so all "
        "leaders are on a. Restart all three nodes (rabbitmqctl stop, and start). No queue may be unavailable for more "
        "than 2 s in total, and in the end each node must have two leaders.",
        hints=(
            "Which member leads a queue after its leader was stopped: a chosen one, or the first one that asks for "
            "votes?",
            "Restart one node after the other. What gives a restarted node its share of the leaders?",
            "The step is {rebalance: true}.",
        ),
        form=Form.STEPS,
        begin=all_led_by_one,
        judge=restarted_and_shared_out,
        verbs=("stop", "start", "rebalance", "transfer_leadership", "drain", "revive", "wait"),
    ),
)
