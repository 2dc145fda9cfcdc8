"""The change of differences between designs when one number of the study is halved or doubled.

Each value is played with the same trial numbers, so the same failures occur at the same times unless the number changes
them. The result is how far the difference moves between the values, one number at a time, as in a tornado diagram. It
does not say how likely the values are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from hawb.scenario.refused import render
from hawb.study.comparisons import SENSITIVITY
from hawb.study.intervals import BATCHES
from hawb.study.live import changed
from hawb.study.numbers import leaves
from hawb.study.question import Study
from hawb.study.spark_partitions import cost_us

FACTORS = (0.5, 1.0, 2.0)
AT = "_at_"
"""Separates the name of an environment and the index of a factor."""
FOLDER = "varied"
"""The folder of its trials, in that of the study: a study's own tables hold only what its file asks for."""
DEFAULT = "timing.election_s"
"""The number that is varied by default: no source has it, and each planned failover takes that long."""

MOST_TRIALS, LEAST_TRIALS = 1_000, 2 * BATCHES
WITHIN_S = 20.0
"""The time limit for varying `DEFAULT`, in seconds of one core."""

Row = Mapping[str, Any]


def check_path(study: Study, path: str) -> None:
    """Refuse a path that cannot be varied.

    Raise ValueError if no environment of a study has a number above 0 there, and ScenarioRefused if half of it or twice
    makes no study.
    """
    if not any(value for value in values(study, path).values()):
        known = sorted({one for each in study.environments.values() for one in _numbers(each)})
        raise ValueError(f"{render(path)}: no number above 0 of an environment; there are {', '.join(known)}")
    varied(study, path, 1)


def values(study: Study, path: str) -> dict[str, float]:
    """Return the number at a path in each environment that has it."""
    found = {name: _numbers(each).get(path) for name, each in study.environments.items()}
    return {name: value for name, value in found.items() if value is not None}


def varied(study: Study, path: str, trials: int) -> Study:
    """Return the study in environments with each of `FACTORS` of the number at a path.

    Raise ScenarioRefused if one makes no study.
    """
    environments = {}
    for name, value in values(study, path).items():
        alone = replace(study, environments={name: study.environments[name]}, control=None)
        for place, factor in enumerate(FACTORS):
            other = changed(alone, {("environments", name, *path.split(".")): type(value)(value * factor)})
            environments[f"{name}{AT}{place}"] = other.environments[name]
    few = {"trials": min(trials, study.trials), "precision": None, "control": None, "sources": {}}
    return replace(study, environments=environments, **few)


def cost_s(study: Study) -> float:
    """Return about how many seconds one core takes for a study."""
    from hawb.study.cells import cells_of

    return sum(cost_us(cell) for cell in cells_of(study)) * study.trials / 1e6


def trials_for(study: Study, path: str, named: bool) -> int:
    """Return how many trials are played at each value: fewer where they are slow.

    It is 0 if even those take longer than `WITHIN_S`, unless the user named the number.
    """
    for trials in (MOST_TRIALS, LEAST_TRIALS):
        if cost_s(varied(study, path, trials)) <= WITHIN_S:
            return trials
    return LEAST_TRIALS if named else 0


def with_sensitivity(rows: Iterable[Row], played: Iterable[Row], study: Study, path: str) -> list[dict[str, Any]]:
    """Return estimates with `sensitivity`: each number that was varied, with its path, values and differences.

    The differences are those from the baseline at each value.
    """
    at = {(row["design"], row["environment"], row["measure"]): row["difference"] for row in played}
    given, found = values(study, path), []
    for row in rows:
        places = (f"{row['environment']}{AT}{place}" for place in range(len(FACTORS)))
        moved = [at.get((row["design"], place, row["measure"])) for place in places]
        if row.get("difference") is not None and None not in moved:
            steps = [given[row["environment"]] * factor for factor in FACTORS]
            entry = {"assumption": path, "values": steps, "differences": moved}
            row = row | {SENSITIVITY: [*row.get(SENSITIVITY, ()), entry]}
        found.append(dict(row))
    return found


def _numbers(environment: object) -> dict[str, float]:
    """Return the numbers of an environment by their paths, without booleans."""
    given = leaves(msgspec.to_builtins(environment))
    return {path[1:]: value for path, value in given if isinstance(value, (int, float)) and not isinstance(value, bool)}
