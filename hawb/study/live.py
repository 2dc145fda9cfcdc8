"""A small study in this process, without Spark: play its cells one after another, and estimate their measures.

The rows are those of `hawb.study.estimates`, with the same intervals: a test compares the two. Spark is for millions of
trials; a few hundred are played in the time that it takes to start.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import sqrt
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from msgspec.structs import replace

from hawb.study.intervals import BATCHES, NOISE, STUDENT_T, Share, are_worth_it, ends_of_mean
from hawb.study.load import read_study
from hawb.study.question import Study
from hawb.study.trial_record import TRIAL, WEIGHT
from hawb.study.trial_rows import records

Estimate = dict[str, Any]
"""A row of `hawb.study.estimates`.

It has design, environment, measure, trials, effective_trials, mean and share, each of the last two with low and high;
a mean without them has trials_for_mean.
"""

Path = tuple[str, ...]
"""The place of a value in a study: ("environments", "*", "node_failures", "every", "mean_s"); `*` is each of them."""


def live(study: Study, in_batches: bool = False) -> list[Estimate]:
    """Play a study now and return the estimates of its measures.

    With `in_batches` the rows also have the estimates of each batch of trials. Raise ScenarioRefused if neither kernel
    nor engine can play one of its cells.
    """
    return [row for design, environment in study.cells for row in _cell(study, design, environment, in_batches)]


def smaller(
    study: Study, trials: int, designs: Iterable[str] | None = None, environments: Iterable[str] | None = None
) -> Study:
    """Return the same question with fewer trials, and only some of its designs and environments, in the order given."""
    chosen = {"designs": designs, "environments": environments}
    parts = {name: {key: getattr(study, name)[key] for key in keys} for name, keys in chosen.items() if keys}
    return replace(study, trials=trials, sources={}, control=None, **parts)


def changed(study: Study, values: Mapping[Path, object]) -> Study:
    """Return the same question with other values at some places; a missing place is created.

    Raise ScenarioRefused if the result is no study.
    """
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


def _cell(study: Study, design: str, environment: str, in_batches: bool) -> Iterable[Estimate]:
    batch = records(study, design, environment, 0, study.trials)
    counted = Weights(batch)
    cell = {"design": design, "environment": environment, "trials": study.trials, "effective_trials": counted.effective}
    for measure in batch.schema.names:
        if measure not in (TRIAL, WEIGHT):
            values = batch[measure].to_numpy(zero_copy_only=False).astype(float)
            more = {
                "mean_batches": counted.in_batches(values), "share_batches": counted.in_batches(values > 0),
            } if in_batches else {}  # fmt: skip
            yield cell | {"measure": measure} | counted.mean_of(values) | counted.share_of(values) | more


class Weights:
    """The weights of a cell's trials, and the batches that they are dealt to: the formulas of `hawb.study.estimates`.

    With weights of 1 they give the plain mean and share.
    """

    def __init__(self, batch: pa.RecordBatch) -> None:
        is_weighted = WEIGHT in batch.schema.names
        self.each = batch[WEIGHT].to_numpy() if is_weighted else np.ones(batch.num_rows)
        self.batches = batch[TRIAL].to_numpy() % BATCHES
        self.mean, self.square = float(self.each.mean()), float((self.each**2).mean())
        self.variance = self.square - self.mean**2

    @property
    def effective(self) -> float:
        """Return the number of plain trials that the weighted ones are worth."""
        return len(self.each) * (self.mean**2 / self.square)

    @property
    def are_worth_it(self) -> bool:
        """Return True if the trials are worth enough plain ones for intervals."""
        return are_worth_it(len(self.each), self.effective)

    def slope(self, values: np.ndarray) -> float:
        """Return the slope of the line that is fitted to the weighted values by their weights."""
        if self.variance <= NOISE * self.square:
            return 0.0
        together = (self.each**2 * values).mean() - self.mean * (self.each * values).mean()
        return float(together) / self.variance

    def left(self, values: np.ndarray) -> np.ndarray:
        """Return each trial's weighted value less the fitted line; their mean is the estimate."""
        slope = self.slope(values)
        return self.each * values - slope * (self.each - 1)

    def in_batches(self, values: np.ndarray) -> np.ndarray:
        """Return the mean of values in each batch."""
        return np.bincount(self.batches, self.left(values)) / np.bincount(self.batches)

    def mean_of(self, values: np.ndarray) -> Estimate:
        """Return the mean, with the interval of batch means or the number of trials that it takes (`ends_of_mean`)."""
        mean, half, trials = float(self.left(values).mean()), None, len(values)
        if not self.are_worth_it:
            return {"mean": mean, "mean_low": None, "mean_high": None, "trials_for_mean": None}
        if trials >= 2 * BATCHES:
            half = STUDENT_T * float(self.in_batches(values).std(ddof=1)) / sqrt(BATCHES)
        share = float((values > 0).mean()) if self.effective == trials else 1.0
        return {"mean": mean} | ends_of_mean(mean, half, trials, share)

    def share_of(self, values: np.ndarray) -> Estimate:
        """Return the share of trials that had any, with Wilson's interval.

        The interval is that of the number of plain trials that would estimate the share as well.
        """
        had = (values > 0).astype(float)
        some, square, slope = float((self.each * had).mean()), float((self.each**2 * had).mean()), self.slope(had)
        share = min(1.0, max(0.0, some - slope * (self.mean - 1)))
        variance = square - some**2 - slope * (square - self.mean * some)
        is_significant = variance > NOISE * square
        plain = len(had) * (share * (1 - share) / variance) if is_significant else self.effective
        low, high = Share(share * plain, plain).interval if self.are_worth_it else (None, None)
        return {"share": share, "share_low": low, "share_high": high}
