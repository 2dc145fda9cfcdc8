"""Clients with a rate on a real cluster: a message, or an acknowledgement, at each beat of their clock.

As in the model beat k is k / rate after the client began. A client that the machine has made late does at once what was
due, so that the number of messages follows from the time alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from hawb.broker.publishing import Numbers, Publishing, Told
from hawb.engine.core.naming import split_queue
from hawb.scenario.verbs import Publisher

SHORTEST_S = 0.002
"""How long a client with a high rate pauses at least."""
STUCK_S = 1.0
"""A publisher that RabbitMQ holds back, and that has heard nothing for so long, is blocked. RabbitMQ reports a
connection as held back for five seconds longer than it is."""


class Clock:
    """The beats of a client; `due` tells each of them once."""

    def __init__(self, began_s: float, rate: float):
        self._began_s, self._rate, self._told = began_s, rate, 0

    @property
    def next_s(self) -> float:
        """When the next beat is that `due` has not told yet."""
        return self._began_s + (self._told + 1) / self._rate

    def due(self, now_s: float) -> int:
        """How many beats there were since the last call."""
        before, self._told = self._told, max(self._told, int((now_s - self._began_s) * self._rate))
        return self._told - before


async def beat(clock: Clock, goes_on: Callable[[], bool], act: Callable[[int], None]) -> None:
    """Has a client act at its beats, several at a time if it is late, as long as it goes on."""
    loop = asyncio.get_running_loop()
    while goes_on():
        act(clock.due(loop.time()))
        await asyncio.sleep(max(SHORTEST_S, clock.next_s - loop.time()))


class SteadyPublisher:
    """A publisher that goes on until it is closed, or its channel is. `number` gives a message its number."""

    def __init__(self, verb: Publisher, clock: Clock, number: Callable[[], Numbers], told: Told):
        self._verb, self._number, self._told = verb, number, told
        self._names = [split_queue(verb.queue)[1]]
        self.connection = f"publisher {verb.name}"
        self.clock = clock
        self.channel: Publishing | None = None
        self.published = self.confirmed = 0
        self._heard_s = 0.0

    @property
    def open(self) -> bool:
        """Whether the publisher goes on."""
        return self.channel is not None and self.channel.channel.open

    def publish(self, count: int) -> None:
        """Publishes so many messages."""
        for _ in range(count):
            self.published += 1
            self.channel.publish(self._names, self._number(), self._verb)

    def on_answer(self, numbers: Numbers, verdict: str) -> None:
        """Takes in that RabbitMQ has confirmed or nacked messages."""
        self.confirmed += verdict == "confirmed"
        self._heard_s = asyncio.get_running_loop().time()
        self._told(numbers, verdict)

    def state(self, *, held_back: bool, now_s: float) -> str:
        """running, blocked or closed; `held_back` is what RabbitMQ reports of the connection."""
        if not self.open:
            return "closed"
        return "blocked" if held_back and now_s - self._heard_s > STUCK_S else "running"
