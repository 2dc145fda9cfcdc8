"""Timing a piece of code in this process: rounds after a warm-up, their median and spread."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from time import perf_counter


def seconds(work: Callable[[], object], rounds: int = 7) -> list[float]:
    """How long each of `rounds` calls took, after one that does not count."""
    work()
    taken = []
    for _ in range(rounds):
        began = perf_counter()
        work()
        taken.append(perf_counter() - began)
    return taken


def rate(name: str, count: int, taken: list[float]) -> str:
    """A line: how many a second, median and range over the rounds."""
    rates = sorted(count / one for one in taken)
    return f"{name:<58} {statistics.median(rates):>12,.0f} /s   ({rates[0]:,.0f} to {rates[-1]:,.0f})"


def duration(name: str, taken: list[float], unit: str = "ms", limit: str = "") -> str:
    """A line: how long, median and range over the rounds."""
    scale = {"ms": 1000, "s": 1}[unit]
    times = sorted(one * scale for one in taken)
    median, least, most = statistics.median(times), times[0], times[-1]
    return f"{name:<58} {median:>12,.2f} {unit}   ({least:,.2f} to {most:,.2f})   {limit}".rstrip()
