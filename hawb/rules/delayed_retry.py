"""How long a quorum queue of 4.3 keeps a message back that was returned to it (delayed-retry-type, -min, -max).

Source: `rabbit_quorum_queue:get_delayed_retry_config`, `rabbit_fifo:should_delay0`, `calculate_ready_at`.
"""

from __future__ import annotations

from msgspec import Struct

ALL, FAILED, RETURNED = "all", "failed", "returned"


class DelayedRetry(Struct, frozen=True):
    """Which returned messages wait (`kind`: ALL, or only those whose delivery FAILED, or only those that were merely
    RETURNED), and how long: the least for each delivery that has failed, and no longer than the most."""

    kind: str
    least_ms: int
    most_ms: int

    def concerns(self, *, failed: bool) -> bool:
        """Whether a returned message waits, whose delivery counts as failed or does not."""
        return self.kind == ALL or (self.kind == FAILED) == failed

    def wait_ms(self, failures: int) -> int:
        """How long a message waits whose delivery has failed so often, this time included."""
        return min(self.least_ms * max(1, failures), self.most_ms)


def delayed_retry(kind: object, least_ms: object, most_ms: object) -> DelayedRetry | None:
    """What a queue keeps to; None if no message waits. Nobody checks these arguments when a queue is declared: where
    the least is no number above 0 nothing waits, where the most is none it is the least."""
    if kind not in (ALL, FAILED, RETURNED) or not _is_positive(least_ms):
        return None
    return DelayedRetry(kind, least_ms, most_ms if _is_positive(most_ms) else least_ms)


def _is_positive(value: object) -> bool:
    return type(value) is int and value > 0
