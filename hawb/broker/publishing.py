"""Channels that publish; each message has its number for each queue in a header."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from typing import Any

import pika

from hawb.broker.connections import Channel
from hawb.scenario.verbs import Publish, Publisher

HEADER = "x-hawb-numbers"
ALTERNATE = "CC"
"""The header that routes a message to further queues (RabbitMQ's sender-selected distribution)."""

Numbers = list[tuple[str, int]]
"""A message's number in each of its queues."""
OnConfirm = Callable[[Numbers, str], None]
"""A callback for messages that were confirmed or nacked."""


async def opened(channel: Channel, mode: str, on_confirm: OnConfirm) -> Publishing:
    """Return a channel that is ready to publish. Raise Refused."""
    publishing = Publishing(channel, on_confirm)
    if mode == "confirm":
        await channel.call("confirm_delivery", publishing.on_frame)
        publishing.confirming = True
    elif mode == "tx":
        await channel.call("tx_select")
    return publishing


class Publishing:
    """A channel that publishes; `pending` has the messages that wait for a confirm, by delivery tag."""

    def __init__(self, channel: Channel, on_confirm: OnConfirm):
        self.channel, self._on_confirm = channel, on_confirm
        self.confirming = False
        self.pending: dict[int, Numbers] = {}
        self._tag = 0

    def publish(self, names: list[str], numbers: Numbers, verb: Publish | Publisher) -> None:
        """Write one message."""
        headers: dict[str, Any] = {HEADER: dict(numbers)}
        if names[1:]:
            headers[ALTERNATE] = names[1:]
        priority = verb.priority if isinstance(verb, Publish) else None
        properties = pika.BasicProperties(headers=headers, delivery_mode=2 if verb.persistent else 1, priority=priority)
        self._tag += 1
        if self.confirming:
            self.pending[self._tag] = numbers
        self.channel.pika.basic_publish("", names[0], bytes(verb.size), properties)

    def on_frame(self, frame: Any) -> None:
        """Process basic.ack or basic.nack from the broker."""
        verdict = "confirmed" if isinstance(frame.method, pika.spec.Basic.Ack) else "nacked"
        tag = frame.method.delivery_tag
        tags = list(takewhile(lambda known: known <= tag, self.pending)) if frame.method.multiple else [tag]
        for known in tags:
            if known in self.pending:
                self._on_confirm(self.pending.pop(known), verdict)
