"""Outcomes for tests of views: played scenarios, hostile names, and a recorded outcome with fewer fields."""

from __future__ import annotations

import json

from hawb.scenario.load import load
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run

UNSYNCHRONISED = """
scenario: An unsynchronised mirror is promoted
cluster: {nodes: [a, b, c], version: "3.10"}
steps:
  - set_policy: {name: ha-all, pattern: '^ha', definition: {ha-mode: all}}
  - declare: {queue: ha.orders, node: a}
  - publish: {queue: ha.orders, count: 100}
  - stop: b
  - start: b
  - publish: {queue: ha.orders, count: 10}
  - stop: c
  - kill: a
"""

QUORUM_PARTED = """
scenario: A quorum queue's leader is parted from the majority, and the next one loses its own
cluster: {nodes: [a, b, c, d, e], version: "3.10"}
steps:
  - declare: {queue: q, node: e, arguments: {x-queue-type: quorum, x-quorum-initial-group-size: 5}}
  - publish: {queue: q, count: 10}
  - wait: 60
  - partition: [[a, b, c], [d, e]]
  - wait: 15
  - publish: {queue: q, count: 5, node: a}
  - publish: {queue: q, count: 5, node: e}
  - kill: b
  - publish: {queue: q, count: 5, node: a}
"""

LEADER_ALONE = """
scenario: A leader goes on alone, and what it took has to make room
cluster: {nodes: [a, b, c], version: "3.10"}
steps:
  - declare: {queue: q, node: a, arguments: {x-queue-type: quorum}}
  - publish: {queue: q, count: 5}
  - partition: [[a], [b, c]]
  - publish: {queue: q, count: 3, node: a}
  - wait: 30
  - publish: {queue: q, count: 2, node: b}
"""

DECLARE = {"declare": {"queue": "q", "node": "a"}}
HOSTILE = ["<script>alert(1)</script>", "\"'&]]>", "a\nb", "\u202eevil", "\u05d0\u05d1\u05d2", "\x1b[31mred"]


def play(text: str) -> dict:
    """Return the outcome of a scenario."""
    return outcome(Run.of(load(text)))


def before_last_step(text: str) -> tuple[dict, dict]:
    """Return the outcomes without and with the last step."""
    run = Run.of(load(text))
    now = outcome(run)
    run.undo()
    return outcome(run), now


def steps(*steps: dict, nodes: tuple[str, ...] = ("a", "b", "c"), version: str = "3.10") -> dict:
    """Return the outcome of steps given as plain values."""
    cluster = {"nodes": list(nodes), "version": version}
    return play(json.dumps({"scenario": "steps", "cluster": cluster, "steps": list(steps)}))


def publish(count: int, **more: object) -> dict:
    """Return a step that publishes to q at a."""
    return {"publish": {"queue": "q", "count": count, "node": "a", **more}}


def policy(**definition: object) -> dict:
    """Return a step that sets a policy for every queue; underscores in keys stand for dashes."""
    given = {key.replace("_", "-"): value for key, value in definition.items()}
    return {"set_policy": {"name": "p", "pattern": ".*", "definition": given}}


def recorded(result: dict) -> dict:
    """Return the outcome as a recording of a real broker has it, without the engine's extra fields."""
    queues = {
        name: {key: value for key, value in queue.items() if key != "replicas"}
        for name, queue in result["queues"].items()
    }
    events = [{key: value for key, value in event.items() if key != "because"} for event in result["events"]]
    return result | {"queues": queues, "events": events}


def hostile(name: str) -> dict:
    """Return an outcome in which a node, a queue and a policy have this name."""
    return steps(
        {"set_policy": {"name": name, "pattern": ".*", "definition": {"ha-mode": "all"}}},
        {"declare": {"queue": name, "node": name}},
        {"publish": {"queue": name, "count": 3, "persistent": False, "node": name}},
        {"consume": {"consumer": name, "queue": name, "node": name}},
        {"declare": {"queue": f"{name}2", "node": name, "arguments": {"x-queue-type": "quorum"}}},
        {"publish": {"queue": f"{name}2", "count": 3, "node": name}},
        {"stop": "other"},
        {"publish": {"queue": f"{name}2", "count": 3, "node": name}},
        {"kill": name},
        nodes=(name, "other"),
    )
