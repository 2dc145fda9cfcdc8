"""The exercises of lesson 27: metadata changes that need a majority of the nodes (Khepri, 4.3)."""

from __future__ import annotations

from typing import NamedTuple

from hawb.cluster import Cluster
from hawb.engine.cluster.node_ports import STORE_PATIENCE_US
from hawb.lessons.exercises import Exercise, Form, Variation
from hawb.lessons.mirrored_queues import PATIENCE_S
from hawb.scenario.beginning import MICROSECONDS
from hawb.views.formatting import counted, listing, seconds, shown

MORE = ("d", "e")
"""The nodes besides those of a variation."""
SPARES = ("e", "f")
"""Nodes that are ready to join, one in the north and one in the third place."""
FEW = 3
"""Maximum number of running nodes."""
AWAY_S = 60
"""Seconds for which each node must be down."""
UNNOTICED_S = STORE_PATIENCE_US / MICROSECONDS
"""Seconds after which a client's declaration fails."""


def writable_from(cluster: Cluster) -> list[str]:
    """Return the nodes from which metadata can be changed."""
    return cluster.outcome["metadata_store"]["writable_from"]


def running(cluster: Cluster) -> list[str]:
    """Return the nodes that run."""
    return [node for node, status in cluster.outcome["nodes"].items() if status == "running"]


# A majority after a full stop


def all_dark(variation: Variation) -> Cluster:
    """Return a cluster of five nodes that were stopped one by one; one has lost its disk."""
    cluster = Cluster(*variation.nodes, *MORE, version="4.3", seed=variation.seed)
    cluster.declare("orders", node=variation.nodes[0]).publish("orders", variation.messages, node=variation.nodes[0])
    for node in (*variation.nodes, *MORE):
        cluster.stop(node)
    return cluster.wipe(MORE[0])


def three_decide(cluster: Cluster, _variation: Variation) -> str | None:
    """Require that metadata can be changed with at most three running nodes, including the one that lost its disk."""
    cluster.wait(PATIENCE_S)
    up, newcomer = running(cluster), MORE[0]
    if not up:
        return "At the end no node is running."
    if newcomer not in up:
        return f"At the end {listing(up)} {'is' if len(up) == 1 else 'are'} running, and {newcomer} is not."
    if len(up) > FEW:
        return f"At the end {listing(up)} are running: these are {len(up)}, and {FEW} are enough."
    if not writable_from(cluster):
        return f"Metadata cannot be changed: of the members only {listing(up)} run."
    return None


# A fifth node


def two_sites(variation: Variation) -> Cluster:
    """Return a cluster of four nodes, two in each of two places, and two spare nodes."""
    cluster = Cluster(*variation.nodes, MORE[0], *SPARES, version="4.3", seed=variation.seed)
    for spare in SPARES:
        cluster.stop(spare).reset(spare)
    first = variation.nodes[0]
    return cluster.declare("orders", node=first).publish("orders", variation.messages, node=first)


def places(variation: Variation) -> dict[str, tuple[str, ...]]:
    """Return the nodes in each place."""
    first, second, third = variation.nodes
    return {"the north": (first, second, SPARES[0]), "the south": (third, MORE[0]), "the third place": (SPARES[1],)}


def any_place_can_go(cluster: Cluster, variation: Variation) -> str | None:
    """Require that the four nodes run, and that the rest can change metadata if any place is cut off."""
    cluster.wait(PATIENCE_S)
    if away := [node for node in (*variation.nodes, MORE[0]) if node not in running(cluster)]:
        return f"At the end {listing(away)} {'is' if len(away) == 1 else 'are'} not running."
    for place, nodes in places(variation).items():
        others = [node for node in cluster.outcome["nodes"] if node not in nodes]
        story = cluster.copy().partition(others, list(nodes)).wait(PATIENCE_S)
        members = [node for node in running(cluster) if node in story.outcome["metadata_store"]["members"]]
        left = [node for node in members if node in others]
        if not set(left) & set(writable_from(story)):
            return (
                f"With {place} cut off the others cannot change metadata: of {counted(len(members), 'member')} "
                f"{listing(left)} can be reached, and that is no majority."
            )
    return None


# One node after the other


def two_are_missing(variation: Variation) -> Cluster:
    """Return a cluster of five nodes; one is down, and another has lost its disk."""
    cluster = Cluster(*variation.nodes, *MORE, version="4.3", seed=variation.seed)
    first = variation.nodes[0]
    cluster.declare("orders", node=first).publish("orders", variation.messages, node=first)
    return cluster.stop(MORE[0]).wipe(MORE[1])


def all_were_away(cluster: Cluster, variation: Variation) -> str | None:
    """Require that each of three nodes was down for a minute and is back, and that no declaration failed."""
    cluster.wait(PATIENCE_S)
    for node in variation.nodes:
        if (away_s := longest_away_s(cluster, node)) < AWAY_S:
            return f"{shown(node)} was down for at most {away_s:g} s; the task asks for {AWAY_S} s."
    if away := [node for node in variation.nodes if node not in running(cluster)]:
        return f"At the end {listing(away)} {'is' if len(away) == 1 else 'are'} not running."
    longest = longest_unwritable(cluster)
    if longest.lasted_s > UNNOTICED_S:
        return (
            f"From {seconds(longest.since_s)} s on metadata could not be changed for {seconds(longest.lasted_s)} s: "
            f"{listing(longest.off)} were off, and a declaration fails after {UNNOTICED_S:g} s."
        )
    return None


def longest_away_s(cluster: Cluster, node: str) -> float:
    """Return the longest time, in seconds, for which a node was down until it began to boot."""
    longest_s, since_s = 0.0, None
    for event in cluster.events:
        if event["node"] == node and event["event"] == "node_stopped":
            since_s = event["t"]
        elif event["node"] == node and event["event"] == "node_booting" and since_s is not None:
            longest_s, since_s = max(longest_s, round(event["t"] - since_s, 3)), None
    return longest_s


class Unwritable(NamedTuple):
    """A time in which metadata could not be changed, and the most nodes that were down at once in it."""

    lasted_s: float
    since_s: float
    off: tuple[str, ...]


def longest_unwritable(cluster: Cluster) -> Unwritable:
    """Return the longest time in which metadata could not be changed."""
    longest, since_s, off, down = Unwritable(0.0, 0.0, ()), None, (), set()
    for event in cluster.events:
        if event["event"] in ("node_stopping", "node_killed"):
            down.add(event["node"])
        elif event["event"] == "node_running":
            down.discard(event["node"])
        elif event["event"] == "metadata_unavailable":
            since_s, off = event["t"], ()
        elif event["event"] == "metadata_available" and since_s is not None:
            longest, since_s = max(longest, Unwritable(event["t"] - since_s, since_s, off)), None
        off = max(off, tuple(node for node in cluster.outcome["nodes"] if node in down), key=len)
    if since_s is None:
        return longest
    return max(longest, Unwritable(cluster.outcome["time_s"] - since_s, since_s, off))


EXERCISES = (
    Exercise(
        key="27-dark",
        question="Five nodes, a to e, were stopped one after the other, e last. Then d's disk was lost. Start only as "
        "many nodes as are needed to change metadata: in the end, three nodes must run, and d must be one of them.",
        hints=(
            "It does not matter which node stopped last. It matters how many nodes run.",
            "d cannot join before a majority of the members runs. d was a member all the time, so it is counted.",
            "You can stop a node again when it is no longer needed.",
        ),
        form=Form.STEPS,
        begin=all_dark,
        judge=three_decide,
        verbs=("start", "stop", "join", "force_boot", "forget_cluster_node", "wait"),
    ),
    Exercise(
        key="27-sites",
        question="Four nodes: a and b in the north, c and d in the south. Two more are ready to join: e in the north, "
        "f in a third place. If any one place is cut off, clients in the other places must be able to declare queues. "
        "a, b, c and d must stay up.",
        hints=(
            "What is a majority of four? Of five, of six?",
            "No place may be needed for a majority.",
            "The step is {join: e}, for the node or the nodes of your choice.",
        ),
        form=Form.STEPS,
        begin=two_sites,
        judge=any_place_can_go,
        verbs=("join", "start", "stop", "forget_cluster_node", "wait"),
    ),
    Exercise(
        key="27-rolled",
        question="Five nodes, a to e. d was stopped, and e has lost its disk. a, b and c get more memory: each of them "
        "must be down for a minute, and must run in the end. Meanwhile, no client's declaration of a queue may fail.",
        hints=(
            "A declaration waits for 30 s. An election takes less.",
            "Two of five nodes are down. How many more may go down?",
            "{wait: 60} lets a minute pass. Once a node runs again, the next one can go down.",
        ),
        form=Form.STEPS,
        begin=two_are_missing,
        judge=all_were_away,
        verbs=("stop", "start", "join", "wait"),
    ),
)
