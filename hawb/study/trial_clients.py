"""A trial's clients: which node each prefers, and how long each was interrupted.

A design is compared with others under the same clients: one publisher and one consumer at the first node that accepts
clients, or with `clients: every_node` one of each for every node, which share the rates. These prefer their own node,
stay with the node to which they are connected, and when they lose it connect to the next one that accepts clients. So
both sides of a partition publish and consume, and what a split brain loses is lost to some of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache

from hawb.engine.clients.steady.interruptions import is_confirmed, is_delivered
from hawb.engine.core.turn import Turn
from hawb.study.client_times import ClientTimes

FIRST = 0
"""The place of the node that a trial's only clients prefer."""


@cache
def share_of(per_s: float, clients: int) -> Fraction:
    """Return the rate of each of so many clients that share a rate, exactly: no float is a third of 50."""
    return Fraction(str(per_s)) / clients


class Clients:
    """A publisher and a consumer that prefer the node `home`.

    `publisher` is the name of the publisher's present connection, and `rate` that connection's rate.
    """

    def __init__(self, home: int, consumer: str, deadline_us: int):
        self.home, self.consumer = home, consumer
        self.publisher, self.rate = "", Fraction(0)
        self.unconfirmed, self.undelivered = ClientTimes(deadline_us), ClientTimes(deadline_us)

    def is_connected(self, turn: Turn) -> bool:
        """Return True if the publisher is connected."""
        publisher = turn.publishers.get(self.publisher)
        return publisher is not None and not publisher.closed

    def is_consuming(self, turn: Turn) -> bool:
        """Return True if the consumer has a subscription."""
        consumer = turn.consumers.get(self.consumer)
        return consumer is not None and consumer.state == "active"

    def rate_in_use(self, turn: Turn) -> Fraction:
        """Return the rate at which the publisher publishes; 0 if it is not connected."""
        return self.rate if self.is_connected(turn) else Fraction(0)

    def watch(self, turn: Turn, *, offers: bool, consumes: bool) -> None:
        """Record since when offered messages are not confirmed, and ready ones not delivered.

        `offers` is False while there is nothing to publish, `consumes` while consumers stay away.
        """
        confirmed = self.is_connected(turn) and is_confirmed(turn, turn.publishers[self.publisher])
        self.unconfirmed.watch(turn.now_us, is_served=not offers or confirmed)
        delivered = self.is_consuming(turn) and is_delivered(turn, turn.consumers[self.consumer])
        self.undelivered.watch(turn.now_us, is_served=not consumes or delivered)

    def choice(self, open_nodes: Sequence[int]) -> int | None:
        """Return the node that a client without a connection tries: its own, or the next one that is open."""
        return next((node for node in open_nodes if node >= self.home), open_nodes[0] if open_nodes else None)
