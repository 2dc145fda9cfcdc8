"""The exercises of lesson 17: what a majority decides, and which members it consists of."""

from __future__ import annotations

from itertools import combinations

from hawb.cluster import Cluster
from hawb.engine.core import runs
from hawb.engine.core.runs import EMPTY, Runs
from hawb.engine.raft_groups.group import proposals
from hawb.languages import _, ngettext
from hawb.lessons.exercises import Exercise, Form, Variation, queue_of
from hawb.lessons.mirrored_queues import PATIENCE_S
from hawb.lessons.stop_or_kill import not_running
from hawb.rules.quorum import majority, tolerated_failures
from hawb.views.formatting import counted, listing, shown, size, whole

QUORUM = {"x-queue-type": "quorum"}
UNDONE = 5
"""Number of messages that are to be written to a log and never committed."""
NEWCOMER = "d"
"""The node that replaces a dead one."""
MORE_NODES = ("d", "e", "f", "g")
FAILURES = 2
"""Number of nodes that may fail at once."""


def quorum_queue(variation: Variation) -> Cluster:
    """Return a cluster with a quorum queue with a member on each node, led by the first, and messages."""
    cluster = Cluster(*variation.nodes, version="3.10", seed=variation.seed)
    cluster.declare("orders", node=variation.nodes[0], arguments=QUORUM)
    return cluster.publish("orders", variation.messages, node=variation.nodes[0])


# Written and never committed


def written_and_undone(cluster: Cluster, variation: Variation) -> str | None:
    """Require messages that were on a disk as uncommitted entries and are not in the queue at the end."""
    if away := [node for node in variation.nodes if cluster.outcome["nodes"][node] != "running"]:
        return not_running(away)
    late = cluster.ledger["orders"]["published"] - variation.messages
    if late < UNDONE:
        return _("After the first {messages}, {late} followed; the task asks for {number}.",
                 messages=counted(variation.messages), late=counted(late), number=UNDONE)  # fmt: skip
    on_disk = ever_on_disk(cluster)
    cluster.heal().wait(PATIENCE_S)
    queue, account = queue_of(cluster, "orders"), cluster.ledger["orders"]
    if queue["state"] != "running":
        return _("At the end, orders has no majority.")
    undone = runs.minus(on_disk, runs.union(runs.normal(map(tuple, queue["ids"])), confirmed(cluster)))
    if size(undone) >= UNDONE:
        return None
    if size(account["refused"]) >= UNDONE:
        return _("The late messages were on no disk: no member had accepted them.")
    if (late_count := size(confirmed(cluster)) - variation.messages) > 0:
        return _("A majority had {number} of the late messages in the end, so these were confirmed.",
                 number=whole(late_count))  # fmt: skip
    leader = shown(queue["leader"])
    return _("The late messages are in the queue, though they were not confirmed: {node}, which was elected, had them.",
             node=leader)  # fmt: skip


def ever_on_disk(cluster: Cluster) -> Runs:
    """Return the messages that after some step were on a member's disk beyond its commit index."""
    found = EMPTY
    for steps in range(len(cluster.run.steps) + 1):
        group = cluster.run.moment(steps).state.groups.get("orders")
        for member in group.members.values() if group else ():
            for proposal in proposals(member.log.on_disk(), member.commit_index):
                found = runs.union(found, proposal.numbers)
    return found


def confirmed(cluster: Cluster) -> Runs:
    """Return the messages that were confirmed."""
    return runs.normal(map(tuple, cluster.ledger["orders"]["confirmed"]))


# A dead member is replaced


def one_has_burnt(variation: Variation) -> Cluster:
    """Return a cluster with two quorum queues on three nodes, one of which has lost its disk.

    A fourth node is ready to join.
    """
    first, _, third = variation.nodes
    cluster = Cluster(*variation.nodes, NEWCOMER, version="3.10", seed=variation.seed).stop(NEWCOMER).reset(NEWCOMER)
    for name, node in (("orders", first), ("bills", third)):
        cluster.declare(name, node=node, arguments=QUORUM).publish(name, variation.messages, node=node)
    return cluster.wipe(third)


def any_one_may_fail(cluster: Cluster, variation: Variation) -> str | None:
    """Require that both queues have all messages and run after a failure of any node."""
    first, second, *_others = variation.nodes
    cluster.wait(PATIENCE_S)
    for name in ("orders", "bills"):
        if (left := queue_of(cluster, name)["messages"]) < variation.messages:
            return _("{queue} has {messages} of {number}.",
                     queue=name, messages=counted(left), number=whole(variation.messages))  # fmt: skip
        if NEWCOMER not in cluster.queues[name]["members"]:
            return _("{queue} has no member on {node}.", queue=name, node=NEWCOMER)
        for node in (first, second, NEWCOMER):
            story = cluster.copy()
            if story.outcome["nodes"][node] == "running":
                story.kill(node)
            if (queue := story.queues[name])["state"] != "running":
                return _("If {node} is killed, {queue} is not available: of its {members}.",
                         node=shown(node), queue=name, members=no_majority(queue))  # fmt: skip
    return None


def no_majority(queue: dict) -> str:
    """Return a queue's members, and which of them run, in words."""
    members, online = queue["members"], queue["online"]
    number, needed = counted(len(members), "member"), majority(len(members))
    if not online:
        return _("{number}, {members}, none runs, and a majority is {needed}",
                 number=number, members=listing(members), needed=needed)  # fmt: skip
    return ngettext(
        "{number}, {members}, only {nodes} runs, and a majority is {needed}",
        "{number}, {members}, only {nodes} run, and a majority is {needed}",
        len(online), number=number, members=listing(members), nodes=listing(online), needed=needed,
    )  # fmt: skip


# How many members


def of_seven_nodes(variation: Variation, quorum_cluster_size: int) -> Cluster:
    """Return a cluster of seven nodes with a quorum queue of `quorum_cluster_size` members."""
    nodes, size_given = (*variation.nodes, *MORE_NODES), quorum_cluster_size
    cluster = Cluster(*nodes, version="3.10", seed=variation.seed, quorum_cluster_size=size_given)
    cluster.declare("orders", node=nodes[0], arguments=QUORUM)
    return cluster.publish("orders", variation.messages, node=nodes[0])


def survives_two(cluster: Cluster, variation: Variation) -> str | None:
    """Require that the queue runs without any two nodes, with the fewest members."""
    members = queue_of(cluster, "orders")["members"]
    for pair in combinations(members, min(FAILURES, len(members))):
        queue = cluster.copy().kill(*pair).queues["orders"]
        if queue["state"] != "running":
            return _("After a kill of {nodes} orders is not available: of its {members}.",
                     nodes=listing(pair), members=no_majority(queue))  # fmt: skip
    if tolerated_failures(len(members) - 1) >= FAILURES:
        return _("orders has {members}: fewer are enough, and each stores every message.",
                 members=counted(len(members), "member"))  # fmt: skip
    return None


EXERCISES = (
    Exercise(
        key="17-undone",
        question="The quorum queue orders has a member on each node, and a is its leader. All its messages were "
        "confirmed. Have a client publish five more messages. Node a must write them to its disk, and in the end they "
        "must be gone, with all nodes running and no confirmed message lost.",
        hints=(
            "A message that a majority has on disk stays. So only a may receive the five messages.",
            "If a's log is the longest when all nodes are back, a stays the leader and commits the five messages. What "
            "if the other members have elected another leader meanwhile?",
            "A client whose node stays up sends unconfirmed messages again, so the client's node must go down. The "
            "step is {publish: {queue: orders, count: 5, node: a}}.",
        ),
        form=Form.STEPS,
        begin=quorum_queue,
        judge=written_and_undone,
        verbs=("partition", "cut", "heal", "publish", "stop", "kill", "start", "wait"),
    ),
    Exercise(
        key="17-replace",
        question="The quorum queues orders and bills have members on a, b and c. c was lost in a fire, with its disk. "
        "Join the new machine d to the cluster to replace c. In the end, both queues must have all messages, and must "
        "stay available when any one node is killed.",
        hints=(
            "A node that joins gets no members. add_member adds one, grow adds one to every queue.",
            "A lost node's member counts until it is removed.",
            "The steps are {join: d}, {grow: {node: d}} or {add_member: {queue: orders, node: d}}, {shrink: c} or "
            "{delete_member: {queue: orders, node: c}} or {forget_cluster_node: {node: c}}.",
        ),
        form=Form.STEPS,
        begin=one_has_burnt,
        judge=any_one_may_fail,
        verbs=("join", "forget_cluster_node", "add_member", "delete_member", "grow", "shrink", "start", "wait"),
    ),
    Exercise(
        key="17-size",
        question="Seven nodes, RabbitMQ 3.10. The quorum queue orders must stay available when any two nodes are "
        "killed at once, and must have as few members as possible. Which quorum_cluster_size must all nodes have when "
        "the queue is declared?",
        hints=(
            "A majority of all members has to be left, and killed members still count.",
            "The rule tolerated_failures shows how many members may fail.",
        ),
        form=Form.SETTINGS,
        begin=of_seven_nodes,
        judge=survives_two,
        settings=("quorum_cluster_size",),
    ),
)
