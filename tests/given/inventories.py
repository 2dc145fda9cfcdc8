"""Inventories of made-up clusters, the files of a real one, and the codes of the linter's findings there."""

from __future__ import annotations

from pathlib import Path

from hawb.exports.queue_rows import QueueFacts
from hawb.planning.inventory import Inventory, Queue
from hawb.planning.lint import Report
from hawb.rules.policies import Policy
from hawb.rules.profiles import PROFILES

ROOT = Path(__file__).parents[2]
REAL = ROOT / "data" / "real"
FILES = [REAL / name for name in ("definitions.json", "api-queues.json", "api-nodes.json", "api-overview.json")]
HA = {"ha_mode": "exactly", "ha_params": 2}
NODES = dict.fromkeys("abc", True)


def queue(name: str = "q", vhost: str = "/", **facts: object) -> Queue:
    """Return a queue with these attributes: a durable classic one unless they say otherwise."""
    return Queue(vhost, name, QueueFacts(**{"type": "classic", "durable": True, "arguments": {}} | facts))


def policy(name: str = "p", pattern: str = "^q", priority: int = 0, apply_to: str = "queues", **keys: object) -> Policy:
    """Return a policy; underscores in keys stand for dashes."""
    return Policy.of(name, pattern, {key.replace("_", "-"): value for key, value in keys.items()}, priority, apply_to)


def cluster(*policies: Policy, queues: list[Queue] | None = None, version: str = "3.10", **more: object) -> Inventory:
    """Return a cluster with these policies: three nodes and one queue, unless others are given."""
    data = {"policies": list(policies), "queues": [queue()] if queues is None else queues, "nodes": NODES} | more
    return Inventory(profile=PROFILES[version], **data)


def codes(found: Report) -> set[str]:
    """Return the codes of findings."""
    return {finding.code for finding in found.findings}
