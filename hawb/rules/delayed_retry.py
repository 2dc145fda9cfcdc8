"""The delay before a quorum queue of 4.3 delivers a returned message again (delayed-retry-type, -min, -max).

Source: `rabbit_quorum_queue:get_delayed_retry_config`, `rabbit_fifo:should_delay0`, `calculate_ready_at`.
"""

from __future__ import annotations

from msgspec import Struct

ALL, FAILED, RETURNED = "all", "failed", "returned"


class DelayedRetry(Struct, frozen=True):
    """The returned messages that wait, and how long.

    `kind` is ALL, or FAILED for those whose delivery failed, or RETURNED for those that were merely returned. The delay
    is `least_ms` for each failed delivery, and at most `most_ms`.
    """

    kind: str
    least_ms: int
    most_ms: int

    def concerns(self, *, failed: bool) -> bool:
        """Return True if a returned message waits, whose delivery counts as failed or does not."""
        return self.kind == ALL or (self.kind == FAILED) == failed

    def wait_ms(self, failures: int) -> int:
        """Return the delay of a message whose delivery has failed `failures` times, this time included."""
        return min(self.least_ms * max(1, failures), self.most_ms)


def delayed_retry(kind: object, least_ms: object, most_ms: object) -> DelayedRetry | None:
    """Return a queue's setting; None if no message waits.

    These arguments are not validated when a queue is declared: if the least delay is no number above 0 no message
    waits, if the greatest is none it is the least.
    """
    if kind not in (ALL, FAILED, RETURNED) or not _is_positive(least_ms):
        return None
    return DelayedRetry(kind, least_ms, most_ms if _is_positive(most_ms) else least_ms)


def _is_positive(value: object) -> bool:
    return type(value) is int and value > 0
