"""What a queue's policies and arguments say beside mirroring: lengths, lives and where dead letters go.

Source: `rabbit_amqqueue_process:process_args_policy`. Where a policy and an argument both give a number the smaller one
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
"""The limits that are no numbers, and their policy settings: here an argument counts before a policy."""

LIMIT_SETTINGS = frozenset(SMALLER.values()) | frozenset(ARGUMENTS_FIRST.values())
"""Policy settings that are limits."""

LIMIT_ARGUMENTS = frozenset(f"x-{setting}" for setting in LIMIT_SETTINGS)
"""Queue arguments that are limits."""


def limits(definition: Mapping[str, object], arguments: Mapping[str, object]) -> Limits:
    """The limits of a queue under the effective definition of its policies, and with arguments that were accepted."""
    given = {
        field: min(values) if field in SMALLER else values[0]
        for field, setting in (SMALLER | ARGUMENTS_FIRST).items()
        if (values := [one[key] for one, key in ((arguments, f"x-{setting}"), (definition, setting)) if key in one])
    }
    return Limits(**given) if given else NO_LIMITS
