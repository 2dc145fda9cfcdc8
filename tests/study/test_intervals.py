"""Intervals of estimates. `test_estimates` compares them with Spark."""

from __future__ import annotations

import subprocess
import sys
from math import inf, sqrt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hawb.study.intervals import Share, are_worth_it, trials_for_mean
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
    told = counted.mean_of(weights) | counted.share_of(weights)
    assert counted.effective == pytest.approx(3)
    assert {told[f"{name}_{end}"] for name in ("mean", "share") for end in ("low", "high")} == {None}


def test_trials_needed_for_a_mean():
    assert [trials_for_mean(share) for share in (1.0, 0.2, 0.0)] == [160, 800, inf]


def test_live_study_imports_no_spark():
    program = "import sys, hawb.study.live, hawb.study.replicas; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
