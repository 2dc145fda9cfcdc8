"""Find a cluster's state when an incident began, from an export made before it, or from the logs and a later export.

An export made before is taken as it is. Otherwise a queue's master, mirrors or members follow from the logs: those that
were added before the beginning and had not gone, and those that appear later without having been added. What the logs
do not show is taken from the later export, or else from the rules, and each such assumption is a doubt.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from hawb.engine.core.naming import split_queue
from hawb.incident.cluster_event import TOGETHER_US, ClusterEvent
from hawb.incident.doubts import Doubt
from hawb.incident.node_runs import NodeRun
from hawb.incident.replicas import Replicas, replicas_at
from hawb.rules.nearest_profile import nearest
from hawb.rules.policy_validation import refusal
from hawb.rules.profiles import PROFILES

QUEUE = dict[str, Any]
"""A queue as in a scenario document."""
MEMBERSHIP = ("node_joined", "node_forgotten", "node_reset")
REPLICAS = ("mirrors", "synchronised_mirrors", "recoverable_mirrors", "members", "stopped_members")
SET_UP = ("queue_declared", "queue_deleted")


class Exports(Struct):
    """What was exported.

    It holds a scenario document made of the exports (`hawb.exports.imported`), whose queues have no place if there is
    no listing; whether definitions are among the exports; and the queues whose message counts they lack, such as queues
    that were down.
    """

    document: dict[str, Any]
    defined: bool
    depths_unknown: frozenset[str] = frozenset()

    @property
    def placed(self) -> list[QUEUE]:
        """Return the queues of a listing."""
        return [entry for entry in self.document["queues"] if entry.keys() & {"master", "members"}]

    @property
    def depths(self) -> dict[str, int]:
        """Return how many messages each queue holds, for the queues whose counts a listing has."""
        return {entry["queue"]: entry.get("messages", 0) for entry in self.placed
                if entry["queue"] not in self.depths_unknown}  # fmt: skip


class Given(Struct):
    """The exports of a cluster.

    `exports` were made after the incident if `after` is True, before it if False; None if that has to be found out.
    `later` are exports made after it if the others were made before; the last field is when the listing was made, if
    known.
    """

    exports: Exports
    later: Exports | None = None
    after: bool | None = None
    listed_us: int | None = None


class Before(Struct):
    """The cluster, policies and queues in the form of a scenario document, with the assumptions made."""

    cluster: dict[str, Any]
    policies: list[dict[str, Any]]
    operator_policies: list[dict[str, Any]]
    queues: list[QUEUE]
    doubts: list[Doubt]


def listed_after(listed: Iterable[QUEUE], begun: Mapping[str, Replicas], ended: Mapping[str, Replicas]) -> bool:
    """Return True if a listing of queues fits the end of an incident better than its beginning."""
    fits: Counter[bool] = Counter()
    for entry in listed:
        one, other = begun.get(entry["queue"]), ended.get(entry["queue"])
        first = entry.get("master") or entry.get("leader")
        nodes = {*entry.get("mirrors", ()), *entry.get("members", ()), *([first] if first else [])}
        if one is None or other is None or not nodes:
            continue
        if one.first != other.first and first in (one.first, other.first):
            fits[first == other.first] += 2  # mirrors may have come back, or be on their way
        if one.nodes != other.nodes:
            fits[nodes == other.nodes] += nodes in (one.nodes, other.nodes)
    return fits[True] > fits[False]


def is_after(placed: Iterable[QUEUE], found: Sequence[ClusterEvent], begins_us: int) -> bool:
    """Return True if a listing was made after the incident, as far as can be found out."""
    ended = replicas_at(found, found[-1].at_us + 1) if found else {}
    return listed_after(placed, replicas_at(found, begins_us), ended)


def older(placed: Iterable[QUEUE], found: Sequence[ClusterEvent], begins_us: int) -> int:
    """Return the latest time for an earlier listing: before the first change that its queues do not show yet."""
    latest = begins_us
    for entry in placed:
        first = entry.get("master") or entry.get("leader")
        taken = [one for one in found if one.queue == entry["queue"] and one.at_us < begins_us
                 and one.kind in ("mirror_promoted", "leader_elected")]  # fmt: skip
        if taken and taken[-1].node != first:
            had = [one.at_us for one in taken if one.node == first]
            latest = min([latest, *(one.at_us for one in taken if not had or one.at_us > had[-1])])
    return latest


def fits(placed: Iterable[QUEUE], found: Sequence[ClusterEvent], node_runs: Sequence[NodeRun], at_us: int) -> bool:
    """Return True if a listing made before is still right at a time, as far as the logs show."""
    known = replicas_at([one for one in found if one.at_us < at_us], at_us)
    down, queues = _ended(node_runs, at_us), {entry["queue"]: entry for entry in placed}
    for name, entry in queues.items():
        shown = known.get(name, Replicas())
        first = entry.get("master") or entry.get("leader")
        classic = {first, *entry.get("mirrors", ())}
        if shown.first not in (None, first) or not shown.nodes <= {*classic, *entry.get("members", ())}:
            return False
        if down.keys() & ({first} if entry.get("members") else classic):
            return False
    return not (known.keys() - queues.keys() or _deleted(found, at_us) & queues.keys())


def stood(
    found: Sequence[ClusterEvent], node_runs: Sequence[NodeRun], exports: Exports, begins_us: int, after: bool | None,
    outdated: bool = False,
) -> Before:  # fmt: skip
    """Return the cluster's state at the time `begins_us`, from exports and from the events before.

    `after` is True if the exports were made after the incident, and None if it is unknown (`is_after` then decides).
    `outdated` is True if they were made before, and queues have changed since then.
    """
    begun, imported = replicas_at(found, begins_us), exports.document
    listed, placed = {entry["queue"]: entry for entry in imported["queues"]}, exports.placed
    if after is None:
        after = is_after(placed, found, begins_us)
    listing = "listed_after" if after else "listed_long_before" if outdated else "listed_before"
    doubts = [Doubt(kind=listing if placed else "no_listing")]
    if placed and not (after or outdated):
        queues = list(listed.values())
    else:
        placed_there = {name: seen for name, seen in begun.items() if seen.nodes}
        names = (name for name in sorted(placed_there) if not _declared_later(name, found, begins_us))
        queues = [_entry(name, begun[name], listed.get(name), doubts) for name in names]
        gone = {*placed_there, *(_deleted(found, begins_us) if outdated else ())}
        queues += [entry for name, entry in listed.items() if name not in gone]
    cluster = _cluster(found, node_runs, imported["cluster"], begins_us, doubts)
    if outdated or after:
        queues = [_without(queue, _left(found, begins_us), cluster.get("down", ())) for queue in queues]
    policies = [*_policies(imported["policies"], cluster["version"], doubts)]
    if after:
        policies = [policy for policy in policies if not _set_later(policy["name"], found, begins_us)]
    if not exports.defined:
        policies = [*_inferred(queues, len(cluster["nodes"]), doubts)]
    return Before(cluster, policies, list(imported["operator_policies"]), queues, doubts)


def _without(queue: QUEUE, left: Collection[str], down: Collection[str]) -> QUEUE:
    """Return a queue without its replicas on nodes that have left, and without mirrors on nodes that were down.

    If its leader has left, the leader is unknown. If its master has left, so are its mirrors: the queue is then placed
    like a new one.
    """
    kept = {name: [node for node in queue[name] if node not in left and (node not in down or "members" in name)]
            for name in REPLICAS if name in queue}  # fmt: skip
    gone = () if not {queue.get("master"), queue.get("leader")} & {*left} else \
        ("leader",) if "leader" in queue else ("master", *REPLICAS)  # fmt: skip
    return {name: value for name, value in (queue | kept).items() if name not in gone}


def _policies(given: Iterable[dict[str, Any]], version: str, doubts: list[Doubt]) -> Iterator[dict[str, Any]]:
    """Yield the policies that a release accepts, and note a doubt for each other one, kept from before an upgrade."""
    for policy in given:
        fields = {key: policy[key] for key in ("pattern", "definition", "priority", "apply_to")}
        if refusal(fields, PROFILES[version], operator=False) is None:
            yield policy
        else:
            doubts.append(Doubt(kind="policy_refused", name=policy["name"]))


def _set_later(policy: str, found: Sequence[ClusterEvent], begins_us: int) -> bool:
    """Return True if a policy was first set after a time."""
    times = [one.at_us for one in found if one.kind == "policy_set" and one.name == policy]
    return bool(times) and times[0] >= begins_us


def _inferred(queues: Sequence[QUEUE], nodes: int, doubts: list[Doubt]) -> Iterator[dict[str, Any]]:
    """Yield policies for the mirrors that queues were seen with, if there are no definitions."""
    doubts.append(Doubt(kind="no_definitions"))
    for entry in queues:
        if replicas := len(entry.get("mirrors", ())):
            vhost, name = split_queue(entry["queue"])
            mode = {"ha-mode": "all"} if replicas + 1 == nodes else {"ha-mode": "exactly", "ha-params": replicas + 1}
            yield {"name": f"as seen of {entry['queue']}", "pattern": f"^{re.escape(name)}$", "definition": mode,
                   "vhost": vhost}  # fmt: skip


def _deleted(found: Sequence[ClusterEvent], at_us: int) -> set[str]:
    """Return the queues that had been deleted at a time and not declared again."""
    last_kinds = {one.queue: one.kind for one in found if one.queue and one.at_us < at_us and one.kind in SET_UP}
    return {queue for queue, kind in last_kinds.items() if queue and kind == "queue_deleted"}


def _declared_later(name: str, found: Sequence[ClusterEvent], begins_us: int) -> bool:
    return any(one.kind == "queue_declared" and one.queue == name and one.at_us >= begins_us for one in found)


def _entry(name: str, replicas: Replicas, listed: QUEUE | None, doubts: list[Doubt]) -> QUEUE:
    """Return a queue's entry as the logs show it, with mirrors in the order in which they were added.

    The first mirror is promoted first. `listed` is the queue in a later export.
    """
    entry = {key: value for key, value in (listed or {}).items()
             if key not in ("master", "mirrors", "synchronised_mirrors", "recoverable_mirrors", "leader", "members",
                            "stopped_members", "unacknowledged")} | {"queue": name}  # fmt: skip
    first, others = replicas.first, [*replicas.others]
    if first is None:
        first, *others = others
        doubts.append(Doubt(kind="master_unknown", queue=name, node=first))
    if replicas.deep is not None:
        entry["messages"] = replicas.deep
    if replicas.members:
        return entry | {"type": "quorum", "leader": first, "members": sorted({first, *others})}
    if others and not replicas.behind:
        doubts.append(Doubt(kind="mirrors_unknown", queue=name))
    synchronised = [] if replicas.behind else others
    return entry | {"master": first, "mirrors": others, "synchronised_mirrors": synchronised}


def _cluster(
    found: Sequence[ClusterEvent], node_runs: Sequence[NodeRun], imported: dict[str, Any], begins_us: int,
    doubts: list[Doubt],
) -> dict[str, Any]:  # fmt: skip
    """Return the nodes and settings: every node that ran, except those that join later."""
    lived = [run for run in node_runs if run.ended_by != "failed" and (run.from_us < begins_us or run.ran_before)]
    left = _left(found, begins_us)
    joining = {one.node for one in found if one.kind == "node_joined" and one.at_us >= begins_us}
    joining -= {run.node for run in lived} - left
    # Where there are logs, a node in a listing that no log names is a placeholder.
    nodes = sorted({run.node for run in node_runs} - joining - left)
    releases = [run.first.release for run in node_runs if run.first.release]
    version = next((known for release in releases if (known := nearest(release))), None)
    if releases and ".".join(releases[0].split(".")[:2]) not in PROFILES:
        doubts.append(Doubt(kind="release_unknown", name=releases[0]))
    ended = {node: how for node, how in _ended(lived, begins_us).items() if node in nodes}
    ended |= {node: "stopped" for node in nodes if node not in {run.node for run in lived}}
    settings = {key: value for key, value in imported.items() if key not in ("nodes", "down", "version")}
    cluster = {"nodes": nodes, "version": version or imported["version"], **settings}
    cluster["cluster_partition_handling"] = _handling(found, nodes, settings, doubts)
    return cluster | ({"down": ended} if ended else {})


def _ended(node_runs: Sequence[NodeRun], at_us: int) -> dict[str, str]:
    """Return how each node that was down at a time had ended, in the order in which they ended."""
    ended: dict[str, str] = {}
    for run in sorted(node_runs, key=lambda run: run.until_us or run.seen_us):
        if run.from_us < at_us:
            ended.pop(run.node, None)
            if run.until_us is not None and run.until_us < at_us:
                ended[run.node] = "killed" if run.ended_by == "killed" else "stopped"
    return ended


def _left(found: Sequence[ClusterEvent], at_us: int) -> set[str]:
    """Return the nodes that had left the cluster at a time and not joined it again."""
    changes = [one for one in found if one.node and one.at_us < at_us and one.kind in MEMBERSHIP]
    joined = [(one.node, one.at_us) for one in changes if one.kind == "node_joined"]
    last = {one.node: one.kind for one in changes if one.kind != "node_reset" or not any(
        node == one.node and abs(one.at_us - joined_us) <= TOGETHER_US for node, joined_us in joined)}  # fmt: skip
    return {node for node, kind in last.items() if node and kind != "node_joined"}


def _handling(
    found: Sequence[ClusterEvent], nodes: Sequence[str], settings: Mapping[str, Any], doubts: list[Doubt]
) -> str | dict[str, Any]:
    """Return cluster_partition_handling as far as the cluster was seen to apply it.

    If the partition with most nodes paused, the nodes that stayed are those of pause_if_all_down.
    """
    paused = {one.node for one in found if one.kind == "node_paused" and one.name == "pause"}
    heals = any(one.kind in ("autoheal", "autoheal_refused") for one in found)
    parted = next((one for one in found if one.kind == "partition_begun" and {*one.nodes} & paused), None)
    if "cluster_partition_handling" in settings and not paused and not heals:
        return settings["cluster_partition_handling"]
    if parted is not None and (stayed := [node for node in nodes if node not in paused]) \
            and len(stayed) <= len(nodes) / 2:  # fmt: skip
        return {"pause_if_all_down": stayed, "recover": "autoheal" if heals else "ignore"}
    if paused:
        return "pause_minority"
    if not heals and any(one.kind == "partition_begun" and one.until_us is None for one in found):
        doubts.append(Doubt(kind="handling_unknown"))
    return "autoheal" if heals else "ignore"
