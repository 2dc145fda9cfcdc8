"""Chapters of random scenarios with faults of nodes or links: a few steps each.

They are drawn for the nodes and queues of a scenario. Each chapter ends with all nodes running. The next one begins
with the messages, members and consumers that it leaves behind, so that two chapters can combine to a situation that
neither has alone.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

from hawb.conformance.random_cast import (
    LOOK,
    MIRRORED,
    QUORUM,
    SECONDS,
    Cast,
    Steps,
    grown,
    listed,
    prepared,
    publish,
)

NEWCOMER = "n"
NOTICED_S = 20
"""A wait, in seconds, in which nodes detect a silent link of `TICKTIME_S`, and attempts to connect over it end."""
BACK_S = 10
"""A wait, in seconds, in which a node that had paused is back."""
TICKTIME_S = 8
PATIENT_TICKTIME_S = 15
"""Long enough to heal links before any node sees another go down, though a real cluster is slow to settle."""


def survived(cast: Cast, lost: str, *clients: str) -> Steps:
    """Return steps that give quorum queues further members before they lose one for good."""
    return [*(step for queue in QUORUM for step in cast.everywhere(queue)), *prepared(cast, lost, *clients)]


def forgetting(cast: Cast, node: str) -> None:
    """Record that a forgotten node is no member of any quorum queue."""
    for queue in QUORUM:
        cast.gone(queue, node)


def failover(cast: Cast) -> Steps:
    """Return steps in which a consumer holds deliveries while a node goes down."""
    node, (other, *_) = cast.apart()
    consumer = cast.name("c")
    fields = {"prefetch": cast.one((0, 2, 5)), "cancel_on_ha_failover": cast.one((False, False, True))}
    before = prepared(cast, node, other)
    cast.deposed(node)
    return [
        *before,
        *cast.consume(consumer, cast.queue(), other, connection=consumer, **fields),
        {cast.one(("kill", "stop")): node},
        publish(cast, other),
        LOOK,
        {"close": consumer},
        {"start": node},
    ]


def returned(cast: Cast) -> Steps:
    """Return steps in which a node comes back without the latest messages, and then the other nodes go down."""
    node, others = cast.apart()
    fault = cast.one(("kill", "stop"))
    before = prepared(cast, node, others[0])
    cast.deposed(*cast.nodes)
    return [
        *before,
        {cast.one(("kill", "stop")): node},
        publish(cast, others[0]),
        {"start": node},
        *({fault: other} for other in others),
        LOOK,
        publish(cast, node, queues=list(MIRRORED)),
        listed(cast, **cast.kept),  # mirrors that come with their master join at the same moment
        *({"start": other} for other in others),
    ]


def power_loss(cast: Cast) -> Steps:
    """Return steps in which a host loses its power; the other nodes see it go down late."""
    node, (other, *_) = cast.apart()
    cast.cluster["net_ticktime"] = TICKTIME_S
    before = prepared(cast, node, other)
    cast.deposed(node)
    return [*before, {"power_off": node}, publish(cast, other), {"wait": NOTICED_S}, LOOK, {"start": node}]


def partitioned(cast: Cast) -> Steps:
    """Return steps in which the network splits into two partitions."""
    node, others = cast.apart()
    return severed(cast, {"partition": [[node], others]}, node, others)


def cut_off(cast: Cast) -> Steps:
    """Return steps in which all links of a node fail, one by one."""
    node, others = cast.apart()
    return severed(cast, {"cut": [[node, other] for other in others]}, node, others)


def severed(cast: Cast, step: dict[str, Any], node: str, others: list[str]) -> Steps:
    """Return steps in which a node loses its links.

    Either the links heal before any node sees another go down, or they heal later: then the node pauses, or a step
    restarts it.
    """
    healed = {"heal": True}
    before = prepared(cast, node, node, others[0])
    cast.deposed(node)
    if cast.one((True, False)) and "net_ticktime" not in cast.cluster:
        cast.cluster["net_ticktime"] = PATIENT_TICKTIME_S
        return [*before, step, publish(cast, others[0], count=2), healed, {"wait": SECONDS}]
    cast.cluster["net_ticktime"] = TICKTIME_S
    both = [publish(cast, node, count=2), publish(cast, others[0], count=2)]
    noticed = [*before, step, {"wait": NOTICED_S}, *both, LOOK, healed]
    handling = cast.cluster.setdefault("cluster_partition_handling", cast.one((
        "ignore", "ignore",
        {"pause_if_all_down": [others[0]], "recover": "ignore"},
        "pause_minority" if len(others) > 1 else "ignore",
    )))  # fmt: skip
    if handling == "ignore":
        return [*noticed, {"wait": SECONDS}, {"stop": node}, {"start": node}]
    return [*noticed, {"wait": BACK_S}]


def disk_lost(cast: Cast) -> Steps:
    """Return steps in which a node loses its disk; the other nodes forget it, and it joins them again."""
    node, (other, *_) = cast.apart()
    before = survived(cast, node, other)
    forgetting(cast, node)
    forget = {"forget_cluster_node": {"node": node, "from": other}}
    return [*before, {"wipe": node}, publish(cast, other), LOOK, forget, {"join": node}, grown(cast, node)]


def forgotten(cast: Cast) -> Steps:
    """Return steps in which a node that is down resets itself and joins again.

    The other nodes may have forgotten it before, also while all were down. The first node of a cluster is wiped then:
    it had the only copy of the table of maintenance states, which the other nodes have created anew, and with two
    tables of that name Mnesia does not start, not even for a reset.
    """
    node, others = cast.apart()
    forget = {"node": node, "from": others[0]}
    back = [LOOK, {"join": node}]
    before = survived(cast, node, others[0])
    cast.deposed(*cast.nodes)
    if cast.one((True, *(False,) * 6)):
        return [
            *before,
            *({"stop": other} for other in reversed(others)),
            publish(cast, node, queues=list(MIRRORED)),
            {"stop": node},
            {"forget_cluster_node": forget | {"offline": True}},
            *({"start": other} for other in others),
            {"wipe" if node == cast.nodes[0] else "reset": node},
            *back,
        ]
    step = cast.one(([{"forget_cluster_node": forget}], []))
    if step:
        forgetting(cast, node)
    return [*before, {cast.one(("kill", "stop")): node}, publish(cast, others[0]), *step, {"reset": node}, *back]


def forced(cast: Cast) -> Steps:
    """Return steps in which all nodes stop, and the first one to stop is forced to boot before the others."""
    node, others = cast.apart()
    before = prepared(cast, node, others[-1])
    cast.deposed(*cast.nodes)
    return [
        *before,
        {"stop": node},
        publish(cast, others[-1]),
        *({"stop": other} for other in others),
        {"force_boot": node},
        LOOK,
        listed(cast, **cast.kept),  # mirrors that come with their master join at the same moment
        *({"start": other} for other in others),
    ]


def newcomer(cast: Cast) -> Steps:
    """Return steps in which a node joins a cluster of two and stays.

    In larger clusters a node fails instead (`failover`).
    """
    if len(cast.nodes) > 2:
        return failover(cast)
    cast.nodes.append(NEWCOMER)
    return [{"join": NEWCOMER}, grown(cast, NEWCOMER, "even"), publish(cast, NEWCOMER), LOOK]


FAULTS: tuple[FunctionType, ...] = (
    failover, returned, power_loss, partitioned, cut_off, disk_lost, forgotten, forced, newcomer,
)  # fmt: skip
