"""The types of queues, and when RabbitMQ fills in the type of a declaration that names none.

A virtual host has had a default queue type since 3.10.8. A queue that is not durable, or is exclusive or auto-delete,
does not get it: up to 3.12 its type stays open, later releases fill in classic, which comes to the same
(`rabbit_amqqueue:augment_declare_args`, `rabbit_quorum_queue:is_compatible`).
"""

from __future__ import annotations

import re

TYPES = CLASSIC, QUORUM, STREAM = "classic", "quorum", "stream"
"""The types of queues."""
TYPE = "x-queue-type"
"""The argument that names the type of a queue."""

DEFAULT_TYPE_SINCE = (3, 10, 8)
"""The first release whose virtual hosts have a default queue type."""

_NEWEST = 9999
"""In place of the patch of a release that names its series alone, as the tag of an image may."""


def release_numbers(release: str | None) -> tuple[int, ...] | None:
    """Return a release as numbers that compare as releases do; None if the text is no release.

    A series alone counts as its newest release.
    """
    numbers = re.match(r"([0-9]{1,4})\.([0-9]{1,4})(?:\.([0-9]{1,4}))?", release or "")
    return tuple(int(number or _NEWEST) for number in numbers.groups()) if numbers else None


def has_default_types(release: str) -> bool:
    """Return True if virtual hosts of a release, such as 3.10.8, have a default queue type."""
    return (release_numbers(release) or ()) >= DEFAULT_TYPE_SINCE


def takes_default_type(durable: bool | None, exclusive: bool | None, auto_delete: bool | None) -> bool:
    """Return True if a declaration without a type gets the default type.

    None stands for a property that the file does not name; most queues are durable, shared and not auto-delete, so
    assume that.
    """
    return durable is not False and not exclusive and not auto_delete
