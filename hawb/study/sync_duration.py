"""Predict how long an explicit synchronisation of a mirror takes, and whether it blocks a link for net_ticktime.

The model is the engine's (`hawb.engine.classic.sync_effort`): messages by rate or bytes by bandwidth, whichever takes
longer, and a latency for each batch. Its rate and latency are fitted to `data/published/synchronisation.yaml`: least
squares of (published - predicted) / published, which is linear in the seconds for a message and for a batch.

Three rows are few. But the queue is blocked meanwhile, so the question is seconds or minutes; and a prediction is good
enough for that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from hawb.engine.classic.sync_effort import Effort
from hawb.study.least_squares import solve
from hawb.study.prediction import NotMeasuredError, Prediction
from hawb.study.published import Row, table

MICROSECONDS = 1_000_000
BEYOND = 20
"""The factor by which a queue may be deeper than published ones. It is large, since time is proportional to depth."""

LEAVES_OUT = (
    "memory alarms, which pause a synchronisation, and other load on the nodes",
    "how much longer it takes to read larger messages from disk: the published figures do not name message sizes",
)


class Pace(Struct, frozen=True):
    """The pace of a synchronisation, in the units of the engine's settings, and the errors on rows held out."""

    messages_per_s: int
    link_latency_us: int
    held_out: tuple[float, ...] = ()


def pace() -> Pace:
    """Return the pace, fitted to the published rows."""
    rows = table("synchronisation").rows
    held_out = []
    for index, row in enumerate(rows):
        others = [*rows[:index], *rows[index + 1 :]]
        if len({other["batch_size"] for other in others}) > 1:  # else the fit cannot separate message and batch
            predicted_s = effort(_fit(others), row["messages"], 0, row["batch_size"]).duration_us / MICROSECONDS
            held_out.append(math.log(predicted_s / row["duration_s"]))
    fitted = _fit(rows)
    return Pace(fitted.messages_per_s, fitted.link_latency_us, tuple(held_out))


def effort(
    pace: Pace, messages: int, size_bytes: int, batch_size: int, network_mb_s: float = 100.0, max_throughput: int = 0
) -> Effort:
    """Return the engine's effort to synchronise `messages` of `size_bytes` each, in batches of `batch_size`.

    The link has `network_mb_s` megabytes a second, and `max_throughput` is mirroring_sync_max_throughput in bytes a
    second (0: no limit).
    """
    return Effort(
        pieces=((messages, size_bytes),),
        batch_size=batch_size,
        link_latency_us=pace.link_latency_us,
        messages_per_s=pace.messages_per_s,
        network_bytes_per_s=max(1, round(network_mb_s * 1_000_000)),
        most_bytes_per_s=max_throughput,
    )


def duration(
    messages: int,
    size_bytes: int = 1024,
    batch_size: int = 4096,
    network_mb_s: float = 100.0,
    max_throughput: int = 0,
    net_ticktime_s: float = 60.0,
) -> Prediction:
    """Return the seconds for which the queue is blocked.

    Warn if the link needs longer than net_ticktime for a batch. Then its two nodes consider each other down, and the
    synchronisation causes a partition. Raise NotMeasuredError if the queue has too many messages, or none.
    """
    published = table("synchronisation").rows
    deepest = max(row["messages"] for row in published) * BEYOND
    most = {"messages": deepest, "size_bytes": 2**40, "batch_size": 10**12}
    for name, value in {"messages": messages, "size_bytes": size_bytes, "batch_size": batch_size}.items():
        least = 0 if name == "size_bytes" else 1
        if not least <= value <= most[name]:
            raise NotMeasuredError(name, value, f"{least} to {most[name]}")
    fitted = pace()
    todo = effort(fitted, messages, size_bytes, batch_size, network_mb_s, max_throughput)
    warnings = _too_slow(todo, net_ticktime_s) + _beyond(published, messages, batch_size)
    seconds = todo.duration_us / MICROSECONDS
    return Prediction.of(seconds, "s", fitted.held_out, warnings=warnings, leaves_out=LEAVES_OUT)


def _too_slow(todo: Effort, net_ticktime_s: float) -> tuple[str, ...]:
    begins_us = todo.too_slow_us(round(net_ticktime_s * MICROSECONDS))
    if begins_us is None:
        return ()
    begins_s = begins_us / MICROSECONDS
    return (
        f"a batch takes longer than net_ticktime, {net_ticktime_s:g} s, on a link of {todo.network_bytes_per_s / 1e6:g}"
        f" MB/s: after {begins_s:,.0f} s no tick arrives, and after {begins_s + net_ticktime_s:,.0f} s the nodes"
        " consider each other down",
    )


def _beyond(published: Sequence[Row], messages: int, batch_size: int) -> tuple[str, ...]:
    given = {"messages": messages, "batch_size": batch_size}
    found = []
    for column, value in given.items():
        low, high = (find(row[column] for row in published) for find in (min, max))
        if not low <= value <= high:
            found.append(f"{column} {value:,} is outside the published range, {low:,} to {high:,}")
    return tuple(found)


def _fit(rows: Sequence[Row]) -> Pace:
    shares = [
        [count / row["duration_s"] for count in (row["messages"], math.ceil(row["messages"] / row["batch_size"]))]
        for row in rows
    ]
    per_message_s, per_batch_s = solve(shares, [1.0] * len(rows))
    return Pace(round(1 / per_message_s), round(per_batch_s * MICROSECONDS))
