"""Estimate how long it takes to empty queues, at the rates that the model of one queue has from published figures.

These are the rates at which clients can read a queue that is otherwise idle. No file has the speed of consumers, so
each time is a lower bound.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from msgspec import Struct

from hawb.planning.inventory import Queue
from hawb.study.prediction import NotMeasuredError, Prediction
from hawb.study.throughput import Model, one_queue

SETUP, IN_FLIGHT = "GKE e2-standard-16 3.10.1", 6000
"""The published machines whose rates are used, and the workload's limit of unconfirmed messages."""

ASSUMED_BYTES = 1024
"""The assumed size of a message, in bytes, where no file has it."""


class Drain(Struct, frozen=True):
    """A queue with messages that clients read: their number and size, and how many a second clients can read.

    `assumed` is True if the size is assumed. `rate` is None if no published measurement is similar.
    """

    queue: str
    messages: int
    size_bytes: int
    assumed: bool
    rate: Prediction | None

    @property
    def seconds(self) -> tuple[float, float, float] | None:
        """Return the least, the expected and the largest duration in seconds; None without a rate.

        They come from the interval of the rate.
        """
        if self.rate is None:
            return None
        return tuple(self.messages / rate for rate in (self.rate.high, self.rate.value, self.rate.low))


@cache
def model(queue_type: str) -> Model:
    """Return the model of one queue of a type, fitted once."""
    return one_queue(queue_type)


def rate(queue_type: str, size_bytes: int, replicas: int) -> Prediction | None:
    """Return messages a second; None if no published measurement is similar."""
    try:
        return model(queue_type).rate(setup=SETUP, size_bytes=size_bytes, replicas=replicas, in_flight=IN_FLIGHT)
    except NotMeasuredError:
        return None


def drains(queues: Iterable[Queue]) -> list[Drain]:
    """Return the classic queues that hold messages, the deepest first."""
    found = []
    for queue in queues:
        facts = queue.facts
        if queue.type != "classic" or not facts.messages:
            continue
        is_known = facts.message_bytes is not None
        size_bytes = max(1, -(-facts.message_bytes // facts.messages)) if is_known else ASSUMED_BYTES
        copies = 1 + len(facts.mirrors or ())
        found.append(
            Drain(queue.full_name, facts.messages, size_bytes, not is_known, rate("classic", size_bytes, copies))
        )
    return sorted(found, key=lambda one: (-one.messages, one.queue))
