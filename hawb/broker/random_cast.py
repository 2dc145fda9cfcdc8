"""Who plays in a random scenario: its nodes and queues, the draws that choose among them, and how they begin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from hawb.engine import chance

T = TypeVar("T")
Steps = list[dict[str, Any]]

MIRRORED = ("m1", "m2")
"""The queues that the policy `mirrors` matches; further ones are of a chapter's own and not mirrored."""
PATTERN = "^m"


class Cast:
    """Who plays in a scenario, and its draws, each of which is keyed by the scenario and counted."""

    def __init__(self, seed: int, purpose: int, trial: int):
        self._key, self._drawn, self._named = (seed, purpose, trial), 0, 0
        self.nodes: list[str] = list(self.one((("a", "b"), ("a", "b", "c"))))
        self.cluster: dict[str, Any] = {"nodes": list(self.nodes)}
        self._consumers: dict[str, str] = {}

    def below(self, bound: int) -> int:
        """A number from 0 to `bound` - 1."""
        self._drawn += 1
        return chance.below(bound, *self._key, self._drawn)

    def one(self, items: Sequence[T]) -> T:
        """One of some items."""
        return items[self.below(len(items))]

    def count(self, most: int = 9) -> int:
        """How many, from 1 on."""
        return 1 + self.below(most)

    def order(self, items: Sequence[T]) -> list[T]:
        """Items in a random order."""
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in items]

    def name(self, prefix: str) -> str:
        """A name that nobody else in the scenario has."""
        self._named += 1
        return f"{prefix}{self._named}"

    def queue(self) -> str:
        """A mirrored queue."""
        return self.one(MIRRORED)

    def consume(self, consumer: str, queue: str, node: str, **fields: Any) -> Steps:
        """A consumer that has a mirrored queue for itself: one that an earlier chapter has left there goes."""
        former = [{"close": self._consumers[queue]}] if queue in self._consumers else []
        self._consumers[queue] = consumer
        return [*former, {"consume": {"consumer": consumer, "queue": queue, "node": node} | fields}]

    def apart(self) -> tuple[str, list[str]]:
        """A node and the others, in random order."""
        first, *others = self.order(self.nodes)
        return first, others


def publish(cast: Cast, node: str, **fields: Any) -> dict[str, Any]:
    """Messages to both mirrored queues."""
    return {"publish": {"queues": list(MIRRORED), "count": cast.count(), "node": node} | fields}


def mirrors(definition: dict[str, Any]) -> dict[str, Any]:
    """The policy by which queues are mirrored."""
    return {"set_policy": {"name": "mirrors", "pattern": PATTERN, "definition": definition}}


def listed(cast: Cast, **more: Any) -> dict[str, Any]:
    """The policy for mirrors on all nodes, which a list puts in order."""
    return mirrors({"ha-mode": "nodes", "ha-params": cast.order(cast.nodes), **more})


def beginning(cast: Cast) -> Steps:
    """Two queues with messages and mirrors in a known order, under a policy that may no longer list them."""
    kept = {}
    for key, values in (
        ("ha-sync-mode", (None, "automatic", "manual")),
        ("ha-promote-on-shutdown", (None, None, "always", "when-synced")),
        ("ha-promote-on-failure", (None, None, "always", "when-synced")),
    ):
        value = cast.one(values)
        if value is not None:
            kept[key] = value
    arguments = cast.one(({}, {}, {"x-max-priority": 5}, {"x-max-length": 12}, {"x-single-active-consumer": True},
                          {"x-max-length": 15, "x-overflow": "reject-publish"}))  # fmt: skip
    later = cast.one(({"ha-mode": "all"}, {"ha-mode": "exactly", "ha-params": 2}, None))
    return [
        listed(cast, **kept),
        {"declare": {"queue": "m1", "node": cast.one(cast.nodes)}},
        {"declare": {"queue": "m2", "node": cast.one(cast.nodes), "arguments": arguments}},
        publish(cast, cast.one(cast.nodes), persistent=cast.one((True, True, False))),
        *([mirrors(later | kept)] if later else []),
    ]
