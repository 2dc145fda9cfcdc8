"""The role of each node for a queue, and the state of each node, at every moment, from the events of an outcome.

A span begins with an event and lasts until the next event of its node. The outcome says little about the time before
the first event: nodes and replicas without events have been all the time as they are at the end, and the first master
to go down was master from the start.

A node has the role that it believes to have. Failure detections by other nodes change nothing for the node itself,
which may remain master in its partition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter

from hawb.views.story.members import member_roles

Spans = dict[str, list[tuple[float, str]]]
"""By node: the spans in order of time as (seconds at which it began, role or state)."""

NODE_STATES = {
    "node_killed": "down",
    "node_lost_power": "down",
    "node_stopping": "down",
    "node_pausing": "paused",
    "node_gave_up": "down",
    "node_boot_refused": "down",
    "node_booting": "booting",
    "node_waiting": "waiting",
    "node_running": "running",
}
"""The state of a node after each event."""


LEADS = ("master", "leader", "leader_alone")
"""The roles of a queue's leader."""


def node_states(outcome: dict) -> Spans:
    """Return the states of all nodes; a node that boots is `booting`."""
    spans: Spans = {}
    for node, state in outcome["nodes"].items():
        events = [e for e in outcome["events"] if e["node"] == node and e["event"] in NODE_STATES]
        first = state if not events else "down" if events[0]["event"] == "node_booting" else "running"
        spans[node] = [(0.0, first), *((e["t"], NODE_STATES[e["event"]]) for e in events)]
    return spans


def roles(outcome: dict, queue: str) -> Spans:
    """Return the roles of all nodes for a queue.

    The roles of a classic queue are master, synchronised, unsynchronised and none; those of a quorum queue or stream
    are listed in `members`. Raise ValueError if the outcome does not have the queue.
    """
    if queue not in outcome["ledger"]:
        known = ", ".join(map(repr, outcome["ledger"]))
        raise ValueError(f"there is no queue {queue!r}; this outcome has {known}")
    events = [event for event in outcome["events"] if event["queue"] in (queue, None)]
    if has_leader(outcome, queue):
        running = {node for node, states in node_states(outcome).items() if states[0][1] == "running"}
        return spans_of(member_roles(outcome, queue, events, running))
    changes = ((event["t"], node, role) for event in events for node, role in _changes(event))
    return spans_of([*((0.0, node, role) for node, role in _at_the_start(outcome, queue, events).items()), *changes])


def partings(outcome: dict) -> dict[str, list[tuple[float, float, set[str]]]]:
    """Return by node the times in which its links were cut.

    Each is (from, until, the nodes to which the links dropped everything), in seconds.
    """
    since: dict[str, tuple[float, set[str]]] = {}
    found: dict[str, list[tuple[float, float, set[str]]]] = {}

    def end(node: str, t: float) -> set[str]:
        began, others = since.pop(node, (t, set()))
        if began < t:
            found.setdefault(node, []).append((began, t, others))
        return others

    for event in outcome["events"]:
        for link in event["detail"]["links"] if event["event"] == "links_cut" else ():
            for node, other in (link, link[::-1]):
                since[node] = (event["t"], end(node, event["t"]) | {other})
        for node in list(since) if event["event"] == "links_healed" else ():
            end(node, event["t"])
    for node in list(since):
        end(node, outcome["time_s"])
    return found


def outages(outcome: dict, queue: str) -> list[tuple[float, float]]:
    """Return the times (from, until, in seconds) in which a queue had no leader.

    The time before its declaration and after its deletion does not count.
    """
    gone = [event["t"] for event in outcome["events"] if (event["event"], event["queue"]) == ("queue_deleted", queue)]
    led: dict[str, bool] = {}
    found, since = [], None
    changes = [(t, node, role) for node, spans in roles(outcome, queue).items() for t, role in spans]
    for t, together in groupby(sorted(changes, key=itemgetter(0)), key=itemgetter(0)):
        was = any(led.values())
        led |= {node: role in LEADS for _, node, role in together}
        if was and not any(led.values()) and t not in gone:
            since = t
        elif since is not None and any(led.values()):
            found.append((since, t))
            since = None
    return [*found, *([(since, outcome["time_s"])] if since is not None else [])]


def has_leader(outcome: dict, queue: str) -> bool:
    """Return True if the last queue with this name is a quorum queue or a stream."""
    declared = [event for event in outcome["events"] if (event["event"], event["queue"]) == ("queue_declared", queue)]
    if queue in outcome["queues"]:
        return outcome["queues"][queue]["type"] != "classic"
    return bool(declared) and declared[-1]["detail"]["type"] != "classic"


def spans_of(changes: Iterable[tuple[float, str, str]]) -> Spans:
    """Return the spans between changes (seconds, node, role or state from then on).

    A node's first span begins with its first change.
    """
    spans: Spans = {}
    for t, node, what in changes:
        spans_on_node = spans.setdefault(node, [])
        if not spans_on_node or spans_on_node[-1][1] != what:
            spans_on_node.append((t, what))
    return spans


def _at_the_start(outcome: dict, queue: str, events: list[dict]) -> dict[str, str]:
    if any(event["event"] == "queue_declared" for event in events):
        return dict.fromkeys(outcome["nodes"], "none")
    entry = outcome["queues"].get(queue, {})
    touched = {node for event in events for node, _ in _changes(event)}
    start = {node: "none" if node in touched else _at_the_end(entry, node) for node in outcome["nodes"]}
    gone = next((event for event in events if event["event"] == "master_down"), None)
    return start if gone is None else start | {gone["node"]: "master"}


def _at_the_end(entry: dict, node: str) -> str:
    if node == entry.get("master"):
        return "master"
    if node in entry.get("synchronised_mirrors", ()):
        return "synchronised"
    return "unsynchronised" if node in entry.get("mirrors", ()) else "none"


def _changes(event: dict) -> Iterator[tuple[str, str]]:
    """Yield the nodes whose role an event changes, each with its new role."""
    if event["event"] == "queue_declared":
        yield from ((mirror, "unsynchronised") for mirror in event["detail"]["mirrors"])
        yield event["node"], "master"
    elif event["event"] in ("sync_finished", "mirrors_stopped"):
        role = "synchronised" if event["event"] == "sync_finished" else "none"
        yield from ((mirror, role) for mirror in event["detail"]["mirrors"])
    elif event["event"] in ROLES and event["detail"].get("reason") not in LOST_SIGHT:
        yield event["node"], ROLES[event["event"]]


ROLES = {
    "mirror_added": "unsynchronised",
    "mirror_synchronised": "synchronised",
    "mirror_removed": "none",
    "promotion_refused": "none",
    "promoted": "master",
    "queue_recovered": "master",
    "disk_lost": "none",
    "master_down": "none",
    "node_killed": "none",
    "node_lost_power": "none",
    "node_stopping": "none",
    "node_pausing": "none",
}
"""The role of an event's node after the event."""

LOST_SIGHT = ("node_down", "out_of_reach")
"""The reasons of events that say how other nodes see a node."""
