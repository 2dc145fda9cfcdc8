"""The exercises of lesson 11: what happens when a mirror's node dies, and when the master's does."""

from __future__ import annotations

from hawb.cluster import Cluster
from hawb.languages import _
from hawb.lessons.exercises import HASTE_S, Exercise, Form, Variation, of_the_first, queue_of, restart_in_haste
from hawb.views.formatting import counted, listing, seconds, shown, size

LIFE_AND_DEATH = ("stop", "start", "kill", "sync_queue", "publish", "wait")
NOTICEABLE_S = 1.0


def down_together(cluster: Cluster) -> list[list[str]]:
    """Return the nodes that were not running, after each step."""
    past = [cluster.copy().rewind(steps).outcome["nodes"] for steps in range(len(cluster.run.steps) + 1)]
    return [[node for node, state in nodes.items() if state != "running"] for nodes in past]


# Losing confirmed messages


def mirrored_everywhere(variation: Variation) -> Cluster:
    """Return a cluster with a queue that has a mirror on every other node, and confirmed messages."""
    cluster = Cluster(*variation.nodes, version="3.10", seed=variation.seed)
    cluster.set_policy("ha", "^orders", {"ha-mode": "all"}).declare("orders", node=variation.nodes[0])
    return cluster.publish("orders", variation.messages)


def all_lost(cluster: Cluster, variation: Variation) -> str | None:
    """Require that all initial messages are lost, with one node down at a time."""
    first = next((nodes for nodes in down_together(cluster) if len(nodes) > 1), None)
    if first:
        return _("{nodes} are down at the same time. The task can be solved with only one node down at a time.",
                 nodes=listing(first))  # fmt: skip
    queue = queue_of(cluster, "orders")
    lost = of_the_first(variation.messages, cluster.ledger["orders"]["lost"])
    if lost == variation.messages:
        return None
    master = shown(queue["master"])
    if queue["state"] == "down":
        return _("orders is down, and its messages are on {node}'s disk. A queue that is down keeps the messages on"
                 " its node's disk.", node=master)
    if lost:
        return _("That lost only {lost} of {messages}; the task is to lose all of them.",
                 messages=counted(variation.messages), lost=f"{lost:,}")  # fmt: skip
    if queue["master"] == variation.nodes[0]:
        return _("Nothing is lost: {node}, the master, has everything.", node=master)
    return _("Nothing is lost: {node} took over and was synchronised. Which step would empty this copy first?",
             node=master)  # fmt: skip


# A policy for a hasty restart


def declared(variation: Variation) -> Cluster:
    """Return a cluster with an empty queue that is not mirrored."""
    cluster = Cluster(*variation.nodes, version="3.10", seed=variation.seed)
    return cluster.declare(f"orders.{variation.word}", node=variation.nodes[0])


def outlives_haste(cluster: Cluster, variation: Variation) -> str | None:
    """Require that no message is lost if both mirrors restart and the master is killed before they have synchronised.

    The master's node is then started again.
    """
    name, master = f"orders.{variation.word}", variation.nodes[0]
    needed_s = restart_in_haste(cluster, name, variation)
    cluster.kill(master, at=needed_s)
    promoted = queue_of(cluster, name)["master"]
    if lost := size(cluster.ledger[name]["lost"]):
        return _("The kill of {node} lost {messages}: {heir} took over {seconds} s after its boot, before it was "
                 "synchronised.",
                 node=shown(master), messages=counted(lost), heir=shown(promoted), seconds=HASTE_S)  # fmt: skip
    queue = queue_of(cluster.start(master), name)
    if queue["state"] != "running":
        return _("{queue} is {state}, though {node} is back.", queue=name, state=queue["state"], node=shown(master))
    if (left := queue["messages"]) < variation.messages:
        return _("{queue} has {messages} left out of {number}: something in the policy removes the other messages.",
                 queue=name, messages=counted(left), number=f"{variation.messages:,}")  # fmt: skip
    return None


# A restart without an outage


def pair(variation: Variation) -> Cluster:
    """Return a cluster of two nodes with a mirrored queue and messages."""
    master, mirror, _ = variation.nodes
    cluster = Cluster(master, mirror, version="3.10", seed=variation.seed)
    cluster.set_policy("ha", "^orders", {"ha-mode": "all"}).declare("orders", node=master)
    return cluster.publish("orders", variation.messages)


def restarted_unnoticed(cluster: Cluster, variation: Variation) -> str | None:
    """Require that both nodes were restarted, no message was lost, and the queue was always available."""
    nodes = variation.nodes[:2]
    been_down = {node for down in down_together(cluster) for node in down}
    if left_out := [node for node in nodes if node not in been_down]:
        if len(left_out) > 1:
            return _("No node was restarted.")
        return _("{node} was not restarted.", node=listing(left_out))
    queue = queue_of(cluster, "orders")
    if lost := size(cluster.ledger["orders"]["lost"]):
        return _("That cost {messages}: a mirror took over that was not synchronised.", messages=counted(lost))
    if away := [node for node in nodes if cluster.outcome["nodes"][node] != "running"]:
        return _("At the end {nodes} is not running.", nodes=listing(away))
    down_s = cluster.outcome["availability"]["orders"]["publish_down_s"]
    if down_s > NOTICEABLE_S:
        return _("orders was down for {seconds} s: its master was stopped while no mirror was synchronised.",
                 seconds=seconds(down_s))  # fmt: skip
    if not queue["synchronised_mirrors"]:
        return _("Only {node} has the messages: the mirror that came back last holds nothing yet.",
                 node=shown(queue["master"]))  # fmt: skip
    return None


EXERCISES = (
    Exercise(
        key="11-lose",
        question="The queue orders has its master on a and mirrors on b and c (ha-mode all, everything else by "
        "default). All its messages were confirmed. Lose every one of them with stop, start and kill, never with "
        "more than one node down at a time.",
        hints=(
            "A synchronised mirror that takes over loses nothing. How does a mirror become unsynchronised?",
            "When a mirror's node restarts, the mirror discards its copy and joins empty.",
            "While a complete mirror is left, the mirror that joined first takes over. Which mirror joined first?",
        ),
        form=Form.STEPS,
        begin=mirrored_everywhere,
        judge=all_lost,
        verbs=LIFE_AND_DEATH,
    ),
    Exercise(
        key="11-haste",
        question="Write a policy that mirrors every queue whose name begins with “orders.” to every node. With this "
        "policy, the following story must not lose a message, however many messages there are: the nodes of both "
        "mirrors are restarted, the master's node is killed 0.3 s after their boot, and later the master's node is "
        "started again.",
        hints=(
            "Copying a long queue takes longer than 0.3 s.",
            "If no mirror has all messages, it may be better if none of them takes over. One policy key has this "
            "effect.",
        ),
        form=Form.POLICY,
        begin=declared,
        judge=outlives_haste,
    ),
    Exercise(
        key="11-restart",
        question="Two nodes, a and b. The queue orders has its master on a and a mirror on b (ha-mode all, everything "
        "else by default). Restart both nodes for an update so that nothing is lost, the queue is never down for "
        "more than a second, and at the end both nodes have all messages.",
        hints=(
            "Begin with the node whose restart no client notices.",
            "Which messages does a mirror have when it has just come back? If the master is stopped then, the queue is "
            "down.",
            "sync_queue synchronises the mirrors. You need it more than once.",
        ),
        form=Form.STEPS,
        begin=pair,
        judge=restarted_unnoticed,
        verbs=LIFE_AND_DEATH,
    ),
)
