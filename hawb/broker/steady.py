"""Clients with a rate on a real cluster: a message, or an acknowledgement, at each tick of their clock.

As in the model tick k is k / rate seconds after the client began. A client that the machine delays catches up at once,
so that the number of messages follows from the time alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from hawb.broker.publishing import Numbers, OnConfirm, Publishing
from hawb.engine.core.naming import split_queue
from hawb.scenario.verbs import Publisher

SHORTEST_S = 0.002
"""The least pause of a client with a high rate, in seconds."""
STUCK_S = 1.0
"""A publisher that RabbitMQ throttles, and that has had no answer for this time, is blocked.

RabbitMQ reports a connection as throttled for five seconds longer than it is.
"""


class Clock:
    """The ticks of a client; `due` counts each of them once."""

    def __init__(self, began_s: float, rate: float):
        self._began_s, self._rate, self._counted = began_s, rate, 0

    @property
    def next_s(self) -> float:
        """Return the time of the next tick that `due` has not counted yet."""
        return self._began_s + (self._counted + 1) / self._rate

    def due(self, now_s: float) -> int:
        """Return the number of ticks since the last call."""
        before, self._counted = self._counted, max(self._counted, int((now_s - self._began_s) * self._rate))
        return self._counted - before


async def run_at_ticks(clock: Clock, goes_on: Callable[[], bool], act: Callable[[int], None]) -> None:
    """Call `act` at a client's ticks, with several at a time if it is late, while `goes_on` is true."""
    loop = asyncio.get_running_loop()
    while goes_on():
        act(clock.due(loop.time()))
        await asyncio.sleep(max(SHORTEST_S, clock.next_s - loop.time()))


class SteadyPublisher:
    """A publisher that runs until it is closed, or its channel is. `number` returns the number of the next message."""

    def __init__(self, verb: Publisher, clock: Clock, number: Callable[[], Numbers], on_confirm: OnConfirm):
        self._verb, self._number, self._on_confirm = verb, number, on_confirm
        self._names = [split_queue(verb.queue)[1]]
        self.connection = f"publisher {verb.name}"
        self.clock = clock
        self.channel: Publishing | None = None
        self.published = self.confirmed = 0
        self._heard_s = 0.0

    @property
    def open(self) -> bool:
        """Return True if the publisher is active."""
        return self.channel is not None and self.channel.channel.open

    def publish(self, count: int) -> None:
        """Publish `count` messages."""
        for _ in range(count):
            self.published += 1
            self.channel.publish(self._names, self._number(), self._verb)

    def on_answer(self, numbers: Numbers, verdict: str) -> None:
        """Process confirms or nacks of messages."""
        self.confirmed += verdict == "confirmed"
        self._heard_s = asyncio.get_running_loop().time()
        self._on_confirm(numbers, verdict)

    def state(self, *, throttled: bool, now_s: float) -> str:
        """Return running, blocked or closed; `throttled` is True if RabbitMQ says that it throttles the connection."""
        if not self.open:
            return "closed"
        return "blocked" if throttled and now_s - self._heard_s > STUCK_S else "running"
