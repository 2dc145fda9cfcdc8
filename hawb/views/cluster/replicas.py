"""Each node's replica of a queue, from an outcome: role, share of the master's messages, number of messages.

Outcomes of the engine have it in `replicas`. An outcome that was recorded from a real broker has no such key: then
roles come from master, mirrors and members, and the number of messages in a mirror is unknown. The same goes for a
partition whose view of a queue has no such key.
"""

from __future__ import annotations

from msgspec import Struct

from hawb.languages import _
from hawb.views import style
from hawb.views.formatting import commas, counted, size
from hawb.views.style import Look

DOWN = ("down", "left_over")
LEADERS = ("leader", "leader_alone")
"""The roles of leaders of quorum queues, with a majority within reach and without."""


class Replica(Struct, frozen=True):
    """A node's replica of a queue: its role (a key of `style.LOOKS`), its messages, and their share of the master's.

    `messages` is None if unknown. `beneath` is the role that a replica would have if it were not down. For a quorum
    queue, the leader has its `term`, and `behind` is the number of committed entries that a member lacks.
    """

    role: str
    messages: int | None = None
    share: float = 0.0
    syncing: bool = False
    beneath: str = "none"
    term: int | None = None
    behind: int = 0

    @property
    def look(self) -> Look:
        """Return the look of the role."""
        return style.LOOKS[self.role]

    @property
    def glyph(self) -> str:
        """Return the glyph of the role, or for an unsynchronised mirror the ring for its share."""
        return style.ring(self.share) if self.role == "unsynchronised" else self.look.glyph

    @property
    def description(self) -> str:
        """Return the replica in words."""
        if self.role == "none":
            return _("no replica")
        word = _("{role}, being synchronised", role=self.look.label) if self.syncing else self.look.label
        parts = [word if self.term is None else _("{role} in term {term}", role=word, term=self.term)]
        parts += [] if self.messages is None else [counted(self.messages)]
        parts += [_("{entries} behind", entries=counted(self.behind, "entry"))] if self.behind else []
        return commas(parts)


NONE, BEYOND = Replica("none"), Replica("beyond")


def replicas(queue: dict) -> dict[str, Replica]:
    """Return the replicas of a queue (an entry of an outcome's `queues`) by node, without nodes that have none."""
    if "replicas" not in queue:
        return _from_listing(queue)
    total = max(queue["messages"] + size(queue.get("uncommitted", [])), 1)
    return {
        node: Replica(
            role=_role(entry),
            messages=entry["messages"],
            share=min(entry["messages"] / total, 1.0),
            syncing=entry["syncing"],
            beneath=entry["role"] if entry["role"] in ("master", *LEADERS) else "none",
            term=entry.get("term") if entry["role"] in LEADERS else None,
            behind=entry.get("behind", 0),
        )
        for node, entry in queue["replicas"].items()
    }


def seen_by(queue: dict, side: list[str]) -> dict:
    """Return a queue as the nodes of one partition see it.

    This is the queue's own entry, or else the partition's entry in `views` with the fields that are the same for all
    partitions, and the partition's replicas. The outcome of a real broker does not have the replicas; then it is
    unknown which mirrors are synchronised.
    """
    views = queue.get("views", ())
    index = next((index for index, view in enumerate(views) if side and side[0] in view["nodes"]), None)
    if index is None:
        return queue
    view = views[index]
    alike = {key: queue[key] for key in ALIKE if key in queue}
    unknown = {"synchronised_mirrors": None, "recoverable_mirrors": [], "messages": size(view["ids"])}
    leader = {"leader": view["master"]} if queue["type"] != "classic" else {}
    return alike | unknown | view | leader | _listed(queue, index)


ALIKE = ("type", "durable", "policy", "mirrored", "members", "online", "term", "uncommitted")
"""The fields of a queue that an outcome has once for all partitions."""


def _listed(queue: dict, index: int) -> dict:
    """Return fields, beyond the contract, about the nodes of one of a queue's views."""
    if "replicas_by_view" not in queue:
        return {}
    replicas = queue["replicas_by_view"][index]
    synchronised = [node for node, entry in replicas.items() if entry["role"] == "mirror" and entry["synchronised"]]
    listing = {"replicas": replicas, "synchronised_mirrors": sorted(synchronised)}
    if queue["type"] != "classic":
        listing["online"] = sorted(node for node, entry in replicas.items() if entry["online"])
    return listing


def _role(entry: dict) -> str:
    if not entry["online"]:
        return "left_over" if entry["role"] == "left_over" else "down"
    if entry["role"] == "member":
        return "follower"
    if entry["role"] == "mirror":
        return "synchronised" if entry["synchronised"] else "unsynchronised"
    return entry["role"]


def _from_listing(queue: dict) -> dict[str, Replica]:
    if queue["type"] != "classic":
        leads = {node: Replica("leader", term=queue.get("term")) for node in [queue["leader"]] if node is not None}
        others = {node: Replica("follower" if node in queue["online"] else "down") for node in queue["members"]}
        return others | leads
    known = queue["synchronised_mirrors"] is not None
    roles = {node: Replica("unsynchronised" if known else "mirror") for node in queue["mirrors"]}
    roles |= {node: Replica("synchronised") for node in queue["synchronised_mirrors"] or ()}
    roles |= {node: Replica("down") for node in queue["recoverable_mirrors"] if node not in roles}
    if queue["master"] is not None:
        roles[queue["master"]] = Replica("down" if queue["state"] == "down" else "master", queue["messages"], 1.0)
    return roles
