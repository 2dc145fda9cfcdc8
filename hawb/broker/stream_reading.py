"""Read the content of a stream, from its beginning, by a client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sized

from hawb.broker.connections import Channel

PREFETCH = 1000
QUIET_S = 2
"""After this time without a message, in seconds, all have come.

RabbitMQ counts a stream's messages only at its next tick.
"""


async def read_stream(channel: Channel, name: str, received: Callable, found: Sized) -> None:
    """Call `received`, which acknowledges, with every message of a stream, until `found` stops growing."""
    await channel.call("basic_qos", prefetch_count=PREFETCH)
    await channel.call("basic_consume", name, received, arguments={"x-stream-offset": "first"})
    had = -1
    while len(found) > had:
        had = len(found)
        await asyncio.sleep(QUIET_S)
