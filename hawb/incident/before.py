"""How a cluster stood when an incident began: from an export of before it, or worked out from the logs and an export of
after it.

What stands in an export of before is taken. Otherwise a queue's master, mirrors or members are what the logs tell:
those that came before the beginning and had not gone, and those that are seen later without having come. What they do
not tell is taken from the export of after, or else from the rules, and each such assumption is a doubt.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from hawb.engine.core.naming import split_queue
from hawb.exports.definitions import profile
from hawb.incident.doubts import Doubt
from hawb.incident.happening import TOGETHER_US, Happening
from hawb.incident.lives import Life
from hawb.incident.replicas import Replicas, replicas_at
from hawb.rules.policy_validation import refusal
from hawb.rules.profiles import PROFILES

QUEUE = dict[str, Any]
"""A queue as a scenario's file holds it."""
MEMBERSHIP = ("node_joined", "node_forgotten", "node_reset")
REPLICAS = ("mirrors", "synchronised_mirrors", "recoverable_mirrors", "members", "stopped_members")
SET_UP = ("queue_declared", "queue_deleted")


class Exports(Struct):
    """What was exported: a scenario's file made of it (`hawb.exports.imported`), whose queues have no place where there
    is no listing; whether definitions are among it; and the queues of which it does not say how deep they are, such as
    those that were down."""

    document: dict[str, Any]
    defined: bool
    depths_untold: frozenset[str] = frozenset()

    @property
    def placed(self) -> list[QUEUE]:
        """The queues of a listing."""
        return [entry for entry in self.document["queues"] if entry.keys() & {"master", "members"}]

    @property
    def depths(self) -> dict[str, int]:
        """How many messages each queue holds of which a listing says so."""
        return {entry["queue"]: entry.get("messages", 0) for entry in self.placed
                if entry["queue"] not in self.depths_untold}  # fmt: skip


class Given(Struct):
    """What was exported: `exports`, which are of after the incident if `after` says so, None if that is to be found
    out; `later` ones of after it, where the others are of before; and when the listing was made, if that is known."""

    exports: Exports
    later: Exports | None = None
    after: bool | None = None
    listed_us: int | None = None


class Before(Struct):
    """The cluster, the policies and the queues, as a scenario's file holds them, and what was taken."""

    cluster: dict[str, Any]
    policies: list[dict[str, Any]]
    operator_policies: list[dict[str, Any]]
    queues: list[QUEUE]
    doubts: list[Doubt]


def listed_after(listed: Iterable[QUEUE], begun: Mapping[str, Replicas], ended: Mapping[str, Replicas]) -> bool:
    """Whether a listing of queues fits the end of an incident better than its beginning."""
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


def is_after(placed: Iterable[QUEUE], found: Sequence[Happening], begins_us: int) -> bool:
    """Whether a listing is of after the incident, as far as that can be told."""
    ended = replicas_at(found, found[-1].at_us + 1) if found else {}
    return listed_after(placed, replicas_at(found, begins_us), ended)


def older(placed: Iterable[QUEUE], found: Sequence[Happening], begins_us: int) -> int:
    """When a listing of before was made at the latest: no later than what its queues do not show yet."""
    latest = begins_us
    for entry in placed:
        first = entry.get("master") or entry.get("leader")
        taken = [one for one in found if one.queue == entry["queue"] and one.at_us < begins_us
                 and one.kind in ("mirror_promoted", "leader_elected")]  # fmt: skip
        if taken and taken[-1].node != first:
            had = [one.at_us for one in taken if one.node == first]
            latest = min([latest, *(one.at_us for one in taken if not had or one.at_us > had[-1])])
    return latest


def fits(placed: Iterable[QUEUE], found: Sequence[Happening], lives: Sequence[Life], at_us: int) -> bool:
    """Whether a listing of before is still right at a moment, by what the logs tell until then."""
    known = replicas_at([one for one in found if one.at_us < at_us], at_us)
    down, queues = _ended(lives, at_us), {entry["queue"]: entry for entry in placed}
    for name, entry in queues.items():
        told = known.get(name, Replicas())
        first = entry.get("master") or entry.get("leader")
        classic = {first, *entry.get("mirrors", ())}
        if told.first not in (None, first) or not told.nodes <= {*classic, *entry.get("members", ())}:
            return False
        if down.keys() & ({first} if entry.get("members") else classic):
            return False
    return not (known.keys() - queues.keys() or _deleted(found, at_us) & queues.keys())


def stood(
    found: Sequence[Happening], lives: Sequence[Life], exports: Exports, begins_us: int, after: bool | None,
    outdated: bool = False,
) -> Before:  # fmt: skip
    """The cluster at a moment. `after` says whether the exports are of after the incident, None if that is to be found
    out; `outdated` that they are of before, and queues stood otherwise since."""
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
        told = (name for name in sorted(placed_there) if not _declared_later(name, found, begins_us))
        queues = [_entry(name, begun[name], listed.get(name), doubts) for name in told]
        gone = {*placed_there, *(_deleted(found, begins_us) if outdated else ())}
        queues += [entry for name, entry in listed.items() if name not in gone]
    cluster = _cluster(found, lives, imported["cluster"], begins_us, doubts)
    if outdated or after:
        queues = [_without(queue, _left(found, begins_us), cluster.get("down", ())) for queue in queues]
    policies = [*_policies(imported["policies"], cluster["version"], doubts)]
    if after:
        policies = [policy for policy in policies if not _set_later(policy["name"], found, begins_us)]
    if not exports.defined:
        policies = [*_inferred(queues, len(cluster["nodes"]), doubts)]
    return Before(cluster, policies, list(imported["operator_policies"]), queues, doubts)


def _without(queue: QUEUE, left: Collection[str], down: Collection[str]) -> QUEUE:
    """A queue without what was on nodes that have left, and without mirrors that had gone. Where its master is not told
    then, it stands where a declaration puts it."""
    kept = {name: [node for node in queue[name] if node not in left and (node not in down or "members" in name)]
            for name in REPLICAS if name in queue}  # fmt: skip
    gone = () if not {queue.get("master"), queue.get("leader")} & {*left} else \
        ("leader",) if "leader" in queue else ("master", *REPLICAS)  # fmt: skip
    return {name: value for name, value in (queue | kept).items() if name not in gone}


def _policies(given: Iterable[dict[str, Any]], version: str, doubts: list[Doubt]) -> Iterator[dict[str, Any]]:
    """The policies that a release takes; a cluster that was upgraded may hold others."""
    for policy in given:
        fields = {key: policy[key] for key in ("pattern", "definition", "priority", "apply_to")}
        if refusal(fields, PROFILES[version], operator=False) is None:
            yield policy
        else:
            doubts.append(Doubt(kind="policy_refused", name=policy["name"]))


def _set_later(policy: str, found: Sequence[Happening], begins_us: int) -> bool:
    """Whether a policy was set for the first time after a moment."""
    times = [one.at_us for one in found if one.kind == "policy_set" and one.name == policy]
    return bool(times) and times[0] >= begins_us


def _inferred(queues: Sequence[QUEUE], nodes: int, doubts: list[Doubt]) -> Iterator[dict[str, Any]]:
    """Policies that give queues the mirrors that they were seen with, where no definitions tell any."""
    doubts.append(Doubt(kind="no_definitions"))
    for entry in queues:
        if replicas := len(entry.get("mirrors", ())):
            vhost, name = split_queue(entry["queue"])
            mode = {"ha-mode": "all"} if replicas + 1 == nodes else {"ha-mode": "exactly", "ha-params": replicas + 1}
            yield {"name": f"as seen of {entry['queue']}", "pattern": f"^{re.escape(name)}$", "definition": mode,
                   "vhost": vhost}  # fmt: skip


def _deleted(found: Sequence[Happening], at_us: int) -> set[str]:
    """The queues that had been deleted at a moment, and not been declared anew."""
    told = {one.queue: one.kind for one in found if one.queue and one.at_us < at_us and one.kind in SET_UP}
    return {queue for queue, kind in told.items() if queue and kind == "queue_deleted"}


def _declared_later(name: str, found: Sequence[Happening], begins_us: int) -> bool:
    return any(one.kind == "queue_declared" and one.queue == name and one.at_us >= begins_us for one in found)


def _entry(name: str, told: Replicas, listed: QUEUE | None, doubts: list[Doubt]) -> QUEUE:
    """A queue as the logs tell it, its mirrors in the order in which they came: the first one is to take over. `listed`
    is what an export of after has."""
    entry = {key: value for key, value in (listed or {}).items()
             if key not in ("master", "mirrors", "synchronised_mirrors", "recoverable_mirrors", "leader", "members",
                            "stopped_members", "unacknowledged")} | {"queue": name}  # fmt: skip
    first, others = told.first, [*told.others]
    if first is None:
        first, *others = others
        doubts.append(Doubt(kind="master_unknown", queue=name, node=first))
    if told.deep is not None:
        entry["messages"] = told.deep
    if told.members:
        return entry | {"type": "quorum", "leader": first, "members": sorted({first, *others})}
    if others and not told.behind:
        doubts.append(Doubt(kind="mirrors_unknown", queue=name))
    synchronised = [] if told.behind else others
    return entry | {"master": first, "mirrors": others, "synchronised_mirrors": synchronised}


def _cluster(
    found: Sequence[Happening], lives: Sequence[Life], imported: dict[str, Any], begins_us: int, doubts: list[Doubt]
) -> dict[str, Any]:
    """The nodes and settings: whoever has a life, but those that join later."""
    lived = [life for life in lives if life.ended_by != "failed" and (life.from_us < begins_us or life.ran_before)]
    left = _left(found, begins_us)
    joining = {one.node for one in found if one.kind == "node_joined" and one.at_us >= begins_us}
    joining -= {life.node for life in lived} - left
    # What a listing has, and nobody's log names, was made up where there are logs.
    nodes = sorted({life.node for life in lives} - joining - left)
    releases = [life.first.release for life in lives if life.first.release]
    version = next((known for release in releases if (known := profile(release))), None)
    if releases and ".".join(releases[0].split(".")[:2]) not in PROFILES:
        doubts.append(Doubt(kind="release_unknown", name=releases[0]))
    ended = {node: how for node, how in _ended(lived, begins_us).items() if node in nodes}
    ended |= {node: "stopped" for node in nodes if node not in {life.node for life in lived}}
    settings = {key: value for key, value in imported.items() if key not in ("nodes", "down", "version")}
    cluster = {"nodes": nodes, "version": version or imported["version"], **settings}
    cluster["cluster_partition_handling"] = _handling(found, nodes, settings, doubts)
    return cluster | ({"down": ended} if ended else {})


def _ended(lives: Sequence[Life], at_us: int) -> dict[str, str]:
    """How the nodes went that were down at a moment, in the order in which they went."""
    ended: dict[str, str] = {}
    for life in sorted(lives, key=lambda life: life.until_us or life.seen_us):
        if life.from_us < at_us:
            ended.pop(life.node, None)
            if life.until_us is not None and life.until_us < at_us:
                ended[life.node] = "killed" if life.ended_by == "killed" else "stopped"
    return ended


def _left(found: Sequence[Happening], at_us: int) -> set[str]:
    """The nodes that had left the cluster at a moment, and not joined it again."""
    told = [one for one in found if one.node and one.at_us < at_us and one.kind in MEMBERSHIP]
    joined = [(one.node, one.at_us) for one in told if one.kind == "node_joined"]
    last = {one.node: one.kind for one in told if one.kind != "node_reset" or not any(
        node == one.node and abs(one.at_us - joined_us) <= TOGETHER_US for node, joined_us in joined)}  # fmt: skip
    return {node for node, kind in last.items() if node and kind != "node_joined"}


def _handling(
    found: Sequence[Happening], nodes: Sequence[str], settings: Mapping[str, Any], doubts: list[Doubt]
) -> str | dict[str, Any]:
    """What the cluster does about partitions, as far as it was seen to do it: where a side with most nodes pauses, the
    others are those that all are to see."""
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
