"""Cost must not grow with the rate: a day of steady clients at 1 and at 100,000 messages a second."""

from __future__ import annotations

import statistics

from benchmarks.measure import duration, seconds
from hawb.scenario.load import read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run

SLOW, FAST = 1, 100_000
DAY_S = 86_400


def story(rate: float) -> dict:
    """Return a day with a steady publisher and consumer, a kill, a promotion and a restart."""
    return {
        "scenario": "a day",
        "cluster": {"nodes": ["a", "b", "c"], "version": "3.10"},
        "policies": [{"name": "ha-all", "pattern": "^ha", "definition": {"ha-mode": "all"}}],
        "steps": [
            {"declare": {"queue": "ha", "node": "a"}},
            {"publisher": {"name": "p", "queue": "ha", "rate": rate, "node": "b"}},
            {"consume": {"consumer": "x", "queue": "ha", "rate": rate, "prefetch": 1000, "node": "c"}},
            {"at": DAY_S / 3, "kill": "a"},
            {"at": DAY_S / 2, "start": "a"},
            {"at": DAY_S, "close": "p"},
        ],
    }


def play(rate: float) -> dict:
    """Return the outcome of the story."""
    return outcome(Run.of(read_scenario(story(rate))))


def figures() -> list[str]:
    """The lines that `make bench` prints."""
    slow, fast = seconds(lambda: play(SLOW), rounds=31), seconds(lambda: play(FAST), rounds=31)
    times = statistics.median(fast) / statistics.median(slow)
    return [
        duration(f"{SLOW:,} message a second", slow),
        duration(f"{FAST:,} messages a second", fast),
        f"{'ratio':<58} {times:>12.2f}   limit 1.5",
    ]
