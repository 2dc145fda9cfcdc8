"""How long a synchronisation takes, batch by batch.

A model: the larger of messages / sync_messages_s and bytes / network_mb_s, from 3.10 on also of bytes /
mirroring_sync_max_throughput, plus a link latency for each batch. A batch has ha-sync-batch-size (or
mirroring_sync_batch_size) messages; with a throughput limit it is also sent once it has more bytes than the limit
allows in a second (`rabbit_mirror_queue_sync:maybe_master_batch_send`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from msgspec import Struct


class Effort(Struct, frozen=True):
    """The messages that a synchronisation sends, and how fast it sends them.

    `pieces` are (messages, bytes of each) in delivery order; `most_bytes_per_s` is 0 without a limit.
    """

    pieces: tuple[tuple[int, int], ...]
    batch_size: int
    link_latency_us: int
    messages_per_s: int
    network_bytes_per_s: int
    most_bytes_per_s: int = 0

    @property
    def messages(self) -> int:
        """Return how many messages are sent."""
        return sum(count for count, _ in self.pieces)

    @property
    def batches(self) -> int:
        """Return how many batches are sent."""
        return -(-self.messages // self.batch_size)

    @property
    def size_bytes(self) -> int:
        """Return how many bytes of message bodies are sent."""
        return self._first_bytes(self.messages)

    @property
    def duration_us(self) -> int:
        """Return how long it takes to send all messages."""
        return self.after_us(self.batches)

    def after_us(self, batches: int) -> int:
        """Return how long it takes until `batches` batches have arrived."""
        messages = min(batches * self.batch_size, self.messages)
        size_bytes = self._first_bytes(messages)
        durations_us = [messages * 1_000_000 // self.messages_per_s, size_bytes * 1_000_000 // self.network_bytes_per_s]
        if self.most_bytes_per_s:
            durations_us.append(size_bytes * 1_000_000 // self.most_bytes_per_s)
        return max(durations_us) + batches * self.link_latency_us

    def end_of_batch_us(self, elapsed_us: int) -> int:
        """Return when the batch ends that is being sent after `elapsed_us`; `elapsed_us` itself between two batches."""
        return self.after_us(bisect_left(range(self.batches), elapsed_us, key=self.after_us))

    def too_slow_us(self, limit_us: int) -> int | None:
        """Return when the first batch begins that takes longer than `limit_us` on the link; None if no batch does."""
        most_bytes = limit_us * self.network_bytes_per_s // 1_000_000
        if self.batch_size * max((size for _, size in self.pieces), default=0) <= most_bytes:
            return None
        slow = (number for number, size_bytes in enumerate(self._batch_bytes()) if size_bytes > most_bytes)
        return next(map(self.after_us, slow), None)

    def _first_bytes(self, messages: int) -> int:
        size_bytes = 0
        for count, size in self.pieces:
            size_bytes += min(count, messages) * size
            messages -= min(count, messages)
        return size_bytes

    def _batch_bytes(self) -> Iterator[int]:
        room, size_bytes = self.batch_size, 0
        for count, size in self.pieces:
            while count:
                taken = min(count, room)
                count, room, size_bytes = count - taken, room - taken, size_bytes + taken * size
                if room == 0:
                    yield self._capped(size_bytes)
                    room, size_bytes = self.batch_size, 0
        yield self._capped(size_bytes)

    def _capped(self, size_bytes: int) -> int:
        return min(size_bytes, self.most_bytes_per_s) if self.most_bytes_per_s else size_bytes
