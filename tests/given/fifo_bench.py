"""A bench for what a quorum queue's state machine does otherwise than a classic queue, release by release.

Commands are applied there as they are when they have been committed: nothing of Raft is in the way.
"""

from __future__ import annotations

from hawb.engine.clients import consuming, fetching, settling, subscriptions
from hawb.engine.core import runs
from hawb.engine.core.events import DeliveryArrives
from hawb.engine.core.operations import Consume, ConsumerCancels, Get, Settle
from hawb.engine.core.runs import EMPTY, Runs
from hawb.engine.core.settings import Settings
from hawb.engine.core.state import QUORUM, Batch, Queue
from hawb.engine.core.turn import Turn
from hawb.engine.first_state import begin
from hawb.engine.queues import expiry, limits
from hawb.engine.queues.contents import in_order, ready
from hawb.engine.quorum import fifo
from hawb.rules.profiles import PROFILES
from hawb.rules.quorum_declaration import quorum_settings

VERSIONS = list(PROFILES)
SINCE_3_10 = ["3.10", "3.13", "4.0"]
NODES = 4
LATENCY_US = 500


class Bench:
    """A quorum queue q with members on nodes 0, 1 and 2, led by 0, and clients that ask things of it. There is a fourth
    node without a member."""

    def __init__(self, version: str = "3.10", **arguments: object):
        settings = Settings(names=tuple("abcd"), file_order=tuple(range(NODES)), profile=PROFILES[version])
        self.turn = Turn(settings, begin(settings, {}, [], []), 0)
        self.version = version
        self.add("q", QUORUM, **arguments)

    def add(self, name: str, kind: str, **arguments: object) -> None:
        given = {f"x-{key.replace('_', '-')}": value for key, value in arguments.items()}
        wanted = quorum_settings({}, given, self.turn.settings.profile, 3) if kind == QUORUM else None
        self.turn.add_queue(
            Queue(
                name=name, vhost="/", type=kind, durable=True, auto_delete=False, owner=None,
                arguments=tuple(given.items()), policy=None, operator_policy=None, mirroring=None, master=0,
                contents=tuple(EMPTY if node < 3 else None for node in range(NODES)), synchronised=(0, 1, 2),
                members=(0, 1, 2) if kind == QUORUM else (), holder=0,
                fifo=fifo.new(self.turn) if kind == QUORUM else None, quorum_settings=wanted,
            )
        )  # fmt: skip

    @property
    def queue(self) -> Queue:
        return self.turn.queues["q"]

    def keep_to(self, **arguments: object) -> None:
        """Commit another policy."""
        given = {f"x-{key.replace('_', '-')}": value for key, value in arguments.items()}
        limits.adopt_settings(self.turn, "q", quorum_settings({}, given, self.turn.settings.profile, 3))
        consuming.deliver(self.turn, "q")

    def publish(self, count: int, size_bytes: int = 1, priority: int | None = None) -> None:
        """Commit the next numbers."""
        first = self.turn.account("q").published + 1
        self.enqueue(((first, first + count - 1),), size_bytes, priority)

    def enqueue(self, numbers: Runs, size_bytes: int = 1, priority: int | None = None) -> None:
        turn = self.turn
        turn.book("q", published=max(turn.account("q").published, numbers[-1][1]))
        fifo.with_late(turn, "q", numbers)
        queue = self.queue
        expires_us = expiry.expires_us(turn, queue)
        batch = Batch(numbers[0][0], numbers[-1][1], size_bytes, True, priority, expires_us)
        content = runs.union(queue.content, numbers)
        turn.change_queue(
            "q", contents=(content, content, content, None),
            batches=tuple(sorted((*queue.batches, batch), key=lambda one: one.first)),
        )  # fmt: skip
        consuming.deliver(turn, "q", numbers)

    def consume(self, name: str, prefetch: int = 0, node: int = 0, **more: object) -> None:
        order = Consume("q", node, "default", consumer=name, prefetch=prefetch, **more)
        subscriptions.consume(self.turn, order)

    def settle(self, name: str, count: int | None = None, verdict: str = "ack") -> None:
        node = self.turn.consumers[name].node
        settling.settle(self.turn, Settle("q", node, "default", consumer=name, count=count, verdict=verdict))

    def requeue(self, name: str, count: int | None = None) -> None:
        self.settle(name, count, "requeue")

    def get(self, count: int = 1, holder: str | None = None) -> None:
        fetching.get(self.turn, Get("q", 0, "default", count=count, holder=holder))

    def cancel(self, name: str) -> None:
        subscriptions.client_cancels(self.turn, ConsumerCancels(name))

    def close(self, name: str) -> None:
        subscriptions.close(self.turn, name, "client")

    def pass_time(self, us: int) -> list[object]:
        """Let time pass and return what was due except deliveries, which arrive."""
        until, due = self.turn.now_us + us, []
        while self.turn.next_time_us() is not None and self.turn.next_time_us() <= until:
            event = self.turn.take()
            if isinstance(event, DeliveryArrives):
                consuming.arrive(self.turn, event)
            else:
                due.append(event)
        self.turn.now_us = until
        return due

    def held(self, name: str) -> Runs:
        """Return what the queue waits for, in the order of delivery."""
        consumer = self.turn.consumers[name]
        return runs.within(consumer.in_sequence, consumer.held)

    @property
    def order(self) -> Runs:
        """Return the ready messages in the order in which they are delivered."""
        return in_order(self.queue, ready(self.queue))

    def removed(self, reason: str) -> Runs:
        return dict(self.turn.account("q").removed)[reason]

    @property
    def codes(self) -> list[int | None]:
        return [refusal.code for refusal in self.turn.refusals]


SINGLE = {"single_active_consumer": True}
