"""The nodes and queues of a random scenario, the draws that choose among them, and the scenario's beginning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from hawb.engine.core import randomness

T = TypeVar("T")
Steps = list[dict[str, Any]]

SIZES = (2, 2, 3, 3, 3, 4, 5)
"""The numbers of nodes of a cluster, each item equally likely."""
MIRRORED = ("m1", "m2")
"""The queues that the policy `mirrors` matches; other classic queues belong to one chapter and are not mirrored."""
PATTERN = "^m"
QUORUM = ("r1", "r2")
"""The quorum queues that exist throughout; others are deleted with their chapter."""
QUORUM_PATTERN = "^r"

LOOK = {"expect": {}}
"""A step at which both outcomes are compared, and that does nothing else."""
SECONDS = 3
"""A wait that is long compared to the messages' time to live (`LIFETIME_MS`)."""
LIFETIME_MS = 500


class Cast:
    """The nodes and queues of a scenario, and its draws, each of which is keyed by the scenario and counted.

    `members` are those of the quorum queues, and `leaders` their leaders, None where RabbitMQ chose at random.
    `masters` are those of the mirrored queues until the first fault, and `kept` the keys of the mirroring policy beside
    its mode.
    """

    def __init__(self, seed: int, purpose: int, trial: int, sizes: Sequence[int] = SIZES):
        self._key, self._drawn, self._named = (seed, purpose, trial), 0, 0
        self.nodes: list[str] = list("abcde"[: self.one(sizes)])
        self.cluster: dict[str, Any] = {"nodes": list(self.nodes)}
        self.members: dict[str, list[str]] = {}
        self.leaders: dict[str, str | None] = {}
        self.masters: dict[str, str] = {}
        self.kept: dict[str, Any] = {}
        self._consumers: dict[str, str] = {}

    def below(self, bound: int) -> int:
        """Return a number from 0 to `bound` - 1."""
        self._drawn += 1
        return randomness.below(bound, *self._key, self._drawn)

    def one(self, items: Sequence[T]) -> T:
        """Return one of some items."""
        return items[self.below(len(items))]

    def count(self, most: int = 9) -> int:
        """Return a random count from 1 to `most`."""
        return 1 + self.below(most)

    def order(self, items: Sequence[T]) -> list[T]:
        """Return items in a random order."""
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in items]

    def name(self, prefix: str) -> str:
        """Return a name that is unique in the scenario."""
        self._named += 1
        return f"{prefix}{self._named}"

    def queue(self) -> str:
        """Return a queue with replicas, of either type."""
        return self.one(MIRRORED + QUORUM)

    def consume(self, consumer: str, queue: str, node: str, **fields: Any) -> Steps:
        """Return steps that start the only consumer of a queue.

        A consumer that an earlier chapter has left there is closed.
        """
        former = [{"close": self._consumers[queue]}] if queue in self._consumers else []
        self._consumers[queue] = consumer
        return [*former, {"consume": {"consumer": consumer, "queue": queue, "node": node} | fields}]

    def apart(self) -> tuple[str, list[str]]:
        """Return a node and the others, in random order."""
        first, *others = self.order(self.nodes)
        return first, others

    # --- quorum queues ---

    def founded(self, queue: str, node: str, size: int, **arguments: Any) -> dict[str, Any]:
        """Declare a quorum queue with one member or with a member on each node: any other choice is random."""
        self.members[queue] = list(self.nodes) if size > 1 else [node]
        self.leaders[queue] = node
        return {"declare": {"queue": queue, "node": node, "arguments": group_of(size) | arguments}}

    def joined(self, queue: str, node: str) -> dict[str, Any]:
        """Give a quorum queue one more member."""
        if node not in self.members[queue]:
            self.members[queue].append(node)
        return {"add_member": {"queue": queue, "node": node}}

    def left(self, queue: str, node: str) -> dict[str, Any]:
        """Remove a member from a quorum queue, if it has another one."""
        if len(self.members[queue]) > 1:
            self.gone(queue, node)
        return {"delete_member": {"queue": queue, "node": node}}

    def gone(self, queue: str, node: str) -> None:
        """Record that a node is no longer a member of a quorum queue."""
        self.members[queue] = [member for member in self.members[queue] if member != node]
        if self.leaders[queue] == node:
            self.leaders[queue] = self.members[queue][0] if len(self.members[queue]) == 1 else None

    def deposed(self, *nodes: str) -> None:
        """Record that nodes cannot lead for a while, so that other nodes do."""
        for queue, leader in self.leaders.items():
            if leader in nodes and len(self.members[queue]) > 1:
                self.leaders[queue] = None

    def led(self, queue: str, node: str) -> Steps:
        """Give a quorum queue a member on all nodes, and a known leader."""
        known = self.leaders[queue]
        if known is None:
            return [{"delete": {"queue": queue, "node": node}}, self.founded(queue, node, len(self.nodes))]
        steps = self.everywhere(queue)
        if known != node:
            self.leaders[queue] = node
            steps.append({"transfer_leadership": {"queue": queue, "node": node}})
        return steps

    def everywhere(self, queue: str) -> Steps:
        """Give a quorum queue a member on all nodes."""
        return [self.joined(queue, node) for node in self.nodes if node not in self.members[queue]]


def group_of(size: int) -> dict[str, Any]:
    """Return the arguments of a quorum queue with `size` members."""
    return {"x-queue-type": "quorum", "x-quorum-initial-group-size": size}


def publish(cast: Cast, node: str, **fields: Any) -> dict[str, Any]:
    """Publish messages to all queues with replicas."""
    return {"publish": {"queues": [*MIRRORED, *QUORUM], "count": cast.count(), "node": node} | fields}


def mirrors(definition: dict[str, Any]) -> dict[str, Any]:
    """Return a step that sets the mirroring policy."""
    return {"set_policy": {"name": "mirrors", "pattern": PATTERN, "definition": definition}}


def listed(cast: Cast, **more: Any) -> dict[str, Any]:
    """Return a step that mirrors on all nodes, as a list, which fixes their order."""
    return mirrors({"ha-mode": "nodes", "ha-params": cast.order(cast.nodes), **more})


def prepared(cast: Cast, lost: str, *clients: str) -> Steps:
    """Return steps that prepare quorum queues for a node that goes down.

    They keep their majority, or in a cluster of two their leader; their leader is known, and clients at these nodes
    have published to them before. A minority refuses each message of an unknown client after a minute. And whether a
    restarted leader makes clients send lost messages again depends on when Ra last wrote its progress.
    """
    steps: Steps = []
    for queue in QUORUM:
        if 2 * sum(member != lost for member in cast.members[queue]) <= len(cast.members[queue]):
            steps += cast.everywhere(queue)
            steps += cast.led(queue, *(node for node in cast.nodes if node != lost)) if len(cast.nodes) == 2 else []
        elif cast.leaders[queue] is None:
            steps += cast.led(queue, cast.one(cast.nodes))
    return [*steps, *({"publish": {"queues": list(QUORUM), "count": 1, "node": node}} for node in clients)]


def grown(cast: Cast, node: str, strategy: str = "all") -> dict[str, Any]:
    """Give quorum queues a member on a node."""
    for queue in QUORUM:
        if strategy == "all" or len(cast.members[queue]) % 2 == 0:
            cast.joined(queue, node)
    return {"grow": {"node": node, "strategy": strategy, "pattern": QUORUM_PATTERN}}


def beginning(cast: Cast) -> Steps:
    """Return steps that declare two mirrored queues and two quorum queues, one with a member on every node.

    The mirrored queues have messages and mirrors in a known order, under a policy that may no longer list them.
    """
    kept = {}
    for key, values in (
        ("ha-sync-mode", (None, "automatic", "manual")),
        ("ha-promote-on-shutdown", (None, None, "always", "when-synced")),
        ("ha-promote-on-failure", (None, None, "always", "when-synced")),
    ):
        value = cast.one(values)
        if value is not None:
            kept[key] = value
    cast.kept = kept
    arguments = cast.one(({}, {}, {"x-max-priority": 5}, {"x-max-length": 12}, {"x-single-active-consumer": True},
                          {"x-max-length": 15, "x-overflow": "reject-publish"}))  # fmt: skip
    own = cast.one(({}, {}, {"x-delivery-limit": 1}, {"x-max-length": 12}, {"x-single-active-consumer": True}))
    # Which of several candidates gets one more mirror is random.
    exactly = {"ha-mode": "exactly", "ha-params": max(2, len(cast.nodes) - 1)}
    cast.masters = {queue: cast.one(cast.nodes) for queue in MIRRORED}
    later = cast.one(({"ha-mode": "all"}, exactly, None))
    return [
        listed(cast, **kept),
        {"declare": {"queue": "m1", "node": cast.masters["m1"]}},
        {"declare": {"queue": "m2", "node": cast.masters["m2"], "arguments": arguments}},
        cast.founded("r1", cast.one(cast.nodes), len(cast.nodes)),
        cast.founded("r2", cast.one(cast.nodes), cast.one((1, len(cast.nodes), len(cast.nodes))), **own),
        publish(cast, cast.one(cast.nodes), persistent=cast.one((True, True, False))),
        *([mirrors(later | kept)] if later else []),
    ]
