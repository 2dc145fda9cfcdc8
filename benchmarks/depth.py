"""Cost must not grow with depth: the same story with a backlog of 10 and of 100,000,000 messages."""

from __future__ import annotations

import statistics
import tracemalloc

from benchmarks.measure import duration, seconds
from hawb.scenario.load import read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run

SHALLOW, DEEP = 10, 100_000_000


def story(backlog: int) -> dict:
    """Return a story with a kill, a promotion, a restart, a synchronisation and half of the backlog consumed."""
    return {
        "scenario": "a backlog",
        "cluster": {"nodes": ["a", "b", "c"], "version": "3.10"},
        "policies": [{"name": "ha-all", "pattern": "^ha", "definition": {"ha-mode": "all"}}],
        "steps": [
            {"declare": {"queue": "ha", "node": "a"}},
            {"publish": {"queue": "ha", "count": backlog}},
            {"kill": "a"},
            {"start": "a"},
            {"sync_queue": "ha"},
            {"consume": {"consumer": "x", "queue": "ha"}},
            {"ack": {"consumer": "x", "count": backlog // 2}},
            {"nack": {"consumer": "x"}},
        ],
    }


def play(backlog: int) -> dict:
    """Return the outcome of the story."""
    return outcome(Run.of(read_scenario(story(backlog))))


def peak_bytes(backlog: int) -> int:
    """Return the peak memory of Python objects while the story was played."""
    tracemalloc.start()
    play(backlog)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def figures() -> list[str]:
    """The lines that `make bench` prints."""
    shallow, deep = seconds(lambda: play(SHALLOW), rounds=31), seconds(lambda: play(DEEP), rounds=31)
    times = statistics.median(deep) / statistics.median(shallow)
    memory = peak_bytes(DEEP) / peak_bytes(SHALLOW)
    return [
        duration(f"backlog of {SHALLOW:,}", shallow),
        duration(f"backlog of {DEEP:,}", deep),
        f"{'ratio: time, memory':<58} {times:>12.2f}, {memory:.2f}   limit 1.5",
    ]
