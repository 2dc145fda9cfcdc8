"""Means from a control and pairs: without bias and with intervals that hold, in clusters whose means are known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from hawb.study.control_variates import LEAST_FREEDOM, SCORED, Mean, Pairs, drawn, ends, scores, strata
from hawb.study.intervals import LEAST_APART, LEAST_GAIN, wilson

TRIALS, PLAIN, MORE, STUDIES = 20_000, 100, 100, 200
A_LOSS = np.exp(7.5)
"""The mean of what a failure costs: lognormal, with sigma 1."""

World = Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]


def rare(random: np.random.Generator) -> np.ndarray:
    """Return a control that fails in 2 % of years, then at a cost between which there are factors of a hundred."""
    return np.where(random.random(TRIALS) < 0.02, random.lognormal(7, 1, TRIALS), 0.0)


def about_as_much(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    control = rare(random)
    return control * random.uniform(0.8, 1.1, TRIALS), control


def sometimes_nothing(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    control = rare(random)
    return np.where(random.random(TRIALS) < 0.6, control * random.uniform(0.5, 1.2, TRIALS), 0.0), control


def every_year(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    control = random.normal(600, 180, TRIALS).clip(1)
    return 200 + 0.2 * (control - 600) + random.normal(0, 35, TRIALS), control


def bent(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return a cluster whose failures cost as the square root of the control's do: no line fits."""
    control = random.gamma(1.0, 100.0, TRIALS)
    return np.sqrt(control) * random.uniform(0.9, 1.1, TRIALS), control


def pairs_of(control: np.ndarray, plain: int = PLAIN, more: int = MORE) -> Pairs:
    of_trial = strata(scores([dict.fromkeys(SCORED, control * 0) | {"publish_down_s": control}]))
    return Pairs(of_trial, drawn(of_trial, plain, more))


def studies(world: World, seed: int) -> list[tuple[Mean, float, Pairs, np.ndarray]]:
    """Return, of each study, the mean by the control, the plain mean of as many trials, the pairs and the control."""
    random, found = np.random.default_rng(seed), []
    for _ in range(STUDIES):
        values, control = world(random)
        pairs = pairs_of(control)
        mean = pairs.mean(values[pairs.numbers], control)
        found.append((mean, float(values[: len(pairs.numbers)].mean()), pairs, control))
    return found


@pytest.mark.parametrize(
    ("world", "truth", "least"),
    [
        (about_as_much, 0.95 * 0.02 * A_LOSS, 10),
        (sometimes_nothing, 0.6 * 0.85 * 0.02 * A_LOSS, 10),
        (every_year, 200.0, 1.3),
        (bent, np.sqrt(np.pi * 100.0) / 2, 4),
    ],
)
def test_mean_has_no_bias_and_its_interval_holds(world: World, truth: float, least: float):
    found = studies(world, seed=5)
    means = np.array([mean.value for mean, *_ in found])
    assert abs(means.mean() - truth) < 3 * means.std() / np.sqrt(STUDIES)
    assert np.var([plain for _, plain, *_ in found]) > least * means.var()
    shown = [(mean, ends(mean, control[pairs.numbers])) for mean, _, pairs, control in found]
    held = [end["mean_low"] <= truth <= end["mean_high"] for _, end in shown if end["mean_low"] is not None]
    assert len(held) > 0.5 * STUDIES
    assert np.mean(held) >= 0.93


def test_stated_variance_and_gain_are_those_of_repeated_studies():
    found = studies(about_as_much, seed=6)
    assert np.mean([mean.variance for mean, *_ in found]) == pytest.approx(
        np.var([mean.value for mean, *_ in found]), rel=0.2
    )
    assert np.median([mean.gain for mean, *_ in found]) > 10


def test_control_of_something_else_has_no_gain_and_no_bias():
    random, means, gains = np.random.default_rng(8), [], []
    for _ in range(STUDIES):
        control, values = random.gamma(2, 100, TRIALS), random.gamma(2, 100, TRIALS)
        pairs = pairs_of(control)
        mean = pairs.mean(values[pairs.numbers], control)
        means.append(mean.value)
        gains.append(mean.gain)
    assert abs(np.mean(means) - 200) < 3 * np.std(means) / np.sqrt(STUDIES)
    assert max(gains) < LEAST_GAIN


def test_difference_of_two_designs_is_that_of_their_means_and_narrower():
    random, found = np.random.default_rng(9), []
    for _ in range(STUDIES):
        control = rare(random)
        noise = random.uniform(0.5, 1.5, TRIALS)
        pairs = pairs_of(control)
        one, other = (pairs.mean((control * noise * times)[pairs.numbers], control) for times in (1.0, 1.2))
        apart = pairs.difference(other, one)
        assert apart.value == pytest.approx(other.value - one.value)
        assert apart.half < 0.5 * other.half
        found.append(abs(apart.value - 0.2 * 0.02 * A_LOSS) <= apart.half)
    assert np.mean(found) >= 0.93


def test_cluster_that_is_its_own_control_has_the_controls_mean():
    control = rare(np.random.default_rng(1))
    pairs = pairs_of(control)
    for mean in (pairs.exact(control), pairs.mean(control[pairs.numbers], control)):
        assert mean.value == pytest.approx(control.mean())
        assert mean.variance == pytest.approx(control.var() / TRIALS, rel=0.5)
    assert pairs.difference(mean, pairs.exact(control)).variance == pytest.approx(0, abs=1e-9)


def test_slope_of_a_pair_comes_from_the_other_folds():
    values, control = every_year(np.random.default_rng(2))
    pairs = pairs_of(control)
    mean = pairs.mean(values[pairs.numbers], control)
    other = values[pairs.numbers].copy()
    other[7] += 1e6
    change = pairs.mean(other, control).parts - mean.parts
    assert change[7] == pytest.approx(1e6)
    assert np.count_nonzero(change) > len(change) / 2


# Strata


def test_strata_part_years_with_and_without_failures():
    control = rare(np.random.default_rng(3))
    of_trial = strata(control)
    assert of_trial.max() == 7
    assert set(of_trial[control == 0]) == {0}
    lows, highs = zip(*((control[of_trial == one].min(), control[of_trial == one].max()) for one in range(8)),
                      strict=True)  # fmt: skip
    assert all(high < low for high, low in zip(highs[:-1], lows[1:], strict=True))


@pytest.mark.parametrize(("values", "expected"), [([0, 0, 0], [0, 0, 0]), ([5, 1, 5, 1], [1, 0, 1, 0])])
def test_few_different_values_have_few_strata(values: list[float], expected: list[int]):
    assert strata(np.array(values, float)).tolist() == expected


def test_years_with_a_rare_loss_score_highest():
    lost, down = np.array([0, 0, 0, 9.0]), np.array([10.0, 20, 10, 10])
    none = np.zeros(4)
    rows = {"lost_confirmed": lost, "publish_down_s": down, "consume_down_s": none, "metadata_down_s": none}
    assert scores([rows]).tolist() == pytest.approx([0.8, 1.6, 0.8, 4.8])
    assert scores([rows, rows]).tolist() == pytest.approx([1.6, 3.2, 1.6, 9.6])


def test_drawn_trials_are_the_first_of_each_stratum():
    control = rare(np.random.default_rng(4))
    of_trial = strata(control)
    numbers = drawn(of_trial, PLAIN, MORE)
    assert set(range(PLAIN)) <= set(numbers)
    for stratum in range(8):
        among = np.flatnonzero(of_trial == stratum)
        chosen = numbers[of_trial[numbers] == stratum]
        assert chosen.tolist() == among[: len(chosen)].tolist()
        assert len(chosen) == min(len(among), np.count_nonzero(among < PLAIN) + MORE // 8)
    assert set(numbers) <= set(drawn(of_trial, PLAIN, 2 * MORE))


def test_weights_are_the_shares_of_the_strata():
    control = rare(np.random.default_rng(4))
    pairs = pairs_of(control)
    assert pairs.weights.sum() == pytest.approx(1)
    none = control[pairs.numbers] == 0
    assert pairs.weights[none].sum() == pytest.approx((control == 0).mean())


# Shares, and what is not said


def test_share_has_no_bias_and_its_interval_allows_for_years_not_seen():
    random, shares, held = np.random.default_rng(7), [], []
    for _ in range(STUDIES):
        control = rare(random)
        values = np.where(random.random(TRIALS) < 0.005, 1.0, control * (random.random(TRIALS) < 0.5))
        pairs = pairs_of(control)
        share, plain = pairs.share(values[pairs.numbers])
        low, high = wilson(share, plain)
        shares.append(share)
        held.append(low <= 0.01 + 0.005 * 0.99 <= high)
    assert abs(np.mean(shares) - 0.01495) < 3 * np.std(shares) / np.sqrt(STUDIES)
    assert np.mean(held) >= 0.93


def test_share_of_an_event_that_no_pair_had_has_an_upper_bound():
    control = rare(np.random.default_rng(4))
    pairs = pairs_of(control)
    share, plain = pairs.share(np.zeros(len(pairs.numbers)))
    assert share == 0
    assert 0.01 < wilson(share, plain)[1] < 0.06


def test_mean_without_any_event_has_no_interval():
    control = rare(np.random.default_rng(4))
    pairs = pairs_of(control)
    mean = pairs.mean(np.zeros(len(pairs.numbers)), control)
    assert ends(mean, control[pairs.numbers]) == {
        "mean": pytest.approx(0), "mean_low": None, "mean_high": None, "trials_for_mean": None,
    }  # fmt: skip


def test_mean_of_too_few_events_has_no_interval_and_says_how_many_pairs_it_takes():
    control = np.zeros(TRIALS)
    control[:3] = 100.0
    pairs = pairs_of(control, plain=100, more=32)
    found = ends(pairs.mean(control[pairs.numbers], control), control[pairs.numbers])
    assert found["mean_low"] is None
    assert found["trials_for_mean"] >= LEAST_APART * len(pairs.numbers) / 3


def test_mean_whose_width_a_few_pairs_make_has_no_interval():
    random = np.random.default_rng(4)
    control = random.normal(600, 60, TRIALS)
    pairs = pairs_of(control)
    values = control[pairs.numbers].copy()
    values[:2] += 500.0
    mean = pairs.mean(values, control)
    assert mean.freedom < LEAST_FREEDOM
    found = ends(mean, control[pairs.numbers])
    assert found["mean_low"] is None
    assert found["trials_for_mean"] > len(pairs.numbers)
