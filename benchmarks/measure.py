"""Timing a piece of code in this process: rounds after a warm-up, their median and spread."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from time import perf_counter


def seconds(work: Callable[[], object], rounds: int = 7) -> list[float]:
    """Return how long each of `rounds` calls took, after one warm-up call."""
    return [once(work) for _ in range(rounds + 1)][1:]


def alternately(one: Callable[[], object], other: Callable[[], object], rounds: int) -> tuple[list[float], list[float]]:
    """Time two pieces of work in turn after a warm-up round, so that other load affects both."""
    taken = [(once(one), once(other)) for _ in range(rounds + 1)][1:]
    return [first for first, _ in taken], [second for _, second in taken]


def once(work: Callable[[], object]) -> float:
    """Return how long a call took."""
    began = perf_counter()
    work()
    return perf_counter() - began


def rate(name: str, count: int, taken: list[float]) -> str:
    """Return a line with a rate per second: median and range over the rounds."""
    rates = sorted(count / one for one in taken)
    return f"{name:<58} {statistics.median(rates):>12,.0f} /s   ({rates[0]:,.0f} to {rates[-1]:,.0f})"


def duration(name: str, taken: list[float], unit: str = "ms", limit: str = "") -> str:
    """Return a line with a duration: median and range over the rounds."""
    scale = {"ms": 1000, "s": 1}[unit]
    times = sorted(one * scale for one in taken)
    median, least, most = statistics.median(times), times[0], times[-1]
    return f"{name:<58} {median:>12,.2f} {unit}   ({least:,.2f} to {most:,.2f})   {limit}".rstrip()


def ratio(name: str, slow: list[float], slow_count: int, fast: list[float], fast_count: int, wanted: float) -> str:
    """Return a line with the ratio of two medians, and its range over the rounds."""
    per_count = fast_count / slow_count
    times = statistics.median(slow) / statistics.median(fast) * per_count
    rounds = sorted(one / other * per_count for one, other in zip(slow, fast, strict=True))
    return f"{name:<58} {times:>12,.2f} times   ({rounds[0]:,.2f} to {rounds[-1]:,.2f}; wanted: {wanted:g})"
