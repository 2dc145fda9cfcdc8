"""The exercises of lesson 19: which queue type for which use, how many replicas, and nodes that are replaced."""

from __future__ import annotations

from hawb.cluster import Cluster
from hawb.languages import _, ngettext
from hawb.lessons.exercises import Exercise, Form, Variation, queue_of
from hawb.lessons.mirrored_queues import PATIENCE_S
from hawb.lessons.stop_or_kill import not_running
from hawb.rules.quorum import majority
from hawb.views.formatting import counted, listing, shown, size

QUORUM = {"x-queue-type": "quorum"}
FURTHER = "d"
"""The fourth node, besides those of a variation."""
MOST_RETURNS = 3
NOTICED_S = 120
"""Seconds after which nodes without power are detected: `net_ticktime` is 60 s."""
ELECTION_S = 10


# Two rooms


def two_rooms(variation: Variation) -> Cluster:
    """Return a cluster of four nodes, two in each room, without a queue."""
    return Cluster(*variation.nodes, FURTHER, version="3.10", seed=variation.seed)


def either_room_may_fail(cluster: Cluster, variation: Variation) -> str | None:
    """Require that the queue survives a power loss in either room, with all confirmed messages."""
    if "orders" not in cluster.queues:
        return _("There is no queue {queue}.", queue="orders")
    cluster.publish("orders", variation.messages).wait(1)
    first, second, third = variation.nodes
    for room in ((first, second), (third, FURTHER)):
        story = cluster.copy().power_off(*room).wait(NOTICED_S)
        queue = story.queues.get("orders")
        if queue is None or queue["state"] != "running":
            return _("The room with {nodes} has lost power, and no node serves orders{left}.",
                     nodes=listing(room), left=_left(queue))  # fmt: skip
        if lost := story.ledger["orders"]["lost_confirmed"]:
            return _("The room with {nodes} has lost power, and {messages} of orders that had been confirmed are lost.",
                     nodes=listing(room), messages=counted(lost))  # fmt: skip
    return None


def _left(queue: dict | None) -> str:
    """Return the state of a queue that is not available, in words."""
    if queue is None:
        return ""
    if queue["type"] != "quorum":
        return _(": all nodes that had its messages were in that room")
    members, left = queue["members"], listing(queue["online"]) or _("none")
    return _(": a majority of its {members} is {needed}, and only {nodes} can be reached",
             members=counted(len(members), "member"), nodes=left, needed=majority(len(members)))  # fmt: skip


# The right queue for each application


def four_applications(variation: Variation) -> Cluster:
    """Return a cluster with a policy that mirrors each classic queue, and a quorum queue for dead letters."""
    cluster = Cluster(*variation.nodes, version="3.10", seed=variation.seed)
    cluster.set_policy("ha", "", {"ha-mode": "all"})
    return cluster.declare("dead", node=variation.nodes[0], arguments=QUORUM)


def each_as_it_needs(cluster: Cluster, variation: Variation) -> str | None:
    """Require that each of the four queues behaves as its application asks."""
    for name in ("orders", "urgent", "answers", "jobs"):
        if name not in cluster.queues:
            return _("There is no queue {queue}.", queue=name)
    judges = (orders_are_kept, urgent_ones_first, answers_go_with_their_client, jobs_are_given_up)
    return next((wrong for judge in judges if (wrong := judge(cluster.copy(), variation))), None)


def orders_are_kept(cluster: Cluster, variation: Variation) -> str | None:
    """Require that confirmed messages survive restarts of the other nodes and the death of the queue's own."""
    cluster.publish("orders", variation.messages).wait(1)
    served_on = home(cluster, "orders")
    for node in variation.nodes:
        if node != served_on:
            cluster.stop(node).start(node)
    cluster.kill(served_on).wait(ELECTION_S)
    if lost := cluster.ledger["orders"]["lost_confirmed"]:
        return _("The other nodes were restarted and {node} killed: {messages} of orders lost.",
                 node=shown(served_on), messages=counted(lost))  # fmt: skip
    if cluster.queues.get("orders", {}).get("state") != "running":
        return _("The other nodes were restarted and {node} killed, and no node serves orders.", node=shown(served_on))
    return None


def home(cluster: Cluster, name: str) -> str:
    """Return the node of a queue's master or leader."""
    queue = cluster.queues[name]
    return queue["leader"] if queue["type"] == "quorum" else queue["master"]


def urgent_ones_first(cluster: Cluster, variation: Variation) -> str | None:
    """Require that a message of high priority overtakes messages of low priority."""
    many = variation.messages
    cluster.publish("urgent", many, priority=1).publish("urgent", priority=9).wait(1).get("urgent", count=1)
    if cluster.ledger["urgent"]["acknowledged"] != [[many + 1, many + 1]]:
        return _("A message of priority 9 was published to urgent last, but was not delivered first.")
    return None


def answers_go_with_their_client(cluster: Cluster, _variation: Variation) -> str | None:
    """Require that the queue is deleted with its connection."""
    if "answers" in cluster.close("client").queues:
        return _("The connection client was closed, but the queue answers still exists.")
    return None


def jobs_are_given_up(cluster: Cluster, _variation: Variation) -> str | None:
    """Require that a message of the queue `jobs` can be requeued MOST_RETURNS times at most."""
    return given_up(cluster, "jobs", MOST_RETURNS)


def given_up(cluster: Cluster, name: str, most_returns: int) -> str | None:
    """Require that a message can be requeued `most_returns` times, and then goes to the queue `dead`."""
    cluster.publish(name).wait(1).consume("clumsy", name, prefetch=1)
    for _return in range(most_returns):
        cluster.nack("clumsy").wait(1)
    if not cluster.queues[name]["messages"]:
        return _("A message was returned to {queue} {number} times, which is allowed, but it is gone.",
                 queue=name, number=most_returns)  # fmt: skip
    cluster.nack("clumsy").wait(1)
    if cluster.queues[name]["messages"]:
        return _("A message was returned to {queue} {number} times, and was delivered again.",
                 queue=name, number=most_returns + 1)  # fmt: skip
    if not cluster.queues["dead"]["messages"]:
        return _("A message that was returned too often is gone from {queue}, and is not in the queue dead.",
                 queue=name)  # fmt: skip
    return None


# Three new machines


def both_types(variation: Variation) -> Cluster:
    """Return a cluster with a mirrored and a quorum queue that hold the same messages."""
    first = variation.nodes[0]
    cluster = Cluster(*variation.nodes, version="3.10", seed=variation.seed)
    cluster.set_policy("ha", "^mirrored$", {"ha-mode": "all"}).declare("mirrored", node=first)
    return cluster.declare("quorum", node=first, arguments=QUORUM).publish(["mirrored", "quorum"], variation.messages)


def on_new_machines(cluster: Cluster, variation: Variation) -> str | None:
    """Require that each node has lost its disk once, and that both queues have three complete replicas again."""
    cluster.wait(PATIENCE_S)
    replaced = {event["node"] for event in cluster.events if event["event"] == "disk_lost"}
    if old := [node for node in variation.nodes if node not in replaced]:
        return ngettext(
            "{nodes} has not been replaced.", "{nodes} have not been replaced.", len(old), nodes=listing(old)
        )
    if away := [node for node in variation.nodes if cluster.outcome["nodes"][node] != "running"]:
        return not_running(away)
    for name in ("mirrored", "quorum"):
        queue = queue_of(cluster, name)
        if lost := size(cluster.ledger[name]["lost"]):
            return _("{queue} lost {messages}.", queue=name, messages=counted(lost))
        complete = sorted(node for node, replica in queue["replicas"].items() if replica["synchronised"])
        if len(complete) < len(variation.nodes):
            return _("In the end, {queue} has all messages only on {nodes}.", queue=name, nodes=listing(complete))
    return None


EXERCISES = (
    Exercise(
        key="19-rooms",
        question="Two rooms with two machines each: a and b in one, c and d in the other. Declare the queue orders, "
        "with a policy if it needs one. Either room may lose its power, so that both of its machines fail at once. Two "
        "minutes later, the other room must serve orders again, and no confirmed message may be lost.",
        hints=(
            "A quorum queue needs more than half of its members. In which room are they?",
            "A mirrored queue continues with one copy. On which nodes must it have copies, so that either room has "
            "one?",
            "The steps are {set_policy: {name: ha, pattern: '^orders', definition: {ha-mode: …}}} and "
            "{declare: {queue: orders}}.",
        ),
        form=Form.STEPS,
        begin=two_rooms,
        judge=either_room_may_fail,
        verbs=("set_policy", "declare"),
    ),
    Exercise(
        key="19-choose",
        question="A cluster of RabbitMQ 3.10 has a policy that mirrors every classic queue to all nodes. Declare four "
        "queues. orders: no confirmed message may be lost if the other nodes are restarted, the queue is not "
        "synchronised, and the node of its master or leader is killed. urgent: it has ten priorities, and messages of "
        "priority 9 overtake messages of priority 1. answers: it belongs to the connection named client and is deleted "
        "with this connection. jobs: a message that is returned for the fourth time goes to the queue dead, which "
        "exists.",
        hints=(
            "Two of them can only be classic, one can only be a quorum queue. See the table above.",
            "The step is {declare: {queue: urgent, arguments: {x-max-priority: 10}}}; write exclusive: true and "
            "connection: client beside queue.",
            "For jobs: x-delivery-limit, x-dead-letter-exchange '' (the default exchange), x-dead-letter-routing-key.",
        ),
        form=Form.STEPS,
        begin=four_applications,
        judge=each_as_it_needs,
        verbs=("declare",),
    ),
    Exercise(
        key="19-replace",
        question="All three machines are replaced, one after the other, each by a new one of the same name with an "
        "empty disk: {wipe: a}, {forget_cluster_node: {node: a}}, {join: a}. The queue mirrored is mirrored to all "
        "nodes (manual synchronisation), the queue quorum has a member on each. In the end, both queues must have all "
        "messages on all three nodes.",
        hints=(
            "What does each queue type do automatically when a node joins?",
            "The queue mirrored gets an empty mirror. Synchronise it before you replace the next machine.",
            "The queue quorum gets no member: {grow: {node: a}} gives all quorum queues a member on a.",
        ),
        form=Form.STEPS,
        begin=both_types,
        judge=on_new_machines,
        verbs=("wipe", "forget_cluster_node", "join", "sync_queue", "grow", "add_member", "wait"),
    ),
)
