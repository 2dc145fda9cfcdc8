"""The outcome of a drive, as far as a real cluster shows it; missing fields are named in `unobserved`.

Content is read last: a client fetches a queue's messages, and gives them back by closing its connection. Before that
all other clients are closed, so that the messages that they held are delivered as well, with their redelivered flag.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from typing import Any

from hawb.broker.clients import UNNUMBERED, Subscriber, as_set, in_order
from hawb.broker.connections import Refused
from hawb.broker.control import CallFailed
from hawb.broker.drive import BUILDING, SILENT, Drive
from hawb.engine.core.naming import join_queue, split_queue
from hawb.engine.core.runs import as_lists, size
from hawb.rules.quorum import is_critical, majority
from hawb.scenario.document import Scenario

UNOBSERVED = (
    "availability", "events", "losses", "publishers.*.blocked_s", "time_s", "ledger.*.lost", "ledger.*.lost_confirmed",
    "ledger.*.refused", "ledger.*.removed", "ledger.*.delivered_twice", "queues.*.replicas", "queues.*.term",
    "queues.*.commit_index", "queues.*.uncommitted", "seed",
)  # fmt: skip
"""The fields that no broker shows."""
UNSERVED = frozenset({"down", "minority"})
"""The states of a queue from which no client can read."""
NOT_REPORTED = "untold"
"""The place of a consumer at a quorum queue without a leader, which alone knows it."""
DRAIN_S = 120


def observe(drive: Drive, scenario: Scenario) -> dict[str, Any]:
    """Return the outcome at the end of a drive, with the content of queues."""
    seen = glance(drive)
    if drive.cluster.links:
        drive.cluster.links.speed_up()
    queues = seen.get("queues", {})
    for name, content in read_contents(drive, queues).items():
        if is_whole(queues[name], content):
            queues[name].update(content)
    missing = [f"queues.{name}.ids" for name, queue in sorted(queues.items()) if "ids" not in queue]
    missing += [key for key in ("queues", "deleted") if key not in seen]
    return {"contract": 1, "scenario": scenario.scenario, **seen, "unobserved": [*UNOBSERVED, *missing]}


def is_whole(queue: dict[str, Any], content: dict[str, Any]) -> bool:
    """Return True if as many messages were read as the queue was said to have.

    Fewer are read if messages that a client returned have expired, been rejected, or been dropped because of a length
    limit. In a minority more may be read, since entries that were not committed may be committed once there is a
    majority.
    """
    count, read = queue.get("messages"), size(content["ids"])
    return count is None or count == read or (queue["state"] == "minority" and count < read)


def glance(drive: Drive) -> dict[str, Any]:
    """Return the part of an outcome that can be read without side effects.

    Clients come first: nodes may take seconds to answer while a link is broken.
    """
    ledger, publishers = ledger_of(drive), publishers_of(drive)
    errors = sorted(drive.errors, key=lambda error: error["step"])
    views = drive.snapshot()
    rows = [row for view in views.values() for row in view.get("queues", ())]
    queues = queues_of(drive, views)
    leaderless = {name for name, queue in queues.items() if queue["state"] == "minority"}
    places = {name: NOT_REPORTED for name, one in drive.clients.subscribers.items() if one.queue in leaderless}
    places |= {tag: status for row in rows for tag, status in row["consumers"].items()}
    counting = counted(drive.clients.subscribers.values(), queues)
    gone = drive.clients.declared - queues.keys()
    seen = {"queues": queues, "deleted": sorted(gone, key=split_queue)}
    return {
        "nodes": {name: node_state(view["state"]) for name, view in sorted(views.items())},
        "partitions": sides(drive, views),
        # Where no node runs, none can be asked.
        **(seen if any("queues" in view for view in views.values()) else {}),
        "ledger": ledger,
        "consumers": {
            name: consumer_of(subscriber, places.get(name), subscriber.queue in counting)
            for name, subscriber in sorted(drive.clients.subscribers.items())
            if not name.startswith(BUILDING)
        },
        # Recordings without steady publishers have no such field.
        **({"publishers": publishers} if publishers else {}),
        "errors": errors,
    }


def ledger_of(drive: Drive) -> dict[str, dict[str, Any]]:
    """Return the ledger by queue, as far as clients know it: published, confirmed, nacked and acknowledged messages."""
    return {
        name: {
            "published": account.published,
            "confirmed": as_lists(as_set(account.confirmed)),
            "nacked": as_lists(as_set(account.nacked)),
            "acknowledged": as_lists(as_set(account.acknowledged)),
        }
        for name, account in sorted(drive.clients.accounts.items(), key=lambda item: split_queue(item[0]))
    }


def publishers_of(drive: Drive) -> dict[str, dict[str, Any]]:
    """Return the steady publishers.

    The number of messages that one has published is unknown while RabbitMQ does not read from it: some of them wait in
    sockets.
    """
    publishers, found = drive.clients.publishers, {}
    nodes = drive.cluster.running() if any(publisher.open for publisher in publishers.values()) else ()
    waiting = {name for node in nodes for name in drive.cluster.control.evaluate(f"control:held_back('{node.erlang}')")}
    for name, publisher in sorted(publishers.items()):
        state = publisher.state(throttled=publisher.connection in waiting, now_s=time.monotonic())
        found[name] = {"state": state, "published": publisher.published, "confirmed": publisher.confirmed}
        if state == "blocked":
            del found[name]["published"]
    return found


def counted(subscribers: Iterable[Subscriber], queues: dict[str, dict[str, Any]]) -> set[str]:
    """Return the queues whose clients hold as many messages as the queue has given out.

    A client is not notified that a delivery is void because its queue is gone or has another master.
    """
    held: Counter[str] = Counter()
    for subscriber in subscribers:
        held[subscriber.queue] += len(subscriber.held)
    return {name for name, count in held.items() if queues.get(name, {}).get("messages_unacknowledged", 0) == count}


def consumer_of(subscriber: Subscriber, status: str | None, counting: bool) -> dict[str, Any]:
    """Return a consumer or holder.

    `status` is the consumer's status in the listing of its queue, None if it is not listed there, and left out if
    unknown (`NOT_REPORTED`). Its held
    messages are included if client and queue agree on them (`counting`), and their numbers if all have one.
    """
    active = subscriber.state == "active" and subscriber.subscribed
    deaf = active and status is None and not subscriber.cancel_notify
    found = {
        # A client without cancel notifications still counts as active. If a client with them got none, its channel
        # tries to consume again from a queue whose master is gone.
        "state": "cancelled" if deaf else subscriber.state,
        **({} if status == NOT_REPORTED else {"activity_status": status}),
        "queue": subscriber.queue,
        "cancel_notified": subscriber.cancel_notified,
    }
    if UNNUMBERED not in subscriber.received:
        found["received"] = as_lists(as_set(subscriber.received))
        if counting:
            found["unacknowledged"] = as_lists(as_set(number for _, number in subscriber.held))
    return found


def node_state(state: str) -> str:
    """Return a node's state in the contract's words."""
    return "waiting" if state == "booting" else state


def queues_of(drive: Drive, views: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return every queue by its name, with the fields that the first running node with a record of it reports.

    `views` is the result of `Drive.snapshot`. If nodes report different fields, the queue's `views` has all of them.
    """
    found = {
        node: {join_queue(row["vhost"], row["name"]): queue_of(drive, row) for row in view["queues"]}
        for node, view in views.items()
        if "queues" in view
    }
    queues = {}
    for name in sorted({name for view in found.values() for name in view}, key=split_queue):
        known = {node: view[name] for node, view in found.items() if name in view}
        queues[name] = next(iter(known.values()))
        seen = seen_by(known)
        if len(seen) > 1:
            queues[name]["views"] = seen
    return queues


def seen_by(known: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the different views of a queue, each with its nodes."""
    seen: list[dict[str, Any]] = []
    for node, queue in known.items():
        view = view_of(queue)
        same = [other for other in seen if view.items() <= other.items()]
        if same:
            same[0]["nodes"].append(node)
        else:
            seen.append({"nodes": [node], **view})
    return seen


def view_of(queue: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a queue that nodes may see differently.

    The leader of a quorum queue counts as its master.
    """
    if queue["type"] != "classic":
        return {"state": queue["state"], "master": queue["leader"], "mirrors": []}
    return {key: queue[key] for key in ("state", "master", "mirrors")}


def queue_of(drive: Drive, row: dict[str, Any]) -> dict[str, Any]:
    """Return a queue as one node knows it, in the contract's words."""
    found = {
        "type": row["type"].removeprefix("rabbit_").removesuffix("_queue"),
        "durable": row["durable"],
        "policy": row["policy"],
        "operator_policy": row["operator_policy"],
    }
    found |= classic_of(drive, row) if found["type"] == "classic" else quorum_of(drive, row)
    if found["state"] != "down" and isinstance(row["information"], dict):
        counts = ("messages", "messages_ready", "messages_unacknowledged")
        found |= {key: row["information"][key] for key in counts if row["information"][key] is not None}
    return found


def classic_of(drive: Drive, row: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that only classic queues have."""
    home = row["process"] if isinstance(row["process"], str) else row["process"][1]
    information = row["information"]
    state = "running"
    if information is None or (information == SILENT and not lives(drive, home)):
        state = "down"
    elif information != SILENT and isinstance(information["state"], list):
        state = "syncing"
    elif information != SILENT and information["state"] in ("down", "crashed", "stopped"):
        state = "down"
    master, synchronised = drive.cluster.names.get(home, home), sorted(named(drive, row["synchronised"]))
    return {
        "state": state,
        "mirrored": row["mirrored"] is True,
        "master": master,
        "mirrors": named(drive, row["mirrors"]),
        "synchronised_mirrors": synchronised,
        "recoverable_mirrors": named(drive, row["recoverable"]),
        "critical_nodes": [master] if row["mirrored"] is True and not synchronised else [],
    }


def lives(drive: Drive, node: str) -> bool:
    """Return True if the process of a node, by its Erlang name, runs; other nodes may not yet have seen it go down."""
    return drive.cluster.nodes[drive.cluster.names[node]].alive


def quorum_of(drive: Drive, row: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that only quorum queues have. RabbitMQ itself calls a queue without a majority running."""
    members, online = sorted(named(drive, row["members"])), sorted(named(drive, row["online"]))
    return {
        "state": "running" if len(online) >= majority(len(members)) else "minority",
        "leader": drive.cluster.names.get(row["leader"], row["leader"]),
        "members": members,
        "online": online,
        "critical_nodes": online if is_critical(len(online), len(members)) else [],
    }


def named(drive: Drive, nodes: Any) -> list[str]:
    """Return nodes by the scenario's names."""
    return [drive.cluster.names.get(node, node) for node in nodes] if isinstance(nodes, list) else []


def sides(drive: Drive, views: dict[str, Any]) -> list[list[str]]:
    """Return the groups of running nodes that see each other, if there is more than one.

    A dead node belongs to no group, even if other nodes still count it as up.
    """
    groups, running = [], {name for name, view in views.items() if "nodes" in view}
    for view in views.values():
        if "nodes" in view:
            group = sorted(running.intersection(drive.cluster.names.get(node, node) for node in view["nodes"]))
            if group not in groups:
                groups.append(group)
    return groups if len(groups) > 1 else []


def read_contents(drive: Drive, queues: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return `ids` and `redelivered` of every queue that can be read, after its clients are closed.

    A queue that is down, or has no majority, is read after its nodes are up again, at the end.
    """
    drive.loop.run(drive.clients.close_all()).result(DRAIN_S)
    drive.settle()
    contents = drain(drive, [name for name, queue in queues.items() if is_served(queue)])
    unserved = {name: queue for name, queue in queues.items() if not is_served(queue)}
    homes = {node for queue in unserved.values() for node in homes_of(queue)} & drive.members
    if homes:
        drive.loop.run(drive.clients.close_all()).result(DRAIN_S)
        drive.cluster.boot([drive.cluster.nodes[name] for name in homes])
        drive.settle()
        contents |= drain(drive, list(unserved))
    return contents


def is_served(queue: dict[str, Any]) -> bool:
    """Return True if a queue can be read.

    A quorum queue needs a majority in some partition, a classic one its master.
    """
    views = () if queue["type"] == "classic" else queue.get("views", ())
    return any(view["state"] not in UNSERVED for view in (queue, *views))


def served_at(drive: Drive, queue: dict[str, Any]) -> str:
    """Return the node at which a queue is read: the first running one that serves it.

    A node serves a quorum queue if it is in the partition with the majority, and a stream if it has an online replica.
    """
    running = [node.name for node in drive.cluster.running()]
    sides = [view["nodes"] for view in queue.get("views", ()) if view["state"] not in UNSERVED]
    if queue["type"] != "classic" and sides:
        return next(node for node in running if node in sides[0])
    if queue["type"] == "stream":  # a stream is read where it has a replica
        return next((node for node in running if node in queue["online"]), running[0])
    return running[0]


def homes_of(queue: dict[str, Any]) -> list[str]:
    """Return the nodes that a queue needs to be served."""
    return [queue["master"]] if queue["type"] == "classic" else queue["members"]


def drain(drive: Drive, names: list[str]) -> dict[str, dict[str, Any]]:
    """Return `ids` and `redelivered` of the named queues that serve clients.

    A queue that partitions see differently has the content in each partition in its `views`. Queues with dead letters
    are left out: a dead letter has the number that another queue gave it.
    """
    left = queues_of(drive, drive.snapshot())
    contents = {}
    for name in names:
        if name not in left or not is_served(left[name]):
            continue
        found = messages(drive, name, served_at(drive, left[name]))
        if found is None or any(number == UNNUMBERED for number, _ in found):
            continue
        contents[name] = {
            "ids": in_order(number for number, _ in found),
            "redelivered": as_lists(as_set(number for number, again in found if again)),
        }
        if sides := left[name].get("views"):
            contents[name]["views"] = [
                side if side["state"] == "minority" else side | {"ids": ids_at(drive, name, side["nodes"][0])}
                for side in sides
            ]
    return contents


def ids_at(drive: Drive, name: str, node: str) -> list[list[int]]:
    """Return the numbers of the messages that a queue delivers to a client at a node."""
    return in_order(number for number, _ in messages(drive, name, node) or ())


def messages(drive: Drive, name: str, node: str) -> list[tuple[int, bool]] | None:
    """Return (number, redelivered) of the messages that a queue delivers to a client at a node.

    Return None if the queue does not serve.
    """
    try:
        return drive.loop.run(drive.clients.drain(name, node)).result(DRAIN_S)
    except (Refused, CallFailed, TimeoutError):
        return None
