"""A small study here and now, without Spark: its cells played one after another, and what they come to.

The rows are those of `hawb.study.estimates`, with the same intervals: a test holds the two against each other. Spark is
for millions of trials; a few hundred are played while it starts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import sqrt
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from hawb.study.blocks import TRIAL
from hawb.study.estimates import BATCHES, STUDENT_T
from hawb.study.load import read_study
from hawb.study.question import Study
from hawb.study.records import records
from hawb.study.replicas import Share

Estimate = dict[str, Any]
"""A row of `hawb.study.estimates`: design, environment, measure, trials, mean and share, each with low and high."""

Path = tuple[str, ...]
"""Where something stands in a study: ("environments", "*", "node_failures", "every", "mean_s"); `*` is each of them."""


def live(study: Study) -> list[Estimate]:
    """What a study comes to that is played now. Raises ScenarioRefused where nothing can play a cell of it."""
    return [row for design, environment in study.cells for row in _cell(study, design, environment)]


def smaller(
    study: Study, trials: int, designs: Iterable[str] | None = None, environments: Iterable[str] | None = None
) -> Study:
    """The same question with fewer trials, and only some of its designs and environments, in the order given."""
    chosen = {"designs": designs, "environments": environments}
    parts = {name: {key: getattr(study, name)[key] for key in keys} for name, keys in chosen.items() if keys}
    return replace(study, trials=trials, sources={}, **parts)


def changed(study: Study, values: Mapping[Path, object]) -> Study:
    """The same question with other values at some places; a place that is not there is made. Raises ScenarioRefused for
    what a study cannot be."""
    given = msgspec.to_builtins(study)
    for path, value in values.items():
        _set(given, path, value)
    return read_study(given | {"sources": {}})


def _set(inside: dict, path: Path, value: object) -> None:
    key, *rest = path
    for name in list(inside) if key == "*" else [key]:
        if not rest:
            inside[name] = value
        else:
            if inside.get(name) is None:
                inside[name] = {}
            _set(inside[name], tuple(rest), value)


def _cell(study: Study, design: str, environment: str) -> Iterable[Estimate]:
    batch = records(study, design, environment, 0, study.trials)
    numbers = batch[TRIAL].to_numpy() % BATCHES
    for measure in batch.schema.names:
        if measure != TRIAL:
            values = batch[measure].to_numpy(zero_copy_only=False).astype(float)
            estimate = {"design": design, "environment": environment, "measure": measure, "trials": study.trials}
            yield estimate | _mean(values, numbers) | _share(values)


def _mean(values: np.ndarray, batches: np.ndarray) -> Estimate:
    """The mean, with the interval of batch means where there are two trials a batch."""
    mean = float(values.mean())
    if len(values) < 2 * BATCHES:
        return {"mean": mean, "mean_low": None, "mean_high": None}
    means = np.bincount(batches, values) / np.bincount(batches)
    half = STUDENT_T * float(means.std(ddof=1)) / sqrt(BATCHES)
    return {"mean": mean, "mean_low": mean - half, "mean_high": mean + half}


def _share(values: np.ndarray) -> Estimate:
    """How many had any, with Wilson's interval."""
    some = Share(int(np.count_nonzero(values > 0)), len(values))
    low, high = some.interval
    return {"share": some.some / some.trials, "share_low": low, "share_high": high}
