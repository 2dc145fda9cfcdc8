"""The kernel of studies: trials a second of the yardstick's mirrored queue, alone and against the engine.

A trial is a year of three nodes that each fail once a month, under steady load; both play the same histories.
"""

from __future__ import annotations

import statistics
from pathlib import Path
from time import perf_counter

from benchmarks.measure import duration, rate, seconds
from hawb.study import histories, played
from hawb.study.kernel import setup, trial
from hawb.study.load import load

STUDY = Path(__file__).parent.parent / "data" / "studies" / "monthly-failures.yaml"
YEAR_US = 365 * histories.DAY_US
TRIALS, BOTH, ROUNDS = 2_000, 3, 5


def figures() -> list[str]:
    """The lines that `make bench` prints."""
    study = load(STUDY)
    design, environment = study.designs["mirrored"], study.environments["monthly"]
    begun = setup.begin(design, environment, 0)
    drawn = [histories.history(environment, design.nodes, study.seed, number, YEAR_US) for number in range(TRIALS)]

    def by_kernel(trials: int = TRIALS) -> None:
        for number in range(trials):
            again = begun.copy()
            again["setup"]["seed"] = number
            trial.play(again[0], drawn[number], YEAR_US)

    def by_engine() -> None:
        for number in range(BOTH):
            played.play(design, environment, drawn[number], number, YEAR_US)

    began = perf_counter()
    by_kernel(1)
    first_s = perf_counter() - began
    kernel, engine = seconds(by_kernel, ROUNDS), seconds(by_engine, ROUNDS)
    ratio = statistics.median(engine) / BOTH / (statistics.median(kernel) / TRIALS)
    return [
        duration("first trial, compiled or from the cache", [first_s], unit="s"),
        rate("trials, kernel", TRIALS, kernel),
        rate("trials, engine", BOTH, engine),
        f"{'kernel against the engine':<58} {ratio:>12,.0f} times   (wanted: 200)",
    ]
