"""The clients of a scenario on a real cluster: their operations, the answers of RabbitMQ, and the messages they hold.

As the contract says: one connection for each (connection name, node, virtual host), on it one channel per publish mode,
one per consumer or holder, and a temporary channel for each request that may be refused. A message has its number for
each queue in a header, since a queue numbers the messages published to it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pika

from hawb.broker.connections import Channel, Connection, Refused
from hawb.broker.publishing import HEADER, Numbers, Publishing, opened
from hawb.broker.steady import Clock, SteadyPublisher, run_at_ticks
from hawb.broker.stream_reading import read_stream
from hawb.engine.core import runs
from hawb.engine.core.naming import join_queue, split_queue
from hawb.engine.core.runs import Runs
from hawb.scenario import verbs

UNNUMBERED = 0
DRAIN_S = 20
"""The time limit to read all messages of a queue, in seconds; messages that expire meanwhile never arrive."""
MOST_PREFETCH = 0xFFFF
"""The largest prefetch that AMQP can express."""
AT_ONCE = 200
"""The number of messages written to a socket before other clients get a turn."""


@dataclass
class Account:
    """The messages of a queue's name, by the requests and answers of its publishers and consumers."""

    published: int = 0
    confirmed: set[int] = field(default_factory=set)
    nacked: set[int] = field(default_factory=set)
    acknowledged: set[int] = field(default_factory=set)


@dataclass
class Subscriber:
    """A consumer, or the holder of a get.

    `held` has (delivery tag, number), oldest first; `cancel_notify` is True if RabbitMQ notifies the client when its
    subscription ends.
    """

    name: str
    queue: str
    connection: str
    node: str
    channel: Channel
    automatic: bool = False
    cancel_notify: bool = True
    subscribed: bool = False
    state: str = "active"
    received: list[int] = field(default_factory=list)
    held: list[tuple[int, int]] = field(default_factory=list)
    cancel_notified: bool = False


class Clients:
    """All clients. Every method but the constructor runs in the loop passed to it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, hosts: dict[str, str]):
        self._loop, self._hosts = loop, hosts
        self._connections: dict[tuple[str, str, str, bool], Connection] = {}
        self._publishing: dict[tuple[Connection, str], Publishing] = {}
        self.accounts: dict[str, Account] = defaultdict(Account)
        self.subscribers: dict[str, Subscriber] = {}
        self.publishers: dict[str, SteadyPublisher] = {}
        self._beats: set[asyncio.Task] = set()
        self.declared: set[str] = set()
        self.streams: set[str] = set()

    @property
    def unconfirmed(self) -> Counter[str]:
        """Return the number of messages, by queue, that wait for a confirm on an open channel.

        Those of steady publishers are left out.
        """
        waiting = (channel.pending.values() for channel in self._publishing.values() if channel.channel.open)
        return Counter(queue for pending in waiting for numbers in pending for queue in numbers)

    @property
    def steady(self) -> bool:
        """Return True if a client with a rate is active."""
        return bool(self._beats)

    @property
    def traffic(self) -> tuple:
        """Return a value that changes with each delivery or answer; with steady clients only the consumers' states."""
        if self.steady:
            return tuple(subscriber.state for subscriber in self.subscribers.values())
        heard = [(len(s.received), len(s.held), s.state) for s in self.subscribers.values()]
        return self.unconfirmed, tuple(heard)

    async def connection(self, name: str, node: str, vhost: str, cancel_notify: bool = True) -> Connection:
        """Return the connection of that name; open it if needed. Raise Refused."""
        key = name, node, vhost, cancel_notify
        if key not in self._connections or not self._connections[key].open:
            connection = Connection(self._loop)
            await connection.connect(self._hosts[node], vhost, name, cancel_notify)
            self._connections[key] = connection
        return self._connections[key]

    def node_lost(self, node: str) -> None:
        """Drop the connections to a node whose host has lost its power.

        Its clients reconnect elsewhere at their next step.
        """
        for key, connection in list(self._connections.items()):
            if key[1] == node:
                connection.drop()
                del self._connections[key]

    # --- requests that may be refused: each on its own channel ---

    async def declare(self, verb: verbs.Declare, node: str) -> None:
        """Call queue.declare. Raise Refused."""
        vhost, name = split_queue(verb.queue)
        connection = await self.connection(verb.connection, node, vhost)
        await self._aside(
            connection, "queue_declare", name, passive=verb.passive, durable=verb.durable, exclusive=verb.exclusive,
            auto_delete=verb.auto_delete, arguments=dict(verb.arguments),
        )  # fmt: skip
        self.declared.add(join_queue(vhost, name))
        if verb.arguments.get("x-queue-type") == "stream":
            self.streams.add(join_queue(vhost, name))

    async def delete(self, verb: verbs.Delete, node: str) -> None:
        """Call queue.delete. Raise Refused."""
        vhost, name = split_queue(verb.queue)
        connection = await self.connection("default", node, vhost)
        await self._aside(connection, "queue_delete", name, if_unused=verb.if_unused, if_empty=verb.if_empty)

    async def purge(self, verb: verbs.Purge, node: str) -> None:
        """Call queue.purge. Raise Refused."""
        vhost, name = split_queue(verb.queue)
        await self._aside(await self.connection("default", node, vhost), "queue_purge", name)

    async def bind(self, verb: verbs.Bind, node: str) -> None:
        """Call queue.bind. Declare the exchange first. Raise Refused."""
        vhost, name = split_queue(verb.queue)
        connection = await self.connection("default", node, vhost)
        await self._aside(connection, "exchange_declare", verb.exchange, "direct", durable=True)
        await self._aside(connection, "queue_bind", name, verb.exchange, verb.routing_key)

    async def _aside(self, connection: Connection, method: str, *arguments: Any, **fields: Any) -> Any:
        channel = await connection.channel()
        answer = await channel.call(method, *arguments, **fields)
        await channel.close()
        return answer

    # --- publishing ---

    async def publish(self, verb: verbs.Publish, node: str) -> None:
        """Call basic.publish for every message; with transactions, also commit them."""
        targets = [join_queue(*split_queue(queue)) for queue in verb.targets]
        vhost = split_queue(targets[0])[0]
        names = [split_queue(queue)[1] for queue in targets]
        channel = await self._publisher(await self.connection(verb.connection, node, vhost), verb.mode)
        written: list[Numbers] = []
        for index in range(verb.count):
            numbers = self._number(targets)
            written.append(numbers)
            channel.publish(names, numbers, verb)
            if index % AT_ONCE == AT_ONCE - 1:
                await asyncio.sleep(0)
        if verb.mode == "tx":
            await channel.channel.call("tx_commit")
            for numbers in written:
                self._book_answer(numbers, "confirmed")
        elif verb.mode == "plain":
            # The channel answers after it has routed the messages before.
            await channel.channel.call("flow", True)

    async def _publisher(self, connection: Connection, mode: str) -> Publishing:
        found = self._publishing.get((connection, mode))
        if found is None or not found.channel.open:
            found = await opened(await connection.channel(), mode, self._book_answer)
            self._publishing[connection, mode] = found
        return found

    async def publisher(self, verb: verbs.Publisher, node: str, began_s: float) -> None:
        """Start a steady publisher; one that was closed continues with its counts. Raise Refused."""
        known = self.publishers.get(verb.name)
        if known is not None and known.open:
            raise Refused(None, f"there is a publisher '{verb.name}' already")
        queue = join_queue(*split_queue(verb.queue))
        publisher = SteadyPublisher(verb, Clock(began_s, verb.rate), lambda: self._number([queue]), self._book_answer)
        if known is not None:
            publisher.published, publisher.confirmed = known.published, known.confirmed
        connection = await self.connection(publisher.connection, node, split_queue(queue)[0])
        publisher.channel = await opened(await connection.channel(), verb.mode, publisher.on_answer)
        self.publishers[verb.name] = publisher
        self._steadily(run_at_ticks(publisher.clock, lambda: publisher.open, publisher.publish))

    def _steadily(self, beats: Coroutine) -> None:
        """Run a client's ticks as a task of its own."""
        task = self._loop.create_task(beats)
        self._beats.add(task)
        task.add_done_callback(self._beats.discard)

    def _number(self, targets: Iterable[str]) -> Numbers:
        numbers = []
        for queue in targets:
            self.accounts[queue].published += 1
            numbers.append((queue, self.accounts[queue].published))
        return numbers

    def _book_answer(self, numbers: Iterable[tuple[str, int]], verdict: str) -> None:
        for queue, number in numbers:
            getattr(self.accounts[queue], verdict).add(number)

    # --- consuming ---

    async def consume(self, verb: verbs.Consume, node: str, began_s: float) -> None:
        """Call basic.consume on the consumer's own channel. Raise Refused.

        A cancelled consumer uses its former channel. A consumer with a rate acknowledges at it.
        """
        known = self.subscribers.get(verb.consumer)
        if known is not None and known.state == "active" and known.channel.open:
            raise Refused(530, f"NOT_ALLOWED - attempt to reuse consumer tag '{verb.consumer}'")
        subscriber = known if known is not None and known.channel.open else await self._subscriber(verb, node)
        channel = subscriber.channel
        if verb.prefetch:
            await channel.call("basic_qos", prefetch_count=verb.prefetch, global_qos=verb.global_prefetch)
        arguments: dict[str, Any] = {"x-priority": verb.priority} if verb.priority else {}
        if verb.cancel_on_ha_failover:
            arguments["x-cancel-on-ha-failover"] = True
        await channel.call(
            "basic_consume", split_queue(verb.queue)[1], lambda *delivery: self._received(subscriber, delivery),
            arguments=arguments, auto_ack=subscriber.automatic, exclusive=verb.exclusive, consumer_tag=verb.consumer,
        )  # fmt: skip
        subscriber.state, subscriber.subscribed = "active", True
        self.subscribers[verb.consumer] = subscriber
        if verb.rate is not None:
            acknowledge = partial(self._write, subscriber, verdict="ack")
            self._steadily(run_at_ticks(Clock(began_s, verb.rate), lambda: channel.open, acknowledge))

    async def _subscriber(self, verb: verbs.Consume, node: str) -> Subscriber:
        """Return a consumer with its channel, not yet subscribed."""
        vhost, name = split_queue(verb.queue)
        connection = await self.connection(verb.connection, node, vhost, verb.cancel_notify)
        channel = await connection.channel()
        subscriber = Subscriber(
            verb.consumer, join_queue(vhost, name), verb.connection, node, channel, verb.ack == "auto",
            verb.cancel_notify,
        )  # fmt: skip
        channel.pika.add_on_cancel_callback(lambda _: cancelled(subscriber))
        channel.on_close.append(lambda _: closed(subscriber))
        return subscriber

    async def get(self, verb: verbs.Get, node: str) -> None:
        """Call basic.get for `count` messages, or as many as there are."""
        vhost, name = split_queue(verb.queue)
        connection = await self.connection("default", node, vhost)
        holder = verb.consumer or "default"
        subscriber = None if verb.ack else self.subscribers.get(holder)
        if subscriber is None or not subscriber.channel.open:
            subscriber = Subscriber(holder, join_queue(vhost, name), "default", node, await connection.channel())
            subscriber.channel.on_close.append(lambda _: closed(subscriber))
        subscriber.queue = join_queue(vhost, name)
        for _ in range(verb.count):
            message = await subscriber.channel.get(name)
            if message is None:
                break
            self._received(subscriber, (None, *message))
        if verb.ack:
            await self._answer(subscriber, len(subscriber.held), "ack")
            await subscriber.channel.close()
        else:
            self.subscribers[holder] = subscriber

    def _received(self, subscriber: Subscriber, delivery: tuple) -> None:
        _, method, properties, _ = delivery
        number = number_of(properties, subscriber.queue)
        subscriber.received.append(number)
        if not subscriber.automatic:
            subscriber.held.append((method.delivery_tag, number))

    async def answer(self, name: str, count: int | str, verdict: str) -> None:
        """Call basic.ack or basic.nack for the oldest deliveries of a consumer. Raise Refused."""
        if name not in self.subscribers:
            raise Refused(None, f"there is no consumer '{name}'")
        subscriber = self.subscribers[name]
        if subscriber.state == "closed":
            raise Refused(None, f"consumer '{name}' is closed, and its channel with it")
        await self._answer(subscriber, len(subscriber.held) if count == "all" else count, verdict)

    async def _answer(self, subscriber: Subscriber, count: int, verdict: str) -> None:
        if self._write(subscriber, count, verdict):
            # The channel answers after it has passed on the answers before.
            await subscriber.channel.call("flow", True)

    def _write(self, subscriber: Subscriber, count: int, verdict: str) -> bool:
        """Write the answers to the oldest `count` messages of a consumer. Return True if there are any."""
        answered, subscriber.held = subscriber.held[:count], subscriber.held[count:]
        for tag, number in answered:
            if verdict == "ack":
                subscriber.channel.pika.basic_ack(tag)
                self.accounts[subscriber.queue].acknowledged.add(number)
            else:
                subscriber.channel.pika.basic_nack(tag, requeue=verdict == "requeue")
        return bool(answered)

    async def cancel(self, name: str) -> None:
        """Call basic.cancel; the consumer keeps its deliveries. Raise Refused."""
        subscriber = self.subscribers.get(name)
        if subscriber is None or subscriber.state != "active":
            raise Refused(None, f"there is no active consumer '{name}'")
        await subscriber.channel.call("basic_cancel", name)
        subscriber.state = "cancelled"

    async def close(self, name: str, now_s: float) -> None:
        """Close a consumer's channel, a steady publisher, or else all connections of that name.

        A publisher first sends all messages due by now. Closing again is no error, except for a connection that had no
        consumers. Raise Refused.
        """
        if name in self.subscribers:
            await self.subscribers[name].channel.close()
            return
        if name in self.publishers:
            publisher = self.publishers[name]
            if publisher.open:
                publisher.publish(publisher.clock.due(now_s))
                await publisher.channel.channel.close()
            return
        named = [connection for key, connection in self._connections.items() if key[0] == name and connection.open]
        if not named and all(subscriber.connection != name for subscriber in self.subscribers.values()):
            raise Refused(None, f"there is no connection or consumer '{name}'")
        for connection in named:
            await connection.close()

    async def close_all(self, spared: Callable[[str], bool] = lambda _: False) -> None:
        """Close every connection except those with a spared name."""
        for key, connection in list(self._connections.items()):
            if not spared(key[0]):
                await connection.close()

    async def drain(self, queue: str, node: str) -> list[tuple[int, bool]]:
        """Return (number, redelivered) of all messages that a queue delivers; they are requeued."""
        vhost, name = split_queue(queue)
        connection = await self.connection("hawb-drain", node, vhost)
        channel = await connection.channel()
        count = (await channel.call("queue_declare", name, passive=True)).method.message_count
        stream = join_queue(vhost, name) in self.streams
        found: list[tuple[int, bool]] = []
        all_here = asyncio.Event()

        def received(_: Any, method: Any, properties: pika.BasicProperties, _body: bytes) -> None:
            found.append((number_of(properties, join_queue(vhost, name)), method.redelivered))
            if stream:
                channel.pika.basic_ack(method.delivery_tag)
            elif len(found) == count:
                all_here.set()

        if stream:
            await read_stream(channel, name, received, found)
        elif count:
            # A quorum queue gives a consumer without a prefetch 2000 messages, and then waits; a classic one gives all.
            await channel.call("basic_qos", prefetch_count=count if count <= MOST_PREFETCH else 0)
            await channel.call("basic_consume", name, received)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(all_here.wait(), DRAIN_S)
        await connection.close()
        return found


def number_of(properties: pika.BasicProperties, queue: str) -> int:
    """Return the number of a message in a queue; UNNUMBERED for a dead letter, which no client published there."""
    headers = properties.headers or {}
    return UNNUMBERED if "x-death" in headers else (headers.get(HEADER) or {}).get(queue, UNNUMBERED)


def closed(subscriber: Subscriber) -> None:
    """Record that a subscriber's channel is closed, and its deliveries requeued."""
    subscriber.state, subscriber.held = "closed", []


def cancelled(subscriber: Subscriber) -> None:
    """Record that RabbitMQ has cancelled a subscriber."""
    subscriber.state, subscriber.cancel_notified = "cancelled", True


def in_order(numbers: Iterable[int]) -> list[list[int]]:
    """Return numbers in their order, as runs [first, last]."""
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][1] + 1 == number:
            found[-1][1] = number
        else:
            found.append([number, number])
    return found


def as_set(numbers: Iterable[int]) -> Runs:
    """Return numbers as sorted runs."""
    return runs.normal((number, number) for number in numbers)
