"""AMQP connections and channels as coroutines, on one thread in the cluster's hub.

pika's own blocking connection has no deadlines. Here every answer is awaited: it comes, or the channel or connection
closes with RabbitMQ's code and text (`Refused`), or the caller stops waiting and may get it later.
"""

from __future__ import annotations

import asyncio
import logging
import struct
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any

import pika
import pika.data
from pika.adapters.asyncio_connection import AsyncioConnection
from pika.spec import Basic

from hawb.broker.namespaces import enter

logging.getLogger("pika").setLevel(logging.CRITICAL)
CONNECT_S = 20
encode_value = pika.data.encode_value


def encode_double(pieces: list[bytes], value: Any) -> int:
    """Encode a value of a table, also a float, which pika alone cannot. Return its number of bytes."""
    if not isinstance(value, float):
        return encode_value(pieces, value)
    pieces.append(struct.pack(">cd", b"d", value))
    return 9


pika.data.encode_value = encode_double


class Refused(Exception):  # noqa: N818 - named for what it says
    """RabbitMQ refused a request. `code` is its reply code; None if the connection broke."""

    def __init__(self, code: int | None, text: str):
        super().__init__(text)
        self.code, self.text = code, text


class Loop:
    """A thread in a network namespace that runs coroutines."""

    def __init__(self, namespace: str):
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, args=(namespace,), daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine) -> Future:
        """Start a coroutine. Return the future of its value."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop)

    def close(self) -> None:
        """End the thread and all its coroutines."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(5)

    def _run(self, namespace: str) -> None:
        enter(namespace)
        # Coroutines left when a scenario ends fail with its cluster; their errors matter no more.
        self.loop.set_exception_handler(lambda _loop, _context: None)
        self.loop.run_forever()


class Connection:
    """One client's connection to a node and virtual host. `on_close` is called when it closes."""

    def __init__(self, loop: asyncio.AbstractEventLoop):
        self._loop = loop
        self._pika: AsyncioConnection | None = None
        self.on_close: list[Callable[[], None]] = []
        self._channels: list[Channel] = []

    @property
    def open(self) -> bool:
        """Return True if the connection can be used."""
        return self._pika is not None and self._pika.is_open

    async def connect(self, host: str, vhost: str, name: str, cancel_notify: bool) -> None:
        """Open the connection; RabbitMQ lists it by `name`. Raise Refused."""
        opened = self._loop.create_future()
        properties = {"capabilities": capabilities(cancel_notify), "connection_name": name}
        parameters = pika.ConnectionParameters(
            host, virtual_host=vhost, heartbeat=0, blocked_connection_timeout=None, socket_timeout=CONNECT_S,
            stack_timeout=CONNECT_S, client_properties=properties,
        )  # fmt: skip
        self._pika = AsyncioConnection(
            parameters,
            on_open_callback=lambda _: answer_future(opened, None),
            on_open_error_callback=lambda _, error: answer_future(opened, refusal(error)),
            on_close_callback=lambda _, reason: self._closed(reason),
            custom_ioloop=self._loop,
        )
        await opened

    async def channel(self) -> Channel:
        """Return a new channel. Raise Refused."""
        if not self.open:
            raise Refused(None, "the connection is closed")
        opened = self._loop.create_future()
        channel = Channel(self._loop, self._pika.channel(on_open_callback=lambda _: answer_future(opened, None)))
        channel.waiting.add(opened)
        self._channels.append(channel)
        await opened
        channel.waiting.discard(opened)
        return channel

    async def close(self) -> None:
        """Close the connection in order."""
        if not self.open:
            return
        closed = self._loop.create_future()
        self.on_close.append(lambda: answer_future(closed, None))
        for channel in self._channels:
            channel.forget_consumers()
        self._pika.close()
        await asyncio.wait([closed], timeout=CONNECT_S)

    def drop(self) -> None:
        """Drop the connection without a message to the node, whose host has lost its power."""
        self._closed(ConnectionError("the node's host has lost its power"))

    def _closed(self, reason: Exception) -> None:
        for channel in self._channels:
            channel.closed(reason)
        for heard in self.on_close:
            heard()


class Channel:
    """A channel; `call` awaits an answer. `on_close` is called with RabbitMQ's reason when it closes."""

    def __init__(self, loop: asyncio.AbstractEventLoop, channel: pika.channel.Channel):
        self._loop = loop
        self.pika = channel
        self.waiting: set[asyncio.Future] = set()
        self.on_close: list[Callable[[Refused], None]] = []
        self._over: Refused | None = None
        channel.add_on_close_callback(lambda _, reason: self.closed(reason))

    @property
    def open(self) -> bool:
        """Return True if the channel can be used."""
        return self._over is None and self.pika.is_open

    async def call(self, method: str, *arguments: Any, **fields: Any) -> Any:
        """Return RabbitMQ's answer to a method of the channel. Raise Refused if the channel closes before."""
        return await self._await(lambda answer: getattr(self.pika, method)(*arguments, callback=answer, **fields))

    async def get(self, queue: str) -> tuple[Basic.GetOk, pika.BasicProperties, bytes] | None:
        """Return one message of a queue, to be acknowledged; None if it is empty. Raise Refused."""

        def ask(answer: Callable[[Any], None]) -> None:
            self.pika.add_callback(lambda _: answer(None), [Basic.GetEmpty], True)
            self.pika.basic_get(queue, lambda _, method, properties, body: answer((method, properties, body)))

        return await self._await(ask)

    async def close(self) -> None:
        """Close the channel in order."""
        if self.open:
            closed = self._loop.create_future()
            self.on_close.append(lambda _: answer_future(closed, None))
            self.forget_consumers()
            self.pika.close()
            await asyncio.wait([closed], timeout=CONNECT_S)

    def forget_consumers(self) -> None:
        """Let pika close the channel at once.

        It would cancel the channel's consumers first, so that other consumers get new messages before the held ones are
        requeued.
        """
        self.pika._consumers.clear()

    def closed(self, reason: Exception) -> None:
        """Record that the channel is closed, and fail all pending answers with the reason."""
        if self._over is None:
            self._over = refusal(reason)
            for future in list(self.waiting):
                answer_future(future, self._over)
            for heard in self.on_close:
                heard(self._over)

    async def _await(self, ask: Callable[[Callable[[Any], None]], None]) -> Any:
        if not self.open:
            raise self._over or Refused(None, "the channel is closed")
        future = self._loop.create_future()
        self.waiting.add(future)
        try:
            ask(lambda answer: answer_future(future, answer))
            return await future
        finally:
            self.waiting.discard(future)


def capabilities(cancel_notify: bool) -> dict[str, bool]:
    """Return the capabilities that a client announces."""
    return {
        "authentication_failure_close": True,
        "basic.nack": True,
        "connection.blocked": True,
        "consumer_cancel_notify": cancel_notify,
        "publisher_confirms": True,
    }


def answer_future(future: asyncio.Future, answer: Any) -> None:
    """Set a future's result or error; a second answer is ignored."""
    if future.done():
        return
    if isinstance(answer, Exception):
        future.set_exception(answer)
    else:
        future.set_result(answer)


def refusal(reason: Exception) -> Refused:
    """Return a reason to close as Refused, in RabbitMQ's words if it has any."""
    if isinstance(reason, Refused):
        return reason
    code = getattr(reason, "reply_code", None)
    return Refused(code, getattr(reason, "reply_text", None) or str(reason) or type(reason).__name__)
