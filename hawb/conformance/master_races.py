"""What a real cluster leaves to luck about which node is a classic queue's master, and so about all that comes later;
`races` has all other luck.

- Survivors note the deaths of a stopping node's replicas before or after it counts as down. Before, they strike its
  mirrors off the recoverable ones (`rabbit_mirror_queue_misc:update_recoverable`), and its own disk has who was
  promoted in its place, so that it does not serve the queue when it is forced to boot (`outrun`).
- Of mirrors that join a queue at the same moment, as those whose process has crashed, any may be the oldest and take
  over (`luckily_inherited`). They say in any order that they are synchronised
  (`rabbit_mirror_queue_slave:record_synchronised`). Where a policy lists neither the master nor any of them, the last
  one to have said so is kept, and is the next master (`rabbit_mirror_queue_mode_nodes`, `luckily_kept`).
"""

from __future__ import annotations

from collections import defaultdict

from hawb.conformance.races import Told, without


def outrun(model: Told, seen: Told) -> set[str]:
    """The queues whose master's node was stopped, and then forced to boot before the others, where its disk already
    named the mirror promoted in its place: that decides all that comes later."""
    forced = {event["node"] for event in model.get("events", ()) if event["event"] == "records_restored"}
    stopped: set[tuple[str, str]] = set()
    promoted: dict[str, str] = {}
    for event in model.get("events", ()):
        if event["event"] == "master_down" and event["detail"]["reason"] == "node_stopped":
            stopped.add((event["queue"], event["node"]))
        elif event["event"] == "promoted" and (event["queue"], event["detail"]["was"]) in stopped:
            promoted.setdefault(event["queue"], event["detail"]["was"])
    masters = {name: queue.get("master") for name, queue in seen.get("queues", {}).items()}
    return {name for name, node in promoted.items() if node in forced and masters.get(name) != node}


def luckily_inherited(model: Told, seen: Told) -> set[str]:
    """The queues whose new master was one of several mirrors that had joined at the same moment, where the broker has
    another master now."""
    since: dict[str, dict[str, float]] = defaultdict(dict)
    lucky: set[str] = set()
    for event in model.get("events", ()):
        joined = since[event["queue"]]
        match event["event"]:
            case "mirror_added":
                joined[event["node"]] = event["t"]
            case "mirror_removed" | "promoted":
                time_s = joined.pop(event["node"], None)
                if event["event"] == "promoted" and time_s in joined.values():
                    lucky.add(event["queue"])
    return with_another_master(lucky, model, seen)


def luckily_kept(model: Told, seen: Told) -> set[str]:
    """The queues that changed to a policy which lists no node with all messages, where another mirror was synchronised
    at the same moment as the kept one, and the broker has another master now."""
    listed: dict[str, list[str]] = {}
    policies: dict[str, str] = {}
    since: dict[tuple[str, str], float] = {}
    dropped: dict[tuple[str, int], set[str]] = defaultdict(set)
    kept: set[str] = set()
    for event in model.get("events", ()):
        name, node, detail, moment = event["queue"], event["node"], event["detail"], (event["queue"], event["step"])
        match event["event"]:
            case "policy_set":
                listed[detail["name"]] = detail["definition"].get("ha-params", ())
            case "policy_applied":
                policies[name] = detail["policy"]
            case "mirror_synchronised":
                since[name, node] = event["t"]
            case "mirror_removed" if detail["reason"] == "policy":
                dropped[moment].add(node)
            case "promoted" if any(since.get((name, one)) == since.get((name, node), 0) for one in dropped[moment]):
                nodes = listed.get(policies[name])
                if isinstance(nodes, list) and node not in nodes:
                    kept.add(name)
    return with_another_master(kept, model, seen)


def with_another_master(names: set[str], model: Told, seen: Told) -> set[str]:
    """Those of the named queues that have another master in the broker."""
    masters = {name: queue.get("master") for name, queue in seen.get("queues", {}).items()}
    return {name for name in names if masters.get(name) != model["queues"].get(name, {}).get("master")}


def without_queues(told: Told, names: set[str]) -> Told:
    """A part of an outcome without some queues and their consumers."""
    if not names & told.get("queues", {}).keys():
        return told
    consumers = [name for name, consumer in told.get("consumers", {}).items() if consumer["queue"] in names]
    return told | {
        "queues": without(told["queues"], *names),
        "ledger": without(told.get("ledger", {}), *names),
        "consumers": without(told.get("consumers", {}), *consumers),
    }
