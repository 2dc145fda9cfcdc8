"""Maximum-likelihood fits: published ones, the exact interval of an exponential, and censored lengths."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hawb.incident import fits
from hawb.incident.fits import Sample, fit, lasting, survival

REMISSIONS = [6, 6, 6, 7, 10, 13, 16, 22, 23, 6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]
"""Weeks of remission of leukaemia under 6-MP, the first nine ended (E. Freireich and others, 1963): the example of
most books on survival."""
ENDED = [True] * 9 + [False] * 12


def test_published_fits_of_remissions_are_reproduced():
    found = {one.distribution.distribution: one for one in fit(Sample.of(REMISSIONS, ENDED)).candidates}
    weibull = found["weibull"].distribution
    assert weibull.shape == pytest.approx(1.354, abs=5e-4)
    assert weibull.mean_s / math.gamma(1 + 1 / weibull.shape) == pytest.approx(33.77, abs=0.01)
    assert found["exponential"].distribution.mean_s == pytest.approx(359 / 9)
    assert found["exponential"].log_likelihood == pytest.approx(9 * math.log(9 / 359) - 9)


def test_published_survival_of_remissions_is_reproduced():
    times, shares = survival(Sample.of(REMISSIONS, ENDED))
    assert list(times) == [0, 6, 7, 10, 13, 16, 22, 23]
    assert list(shares.round(4)) == [1, 0.8571, 0.8067, 0.7529, 0.6902, 0.6275, 0.5378, 0.4482]


def test_an_exponential_is_kept_unless_another_is_clearly_better():
    fitted = fit(Sample.of(REMISSIONS, ENDED))
    assert fitted.best.distribution == "exponential" and len(fitted.candidates) == 3
    drawn = np.random.default_rng(1).lognormal(0, 1.2, 300)
    assert fit(Sample.of(drawn, [True] * 300)).best.distribution == "lognormal"


def test_interval_of_an_exponential_is_exact():
    lengths = np.arange(1, 11)  # the quantiles of chi-squared with 20 degrees of freedom: 9.591 and 34.170
    low, high = fit(Sample.of(lengths, [True] * 10), ["exponential"]).interval()
    assert (low, high) == pytest.approx((110 / 34.170, 110 / 9.591), rel=0.02)


def test_no_fit_without_an_observed_end():
    assert fit(Sample.of([1, 2], [False, False])) is None


def test_one_observed_end_fits_only_an_exponential():
    [only] = fit(Sample.of([1, 2], [True, False])).candidates
    assert only.distribution.distribution == "exponential" and only.distribution.mean_s == pytest.approx(3)


@pytest.mark.parametrize(("name", "shape"), [("exponential", 1.0), ("weibull", 0.5), ("weibull", 3.0),
                                             ("lognormal", 0.4), ("lognormal", 1.5)])  # fmt: skip
def test_mean_residual_life_is_the_integral_of_the_survival(name, shape):
    times = np.geomspace(1e-6, 1e5, 400_001)
    begins = np.array([0.01, 0.5, 2.0, 4.0])
    tail = np.exp(fits._parts(name, 0.0, math.log(shape), times)[1])
    left = [np.trapezoid(tail[times >= begin], times[times >= begin]) for begin in begins]
    assert np.exp(fits._log_left(name, 0.0, math.log(shape), begins)) == pytest.approx(left, rel=2e-3, abs=1e-12)


def test_left_truncated_lengths_are_not_taken_for_fresh_ones():
    random = np.random.default_rng(5)
    ends = np.cumsum(random.lognormal(-0.72, 1.2, (400, 60)), axis=1)  # of mean 1, looked at from the time 20 on
    ahead = np.array([row[row > 20].min() - 20 for row in ends])
    known, wrong = (fit(Sample.of(ahead, [True] * 400, [fresh] * 400), ["exponential", "lognormal"])
                    for fresh in (False, True))  # fmt: skip
    found = {one.distribution.distribution: one.distribution for one in known.candidates}["lognormal"]
    assert found.mean_s == pytest.approx(1.0, rel=0.25) and found.shape == pytest.approx(1.2, rel=0.25)
    assert wrong.best.mean_s > 1.6


def test_draws_are_reproducible_and_likely():
    fitted = fit(Sample.of(REMISSIONS, ENDED))
    assert fitted.draws(50, 1) == fitted.draws(50, 1) != fitted.draws(50, 2)
    assert {one.distribution for one in fitted.draws(200)} == {"exponential", "weibull", "lognormal"}


def test_survival_decreases_from_one():
    shares = lasting(fit(Sample.of(REMISSIONS, ENDED)).best, np.array([0.0, 10, 20, 1e4]))
    assert shares[0] == pytest.approx(1) and (np.diff(shares) < 0).all() and shares[-1] < 1e-6
