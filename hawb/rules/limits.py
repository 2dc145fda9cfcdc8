"""Settings of a queue's policies and arguments beside mirroring: lengths, times to live and dead letters.

Source: `rabbit_amqqueue_process:process_args_policy`. If a policy and an argument both give a number, the smaller one
counts; an exchange, a routing key or an overflow behaviour is the argument's.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

DROP_HEAD, REJECT_PUBLISH, REJECT_PUBLISH_DLX = "drop-head", "reject-publish", "reject-publish-dlx"


class Limits(Struct, frozen=True):
    """A classic queue's limits, None where there is none. Lengths count ready messages, and bytes their bodies."""

    max_length: int | None = None
    max_length_bytes: int | None = None
    overflow: str = DROP_HEAD
    message_ttl_ms: int | None = None
    expires_ms: int | None = None
    dead_letter_exchange: str | None = None
    dead_letter_routing_key: str | None = None


NO_LIMITS = Limits()

SMALLER = {
    "max_length": "max-length",
    "max_length_bytes": "max-length-bytes",
    "message_ttl_ms": "message-ttl",
    "expires_ms": "expires",
}
"""The limits that are numbers, and the policy settings that give them; an argument has x- before it."""

ARGUMENTS_FIRST = {
    "overflow": "overflow",
    "dead_letter_exchange": "dead-letter-exchange",
    "dead_letter_routing_key": "dead-letter-routing-key",
}
"""The limits that are no numbers, and their policy settings: an argument comes before a policy."""

LIMIT_SETTINGS = frozenset(SMALLER.values()) | frozenset(ARGUMENTS_FIRST.values())
"""Policy settings that are limits."""

LIMIT_ARGUMENTS = frozenset(f"x-{setting}" for setting in LIMIT_SETTINGS)
"""Queue arguments that are limits."""


def limits(definition: Mapping[str, object], arguments: Mapping[str, object]) -> Limits:
    """Return the limits of a queue under the effective definition of its policies, and with valid arguments."""
    if LIMIT_ARGUMENTS.isdisjoint(arguments) and LIMIT_SETTINGS.isdisjoint(definition):
        return NO_LIMITS
    given = {
        field: min(values) if field in SMALLER else values[0]
        for field, setting in (SMALLER | ARGUMENTS_FIRST).items()
        if (values := [one[key] for one, key in ((arguments, f"x-{setting}"), (definition, setting)) if key in one])
    }
    return Limits(**given) if given else NO_LIMITS


SOFT_LIMIT = 0.8
"""The part of its limit down to which a quorum queue has to get before it takes messages again."""


def room(limits: Limits, waiting: int, waiting_bytes: int, count: int, size_bytes: int) -> int:
    """Return how many of `count` messages a classic queue takes that rejects publishes.

    `waiting` messages of `waiting_bytes` are ready in it (`rabbit_amqqueue_process:will_overflow`).
    """
    if limits.max_length is not None:
        count = min(count, limits.max_length - waiting)
    if limits.max_length_bytes is not None:
        spare_bytes = limits.max_length_bytes - waiting_bytes
        fit = spare_bytes // size_bytes if size_bytes else count
        count = min(count, fit if spare_bytes >= 0 else 0)
    return max(0, count)


def is_too_long(limits: Limits, count: int, size_bytes: int) -> bool:
    """Return True if a quorum queue exceeds its limits, so that channels reject publishes.

    Ready messages count, and dead letters that wait (`rabbit_fifo:is_over_limit`).
    """
    pairs = (count, limits.max_length), (size_bytes, limits.max_length_bytes)
    return any(limit is not None and found > limit for found, limit in pairs)


def is_roomy(limits: Limits, count: int, size_bytes: int) -> bool:
    """Return True if a quorum queue with limits is at or below SOFT_LIMIT of each, so that it takes publishes again.

    Source: `rabbit_fifo:is_below_soft_limit`.
    """
    fits = limits.max_length is None or count <= int(limits.max_length * SOFT_LIMIT)
    return fits and (limits.max_length_bytes is None or size_bytes <= int(limits.max_length_bytes * SOFT_LIMIT))


def is_given_up(returned: int, delivery_limit: float | None) -> bool:
    """Return True if a quorum queue gives up a message that was returned so often (`rabbit_fifo:return_one`)."""
    return delivery_limit is not None and returned > delivery_limit
