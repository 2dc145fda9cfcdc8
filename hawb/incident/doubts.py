"""What a cluster's logs do not tell, and what was taken instead: each doubt by its kind, and whom and when it is of.

A scenario made from logs holds assumptions, and whoever reads what comes of it has to know them. `DOUBTS` has a
sentence for each kind, in which names in braces are fields of the doubt.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

DOUBTS: Mapping[str, str] = {
    "no_listing": "No listing of queues was given: queues stand where the logs show them, and how many messages they "
    "held is not known.",
    "listed_after": "The listing of queues is of after the incident: where replicas were before is worked out from the "
    "logs, and how many messages the queues held then is not known.",
    "listed_before": "The listing of queues fits what the logs show before the first fault: it is taken as that "
    "moment's.",
    "listed_long_before": "Queues stood otherwise than the listing has them before the story begins: where replicas "
    "were then is worked out from the logs, and how many messages the queues held is not known.",
    "no_definitions": "No definitions were given: policies are taken to keep as many mirrors as were seen, and to "
    "leave all else to RabbitMQ.",
    "release_unknown": "The rules of RabbitMQ {name} are not known: those of the nearest release that are known are "
    "taken.",
    "clients": "Clients were connected, and what they published, acknowledged, purged, declared and deleted is in no "
    "log.",
    "clients_untold": "These logs tell of no client's connection: there may have been some, and what they did is in no "
    "log.",
    "master_unknown": "Where the master of {queue} was is not told: {node} is taken.",
    "mirrors_unknown": "Which mirrors of {queue} were synchronised is not told: all of them are taken to be.",
    "policy_unknown": "The policy {name} was set, unless it was refused, and what it says is not told: nothing is "
    "set.",
    "policy_refused": "The policy {name} is none that this release would take: it is left out.",
    "policy_as_exported": "The policy {name} was set, and is taken to say what the definitions have.",
    "policy_worked_out": "The policy {name} was set, and what it said is in no export: it is taken to have said what "
    "agrees best with the mirrors that came and went.",
    "policy_cleared": "The policy {name} is not in the definitions of after: it is taken to have been cleared as the "
    "logs end.",
    "policy_set_meanwhile": "The policy {name} is another one in the definitions of after, and no log tells since "
    "when: it is taken to have been set as the logs end.",
    "declared_meanwhile": "{queue} is in the listing of after alone: it is taken to have been declared as the logs "
    "end.",
    "deleted_meanwhile": "{queue} is not in the listing of after: it is taken to have been deleted as the logs end.",
    "members_changed": "By the listing of after, {queue} has got or lost its member on {node} meanwhile: it is taken "
    "to have been as the logs end.",
    "no_log": "There is no log of {node}: how it went is what the others saw.",
    "end_unseen": "Nobody saw when {node} went: its last line is taken.",
    "handling_unknown": "Nothing tells what the cluster does about partitions: it is taken to ignore them.",
    "healed": "Whom autoheal restarts depends on which links it has heard of when it decides: that it restarted {node} "
    "is told as a stop and a start, in a cluster that ignores partitions.",
    "silent_since": "When the links broke is not told: net_ticktime before they were missed is taken.",
    "depth_seen": "When {queue} was synchronised {count} of its messages were ready: as many are taken to have been "
    "published, or taken out, just then.",
    "depth_listed": "In the end {count} messages of {queue} were ready: as many are taken to have been published, or "
    "taken out, just before.",
    "forced_boot": "{node} booted without waiting for nodes that had stopped after it: it is taken to have been forced "
    "to, and not to have forgotten them while it was down.",
    "chance": "Who is elected is chance: {queue} is handed over to {node}, which the logs have seen lead.",
}
"""Every kind of doubt as a sentence."""

OF_THE_BEGINNING = frozenset({"no_listing", "listed_after", "listed_long_before", "master_unknown", "mirrors_unknown"})
"""Doubts about how the cluster stood when the story begins."""
OF_PLACES = OF_THE_BEGINNING - {"no_listing"} | {"policy_unknown", "forced_boot"}
"""Doubts that make it unsure where replicas are."""
OF_CLIENTS = frozenset({"clients", "clients_untold"})
"""Doubts about what clients did."""


class Doubt(Struct, frozen=True, kw_only=True):
    """What is not told: `kind`, and where it is about one, a queue, a node, a name, a number or a span of time (by the
    reference's clock, in microseconds since 1970)."""

    kind: str
    queue: str | None = None
    node: str | None = None
    name: str | None = None
    count: int | None = None
    from_us: int | None = None
    until_us: int | None = None

    @property
    def text(self) -> str:
        """The doubt in a sentence."""
        return DOUBTS[self.kind].format(queue=self.queue, node=self.node, name=self.name, count=self.count)
