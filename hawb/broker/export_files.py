"""Where a cluster that is driven stands, in the files that its operator would export: definitions as `rabbitmqctl
export_definitions` writes them, queues and nodes as the management API lists them (`hawb.exports.imported` reads all
three). Nodes have the names by which Erlang knows them, as in their logs.

The definitions are the broker's own words, of which only the sections that tell of queues are kept: no user, password,
permission or name of a machine. The listings are made from what the nodes answer at that moment, since the management
plugin shows figures of some seconds ago.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from hawb.broker.drive import Drive
from hawb.broker.observe import queue_of
from hawb.engine.core.naming import join_queue, split_queue

SECTIONS = ("rabbit_version", "rabbitmq_version", "vhosts", "parameters", "policies", "queues", "exchanges", "bindings")
"""The sections of an export that are kept."""
COUNTS = ("messages", "messages_ready", "messages_unacknowledged")
OWN = ("name", "vhost", "exclusive", "auto_delete")
"""What a listing has of a queue as the broker has it."""
COPIED = ("type", "durable", "policy", "operator_policy", "state")
"""What a listing calls as an outcome does."""
EXPORT_S = 60


class Export(NamedTuple):
    """What was exported at one moment: the definitions, None where no node ran, and the listings."""

    definitions: dict[str, Any] | None
    queues: list[dict[str, Any]]
    nodes: list[dict[str, Any]]


def export(drive: Drive) -> Export:
    """Everything that an operator would export now. Raises CallFailed."""
    views = drive.snapshot()
    asked = next(iter(drive.cluster.running()), None)
    definitions = asked and drive.cluster.ask(asked, "rabbit_definitions", "all_definitions", timeout_s=EXPORT_S)
    return Export(definitions and told_of_queues(definitions), queue_listing(drive, views), node_listing(drive, views))


def told_of_queues(definitions: dict[str, Any]) -> dict[str, Any]:
    """The sections of an export that tell of queues."""
    kept = {section: definitions[section] for section in SECTIONS if section in definitions}
    parameters = [entry for entry in kept.get("parameters", ()) if entry["component"] == "operator_policy"]
    return kept | {"parameters": parameters}


def queue_listing(drive: Drive, views: dict[str, Any]) -> list[dict[str, Any]]:
    """Each queue as the first running node that knows it has it, in the form of /api/queues; `views` is what
    `Drive.snapshot` has told."""
    rows = [row for view in views.values() for row in view.get("queues", ())]
    known = {join_queue(row["vhost"], row["name"]): row for row in reversed(rows)}
    return [listed(drive, known[name]) for name in sorted(known, key=split_queue)]


def listed(drive: Drive, row: dict[str, Any]) -> dict[str, Any]:
    """A queue as the management API lists it."""
    queue = queue_of(drive, row)
    found = {key: row[key] for key in OWN} | {key: queue[key] for key in (*COPIED, *COUNTS) if key in queue}
    if queue["type"] != "classic":
        leader = {"leader": erlang(drive, [queue["leader"]])[0]} if queue["leader"] in drive.cluster.nodes else {}
        return found | leader | {"members": erlang(drive, queue["members"]), "online": erlang(drive, queue["online"])}
    found |= {"node": erlang(drive, [queue["master"]])[0]}
    if drive.cluster.profile.mirroring:
        found["recoverable_slaves"] = erlang(drive, queue["recoverable_mirrors"])
    if queue["mirrored"]:
        mirrors = {"slave_nodes": "mirrors", "synchronised_slave_nodes": "synchronised_mirrors"}
        found |= {key: erlang(drive, queue[field]) for key, field in mirrors.items()}
    return found


def node_listing(drive: Drive, views: dict[str, Any]) -> list[dict[str, Any]]:
    """The members in the form of /api/nodes, each with the running nodes that it does not see."""
    running = {name for name, view in views.items() if view["state"] == "running"}
    return [
        {
            "name": drive.cluster.erlang[name],
            "type": "disc",
            "running": name in running,
            "net_ticktime": max(1, round(drive.cluster.entry.net_ticktime)),
            "partitions": erlang(drive, sorted(running - seen_by(drive, views[name]))) if name in running else [],
            "mem_alarm": (name, "memory") in drive.alarms,
            "disk_free_alarm": (name, "disk") in drive.alarms,
            "being_drained": name in drive.drained,
        }
        for name in views if name in drive.members
    ]  # fmt: skip


def seen_by(drive: Drive, view: dict[str, Any]) -> set[str]:
    """The nodes that a node sees, by the scenario's names; all of them where it does not say."""
    return {drive.cluster.names.get(node, node) for node in view.get("nodes", drive.cluster.names)}


def erlang(drive: Drive, nodes: Iterable[str]) -> list[str]:
    """Nodes by the names that Erlang knows."""
    return [drive.cluster.erlang.get(node, node) for node in nodes]
