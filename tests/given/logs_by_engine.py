"""Log events that nodes would have written of a story that the engine played."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from made_up_story import event
from msgspec.structs import replace

from hawb.broker.witness import SETTING_UP
from hawb.engine.core.naming import split_queue
from hawb.incident.before import Exports
from hawb.incident.events import Event
from hawb.incident.reading import Reading
from hawb.rules.policies import Policy
from hawb.scenario.document import Scenario
from hawb.scenario.dump import plain
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.scenario.verbs import Ack, Consume, Declare, Get, Nack, Publish, Publisher, Purge

CLIENTS = (Ack, Consume, Declare, Get, Nack, Publish, Publisher, Purge)
"""Verbs that need a connection."""
SILENCE = ("links_timed_out", "node_lost_power")
PAUSING_S = 0.01
"""How long after it has missed others a broker pauses."""
BOOT_S = 0.2
"""How long before others hear of it a broker says that it starts."""


def reading(scenario: Scenario, result: dict[str, Any]) -> Reading:
    """Return the logs of a story as a reading."""
    events = [*_before(scenario), *_Logs(result).events(), *_connections(scenario, result)]
    return Reading(sorted(events, key=lambda one: one.at_us), {}, [], 0)


def exports(scenario: Scenario) -> Exports:
    """Return the exports made before the first step after the setup."""
    first = next((place for place, step in enumerate(scenario.steps) if not isinstance(step.verb, SETTING_UP)), 0)
    while first and scenario.steps[first].at is not None:
        first -= 1
    run = Run.of(replace(scenario, steps=scenario.steps[:first]))
    state, result = run.moment().state, outcome(run)
    given = {entry["queue"]: entry for entry in plain(scenario).get("queues", ())}
    declared = [step["declare"] for step in plain(scenario)["steps"][:first] if "declare" in step]
    given |= {queue["queue"]: queue for queue in declared}
    cluster = {"version": scenario.cluster.version, "net_ticktime": scenario.cluster.net_ticktime}
    return Exports({"cluster": cluster, "policies": [*map(_policy, state.policies)],
                    "operator_policies": [*map(_policy, state.operator_policies)],
                    "queues": [_listed(queue, one, given.get(queue, {})) for queue, one in result["queues"].items()]},
                   defined=True)  # fmt: skip


def _policy(policy: Policy) -> dict[str, Any]:
    return {key: getattr(policy, key) for key in ("name", "pattern", "definition", "priority", "apply_to", "vhost")}


def _listed(queue: str, result: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return a queue of an outcome as a listing has it."""
    entry = {key: given[key] for key in ("durable", "auto_delete", "arguments", "size") if key in given}
    entry |= {"queue": queue, "type": result["type"], "messages": result["messages"]}
    if result["type"] != "stream":
        entry["unacknowledged"] = result["messages_unacknowledged"]
    places = ("master", "mirrors", "synchronised_mirrors", "recoverable_mirrors", "leader", "members")
    return entry | {key: result[key] for key in places if result.get(key) is not None}


def _before(scenario: Scenario) -> Iterator[Event]:
    for node in scenario.cluster.nodes:
        yield event(-100, node, "node_starting", release=scenario.cluster.version + ".9")
        yield event(-99, node, "node_started")
        if scenario.cluster.down.get(node) == "stopped":
            yield event(-50, node, "node_stopping")
        elif node in scenario.cluster.down:
            yield from (event(-50, other, "node_down", peer=node) for other in scenario.cluster.nodes
                        if other not in scenario.cluster.down)  # fmt: skip


def _connections(scenario: Scenario, result: dict[str, Any]) -> Iterator[Event]:
    """Return one connection for each step that publishes or consumes."""
    begun = {one["step"]: one["t"] for one in reversed(result["events"]) if one["step"] is not None}
    for place, step in enumerate(scenario.steps):
        if isinstance(step.verb, CLIENTS):
            at_s = begun.get(place, step.at or 0.0)
            yield event(at_s, getattr(step.verb, "node", None) or scenario.cluster.nodes[0], "connection_accepted")


class _Logs:
    """The log messages of one outcome's events."""

    def __init__(self, result: dict[str, Any]):
        self.outcome = result
        self.running = {node for node, state in result["nodes"].items() if state == "running"}
        for one in reversed(result["events"]):
            if one["event"] == "node_running":
                self.running.discard(one["node"])
            elif one["event"] in ("node_stopped", "node_killed", "node_lost_power", "node_paused"):
                self.running.add(one["node"])
        self.masters: dict[str, str] = {}
        self.members = {queue: one["members"] for queue, one in result["queues"].items() if "members" in one}
        self.wiped: set[str] = set()
        self.missed: list[tuple[str, str]] = []

    def events(self) -> Iterator[Event]:
        """Return all events."""
        for one in self.outcome["events"]:
            say = getattr(self, one["event"], None)
            if say and one["t"] is not None:
                yield from say(one["t"], one["node"], one["queue"], one["detail"], one)

    def _of(self, queue: str) -> dict[str, str]:
        vhost, name = split_queue(queue)
        return {"queue": name, "vhost": vhost}

    def _others(self, node: str) -> list[str]:
        return sorted(self.running - {node})

    def node_stopping(self, t, node, _queue, _detail, one):
        because = one["because"] is not None and self.outcome["events"][one["because"]]["event"]
        if because == "autoheal_started":
            yield event(t, node, "autoheal_restarting")
        yield event(t, node, "node_stopping")

    def node_stopped(self, t, node, *_):
        self.running.discard(node)
        yield event(t, node, "node_stopped")

    def node_killed(self, _t, node, *_):
        self.running.discard(node)
        yield from ()

    node_lost_power = node_killed

    def node_pausing(self, t, node, *_):
        yield event(t + PAUSING_S, node, "pause_begun")
        yield event(t + PAUSING_S, node, "node_stopping")

    def node_paused(self, t, node, *_):
        self.running.discard(node)
        yield event(t, node, "node_stopped")

    def node_down_noticed(self, t, node, _queue, detail, one):
        because = one["because"] is not None and self.outcome["events"][one["because"]]["event"]
        if because == "links_timed_out":
            return
        for other in detail["by"]:
            yield event(t, other, "rabbit_down", peer=node)
            reason = "net_tick_timeout" if because in SILENCE else "connection_closed"
            yield event(t, other, "node_down", peer=node, reason=reason)

    def links_timed_out(self, t, _node, _queue, detail, _one):
        for one, other in detail["links"]:
            for here, there in ((one, other), (other, one)):
                if here in self.running:
                    self.missed.append((here, there))
                    yield event(t, here, "rabbit_down", peer=there)
                    yield event(t, here, "node_down", peer=there, reason="net_tick_timeout")

    def links_healed(self, t, *_):
        for here, there in self.missed:
            if here in self.running:
                yield event(t, here, "node_up", peer=there)
        self.missed.clear()

    def autoheal_started(self, t, _node, _queue, detail, _one):
        winner = detail["winner"][0]
        yield event(t, winner, "autoheal_decided", peer=winner, nodes=tuple(detail["losers"]))

    def node_waiting(self, t, node, *_):
        yield event(t, node, "node_waiting", count=8)

    def node_running(self, t, node, *_):
        self.running.add(node)
        yield event(t - BOOT_S, node, "node_starting", release="3.10.8")
        if node in self.wiped:
            self.wiped.discard(node)
            yield event(t - BOOT_S / 2, node, "disk_empty")
        yield from (event(t, other, "rabbit_up", peer=node) for other in self._others(node))
        yield event(t + BOOT_S, node, "node_started")

    def disk_lost(self, _t, node, *_):
        self.wiped.add(node)
        yield from ()

    def queue_declared(self, t, _node, queue, detail, _one):
        self.masters[queue] = detail["master"]
        if detail["type"] == "quorum":
            self.members[queue] = detail["members"]
            yield from self._elected(t, detail["master"], queue, 1)
            vhost, name = split_queue(queue)
            yield event(t, detail["master"], "group_formed", peer=detail["master"], count=len(detail["members"]),
                        name=f"{'%2F' if vhost == '/' else vhost}_{name}")  # fmt: skip
        yield from (event(t, detail["master"], "mirror_added", peer=node, **self._of(queue))
                    for node in detail["mirrors"])  # fmt: skip

    def queue_deleted(self, t, _node, queue, *_):
        yield from (event(t, node, "member_deleted", **self._of(queue)) for node in self.members.pop(queue, ())
                    if node in self.running)  # fmt: skip

    def mirror_added(self, t, node, queue, *_):
        yield event(t, self.masters.get(queue, node), "mirror_added", peer=node, **self._of(queue))

    def mirror_removed(self, t, node, queue, detail, _one):
        if detail["reason"] in ("policy", "transfer"):
            yield event(t, self.masters.get(queue, node), "mirror_dropped", peer=node, **self._of(queue))

    def promoted(self, t, node, queue, detail, _one):
        self.masters[queue] = node
        yield event(t, node, "replicas_down", peer=node, name="mirror", nodes=(detail["was"],), **self._of(queue))
        yield event(t, node, "mirror_promoted", peer=node, **self._of(queue))

    def master_down(self, t, node, queue, detail, _one):
        if detail["reason"] in ("policy", "transfer"):
            yield event(t, node, "mirror_dropped", peer=node, **self._of(queue))

    def mirrors_stopped(self, t, node, queue, *_):
        yield event(t, node, "mirrors_stopped", **self._of(queue))

    def sync_started(self, t, node, queue, detail, _one):
        self.masters[queue] = node
        yield event(t, node, "sync_begun", count=detail["messages"], **self._of(queue))
        yield event(t, node, "sync_mirrors", nodes=tuple(detail["mirrors"]), **self._of(queue))

    def sync_finished(self, t, _node, queue, *_):
        yield event(t, self.masters.get(queue, ""), "sync_done", **self._of(queue))

    def leader_elected(self, t, node, queue, detail, _one):
        if detail["term"] > 1:
            yield from self._elected(t, node, queue, detail["term"])

    def _elected(self, t, node, queue, term):
        yield event(t, node, "leader_elected", term=term, **self._of(queue))
        yield from (event(t, other, "leader_seen", term=term, peer=node, **self._of(queue))
                    for other in self.members.get(queue, ()) if other in self._others(node))  # fmt: skip

    def member_added(self, t, node, queue, *_):
        yield event(t, min(self.running), "member_added", peer=node, **self._of(queue))

    def member_removed(self, t, node, queue, *_):
        yield event(t, min(self.running), "member_removed", peer=node, **self._of(queue))

    def node_joined(self, t, node, *_):
        """Log a boot on the node's own disk and a stop before joining."""
        yield event(t - 3 * BOOT_S, node, "node_starting", release="3.10.8")
        if node in self.wiped:
            self.wiped.discard(node)
            yield event(t - 2.5 * BOOT_S, node, "disk_empty")
        yield event(t - 2 * BOOT_S, node, "node_started")
        yield event(t - BOOT_S, node, "node_stopping")
        yield event(t - BOOT_S / 2, node, "node_stopped")
        yield event(t, node, "member_joining", nodes=tuple(self._others(node)))

    def node_forgotten(self, t, node, _queue, detail, _one):
        if detail["origin"] in self.running:  # rabbitmqctl does it offline, and logs nothing
            yield event(t, detail["origin"], "member_forgotten", peer=node)

    def node_reset(self, t, node, *_):
        yield event(t, node, "node_reset")

    def node_drained(self, t, node, *_):
        yield event(t, node, "maintenance_begun")

    def node_revived(self, t, node, *_):
        yield event(t, node, "maintenance_ended")

    def rebalance_started(self, t, *_):
        yield event(t, min(self.running), "rebalance_begun")

    def queue_recovered(self, t, node, queue, detail, _one):
        self.masters[queue] = node
        if detail["reason"] == "process_restarted":
            yield event(t, node, "queue_recovered", **self._of(queue))

    def alarm_set(self, t, node, _queue, detail, _one):
        yield event(t, node, "alarm_set", peer=node, name=detail["resource"])

    def alarm_cleared(self, t, node, _queue, detail, _one):
        reason = "dead" if detail["reason"] == "node_down" else None
        yield event(t, min(self.running or {node}), "alarm_cleared", peer=node, name=detail["resource"], reason=reason)

    def policy_set(self, t, _node, _queue, detail, _one):
        yield event(t, min(self.running), "policy_set", name=detail["name"], vhost=detail["vhost"])
