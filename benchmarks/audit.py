"""An audit of 2,000,000 made-up queues in 2,000 files: queues a second on Spark and in one process.

HAWB_AUDIT_FILES=200 takes a tenth.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import rate, seconds
from hawb.engine import chance
from hawb.study.audit import audit
from hawb.study.audit_rows import audited
from hawb.study.fleet import ClusterFiles, clusters
from hawb.study.fleet_sources import collecting_later
from hawb.study.spark import session

FILES = int(os.environ.get("HAWB_AUDIT_FILES", "2000"))
QUEUES_IN_A_FILE = 1_000
QUEUES = FILES * QUEUES_IN_A_FILE
LISTINGS = 5
"""Every fifth file is a listing of a running cluster, the others are definitions exports."""
ROUNDS = 5
DRAW_QUEUES = 200

FAMILIES = ("ha", "two", "orders", "orders.tmp", "avail", "plain", "votes", "votes")
POLICIES = {
    "ha-all": (r"^ha\.", 0, {"ha-mode": "all"}),
    "ha-two": (r"^two\.", 0, {"ha-mode": "exactly", "ha-params": 2, "ha-sync-mode": "automatic"}),
    "orders": (r"^orders\.", 5, {"ha-mode": "exactly", "ha-params": 2, "ha-promote-on-failure": "when-synced"}),
    "ttl": (r"^orders\.tmp\.", 10, {"message-ttl": 600_000}),
    "always": (r"^avail\.", 1, {"ha-mode": "all", "ha-promote-on-shutdown": "always"}),
}


def figures() -> Iterator[str]:
    """The lines that `make bench` prints."""
    with tempfile.TemporaryDirectory(prefix="hawb-audit-") as folder:
        made_up(Path(folder, "fleet"))
        fleet = clusters([Path(folder, "fleet")])
        spark = session()
        alone = seconds(lambda: in_one_process(fleet), ROUNDS)
        spread = seconds(lambda: audit(spark, [Path(folder, "fleet")], Path(folder, "audit")), ROUNDS)
        cores = spark.sparkContext.defaultParallelism
        spark.stop()
    yield rate("queues, one process", QUEUES, alone)
    yield rate(f"queues, Spark on {cores} cores; limit 80,000", QUEUES, spread)
    times = statistics.median(alone) / statistics.median(spread)
    yield f"Spark, which also writes, over one process: {times:.2f} times"


def in_one_process(fleet: list[ClusterFiles]) -> None:
    """Looks at every cluster, and writes nothing."""
    with collecting_later():
        for cluster in fleet:
            audited(cluster)


def made_up(folder: Path) -> None:
    """Writes the fleet: each file a cluster of its own."""
    folder.mkdir()
    for number in range(FILES):
        listing = number % LISTINGS == 0
        told = [_listed(number, n) for n in range(QUEUES_IN_A_FILE)] if listing else _export(number)
        (folder / f"cluster-{number:05}.json").write_text(json.dumps(told))


def _export(number: int) -> dict:
    return {
        "rabbitmq_version": ("3.8.9", "3.10.8", "3.13.7")[number % 3],
        "vhosts": [{"name": "/"}],
        "users": [{"name": "guest", "password_hash": "made up"}],
        "policies": [
            {"vhost": "/", "name": name, "pattern": pattern, "apply-to": "queues", "priority": priority,
             "definition": definition}
            for name, (pattern, priority, definition) in POLICIES.items()
        ],
        "queues": [_queue(number, n) for n in range(QUEUES_IN_A_FILE)],
    }  # fmt: skip


def _queue(number: int, n: int) -> dict:
    family = FAMILIES[chance.below(len(FAMILIES), number, DRAW_QUEUES, 0, n)]
    kind = "quorum" if family == "votes" else "classic"
    return {
        "name": f"{family}.{number}.{n}", "vhost": "/", "type": kind, "durable": True, "auto_delete": False,
        "arguments": {"x-queue-type": "quorum"} if kind == "quorum" else {},
    }  # fmt: skip


def _listed(number: int, n: int) -> dict:
    queue, nodes = _queue(number, n), [f"rabbit@{number}-{node}" for node in "abc"]
    nodes = nodes[n % 3 :] + nodes[: n % 3]
    common = queue | {"node": nodes[0], "messages": n, "message_bytes": 1024 * n}
    if queue["type"] == "quorum":
        return common | {"leader": nodes[0], "members": nodes, "online": nodes[: 2 + n % 2]}
    return common | {
        "slave_nodes": nodes[1:2], "synchronised_slave_nodes": nodes[1:2] if n % 7 else [],
        "effective_policy_definition": POLICIES["ha-two"][2], "policy": "ha-two",
    }  # fmt: skip
