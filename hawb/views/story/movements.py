"""The last step of a story as movements, in the order of simulated time: what moves, from where to where, and when.

A movement is a visible event of the trace (`hawb.engine.core.trace.EVENTS`): messages that are published, a confirm, a
promotion, votes, the end of a node. It consists of plain values, so a page can play it forwards and backwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter

from hawb.engine.raft_groups.group import STORE
from hawb.views.cluster.replicas import seen_by
from hawb.views.formatting import size
from hawb.views.story.telling import sentence

MOST = 40
"""The maximum number of phases of a step; earlier phases are left out."""

CLIENT = "client"
"""The place of clients, which have no node of their own."""


def movements(
    outcome: dict, was: dict | None, cuts: list[dict] | None = None, ballots: Sequence[dict] = ()
) -> list[dict]:
    """Return the movements that lead from the outcome `was` to this outcome; without `was`, those of the last step.

    `cuts` are the logs that were truncated in between (`hawb.views.cluster.raft_entries.cut_off`), `ballots` the
    movements of elections (`hawb.views.cluster.elections.flown`), without which votes fly as the leader is elected.

    Each movement has a `kind`, its time `t` in seconds, its event, its `text`, the `queue` if it is about one, `routes`
    (from, to) between places (nodes, or CLIENT), the number of messages that move (`count`), and the `places` that show
    the result. Movements of one kind at one time have the same `phase` and are shown together.
    """
    leads = {name: _leader(queue) for name, queue in (was or outcome)["queues"].items()}
    voted = {one["queue"] for one in ballots}
    found = list(ballots)
    for event in outcome["events"][first_new(outcome, was) :]:
        if (made := _movement(event, leads, outcome)) is not None:
            votes_shown = made["kind"] == "elect" and (event["queue"] or STORE) in voted
            found.append(made | {"routes": []} if votes_shown else made)
        _follow(event, leads)
    phases: dict[tuple[float, str], list[dict]] = {}
    for made in sorted(found, key=itemgetter("t")):
        phases.setdefault((made["t"], made["kind"]), []).append(made)
    if cuts:
        phases[outcome["time_s"], "cut_log"] = [_cut(cut, outcome["time_s"]) for cut in cuts]
    return [one | {"phase": phase} for phase, together in enumerate([*phases.values()][-MOST:]) for one in together]


def first_new(outcome: dict, was: dict | None) -> int:
    """Return the place of the first event that another outcome does not have.

    If the other outcome has all events, or there is none, return the place of the first event of the last step.
    """
    events, known = outcome["events"], [] if was is None else was["events"]
    place = min(len(events), len(known))
    while place and events[place - 1] != known[place - 1]:
        place -= 1
    if known and place < len(events):
        return place
    last = max((event["step"] for event in events if event["step"] is not None), default=None)
    return next((place for place, event in enumerate(events) if event["step"] == last), len(events))


def _leader(queue: dict) -> str | None:
    return queue["master"] if queue["type"] == "classic" else queue.get("leader")


def _follow(event: dict, leads: dict[str, str | None]) -> None:
    """Keep `leads`, the leader of each queue, up to date."""
    if event["event"] in ("promoted", "leader_elected", "queue_recovered"):
        leads[event["queue"]] = event["node"]
    elif event["event"] == "queue_declared":
        leads[event["queue"]] = event["detail"]["master"]


def _movement(event: dict, leads: Mapping[str, str | None], outcome: dict) -> dict | None:
    kind, routes_of = KINDS.get(event["event"], ("", None))
    if routes_of is None:
        return None
    queue, detail = event["queue"], event["detail"]
    master = leads.get(queue) if queue else None
    if event["event"] == "queue_declared":
        master = detail["master"]
    routes = [[first, then] for first, then in routes_of(event, master, outcome) if first and then]
    places = dict.fromkeys([event["node"], *(place for route in routes for place in route)])
    count = size(detail["ids"]) if "ids" in detail else detail.get("messages", 0)
    said = {"kind": kind, "t": event["t"], "event": event["event"], "queue": queue, "node": event["node"]}
    return said | {
        "count": count if isinstance(count, int) else 0,
        "routes": routes,
        "places": [place for place in places if place not in (None, CLIENT)],
        "text": sentence(event),
    }


def _cut(cut: dict, t: float) -> dict:
    return {
        "kind": "cut_log", "t": t, "event": "log_cut", "queue": cut["queue"], "node": cut["node"],
        "count": cut["entries"], "routes": [], "places": [cut["node"]], "text": cut["text"],
    }  # fmt: skip


Routes = list[tuple[str | None, str | None]]
Of = Callable[[dict, str | None, dict], Routes]
"""A function that returns the routes of an event, from its queue's leader at that time and the outcome of the step."""


def _nowhere(_event: dict, _master: str | None, _outcome: dict) -> Routes:
    return []


def _published(event: dict, master: str | None, _outcome: dict) -> Routes:
    """Return the routes from the client to the leader, and from there to the replicas that have the messages."""
    replicas = event["detail"]["replicas"]
    first = master if master in replicas or not replicas else replicas[0]
    return [(CLIENT, first), *((first, node) for node in replicas if node != first)]


def _back(_event: dict, master: str | None, _outcome: dict) -> Routes:
    return [(master or CLIENT, CLIENT)]


def _off(event: dict, master: str | None, outcome: dict) -> Routes:
    """Return the route of messages that leave a queue: within the leader's node.

    For messages that a promotion lost this is the node of the replaced master.
    """
    cause = event.get("because")
    was = None if cause is None else outcome["events"][cause]["detail"].get("was")
    place = was if was in outcome["nodes"] else master
    return [(place, place)]


def _delivered(event: dict, master: str | None, _outcome: dict) -> Routes:
    """Return the routes from the leader to the client, through the node to which the client is connected."""
    node = event["node"] or master
    return [(master, node), (node, CLIENT)] if node != master else [(master, CLIENT)]


def _in(_event: dict, master: str | None, _outcome: dict) -> Routes:
    return [(CLIENT, master)]


def _to_mirrors(event: dict, master: str | None, outcome: dict) -> Routes:
    """Return the routes from the leader to the event's mirrors, to its node, or else to all synchronised mirrors."""
    nodes = event["detail"].get("mirrors")
    if nodes is None:
        queue = outcome["queues"].get(event["queue"], {})
        nodes = [event["node"]] if event["node"] else queue.get("synchronised_mirrors") or []
    return [(master, node) for node in nodes if node != master]


def _votes(event: dict, _master: str | None, outcome: dict) -> Routes:
    """Return the routes of votes: from the running members that the elected member reaches."""
    queue = outcome["queues"].get(event["queue"])
    store = outcome.get("metadata_store")
    if queue is not None:
        members = seen_by(queue, [event["node"]]).get("online", queue.get("members", []))
    else:
        members = [] if store is None else store["members"]
    running = [node for node in members if outcome["nodes"].get(node) == "running"]
    return [(node, event["node"]) for node in running if node != event["node"]]


def _links(event: dict, _master: str | None, _outcome: dict) -> Routes:
    return [(first, second) for first, second in event["detail"].get("links", ())]


def _taken_over(event: dict, _master: str | None, _outcome: dict) -> Routes:
    was = event["detail"].get("was")
    return [(was, event["node"])] if isinstance(was, str) else []


KINDS: dict[str, tuple[str, Of]] = {
    "messages_published": ("publish", _published),
    "messages_confirmed": ("confirm", _back),
    "transaction_committed": ("confirm", _back),
    "messages_nacked": ("refuse", _back),
    "transaction_failed": ("refuse", _back),
    "messages_refused": ("refuse", _back),
    "messages_delivered": ("deliver", _delivered),
    "messages_acknowledged": ("acknowledge", _in),
    "messages_requeued": ("requeue", _in),
    "messages_dead_lettered": ("dead_letter", _back),
    "messages_expired": ("lose", _off),
    "messages_lost": ("lose", _off),
    "queue_purged": ("lose", _off),
    "queue_declared": ("declare", lambda event, master, _: [
        (master, node) for node in (event["detail"].get("members") or event["detail"]["mirrors"]) if node != master]),
    "queue_deleted": ("gone", _nowhere),
    "queue_down": ("down", _nowhere),
    "queue_unavailable": ("down", _nowhere),
    "queue_available": ("up", _nowhere),
    "queue_recovered": ("up", _nowhere),
    "master_down": ("down", _nowhere),
    "process_crashed": ("end", _nowhere),
    "mirror_added": ("join", _to_mirrors),
    "mirror_removed": ("leave", _nowhere),
    "mirror_synchronised": ("synchronised", _nowhere),
    "promotion_refused": ("down", _nowhere),
    "promoted": ("take_over", _taken_over),
    "leadership_transferred": ("take_over", _taken_over),
    "sync_started": ("synchronise", _to_mirrors),
    "sync_finished": ("synchronised", _to_mirrors),
    "leader_elected": ("elect", _votes),
    "metadata_leader_elected": ("elect", _votes),
    "member_added": ("join", _to_mirrors),
    "member_removed": ("leave", _nowhere),
    "node_stopping": ("end", _nowhere),
    "node_stopped": ("end", _nowhere),
    "node_killed": ("end", _nowhere),
    "node_lost_power": ("end", _nowhere),
    "node_paused": ("end", _nowhere),
    "node_booting": ("up", _nowhere),
    "node_waiting": ("up", _nowhere),
    "node_running": ("up", _nowhere),
    "node_joined": ("up", _nowhere),
    "disk_lost": ("end", _nowhere),
    "alarm_set": ("down", _nowhere),
    "alarm_cleared": ("up", _nowhere),
    "links_cut": ("part", _links),
    "links_timed_out": ("part", _links),
    "links_healed": ("heal", _links),
    "cluster_partitioned": ("part", _nowhere),
    "sides_rejoined": ("heal", _nowhere),
    "publisher_started": ("up", _nowhere),
    "publisher_closed": ("end", _nowhere),
    "consumer_started": ("up", _nowhere),
    "consumer_cancelled": ("end", _nowhere),
    "consumer_closed": ("end", _nowhere),
    "step_refused": ("refuse", _nowhere),
}  # fmt: skip
"""The visible events: the kind of movement, and the function that returns its routes."""
