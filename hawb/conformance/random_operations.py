"""Chapters of random scenarios with operations of clients and operators: a few steps each.

The queues and consumers that they leave behind are there for the next one, as in `random_faults`.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

from hawb.conformance.random_cast import (
    LIFETIME_MS,
    LOOK,
    MIRRORED,
    PATTERN,
    QUORUM,
    QUORUM_PATTERN,
    SECONDS,
    Cast,
    Steps,
    group_of,
    grown,
    listed,
    mirrors,
    prepared,
    publish,
)


def consumption(cast: Cast) -> Steps:
    """Return steps in which a consumer acknowledges some of its deliveries, and may stay."""
    consumer = cast.name("c")
    queue = cast.queue()
    rest = {"prefetch": cast.one((0, 1, 3)), "global_prefetch": queue in MIRRORED and cast.one((False, False, True))}
    return [
        publish(cast, cast.one(cast.nodes)),
        *cast.consume(consumer, queue, cast.one(cast.nodes), **rest),
        {"ack": {"consumer": consumer, "count": cast.one((1, 2, "all"))}},
        *([{"cancel": consumer}] if cast.one((True, False)) else []),
    ]


def rejection(cast: Cast) -> Steps:
    """Return steps in which a consumer requeues or rejects messages, and is closed."""
    consumer = cast.name("c")
    return [
        publish(cast, cast.one(cast.nodes)),
        *cast.consume(consumer, cast.queue(), cast.one(cast.nodes), prefetch=4),
        {"cancel": consumer},
        {"nack": {"consumer": consumer, "count": cast.one((1, 2)), "requeue": cast.one((True, False))}},
        {"close": consumer},
    ]


def fetched(cast: Cast) -> Steps:
    """Return steps that get messages one by one, and hold them."""
    holder, queue = cast.name("h"), cast.queue()
    return [
        publish(cast, cast.one(cast.nodes)),
        {"get": {"queue": queue, "count": cast.count(3), "ack": False, "consumer": holder}},
        {cast.one(("ack", "nack")): {"consumer": holder, "count": 1}},
        {"get": {"queue": queue, "count": 1}},
        *([{"close": holder}] if cast.one((True, False)) else []),
    ]


def rivals(cast: Cast) -> Steps:
    """Return steps with two consumers of one queue that get messages in a fixed way.

    They do so by priority, exclusively, or one at a time.
    """
    first, second, queue = cast.name("c"), cast.name("c"), cast.name("q")
    group = group_of(len(cast.nodes))
    arguments, mine, other = cast.one((
        ({}, {"priority": 2, "prefetch": 2}, {"priority": 1}),
        ({}, {"exclusive": True}, {}),
        ({"x-single-active-consumer": True}, {"prefetch": 1}, {"ack": "auto"}),
        (group, {"priority": 2, "prefetch": 2}, {"priority": 1}),
        (group | {"x-single-active-consumer": True}, {"prefetch": 1}, {"ack": "auto"}),
    ))  # fmt: skip
    node = cast.one(cast.nodes)
    return [
        {"declare": {"queue": queue, "node": node, "arguments": arguments}},
        {"consume": {"consumer": first, "queue": queue, "node": node} | mine},
        {"consume": {"consumer": second, "queue": queue, "node": cast.one(cast.nodes)} | other},
        {"publish": {"queue": queue, "count": cast.count(), "node": cast.one(cast.nodes)}},
        {"close": first},
        *gone(cast, queue, arguments),
    ]


def gone(cast: Cast, queue: str, arguments: dict[str, Any]) -> Steps:
    """Return steps that delete a chapter's own queue if it is a quorum queue, which could lose its majority later."""
    return [{"delete": {"queue": queue, "node": cast.one(cast.nodes)}}] if "x-queue-type" in arguments else []


def publishing(cast: Cast) -> Steps:
    """Return steps with messages of all kinds, and a purge."""
    queue, mode = cast.queue(), cast.one(("confirm", "plain", "tx"))
    fields = {"mode": mode, "size": cast.one((0, 100, 5000)), "persistent": cast.one((True, False))}
    urgent = {"queue": queue, "count": cast.count(), "node": cast.one(cast.nodes), "priority": cast.one((1, 3, 9))}
    return [
        publish(cast, cast.one(cast.nodes), **fields),
        {"publish": urgent},
        {"publish": {"queue": "nowhere", "count": 2, "node": cast.one(cast.nodes)}},
        {"purge": queue},
        publish(cast, cast.one(cast.nodes), count=cast.count(3)),
    ]


def another_policy(cast: Cast) -> Steps:
    """Return steps that set another mirroring policy, or none, or a policy for quorum queues."""
    kind = cast.one(("none", "other", "quorum"))
    if kind == "none":
        return [{"clear_policy": "mirrors"}, LOOK, listed(cast)]
    if kind == "quorum":
        limits = cast.one(({"max-length": cast.count()}, {"delivery-limit": 1}, {"max-length-bytes": 4096}))
        groups = {"name": "groups", "pattern": QUORUM_PATTERN, "definition": limits}
        return [{"set_policy": groups}, publish(cast, cast.one(cast.nodes)), LOOK, {"clear_policy": "groups"}]
    some, most = cast.order(cast.nodes)[: cast.count(len(cast.nodes))], max(2, len(cast.nodes) - 1)
    chosen = cast.one((
        {"ha-mode": "all"},
        {"ha-mode": "exactly", "ha-params": cast.one((1, most))},
        {"ha-mode": "nodes", "ha-params": some},
    ))  # fmt: skip
    when = {"ha-promote-on-failure": cast.one(("always", "when-synced")), "ha-sync-mode": "automatic"}
    above = {"name": "above", "pattern": "^m1$", "priority": 1, "definition": {"max-length": cast.count()}}
    return [{"set_policy": above}, listed(cast), {"clear_policy": "above"}, mirrors(chosen | when)]


def operators(cast: Cast) -> Steps:
    """Return steps in which an operator policy limits queues."""
    definition = cast.one((
        {"max-length": cast.count()}, {"max-length-bytes": 4096}, {"max-length": 10, "message-ttl": 3_600_000},
    ))  # fmt: skip
    return [
        {"set_operator_policy": {"name": "limits", "pattern": cast.one((PATTERN, "^[mr]")), "definition": definition}},
        publish(cast, cast.one(cast.nodes)),
        LOOK,
        {"clear_operator_policy": "limits"},
    ]


def dead_letters(cast: Cast) -> Steps:
    """Return steps in which a queue dead-letters messages to another one."""
    source, target, exchange = cast.name("q"), cast.name("q"), cast.name("x")
    limit = cast.one(({"x-max-length": 2}, {"x-message-ttl": LIFETIME_MS}))
    group = group_of(len(cast.nodes))
    of_target, of_source = cast.one(({}, group)), cast.one(({}, group))
    arguments = of_source | {"x-dead-letter-exchange": exchange, "x-dead-letter-routing-key": "dead"} | limit
    return [
        {"declare": {"queue": target, "node": cast.one(cast.nodes), "arguments": of_target}},
        {"bind": {"queue": target, "exchange": exchange, "routing_key": "dead"}},
        {"declare": {"queue": source, "node": cast.one(cast.nodes), "arguments": arguments}},
        {"publish": {"queue": source, "count": 4, "node": cast.one(cast.nodes)}},
        {"wait": SECONDS},
        LOOK,
        *gone(cast, target, of_target),
        *gone(cast, source, arguments),
    ]


def passing(cast: Cast) -> Steps:
    """Return steps in which queues are deleted, by a client or automatically."""
    queue, client, node = cast.name("q"), cast.name("c"), cast.one(cast.nodes)
    alone: Steps = cast.one((
        [{"declare": {"queue": queue, "node": node, "exclusive": True, "connection": client}}, {"close": client}],
        [{"declare": {"queue": queue, "node": node, "auto_delete": True}},
         {"consume": {"consumer": client, "queue": queue, "node": node}}, {"cancel": client}],
        [{"declare": {"queue": queue, "node": node, "arguments": {"x-expires": LIFETIME_MS}}}, {"wait": SECONDS}],
    ))  # fmt: skip
    other = cast.name("q")
    return [
        {"declare": {"queue": other, "node": cast.one(cast.nodes), "durable": cast.one((True, False))}},
        {"publish": {"queue": other, "count": 3, "node": node}},
        *alone,
        {"delete": {"queue": other, "node": node}},
    ]


def alarmed(cast: Cast) -> Steps:
    """Return steps in which a node is short of a resource, and publishers are blocked."""
    resource = {"node": cast.one(cast.nodes), "resource": cast.one(("memory", "disk"))}
    publisher = {"connection": cast.name("p")}
    node = cast.one(cast.nodes)
    return [
        publish(cast, node, **publisher),
        {"alarm": resource},
        publish(cast, node, **publisher),
        LOOK,
        {"clear_alarm": resource},
    ]


def drained(cast: Cast) -> Steps:
    """Return steps in which a node is in maintenance mode for a while."""
    node, (other, *_) = cast.apart()
    consumer, before = cast.name("c"), prepared(cast, node, other)
    cast.deposed(node)
    return [
        *before,
        *cast.consume(consumer, cast.queue(), node, prefetch=2),
        {"drain": node},
        publish(cast, other),
        LOOK,
        {"revive": node},
    ]


def crashed(cast: Cast) -> Steps:
    """Return steps in which a queue's process crashes on a running node."""
    queue, where = cast.queue(), cast.one(({}, {}, {"node": cast.one(cast.nodes)}))
    if queue in QUORUM:
        where = {"node": cast.one(cast.members[queue])}
        cast.deposed(where["node"])
    return [listed(cast), {"crash": {"queue": queue} | where}, publish(cast, cast.one(cast.nodes))]


def synchronised(cast: Cast) -> Steps:
    """Return steps in which mirrors join late and are synchronised by hand."""
    queue, manual = cast.one(MIRRORED), {"ha-sync-mode": "manual"}
    return [
        listed(cast, **manual),
        mirrors({"ha-mode": "exactly", "ha-params": 1} | manual),
        publish(cast, cast.one(cast.nodes)),
        listed(cast, **manual),
        {"cancel_sync_queue": queue},
        {"sync_queue": queue},
    ]


def moved(cast: Cast) -> Steps:
    """Return steps that move masters and leaders.

    A mirrored queue that is moved to its master's own node may lose its mirrors or not. A rebalancing chooses leaders
    at random, so it must not move masters: the leaders of empty queues are moved before them, and with so many nodes
    that each gets one queue, only quorum queues have replicas.
    """
    node, others = cast.apart()
    elsewhere = [queue for queue, master in cast.masters.items() if master != node]
    steps = [
        listed(cast, **{"ha-sync-mode": "automatic"}),
        *({"transfer_leadership": {"queue": queue, "node": node}} for queue in elsewhere),
        *(step for queue in QUORUM for step in (*cast.led(queue, others[0]), {"purge": queue})),
        {"publish": {"queue": "m2", "count": 5, "node": cast.one(cast.nodes)}},
        {"publish": {"queue": "m1", "count": 20, "node": cast.one(cast.nodes)}},
        *([{"clear_policy": "mirrors"}] if len(cast.nodes) > 3 else []),
        {"rebalance": True},
    ]
    cast.leaders = dict.fromkeys(QUORUM)
    return steps


def resized(cast: Cast) -> Steps:
    """Return steps in which a quorum queue gets a member and loses one."""
    queue, node = cast.one(QUORUM), cast.one(cast.nodes)
    if len(cast.members[queue]) > 1 and node in cast.members[queue]:
        first, then = cast.left, cast.joined
    else:
        node = next((other for other in cast.order(cast.nodes) if other not in cast.members[queue]), node)
        first, then = cast.joined, cast.left
    steps = [first(queue, node), publish(cast, cast.one(cast.nodes)), LOOK]
    other = cast.one(cast.members[queue]) if then == cast.left else node
    return [*steps, then(queue, other), publish(cast, cast.one(cast.nodes), count=2)]


def evacuated(cast: Cast) -> Steps:
    """Return steps in which all quorum queues leave a node, and come back."""
    node, (other, *_) = cast.apart()
    for queue in QUORUM:
        if len(cast.members[queue]) > 1:
            cast.gone(queue, node)
    return [{"shrink": node}, publish(cast, other), LOOK, grown(cast, node, cast.one(("all", "all", "even")))]


def refused(cast: Cast) -> Steps:
    """Return steps with declarations and other requests that RabbitMQ refuses."""
    node, queue, consumer = cast.one(cast.nodes), cast.name("q"), cast.name("c")
    wrong: list[dict[str, Any]] = [
        {"declare": {"queue": "nowhere", "node": node, "passive": True}},
        {"declare": {"queue": queue, "node": node, "durable": False}},
        {"declare": {"queue": cast.name("q"), "node": node, "arguments": {"x-max-length": -1}}},
        {"delete": {"queue": queue, "node": node, "if_empty": True}},
        {"purge": "nowhere"},
        {"consume": {"consumer": consumer, "queue": "nowhere", "node": node}},
        {"get": {"queue": "nowhere", "count": 1}},
        {"bind": {"queue": "nowhere", "exchange": cast.name("x"), "routing_key": "k"}},
        {"cancel": consumer},
        {"sync_queue": queue},
        {"add_member": {"queue": queue, "node": node}},
        {"delete_member": {"queue": "nowhere", "node": node}},
        {"sync_queue": "r1"},
        {"delete": {"queue": "r1", "node": node, "if_empty": True}},
        {"declare": {"queue": "r1", "node": node}},
        {"declare": {"queue": cast.name("q"), "node": node, "durable": False, "arguments": group_of(1)}},
        {"declare": {"queue": cast.name("q"), "node": node, "arguments": group_of(0)}},
        {"consume": {"consumer": consumer, "queue": "r2", "node": node, "prefetch": 1, "global_prefetch": True}},
        {"transfer_leadership": {"queue": "nowhere", "node": node}},
        {"clear_policy": "nobody"},
        mirrors({"ha-mode": "nodes"}),
        mirrors({"ha-mode": "exactly", "ha-params": "two"}),
    ]
    return [
        {"declare": {"queue": queue, "node": node}},
        {"publish": {"queue": queue, "count": 1, "node": node}},
        *cast.order(wrong)[:4],
    ]


OPERATIONS: tuple[FunctionType, ...] = (
    consumption, rejection, fetched, rivals, publishing, another_policy, operators, dead_letters, passing, alarmed,
    drained, crashed, synchronised, moved, resized, evacuated, refused,
)  # fmt: skip
