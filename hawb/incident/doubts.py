"""List what a cluster's logs do not show and what was assumed instead, by kind, with the objects and times concerned.

A scenario made from logs rests on assumptions, and a reader of its results has to know them. `DOUBTS` has a sentence
for each kind, in which names in braces are fields of the doubt.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

DOUBTS: Mapping[str, str] = {
    "no_listing": "No queue listing was given: hawb assumes that queues are where the logs show them. How many"
                  " messages they held is unknown.",
    "listed_after": "The queue listing is from after the incident: hawb derives from the logs where replicas were"
                    " before. How many messages the queues held before is unknown.",
    "listed_before": "The queue listing agrees with the logs before the first fault: hawb assumes that it is from"
                     " that time.",
    "listed_long_before": "The queue listing differs from the logs at the beginning of the story: hawb derives from"
                          " the logs where replicas were. How many messages the queues held is unknown.",
    "no_definitions": "No definitions were given: hawb assumes that policies ask for as many mirrors as the logs"
                      " show, and have no other keys.",
    "release_unknown": "hawb does not have the rules of RabbitMQ {name}: it uses those of the nearest release.",
    "clients": "Clients were connected. What they published, acknowledged, purged, declared and deleted is not in"
               " the logs.",
    "clients_untold": "These logs show no client connections. There may have been some clients; what they did is not"
                      " in the logs.",
    "master_unknown": "No file says where the master of {queue} was: {node} is assumed.",
    "mirrors_unknown": "No file says which mirrors of {queue} were synchronised: hawb assumes that all were.",
    "policy_unknown": "The policy {name} was set or refused. No file says what this policy contains, so it is left"
                      " out.",
    "policy_refused": "This release would refuse the policy {name}, so it is left out.",
    "policy_as_exported": "The policy {name} was set: hawb assumes that it has the content of the definitions.",
    "policy_worked_out": "The policy {name} was set, but no export has it: hawb assumes the content that agrees best"
                         " with the mirrors that were added and removed.",
    "policy_cleared": "The policy {name} is not in the definitions from after the incident: it is assumed to have"
                      " been cleared at the end of the logs.",
    "policy_set_meanwhile": "The policy {name} is different in the definitions from after the incident, and no log"
                            " says since when: it is assumed to have been set at the end of the logs.",
    "declared_meanwhile": "{queue} is only in the listing from after the incident: it is assumed to have been"
                          " declared at the end of the logs.",
    "deleted_meanwhile": "{queue} is not in the listing from after the incident: it is assumed to have been"
                         " deleted at the end of the logs.",
    "members_changed": "According to the listing from after the incident, {queue} got or lost its member on"
                       " {node}: this is assumed to have happened at the end of the logs.",
    "no_log": "There is no log of {node}: hawb derives from the other nodes' logs when {node} stopped or failed.",
    "end_unseen": "No log says when {node} stopped or failed: hawb assumes the time of its last log line.",
    "handling_unknown": "No file says how the cluster handles partitions: hawb assumes that it ignores them.",
    "healed": "Which nodes autoheal restarts depends on the links that it knows to be down when it decides. The story"
              " has the restart of {node} as a stop and a start, in a cluster that ignores partitions.",
    "silent_since": "No log says when the links failed: hawb assumes that this was net_ticktime before the nodes"
                    " noticed.",
    "depth_seen": "When {queue} was synchronised, {count} of its messages were ready: hawb assumes that this many"
                  " were published, or removed, just then.",
    "depth_listed": "At the end, {count} messages of {queue} were ready: hawb assumes that this many were published,"
                    " or removed, just before.",
    "forced_boot": "{node} booted without waiting for nodes that had stopped after it: hawb assumes a forced boot,"
                   " and not that {node} had forgotten these nodes while it was down.",
    "chance": "Elections are random: in the story, {queue} is transferred to {node}, which was its leader"
              " according to the logs.",
}
"""Every kind of doubt as a sentence."""

OF_THE_BEGINNING = frozenset({"no_listing", "listed_after", "listed_long_before", "master_unknown", "mirrors_unknown"})
"""Doubts about how the cluster stood when the story begins."""
OF_PLACES = OF_THE_BEGINNING - {"no_listing"} | {"policy_unknown", "forced_boot"}
"""Doubts that make it unsure where replicas are."""
OF_CLIENTS = frozenset({"clients", "clients_untold"})
"""Doubts about what clients did."""


class Doubt(Struct, frozen=True, kw_only=True):
    """An assumption.

    It has a `kind`, and if it concerns one, a queue, a node, a name, a number or a time span (by the reference clock,
    in microseconds since 1970).
    """

    kind: str
    queue: str | None = None
    node: str | None = None
    name: str | None = None
    count: int | None = None
    from_us: int | None = None
    until_us: int | None = None

    @property
    def text(self) -> str:
        """Return the doubt as a sentence."""
        return DOUBTS[self.kind].format(queue=self.queue, node=self.node, name=self.name, count=self.count)
