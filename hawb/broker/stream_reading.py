"""What is in a stream, read from its beginning by a client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sized

from hawb.broker.connections import Channel

PREFETCH = 1000
QUIET_S = 2
"""After so long without a message all have come: nobody counts a stream's messages before the next tick."""


async def read_stream(channel: Channel, name: str, received: Callable, found: Sized) -> None:
    """Has `received`, which acknowledges, called with every message of a stream, until `found` grows no more."""
    await channel.call("basic_qos", prefetch_count=PREFETCH)
    await channel.call("basic_consume", name, received, arguments={"x-stream-offset": "first"})
    had = -1
    while len(found) > had:
        had = len(found)
        await asyncio.sleep(QUIET_S)
