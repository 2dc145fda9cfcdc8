"""Find where the replicas of queues were at a time, from earlier messages and from later ones.

A later message that a master is down shows that it was there; a mirror that was never added was there from the start.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from hawb.incident.cluster_event import TOGETHER_US, ClusterEvent

WENT = ("node_stopped", "node_killed", "node_paused", "node_gone")
MASTER_LOGS = ("mirrors_stopped", "synchronisation", "queue_restarted")
"""Kinds of events that only a master logs, or a classic queue without mirrors."""
OF_MIRRORS = ("mirror_added", "mirror_dropped", "mirror_promoted", "mirrors_missed", *MASTER_LOGS)
OF_MEMBERS = ("leader_elected", "queue_declared", "member_added", "member_removed")


class Replicas(Struct):
    """The nodes of a queue's replicas at a time, as far as the logs show.

    `first` is the master or leader. `deep` is the number of messages it was seen to hold; mirrors that are `behind`
    were not synchronised, according to later messages.
    """

    first: str | None = None
    others: dict[str, None] = field(default_factory=dict)
    members: bool = False
    deep: int | None = None
    behind: bool = False

    @property
    def nodes(self) -> set[str]:
        """Return all nodes that have a replica."""
        return {*self.others, *([self.first] if self.first else [])}


def replicas_at(found: Sequence[ClusterEvent], at_us: int) -> dict[str, Replicas]:
    """Return where the replicas of each queue in the logs were at a time."""
    known: dict[str, Replicas] = {}
    for one in found:
        if one.at_us < at_us:
            _take(known, one)
    came: dict[str, set[str]] = {}
    later: dict[str, Replicas] = {}
    for one in found:
        if one.at_us >= at_us and one.queue:
            replicas = later.setdefault(one.queue, Replicas(members=one.kind in OF_MEMBERS))
            _look_back(replicas, one, found, came.setdefault(one.queue, set()), known.get(one.queue, Replicas()))
    for queue, replicas in later.items():
        now = known.get(queue)
        if now is None and not (replicas.first or replicas.others):
            continue
        if now is None:
            known[queue] = replicas
            continue
        now.first, now.behind = now.first or replicas.first, replicas.behind
        now.deep = replicas.deep if now.deep is None else now.deep
        now.others |= dict.fromkeys(node for node in replicas.others if node != now.first)
    return known


def _take(known: dict[str, Replicas], one: ClusterEvent) -> None:
    """Update the known replicas with one event."""
    if one.kind == "queue_deleted":
        known.pop(one.queue or "", None)
    if one.kind in WENT:
        for replicas in known.values():
            if not replicas.members:
                replicas.others.pop(one.node or "", None)
    if one.queue is None or one.kind not in (*OF_MIRRORS, *OF_MEMBERS):
        return
    replicas = known.setdefault(one.queue, Replicas(members=one.kind in OF_MEMBERS))
    node = one.node or ""
    if one.kind in ("mirror_promoted", "leader_elected", "queue_declared"):
        if replicas.members and replicas.first:
            replicas.others[replicas.first] = None
        replicas.first = node
        replicas.others.pop(node, None)
        if replicas.members:
            replicas.others |= dict.fromkeys(event.node for event in one.events if event.node != node)
    elif one.kind in ("mirror_added", "member_added"):
        writer = one.events[0].node
        if one.kind == "mirror_added" and writer != node:
            replicas.first = writer
        replicas.others[node] = None
    elif one.kind in ("mirror_dropped", "member_removed"):
        replicas.others.pop(node, None)
    elif one.kind in MASTER_LOGS or one.name == "master":
        replicas.first, replicas.deep = node, one.count if one.kind == "synchronisation" else replicas.deep
        replicas.others.pop(node, None)


def _look_back(
    replicas: Replicas, one: ClusterEvent, found: Sequence[ClusterEvent], came: set[str], stood: Replicas
) -> None:
    """Add what an event shows of a queue's earlier state to `replicas`.

    `came` are replicas added since, `stood` is the state according to earlier messages. A master that stops its mirrors
    has no synchronised one, so earlier mirrors never were.
    """
    node = one.node or ""
    if one.kind == "mirrors_stopped" and node == stood.first and stood.others.keys() - came:
        replicas.behind = True
    seen: list[str] = []
    if one.kind in ("mirror_added", "member_added", "queue_declared"):
        came.add(node)
        seen = [event.node for event in one.events[:1] if event.node != node]
        if not came - {node} and one.kind == "mirror_added":
            replicas.first = replicas.first or (seen[0] if seen else None)
    elif one.kind == "mirror_promoted":
        seen = [node, *_was_master(one, found)]
        if replicas.first is None and "promoted" not in came:
            replicas.first = next(iter(_was_master(one, found)), None)
        came.add("promoted")
    elif one.kind == "leader_elected":
        seen = [node, *(event.node for event in one.events)]
        came.add("promoted")
    elif one.kind in MASTER_LOGS or one.name == "master":
        seen = [node, *one.nodes]
        if "promoted" not in came:
            replicas.first = replicas.first or node
            behind = one.kind == "mirrors_stopped" or (one.kind == "synchronisation" and one.reason != "needless")
            replicas.behind = replicas.behind or (behind and not came)
        if one.kind == "synchronisation" and replicas.deep is None:
            replicas.deep = one.count
    elif one.kind in ("mirrors_missed", "mirror_dropped", "member_removed"):
        seen = [node, *one.nodes]
    replicas.others |= dict.fromkeys(other for other in seen if other and other not in came and other != replicas.first)
    replicas.others.pop(replicas.first or "", None)


def _was_master(promoted: ClusterEvent, found: Sequence[ClusterEvent]) -> list[str]:
    """Return the nodes that a mirror saw as down when it was promoted, those that just ended first.

    The master's node is among them.
    """
    just_then = [one for one in found if abs(one.at_us - promoted.at_us) <= TOGETHER_US]
    missed = [node for one in just_then if one.kind == "mirrors_missed" and one.queue == promoted.queue
              and one.node == promoted.node for node in one.nodes]  # fmt: skip
    went = {one.node for one in just_then if one.kind in WENT}
    return sorted(dict.fromkeys(missed), key=lambda node: node not in went)
