"""What waits for a queue that does not serve: what flows to it, and what else clients have sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hawb.engine.queues.access import PATIENCE_US

if TYPE_CHECKING:
    from benchmarks.simpy_model.nodes import Process
    from benchmarks.simpy_model.trial import Trial

PUBLISH, SETTLE, CONSUME, RESUME = "publish", "settle", "consume", "resume"


class Operation(Struct, eq=False):
    """What a client at a node has sent: so many messages, or answers to so many, of the publisher or the subscription
    with a number. It is `old` when the master to which it was sent has gone, `lost` when nobody took over, and
    `orphaned` when its channel has gone with its node."""

    kind: str
    node: int
    count: int = 0
    number: int = 0
    old: bool = False
    lost: bool = False
    orphaned: bool = False


class Mailbox:
    """The waiting operations, in order."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.waiting: list[Operation] = []

    def tries(self, operation: Operation) -> None:
        """Let an operation reach the queue."""
        publisher, consumer = self.trial.publisher, self.trial.consumer
        reached = {
            PUBLISH: publisher.arrives, SETTLE: consumer.answers_reach, CONSUME: consumer.consume,
            RESUME: consumer.resume,
        }  # fmt: skip
        reached[operation.kind](operation)

    def waits(self, operation: Operation) -> None:
        """It waits until the queue serves again; once it is settled that no master is there, 60 s at most, if it is
        nothing that mirrors have."""
        self.waiting.append(operation)
        if self.trial.queue.awaits_master and operation.kind != PUBLISH:
            self.trial.env.process(self.gives_up(operation))

    def gives_up(self, operation: Operation) -> Process:
        """Drop an operation that has waited for as long as it may."""
        yield self.trial.later(PATIENCE_US)
        if operation in self.waiting:
            self.waiting.remove(operation)
            if operation.kind == RESUME:
                self.trial.consumer.cancel(operation)

    def more_waits(self, kind: str, count: int, node: int, number: int) -> None:
        """More of what flows waits. That joins what waits of the same already, but not over what came in between."""
        for other in reversed(self.waiting):
            flags = other.old or other.orphaned
            if (other.kind, other.node, other.number, flags) == (kind, node, number, False):
                other.count += count
                return
            if other.kind != SETTLE and not (other.kind == PUBLISH and kind == SETTLE):
                break
        self.waits(Operation(kind, node, count, number))

    def count(self, kind: str, number: int) -> int:
        """Count what waits of a kind and of one publisher."""
        return sum(one.count for one in self.waiting if one.kind == kind and one.number == number)

    def keep(self, lost: bool) -> None:
        """The master is gone. Its heir has the messages that wait, or nobody; answers reach nobody."""
        for operation in self.waiting:
            operation.old, operation.lost = True, operation.lost or lost

    def orphan(self, node: int) -> None:
        """Drop what waits of the channels on a node that has gone down."""
        for operation in self.waiting:
            operation.orphaned = operation.orphaned or (operation.kind == PUBLISH and operation.node == node)

    def drop_publishes(self) -> None:
        """Drop waiting messages that no replica has."""
        messages = [operation for operation in self.waiting if operation.kind == PUBLISH]
        self.waiting = [operation for operation in self.waiting if operation not in messages]
        for operation in messages:
            self.trial.after(0, self.tries, replace(operation, lost=True))

    def release(self) -> None:
        """Let all waiting operations try again."""
        waiting, self.waiting = self.waiting, []
        for operation in waiting:
            self.trial.after(0, self.tries, replace(operation))
