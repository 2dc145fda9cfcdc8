"""The lines that a broker writes into its log for the events of an outcome, in the words of its version.

Process identifiers are left out: where a line has nothing else for a process, its node stands in angle brackets. Lines
about nodes are written by those that stay. Events for which nothing is written, such as a mirror that becomes
synchronised because messages left the queue, have no line here either.

Sources, at v3.8.9, v3.10.8 and v3.13.7: `rabbit_mirror_queue_misc` (`add_mirror`, `drop_mirror`),
`rabbit_mirror_queue_slave` (`promote_me`), `rabbit_mirror_queue_master` (`sync_mirrors`, `terminate`),
`rabbit_mirror_queue_sync`, `rabbit_node_monitor`, `rabbit_mnesia`, `rabbit_table`, `rabbit`, `rabbit_prequeue`
(`crash_restart`), `rabbit_alarm`, `rabbit_maintenance`, and `ra_server_proc` of Ra at v1.1.6, v2.2.0 and v2.13.5
(`handle_enter`), which names a quorum queue by `rabbit_misc:rs`.
"""

from __future__ import annotations

from collections.abc import Iterable

from hawb.engine.naming import described
from hawb.views.chronicle import Chronicle
from hawb.views.policies_in_force import PoliciesInForce
from hawb.views.words import shown

LINES: dict[tuple[str, str | None], str] = {
    ("queue_declared", None): "Mirrored {queue}: Adding mirror on node {mirror}",
    ("mirror_added", None): "Mirrored {queue}: Adding mirror on node {node}",
    ("mirror_removed", "policy"): "Mirrored {queue}: Dropping queue mirror on node {node}",
    ("mirror_removed", "transfer"): "Mirrored {queue}: Dropping queue mirror on node {node}",
    ("master_down", "policy"): "Mirrored {queue}: Dropping queue mirror on node {node}",
    ("master_down", "transfer"): "Mirrored {queue}: Dropping queue mirror on node {node}",
    ("rebalance_started", None): "Starting queue rebalance operation: 'all' for vhosts matching '.*' and queues "
    "matching '.*'",
    ("promoted", None): "Mirrored {queue}: Promoting mirror <{node}> to {master}",
    ("leader_elected", None): "{queue}: candidate -> leader in term: {term} machine version: {machine_version}",
    ("mirrors_stopped", None): "Mirrored {queue}: Stopping all nodes on master shutdown since no synchronised mirror "
    "(replica) is available",
    ("queue_recovered", "process_restarted"): "Restarting crashed {queue}.",
    ("alarm_set", None): "{resource} resource limit alarm set on node {node}.",
    ("alarm_cleared", "relieved"): "{resource} resource limit alarm cleared on node {node}",
    ("alarm_cleared", "node_down"): "{resource} resource limit alarm cleared for dead node {node}",
    ("node_drained", None): "This node is being put into maintenance (drain) mode",
    ("node_revived", None): "This node is being revived from maintenance (drain) mode",
    ("sync_started", None): "Mirrored {queue}: Synchronising: {messages} messages to synchronise",
    ("sync_finished", None): "Mirrored {queue}: Synchronising: complete",
    ("sync_ended", "cancelled"): "Mirrored {queue}: Synchronising:  synchronisation cancelled ",
    ("sync_not_needed", None): "Mirrored {queue}: Synchronising: all mirrors already synced",
    ("node_stopping", None): "RabbitMQ is asked to stop...",
    ("node_waiting", None): "Waiting for Mnesia tables for 30000 ms, 9 retries left",
    ("node_down_noticed", None): "rabbit on node {node} down",
    ("node_forgotten", None): "Removing node {node} from cluster",
}
"""By event and, where it decides, the reason in its detail."""

MASTER = {"3.8": "master"}
"""What a version calls the master; later ones say leader."""

MACHINE_VERSIONS = {"3.8": 0, "3.10": 2, "3.13": 3, "4.0": 5}
"""The version of rabbit_fifo, a quorum queue's state machine."""


def log_lines(outcome: dict, chosen: Iterable[int] | None = None) -> list[str | None]:
    """What the log has of each event of an outcome, or of those `chosen` by their places: a line, several where it has
    one for each mirror, or None."""
    version, events, in_force = outcome["version"], outcome["events"], PoliciesInForce(Chronicle(outcome))
    return [
        None if _is_quiet(events[index], in_force, index) else log_line(events[index], version)
        for index in (range(len(events)) if chosen is None else chosen)
    ]


def _is_quiet(event: dict, in_force: PoliciesInForce, index: int) -> bool:
    """Whether nobody writes the line: mirrors that go because their queue is not to be mirrored any more are stopped
    without one, and what the others notice needs others."""
    if event["detail"].get("by") == []:
        return True
    if (event["event"], event["detail"].get("reason")) != ("mirror_removed", "policy"):
        return False
    return "ha-mode" not in (in_force.definition(event["queue"], index) or {})


def log_line(event: dict, version: str) -> str | None:
    """What the log of a version has of one event."""
    detail = event["detail"]
    line = LINES.get((event["event"], None)) or LINES.get((event["event"], detail.get("reason")))
    if line is None:
        return None
    words = {
        "queue": None if event["queue"] is None else described(shown(event["queue"])),
        "node": shown(event["node"]),
        "messages": detail.get("messages"),
        "resource": detail.get("resource"),
        "master": MASTER.get(version, "leader"),
        "term": detail.get("term"),
        "machine_version": MACHINE_VERSIONS[version],
    }
    written = [line.format(mirror=shown(mirror), **words) for mirror in detail.get("mirrors", [None])]
    return "\n".join(dict.fromkeys(written)) or None
