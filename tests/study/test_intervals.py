"""Intervals of estimates: Wilson's for a share. What Spark makes of the same formula is in `test_estimates`."""

from __future__ import annotations

import subprocess
import sys
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hawb.study.intervals import Share


@given(st.integers(1, 10_000).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials))))
def test_wilsons_interval(counts: tuple[int, int]):
    """Its ends are the shares from which what was seen is 1.96 standard errors away."""
    some, trials = counts
    for end in Share(some, trials).interval:
        assert abs(some / trials - end) == pytest.approx(1.959964 * sqrt(end * (1 - end) / trials), abs=1e-7)


def test_of_no_trials_anything_may_be():
    assert Share(0, 0).interval == (0, 1)


def test_a_study_here_and_now_needs_no_spark():
    program = "import sys, hawb.study.live, hawb.study.replicas; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
