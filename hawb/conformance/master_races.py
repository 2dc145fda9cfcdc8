"""Races for the master of a classic queue on a real cluster, and so for all that follows; `races` has all others.

- Survivors process the deaths of a stopping node's replicas before or after it counts as down. Before, they remove its
  mirrors from the recoverable ones (`rabbit_mirror_queue_misc:update_recoverable`), and its own disk has the mirror
  that was promoted in its place, so that it does not serve the queue when it is forced to boot (`outrun`).
- Of mirrors that join a queue at the same moment, such as those whose process has crashed, any may be the oldest and
  take over (`luckily_inherited`). They report in any order that they are synchronised
  (`rabbit_mirror_queue_slave:record_synchronised`). If a policy lists neither the master nor any of them, the last one
  to report is kept, and is the next master (`rabbit_mirror_queue_mode_nodes`, `luckily_kept`).
"""

from __future__ import annotations

from collections import defaultdict

from hawb.conformance.races import Outcome, without


def outrun(model: Outcome, seen: Outcome) -> set[str]:
    """Return the queues whose master's node was stopped, forced to boot first, and knew of its successor.

    The node's disk already named the mirror that had been promoted in its place. All later events depend on that.
    """
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


def luckily_inherited(model: Outcome, seen: Outcome) -> set[str]:
    """Return the queues whose new master was one of several mirrors that joined at the same moment.

    Only queues with another master in the broker are included.
    """
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


def luckily_kept(model: Outcome, seen: Outcome) -> set[str]:
    """Return the queues whose new policy lists no node with all messages, if the broker kept another mirror as master.

    Another mirror must have been synchronised at the same moment as the one that the model kept.
    """
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


def with_another_master(names: set[str], model: Outcome, seen: Outcome) -> set[str]:
    """Return those of the named queues that have another master in the broker."""
    masters = {name: queue.get("master") for name, queue in seen.get("queues", {}).items()}
    return {name for name in names if masters.get(name) != model["queues"].get(name, {}).get("master")}


def without_queues(outcome: Outcome, names: set[str]) -> Outcome:
    """Return a part of an outcome without some queues and their consumers."""
    if not names & outcome.get("queues", {}).keys():
        return outcome
    consumers = [name for name, consumer in outcome.get("consumers", {}).items() if consumer["queue"] in names]
    return outcome | {
        "queues": without(outcome["queues"], *names),
        "ledger": without(outcome.get("ledger", {}), *names),
        "consumers": without(outcome.get("consumers", {}), *consumers),
    }
