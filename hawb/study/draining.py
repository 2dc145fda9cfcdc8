"""How long queues take to be emptied, at the rates that the model of one queue has from published figures.

These are the rates at which a queue can be read, all else idle. How fast consumers work no file tells, so that each
time is the least possible.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from msgspec import Struct

from hawb.planning.inventory import Queue
from hawb.study.prediction import NotMeasuredError, Prediction
from hawb.study.throughput import Model, one_queue

SETUP, IN_FLIGHT = "GKE e2-standard-16 3.10.1", 6000
"""The published machines whose rates stand for one's own, and the workload's limit."""

ASSUMED_BYTES = 1024
"""The size of a message where no file tells it."""


class Drain(Struct, frozen=True):
    """A queue that holds messages: how many, of what size, and how many a second can be read; None where nothing like
    it was measured. Seconds are the least, with the interval of the rate."""

    queue: str
    messages: int
    size_bytes: int
    assumed: bool
    rate: Prediction | None

    @property
    def seconds(self) -> tuple[float, float, float] | None:
        """Least, expected and most seconds."""
        if self.rate is None:
            return None
        return tuple(self.messages / rate for rate in (self.rate.high, self.rate.value, self.rate.low))


@cache
def model(queue_type: str) -> Model:
    """The model of one queue of a type, fitted once."""
    return one_queue(queue_type)


def rate(queue_type: str, size_bytes: int, replicas: int) -> Prediction | None:
    """Messages a second; None where nothing like it was measured."""
    try:
        return model(queue_type).rate(setup=SETUP, size_bytes=size_bytes, replicas=replicas, in_flight=IN_FLIGHT)
    except NotMeasuredError:
        return None


def drains(queues: Iterable[Queue]) -> list[Drain]:
    """The classic queues that hold messages, the deepest first."""
    found = []
    for queue in queues:
        facts = queue.facts
        if queue.type != "classic" or not facts.messages:
            continue
        told = facts.message_bytes is not None
        size_bytes = max(1, -(-facts.message_bytes // facts.messages)) if told else ASSUMED_BYTES
        copies = 1 + len(facts.mirrors or ())
        found.append(
            Drain(queue.full_name, facts.messages, size_bytes, not told, rate("classic", size_bytes, copies))
        )
    return sorted(found, key=lambda one: (-one.messages, one.queue))
