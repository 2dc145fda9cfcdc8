"""The lines that a broker logs for the events of an outcome, in the words of its version.

The lines have the form in which `hawb.broker.node_logs` stores a real broker's log; `data/texts.csv` has both side by
side. A process is its node in angle brackets, or `<pid>` where the broker names no node, and nodes have no quotes.
Lines about a node are logged by the nodes that stay up. Events that a broker does not log, such as a mirror that
becomes synchronised because messages left the queue, have no line here.

Sources, at v3.8.9, v3.10.8 and v3.13.7: `rabbit_mirror_queue_misc` (`add_mirror`, `drop_mirror`),
`rabbit_mirror_queue_slave` (`promote_me`), `rabbit_mirror_queue_master` (`sync_mirrors`, `terminate`),
`rabbit_mirror_queue_sync`, `rabbit_node_monitor`, `rabbit_mnesia`, `rabbit_table`, `rabbit`, `rabbit_prequeue`
(`crash_restart`), `rabbit_alarm`, `rabbit_maintenance`, and `ra_server_proc` of Ra at v1.1.6, v2.2.0 and v2.13.5
(`handle_enter`), which names a quorum queue by `rabbit_misc:rs`.
"""

from __future__ import annotations

from collections.abc import Iterable

from hawb.engine.core.naming import described
from hawb.views.formatting import shown
from hawb.views.story.chronicle import Chronicle
from hawb.views.story.policies_in_force import PoliciesInForce

PAUSING = "Cluster minority/secondary status detected - awaiting recovery\nRabbitMQ is asked to stop..."

HELD = "cancelled while it was held"
"""The key for a synchronisation that is cancelled while an alarm holds it.

One that is cancelled between two batches is logged as complete, because the syncer asks for the next batch before it
receives the cancel message (`rabbit_mirror_queue_sync:master_done`). One that an alarm holds is logged as cancelled.
"""

LINES: dict[tuple[str, str | None], str] = {
    ("queue_declared", None): "Mirrored {queue}: Adding mirror on node {mirror}: <pid>",
    ("mirror_added", None): "Mirrored {queue}: Adding mirror on node {node}: <pid>",
    ("mirror_removed", "policy"): "Mirrored {queue}: Dropping queue mirror on node {node}",
    ("mirror_removed", "transfer"): "Mirrored {queue}: Dropping queue mirror on node {node}",
    ("master_down", "policy"): "Mirrored {queue}: Dropping queue mirror on node {node}",
    ("master_down", "transfer"): "Mirrored {queue}: Dropping queue mirror on node {node}",
    ("rebalance_started", None): "Starting queue rebalance operation: 'all' for vhosts matching '.*' and queues "
    "matching '.*'",
    ("promoted", None): "Mirrored {queue}: Promoting mirror <{node}> to {master}",
    ("leader_elected", None): "{queue}: candidate -> leader in term: {term} machine version: {machine_version}",
    ("metadata_leader_elected", None): "RabbitMQ metadata store: detected a new leader {{rabbitmq_metadata,{node}}} in "
    "term {term}",
    ("member_removed", None): "{queue}: removing member (replica) on node {node}",
    ("mirrors_stopped", None): "Mirrored {queue}: Stopping all nodes on master shutdown since no synchronised mirror "
    "(replica) is available",
    ("queue_recovered", "process_restarted"): "Restarting crashed {queue}.",
    ("alarm_set", None): "{resource} resource limit alarm set on node {node}.",
    ("alarm_cleared", "relieved"): "{resource} resource limit alarm cleared on node {node}",
    ("alarm_cleared", "node_down"): "{resource} resource limit alarm cleared for dead node {node}",
    ("node_drained", None): "This node is being put into maintenance (drain) mode",
    ("node_revived", None): "This node is being revived from maintenance (drain) mode",
    ("sync_started", None): "Mirrored {queue}: Synchronising: {messages} messages to synchronise\n"
    "Mirrored {queue}: Synchronising: mirrors [{mirrors}] to sync",
    ("sync_finished", None): "Mirrored {queue}: Synchronising: complete",
    ("sync_ended", "cancelled"): "Mirrored {queue}: Synchronising: complete",
    ("sync_ended", HELD): "Mirrored {queue}: Synchronising:  synchronisation cancelled ",
    ("sync_not_needed", None): "Mirrored {queue}: Synchronising: all mirrors already synced",
    ("node_stopping", None): "RabbitMQ is asked to stop...",
    ("node_stopped", None): "Successfully stopped RabbitMQ and its dependencies",
    ("node_booting", None): "Waiting for Mnesia tables for 30000 ms, 9 retries left",
    ("node_pausing", "majority"): PAUSING,
    ("node_pausing", "preferred"): PAUSING,
    ("autoheal_started", None): "Autoheal decision",
    ("node_paused", None): "Successfully stopped RabbitMQ and its dependencies",
    ("node_running", None): "node {node} up\nrabbit on node {node} up\nrabbit on node {other} up",
    ("node_down_noticed", None): "rabbit on node {node} down\nnode {node} down: {why_down}",
    ("node_forgotten", None): "Removing node {node} from cluster",
}
"""The lines by event and, where it decides, by the `reason` or `until` of the event's detail."""

SILENCE = ("links_timed_out", "node_lost_power")
"""The events that other nodes detect only by net_ticktime."""

OF_MNESIA = ("node_booting",)
"""The events that are logged only with Mnesia as metadata store."""

OF_RAFT = ("leader_elected", "member_added", "member_removed")
"""The events that a quorum queue logs in this form; a stream logs them by an identifier that contains the time."""

MASTER = {"3.8": "master"}
"""The log's word for a master where it is not "leader", by version."""

MACHINE_VERSIONS = {"3.8": 0, "3.10": 2, "3.13": 3, "4.0": 5, "4.3": 8}
"""The version of rabbit_fifo, a quorum queue's state machine, by release."""


def log_lines(
    outcome: dict, chosen: Iterable[int] | None = None, chronicle: Chronicle | None = None
) -> list[str | None]:
    """Return the log of each event of an outcome, or of the events at the `chosen` places.

    An event's log is None if the broker logs nothing. It has several lines if the broker logs more than one, or one for
    each mirror or node. Callers that choose a few events at a time pass the outcome's `chronicle`, which is costly to
    make.
    """
    chronicle = Chronicle(outcome) if chronicle is None else chronicle
    places = range(len(outcome["events"])) if chosen is None else chosen
    return [None if _is_quiet(chronicle, index) else _log_line(chronicle, index) for index in places]


def _is_quiet(chronicle: Chronicle, index: int) -> bool:
    """Return True if no node logs the line of an event.

    Khepri logs nothing while a node boots, streams log other lines, mirrors of a queue that no policy mirrors any more
    stop without a line, and a line about another node needs a running node that detects it.
    """
    event = chronicle.events[index]
    if event["detail"].get("by") == [] or (event["event"] in OF_MNESIA and "metadata_store" in chronicle.outcome):
        return True
    if event["event"] in OF_RAFT and _type_of(chronicle, event["queue"], index) == "stream":
        return True
    if (event["event"], event["detail"].get("reason")) != ("mirror_removed", "policy"):
        return False
    return "ha-mode" not in (PoliciesInForce(chronicle).definition(event["queue"], index) or {})


def _type_of(chronicle: Chronicle, queue: str, index: int) -> str:
    """Return the type of the queue that had this name at an event."""
    declared = next(chronicle.latest(("queue_declared",), queue, until=index), None)
    if declared is None:
        return chronicle.outcome["queues"].get(queue, {}).get("type", "")
    return declared["detail"]["type"]


def _reason(chronicle: Chronicle, index: int) -> str | None:
    """Return the reason that selects the line of an event."""
    event = chronicle.events[index]
    reason = event["detail"].get("reason", event["detail"].get("until"))
    if (event["event"], reason) != ("sync_ended", "cancelled"):
        return reason
    sync = next(chronicle.latest(("sync_started", "sync_held", "sync_resumed"), event["queue"], until=index), None)
    return HELD if sync is not None and sync["event"] == "sync_held" else reason


def _why_down(chronicle: Chronicle, event: dict) -> str:
    """Return why a node is down in the words of Erlang's net_kernel: a tick timeout or a closed connection."""
    because = event.get("because")
    silent = because is not None and chronicle.events[because]["event"] in SILENCE
    return "net_tick_timeout" if silent else "connection_closed"


def _log_line(chronicle: Chronicle, index: int) -> str | None:
    """Return the log of one event in the words of the outcome's version; None if the version logs nothing."""
    event, version = chronicle.events[index], chronicle.outcome["version"]
    name, detail = event["event"], event["detail"]
    line = LINES.get((name, None)) or LINES.get((name, _reason(chronicle, index)))
    if line is None:
        return None
    words = {
        "queue": None if event["queue"] is None else described(shown(event["queue"])),
        "node": shown(event["node"]),
        "messages": detail.get("messages"),
        "resource": detail.get("resource"),
        "master": MASTER.get(version, "leader"),
        "mirrors": ",".join(map(shown, detail.get("mirrors", ()))),
        "term": detail.get("term"),
        "machine_version": MACHINE_VERSIONS[version],
        "why_down": _why_down(chronicle, event),
    }
    each = chronicle.others_running[index] if "{other}" in line else detail.get("mirrors", [None])
    written = [line.format(mirror=shown(one), other=shown(one), **words) for one in each]
    return "\n".join(dict.fromkeys("\n".join(written).splitlines())) or None
