"""Intervals of estimates. `test_estimates` compares them with Spark."""

from __future__ import annotations

import subprocess
import sys
from math import sqrt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hawb.study.intervals import BATCHES, STUDENT_T, Share, are_worth_it, ends_of_mean, trials_for_mean
from hawb.study.live import Weights
from hawb.study.trial_record import TRIAL, WEIGHT


@given(st.integers(1, 10_000).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials))))
def test_wilsons_interval(counts: tuple[int, int]):
    """The ends are the shares from which the observed one is 1.96 standard errors away."""
    some, trials = counts
    for end in Share(some, trials).interval:
        assert abs(some / trials - end) == pytest.approx(1.959964 * sqrt(end * (1 - end) / trials), abs=1e-7)


def test_interval_without_trials_is_0_to_1():
    assert Share(0, 0).interval == (0, 1)


@pytest.mark.parametrize(
    ("trials", "effective", "worth_it"),
    [(20_000, 81, False), (20_000, 200, True), (2_000, 63, False), (2_000, 64, True), (64, 63.9, False), (64, 64, True),
     (20, 20, True)],
)  # fmt: skip
def test_weighted_trials_need_64_effective_ones_and_1_percent(
    trials: int, effective: float, worth_it: bool
):
    assert are_worth_it(trials, effective) == worth_it


def test_too_few_effective_trials_have_no_interval():
    """Three of 2,000 trials have all the weight."""
    weights = np.full(2_000, 1e-9)
    weights[:3] = 600.0
    counted = Weights(pa.RecordBatch.from_pydict({TRIAL: np.arange(2_000), WEIGHT: weights}))
    result = counted.mean_of(weights) | counted.share_of(weights)
    assert counted.effective == pytest.approx(3)
    assert {result[f"{name}_{end}"] for name in ("mean", "share") for end in ("low", "high")} == {None}


def test_a_mean_takes_160_trials_with_any():
    assert [trials_for_mean(5.0, 0.1, 1000, share) for share in (1.0, 0.2)] == [160, 800]
    assert ends_of_mean(5.0, 0.1, 799, 0.2) == {"mean_low": None, "mean_high": None, "trials_for_mean": 800}
    assert ends_of_mean(5.0, 0.1, 800, 0.2) == {"mean_low": 4.9, "mean_high": 5.1, "trials_for_mean": None}
    assert ends_of_mean(5.0, None, 40, 0.5)["trials_for_mean"] == 320


@pytest.mark.parametrize(("long", "holds"), [(41, True), (39, False)])
def test_a_mean_takes_40_trials_that_make_it_up(long: int, holds: bool):
    """One in a hundred trials has an outage of an hour, the others of a millisecond. The variance is exact."""
    trials = 100 * long
    values = np.where(np.arange(trials) % 100 == 0, 3600.0, 0.001)
    half = STUDENT_T * float(values.std()) / sqrt(trials)
    ends = ends_of_mean(float(values.mean()), half, trials, 1.0)
    assert (ends["mean_low"] is not None) == holds and (ends["trials_for_mean"] is None) == holds
    assert trials_for_mean(float(values.mean()), half, trials, 1.0) == pytest.approx(4_000, rel=1e-3)


def test_a_mean_of_none_has_neither_interval_nor_number():
    assert set(ends_of_mean(0.0, 0.0, 10_000, 0.0).values()) == {None}


def test_shown_intervals_of_heavy_tails_hold():
    """Of 992 trials of lognormal values, fewer than one in 14 has an interval that misses the mean."""
    draw, missed, without_rule = np.random.RandomState(7), [], []
    for sigma in (1.0, 1.5, 2.0, 2.5):
        samples = draw.lognormal(0.0, sigma, (400, 992)) * (draw.random_sample((400, 992)) < 0.3)
        mean = 0.3 * np.exp(sigma**2 / 2)
        for values in samples:
            batches = values.reshape(-1, BATCHES).mean(axis=0)
            half = STUDENT_T * float(batches.std(ddof=1)) / sqrt(BATCHES)
            is_off = abs(float(values.mean()) - mean) > half
            ends = ends_of_mean(float(values.mean()), half, 992, float((values > 0).mean()))
            missed.append(is_off and ends["mean_low"] is not None)
            without_rule.append(is_off)
    assert np.mean(missed) < 0.07 < 0.15 < np.mean(without_rule)


def test_live_study_imports_no_spark():
    program = "import sys, hawb.study.live, hawb.study.replicas; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
