"""The nodes that held a copy of a message, and what ended each copy, from the events of an outcome.

A copy counts while the replica's process runs. RabbitMQ deletes the copy on a stopped node's disk when the node boots,
unless it is the master's copy and no mirror was promoted in between.
"""

from __future__ import annotations

from msgspec import Struct

from hawb.languages import N_
from hawb.views.formatting import holds
from hawb.views.story.chronicle import Chronicle


class End(Struct, frozen=True):
    """The end of a copy: its time in seconds, and a phrase such as "was killed".

    `on_disk` is True if the copy may still be on the node's disk; `place` is that of the event that ended it.
    """

    t: float
    how: str
    on_disk: bool
    place: int


ENDS: dict[tuple[str, str | None], str] = {
    ("node_killed", None): N_("was killed"),
    ("node_lost_power", None): N_("lost power"),
    ("node_stopping", None): N_("was shut down"),
    ("mirror_removed", "node_down"): N_("went down"),
    ("mirror_removed", "crashed"): N_("crashed"),
    ("master_down", "crashed"): N_("crashed"),
    ("mirror_removed", "out_of_reach"): N_("could not be reached"),
    ("mirror_removed", "policy"): N_("was dropped as the policy required"),
    ("mirror_removed", "master_shutdown"): N_("was stopped with the master"),
    ("mirror_removed", "master_recovered"): N_("was replaced when the master came back"),
    ("mirror_removed", "transfer"): N_("was dropped so that the master moves"),
    ("master_down", "policy"): N_("was dropped as the policy required"),
    ("master_down", "transfer"): N_("was dropped so that another replica takes over"),
    ("master_down", "left_behind"): N_("was left behind by a mirror that took over"),
    ("disk_lost", None): N_("lost its disk"),
    ("promotion_refused", None): N_("deleted its copy instead of taking over"),
    ("mirror_added", None): N_("joined empty"),
}
"""The events that end a copy on their node, by event and reason."""

MOVES = (*dict.fromkeys(name for name, _ in ENDS), "sync_started", "sync_finished", "queue_recovered")
"""All events that make or end copies."""

NODE_ENDS = ("node_killed", "node_lost_power", "node_stopping")
"""The events that end a copy but leave it on the node's disk."""


def published(chronicle: Chronicle, queue: str, number: int) -> int | None:
    """Return the place of the event with which a message reached its queue; None if it was there from the start."""
    places = chronicle.places(("messages_published",), queue)
    return next((place for place in places if holds(chronicle.events[place]["detail"]["ids"], number)), None)


def copies(chronicle: Chronicle, queue: str, first: int, last: int) -> dict[str, End | None]:
    """Return the nodes that had the messages of publish event `first`, each with the end of its copy.

    The value is None for a copy that has not ended by event `last`. Assume that the queue has the messages all this
    time.
    """
    found: dict[str, End | None] = dict.fromkeys(chronicle.events[first]["detail"]["replicas"])
    for place in chronicle.places(MOVES, queue, first + 1, last + 1):
        event = chronicle.events[place]
        if event["event"] in ("sync_finished", "queue_recovered"):
            found |= dict.fromkeys(event["detail"].get("mirrors", [event["node"]]))
        ended = event["detail"]["mirrors"] if event["event"] == "sync_started" else [event["node"]]
        how = N_("was emptied to be synchronised") if event["event"] == "sync_started" else _how(event)
        for node in ended:
            if how is not None and node in found and found[node] is None:
                found[node] = End(event["t"], how, event["event"] in NODE_ENDS, place)
    return found


def _how(event: dict) -> str | None:
    return ENDS.get((event["event"], None)) or ENDS.get((event["event"], event["detail"].get("reason")))
