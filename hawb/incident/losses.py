"""What an incident cost in messages: certainly lost, possibly lost between two moments, and kept."""

from __future__ import annotations

from msgspec import Struct

from hawb.engine.runs import EMPTY, Runs


class Certain(Struct, frozen=True):
    """Messages that no copy holds, whatever else happened: how many, why (`hawb.engine.trace.CAUSES`), when, and the
    place of the outcome's event that tells of it."""

    count: int
    cause: str
    at_us: int
    event: int
    numbers: Runs = EMPTY


class Possible(Struct, frozen=True):
    """Messages that would be lost if there were any: those that `node` took between two moments, for a cause. `most` is
    how many there can be, None where that is not known; `transient`: only those that were not persistent."""

    cause: str
    from_us: int
    until_us: int
    node: str | None
    at_us: int
    most: int | None = None
    transient: bool = False


class QueueLosses(Struct, frozen=True):
    """What became of a queue's messages. `kept` is how many it holds in the end by the rules, None where that is not
    known."""

    queue: str
    certain: tuple[Certain, ...]
    possible: tuple[Possible, ...]
    kept: int | None

    @property
    def certainly_lost(self) -> int:
        """How many messages are certainly lost."""
        return sum(loss.count for loss in self.certain)
