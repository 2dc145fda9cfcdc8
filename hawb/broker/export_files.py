"""Export the state of a driven cluster into the files that its operator would export.

They are definitions as `rabbitmqctl export_definitions` writes them, and queues and nodes as the management API lists
them (`hawb.exports.imported` reads all three). Nodes have their Erlang names, as in their logs.

The definitions are the broker's own, of which only the sections about queues are kept: no user, password, permission or
name of a machine. The listings are made from the nodes' answers at that moment, since the management plugin shows
figures that are some seconds old.
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
"""The fields of a queue that a listing copies from the broker's record."""
COPIED = ("type", "durable", "policy", "operator_policy", "state")
"""The fields that have the same name in a listing and in an outcome."""
EXPORT_S = 60


class Export(NamedTuple):
    """The export of one moment: the definitions, None if no node ran, and the listings."""

    definitions: dict[str, Any] | None
    queues: list[dict[str, Any]]
    nodes: list[dict[str, Any]]


def export(drive: Drive) -> Export:
    """Return all that an operator would export now. Raise CallFailed."""
    views = drive.snapshot()
    asked = next(iter(drive.cluster.running()), None)
    definitions = asked and drive.cluster.ask(asked, "rabbit_definitions", "all_definitions", timeout_s=EXPORT_S)
    return Export(definitions and queue_sections(definitions), queue_listing(drive, views), node_listing(drive, views))


def queue_sections(definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the sections of an export about queues."""
    kept = {section: definitions[section] for section in SECTIONS if section in definitions}
    parameters = [entry for entry in kept.get("parameters", ()) if entry["component"] == "operator_policy"]
    return kept | {"parameters": parameters}


def queue_listing(drive: Drive, views: dict[str, Any]) -> list[dict[str, Any]]:
    """Return each queue, as the first running node with a record of it has it, in the form of /api/queues.

    `views` is the result of `Drive.snapshot`.
    """
    rows = [row for view in views.values() for row in view.get("queues", ())]
    known = {join_queue(row["vhost"], row["name"]): row for row in reversed(rows)}
    return [listed(drive, known[name]) for name in sorted(known, key=split_queue)]


def listed(drive: Drive, row: dict[str, Any]) -> dict[str, Any]:
    """Return a queue as the management API lists it."""
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
    """Return the members in the form of /api/nodes, each with the running nodes that it does not see."""
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
    """Return the nodes that a node sees, by the scenario's names; all of them if it does not say."""
    return {drive.cluster.names.get(node, node) for node in view.get("nodes", drive.cluster.names)}


def erlang(drive: Drive, nodes: Iterable[str]) -> list[str]:
    """Return the Erlang names of nodes."""
    return [drive.cluster.erlang.get(node, node) for node in nodes]
