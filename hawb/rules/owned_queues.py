"""Queues that RabbitMQ's plugins declare for themselves: no application declares them or chooses their type.

A plugin declares its queue again with its own arguments, so that RabbitMQ refuses it a queue that was declared again
with others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

PURPOSE = "x-internal-purpose"
FEDERATION = "federation: "
"""The prefix of the names of a federation link's queue and exchanges (`rabbit_federation_exchange_link`)."""


class Owner(NamedTuple):
    """The plugin that declares a queue and chooses its type, in words, and the source of that."""

    what: str
    source: str


_FEDERATION = Owner(
    "a federation link of another cluster declares it; from 3.13.1 on with the queue-type of its upstream",
    "rabbit_federation_exchange_link:consume_from_upstream_queue, upstream_queue_name",
)
_BY_NAME: tuple[tuple[str, Owner], ...] = (
    (FEDERATION, _FEDERATION),
    (r"mqtt-subscription-.*qos[01]$", Owner(
        "the MQTT plugin declares it for a client's subscription, with QoS 1 as mqtt.durable_queue_type has it",
        "rabbit_mqtt_util:queue_name_prefix, rabbit_mqtt_processor:create_queue",
    )),
    ("sharding: ", Owner("the sharding plugin declares it, on the node in its name",
                         "rabbit_sharding_util:make_queue_name")),
    (r"amq\.rabbitmq\.reply-to(\.|$)", Owner("it represents a client that waits for replies, and stores nothing",
                                             "rabbit_channel, direct reply-to")),
)  # fmt: skip


def owner(name: str, arguments: Mapping[str, object] | None) -> Owner | None:
    """Return the plugin that declares a queue for itself; None for a queue of an application."""
    found = next((owner for pattern, owner in _BY_NAME if re.match(pattern, name, re.DOTALL)), None)
    if found is None and arguments and PURPOSE in arguments:
        return _FEDERATION
    return found


def is_of_federation(name: str, internal: bool) -> bool:
    """Return True for an exchange that a federation link declares beside its queue (`ensure_internal_exchange`)."""
    return internal and name.startswith(FEDERATION)
