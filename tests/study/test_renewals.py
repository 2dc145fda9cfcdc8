"""Biased failures: weights are the likelihood ratio, and estimates agree with those of plain trials."""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numba import njit
from samples import of_the_day

from hawb.study import draws, histories, renewals
from hawb.study.draws import Lengths
from hawb.study.environment import (
    Bursts,
    Distribution,
    Environment,
    FailureBiasing,
    Failures,
    GroupFailures,
    Traffic,
)
from hawb.study.histories import DAY_US, KILL, POWER_OFF, START, STOP, history, sources, weights_of

SEED = 5
TRIALS = 3_000
FARTHEST = 3.5
"""So many standard errors one of twenty-four comparisons may be off, once in a hundred seeds."""
YEAR_US = 365 * DAY_US

SHAPES = {
    "exponential": Distribution(mean_s=5e5),
    "weibull": Distribution(mean_s=5e5, distribution="weibull", shape=0.7),
    "weibull of age": Distribution(mean_s=5e5, distribution="weibull", shape=2.5),
    "lognormal": Distribution(mean_s=5e5, distribution="lognormal", shape=1.2),
}
REPAIRS = {
    "exponential": Distribution(mean_s=900),
    "lognormal": Distribution(mean_s=900, distribution="lognormal", shape=1.5),
    "constant": Distribution(mean_s=900, distribution="constant"),
}


def failing(
    every: Distribution, repair: Distribution, times: float | None, after_s: float = 0.0, racks: int = 0
) -> Environment:
    """Nodes that fail, alone or with their racks as well."""
    group = {"groups": racks, "every": Distribution(mean_s=2e6), "repair": repair}
    return Environment(
        node_failures=Failures(every=every, repair=repair, controlled_share=0.3),
        rack_failures=GroupFailures(**group) if racks else None,
        failure_biasing=None if times is None else FailureBiasing(times=times, after_s=after_s),
        traffic=Traffic(publish_per_s=1.0, consume_per_s=2.0),
    )


def at_once(environment: Environment, first: int) -> np.ndarray:
    """Return, for each of `TRIALS` trials of three nodes in 60 days, how often a node fails while another is down."""
    return at_once_in(sources(environment, 3), np.uint64(SEED), first, 60 * DAY_US)


@njit
def at_once_in(table: np.ndarray, seed: np.uint64, first: int, horizon_us: int) -> np.ndarray:
    """Count the same for a table of sources, compiled."""
    found = np.zeros(TRIALS)
    for trial in range(TRIALS):
        history, down = histories.drawn(table, 3, seed, first + trial, horizon_us), 0
        for row in range(len(history)):
            kind, about = history[row, 1], history[row, 2]
            if kind in (STOP, KILL, POWER_OFF):
                found[trial], down = found[trial] + (down != 0), down | about
            elif kind == START:
                down &= ~about
    return found


def cumulated(every: Distribution, age_us: float) -> float:
    """Return the cumulative hazard, computed in Python."""
    lengths = Lengths.of(every)
    if age_us <= 0:
        return 0.0
    times = age_us / lengths.scale_us
    if every.distribution == "exponential":
        return times
    if every.distribution == "weibull":
        return times**every.shape
    return -math.log(NormalDist().cdf(-math.log(times) / every.shape))


@pytest.mark.parametrize("every", SHAPES.values(), ids=SHAPES)
def test_cumulative_hazard_is_minus_log_survival(every):
    lengths = Lengths.of(every)
    shape = lengths.kind, lengths.scale_us, lengths.shape
    for k in range(1, 200):
        age_us = k * k * 1e8
        there = draws.hazard(*shape, age_us)
        assert math.isclose(there, cumulated(every, age_us), rel_tol=1e-11, abs_tol=1e-13)
        if 1e-6 < there < 30:
            assert math.isclose(draws.length_us(*shape, math.exp(-there)), age_us, rel_tol=1e-9, abs_tol=1)
    assert draws.hazard(*shape, 0) == 0


def test_normal_tail_is_exact_and_agrees_with_python():
    for k in range(-80, 81):
        z = k / 10
        assert math.isclose(draws.normal_tail(z), math.erfc(z / math.sqrt(2)) / 2, rel_tol=1e-12)
        assert draws.normal_tail(z) == draws.normal_tail.py_func(z)


@pytest.mark.parametrize("every", SHAPES.values(), ids=SHAPES)
def test_biasing_by_1_changes_nothing(every):
    plain, once = failing(every, REPAIRS["lognormal"], None, racks=2), failing(every, REPAIRS["lognormal"], 1, racks=2)
    for trial in range(20):
        here, there = (history(one, 5, SEED, trial, YEAR_US) for one in (plain, once))
        assert here[:, 1:].tolist() == there[:, 1:].tolist()
        assert abs(here[:, 0] - there[:, 0]).max() <= len(here)
    assert weights_of(once, 5, SEED, 0, 20, YEAR_US).tolist() == [1.0] * 20
    assert weights_of(plain, 5, SEED, 0, 20, YEAR_US).tolist() == [1.0] * 20


@njit
def biased(table: np.ndarray, seed: np.uint64, trial: int, horizon_us: int) -> tuple[np.ndarray, float]:
    """Return the biased failures of a trial, and the logarithm of its weight."""
    failures, count, result = renewals.biased(table, seed, trial, horizon_us)
    return failures[:count], result


def ratio(environment: Environment, nodes: int, failures: list[list[int]], horizon_us: int) -> float:
    """Return the logarithm of the likelihood ratio of node failures, computed interval by interval."""
    times, after_us = environment.failure_biasing.times, round(environment.failure_biasing.after_s * 1e6)
    every, total = environment.node_failures.every, 0.0
    edges = sorted({0, horizon_us, *(edge for begin, end, *_ in failures for edge in (begin, end, end + after_us))})
    for node in range(nodes):
        own = [(begin, end) for begin, end, source, _ in failures if source == node]
        others = [(begin, end + after_us) for begin, end, source, _ in failures if source != node]
        self_away, expected = [(begin, end + after_us) for begin, end in own], 0.0
        for begin, end in pairwise(edges):
            up_since = max((back for _, back in own if back <= begin), default=0)
            is_up = not any(left <= begin < back for left, back in own)
            is_in = any(left <= begin < back for left, back in others)
            if end <= horizon_us and is_up and is_in and not any(left <= begin < back for left, back in self_away):
                passed = cumulated(every, end - up_since) - cumulated(every, begin - up_since)
                total += (times - 1) * passed
                total -= math.log(times) * any(left == end for left, _ in own)
                expected += times * passed
        assume(expected < renewals.MOST_EXPECTED / nodes)
    return total


@settings(max_examples=60, deadline=None)
@given(
    every=st.sampled_from(list(SHAPES.values())), repair=st.sampled_from(list(REPAIRS.values())),
    times=st.floats(1.5, 20), after_s=st.sampled_from([0.0, 60.0, 2_000.0]), nodes=st.integers(1, 4),
    trial=st.integers(0, 10**6), days=st.integers(1, 100),
)  # fmt: skip
def test_the_weight_is_the_likelihood_ratio(every, repair, times, after_s, nodes, trial, days):
    environment, horizon_us = failing(every, repair, times, after_s), days * DAY_US
    table, seed = sources(environment, nodes), np.uint64(SEED)
    failures, result = biased(table, seed, trial, horizon_us)
    expected = ratio(environment, nodes, failures.tolist(), horizon_us)
    assert math.isclose(result, expected, rel_tol=1e-7, abs_tol=1e-7)
    weight = renewals.weights(table, seed, trial, 1, horizon_us)[0]
    assert math.isclose(weight, math.exp(expected), rel_tol=1e-6)


@pytest.mark.parametrize("repair", REPAIRS.values(), ids=REPAIRS)
def test_weight_is_bounded_for_any_biasing(repair):
    for times in (30, 1e6):
        weights = weights_of(failing(SHAPES["weibull"], repair, times, 600), 3, SEED, 0, 500, YEAR_US)
        assert 0 < weights.min() < 1 < weights.max() <= math.exp(renewals.MOST_EXPECTED) * (1 + 1e-9)


@pytest.mark.full
@pytest.mark.parametrize("racks", of_the_day([0, 2]))
def test_biased_and_plain_trials_have_equal_estimates(racks, capsys):
    """Compare how often nodes are down together, and the mean weight, for each distribution."""
    differences, gains = {}, {}
    for name, every in SHAPES.items():
        for repaired, repair in REPAIRS.items():
            plain, biased = (failing(every, repair, times, 60, racks) for times in (None, 8))
            here = at_once(plain, 0)
            weights = weights_of(biased, 3, SEED, TRIALS, TRIALS, 60 * DAY_US)
            there = weights * at_once(biased, TRIALS)
            errors = math.hypot(*(np.std(one, ddof=1) / math.sqrt(TRIALS) for one in (here, there)))
            differences[name, repaired] = (here.mean() - there.mean()) / errors
            differences[name, repaired, "weight"] = (weights.mean() - 1) / (weights.std(ddof=1) / math.sqrt(TRIALS))
            gains[name, repaired] = (np.var(here) / here.mean() ** 2) / (np.var(there) / there.mean() ** 2)
    worst = max(differences, key=lambda one: abs(differences[one]))
    with capsys.disabled():
        print(
            f"\nbiased and plain trials, {racks} racks: at most {abs(differences[worst]):.2f} standard errors apart"
            f" ({', '.join(worst)}); {min(gains.values()):.1f} to {max(gains.values()):.1f} times as few trials needed"
        )
    assert abs(differences[worst]) < FARTHEST


def test_other_draws_are_not_biased():
    bursts = Bursts(every=Distribution(mean_s=1e5), lasts=Distribution(mean_s=1e3), publish_times=2)
    found = []
    for biasing in (None, FailureBiasing(times=100)):
        environment = Environment(
            node_failures=Failures(every=SHAPES["exponential"], repair=REPAIRS["exponential"]),
            failure_biasing=biasing, traffic=Traffic(publish_per_s=1.0, consume_per_s=2.0, bursts=bursts),
        )  # fmt: skip
        rows = history(environment, 3, SEED, 0, YEAR_US).tolist()
        found.append([row for row in rows if row[1] == histories.BURST])
    assert found[0] == found[1] != []


def test_failures_without_further_nodes_are_not_biased():
    """This concerns a single node, and sources that all take the same nodes."""
    alone = weights_of(failing(SHAPES["exponential"], REPAIRS["exponential"], 50, 600), 1, SEED, 0, 50, YEAR_US)
    assert alone.tolist() == [1.0] * 50
    table = sources(failing(SHAPES["exponential"], REPAIRS["exponential"], 50, 600), 2)
    table.nodes = 0b11
    failures, result = biased(table, np.uint64(SEED), 0, YEAR_US)
    assert len(failures) > 50 and result == 0
