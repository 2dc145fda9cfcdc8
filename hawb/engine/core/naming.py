"""Names of queues: `VHOST::NAME`, or a bare name in the virtual host `/`, unless that name itself contains `::`."""

from __future__ import annotations


def split_queue(queue: str) -> tuple[str, str]:
    """Return (virtual host, name) of a queue as scenarios write it, split at the first `::`."""
    vhost, separator, name = queue.partition("::")
    return (vhost, name) if separator else ("/", queue)


def join_queue(vhost: str, name: str) -> str:
    """Return the name of a queue as scenarios and outcomes write it."""
    return name if vhost == "/" and "::" not in name else f"{vhost}::{name}"


def described(queue: str) -> str:
    """Return the name of a queue as RabbitMQ's error texts write it (`rabbit_misc:rs`)."""
    vhost, name = split_queue(queue)
    return f"queue '{name}' in vhost '{vhost}'"
