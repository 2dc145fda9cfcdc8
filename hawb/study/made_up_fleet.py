"""Make up exports of any number of clusters, always the same, to try out and to time an audit.

Each cluster is one file: a definitions export, or for every fifth a listing of its running queues. Releases, policies
and kinds of queues differ from cluster to cluster, as where many teams run one each. No data is real.
"""

from __future__ import annotations

import json
from pathlib import Path

from hawb.engine.core import randomness

LISTINGS = 5
"""One in this many files is a listing of a running cluster."""
RELEASES = ("3.8.9", "3.10.8", "3.13.7")
DRAW_QUEUES, DRAW_POLICIES = 200, 201
"""Purposes of draws."""

FAMILIES = ("ha", "two", "orders", "orders.tmp", "avail", "plain", "votes", "votes")
"""The beginnings of queues' names; queues of `votes` are quorum queues."""

POLICIES = {
    "ha-all": (r"^ha\.", 0, {"ha-mode": "all"}),
    "ha-two": (r"^two\.", 0, {"ha-mode": "exactly", "ha-params": 2, "ha-sync-mode": "automatic"}),
    "orders": (r"^orders\.", 5, {"ha-mode": "exactly", "ha-params": 2, "ha-promote-on-failure": "when-synced"}),
    "ttl": (r"^orders\.tmp\.", 10, {"message-ttl": 600_000}),
    "always": (r"^avail\.", 1, {"ha-mode": "all", "ha-promote-on-shutdown": "always"}),
}


KINDS: list[dict] = [
    *[{}] * 12, {"arguments": {"x-max-priority": 5}}, {"arguments": {"x-queue-mode": "lazy"}}, {"durable": False},
    {"arguments": {"x-message-ttl": 60_000}},
]  # fmt: skip
"""The properties and arguments of classic queues, most of which have none."""


def write(folder: Path, clusters: int, queues: int, broken: int = 0, varied: bool = True) -> None:
    """Write `clusters` clusters of up to `queues` queues each into a new folder, and `broken` unreadable files.

    With `varied` the clusters also differ in size and policies.
    """
    folder.mkdir(parents=True)
    for number in range(clusters):
        size = 1 + randomness.below(queues, number, DRAW_QUEUES, 1, 0) if varied else queues
        names = [name for n, name in enumerate(POLICIES)
                 if not varied or randomness.below(3, number, DRAW_POLICIES, n, 0)]  # fmt: skip
        listing = number % LISTINGS == 0
        declared = [_queue(number, n, varied) for n in range(size)]
        listed = [_listed(number, n, queue) for n, queue in enumerate(declared)] if listing else None
        export = listed or _export(number, declared, names)
        (folder / f"cluster-{number:05}.json").write_text(json.dumps(export), encoding="utf-8")
    for number in range(broken):
        (folder / f"broken-{number:05}.json").write_text('{"queues": [' * (number + 1), encoding="utf-8")


def _export(number: int, queues: list[dict], policies: list[str]) -> dict:
    return {
        "rabbitmq_version": RELEASES[number % len(RELEASES)],
        "vhosts": [{"name": "/"}],
        "users": [{"name": "guest", "password_hash": "made up"}],
        "policies": [
            {"vhost": "/", "name": name, "pattern": pattern, "apply-to": "queues", "priority": priority,
             "definition": definition}
            for name, (pattern, priority, definition) in POLICIES.items() if name in policies
        ],
        "queues": queues,
    }  # fmt: skip


def _queue(number: int, n: int, varied: bool) -> dict:
    family = FAMILIES[randomness.below(len(FAMILIES), number, DRAW_QUEUES, 0, n)]
    kind = "quorum" if family == "votes" else "classic"
    more = KINDS[randomness.below(len(KINDS), number, DRAW_QUEUES, 2, n)] if varied and kind == "classic" else {}
    return {
        "name": f"{family}.{number}.{n}", "vhost": "/", "type": kind, "durable": True, "auto_delete": False,
        "arguments": {"x-queue-type": "quorum"} if kind == "quorum" else {},
    } | more  # fmt: skip


def _listed(number: int, n: int, queue: dict) -> dict:
    nodes = [f"rabbit@{number}-{node}" for node in "abc"]
    nodes = nodes[n % 3 :] + nodes[: n % 3]
    common = queue | {"node": nodes[0], "messages": n, "message_bytes": 1024 * n}
    if queue["type"] == "quorum":
        return common | {"leader": nodes[0], "members": nodes, "online": nodes[: 2 + n % 2]}
    return common | {
        "slave_nodes": nodes[1:2], "synchronised_slave_nodes": nodes[1:2] if n % 7 else [],
        "effective_policy_definition": POLICIES["ha-two"][2], "policy": "ha-two",
    }  # fmt: skip
