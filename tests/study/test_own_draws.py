"""Draws of uncertain rates: played as environments, and included in the intervals of the answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from math import pi, sqrt
from statistics import fmean, stdev

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

from hawb import cli
from hawb.cli import spark as spark_commands
from hawb.scenario.dump import dump
from hawb.scenario.refused import ScenarioRefused
from hawb.study.intervals import BATCHES, STUDENT_T
from hawb.study.live import Weights, live
from hawb.study.load import read_study
from hawb.study.numbers import laid_over, read_numbers
from hawb.study.own_draws import PLENTY, above_nothing, between, drawn, of_draw, widened
from hawb.study.trial_record import TRIAL
from hawb.views.study.study_report import rates_part

ASKED = {
    "study": "Two copies or three?",
    "designs": {name: {"queue_type": "classic", "nodes": 3, "replicas": replicas, "version": "3.13"}
                for name, replicas in (("one", 1), ("two", 2))},
    "environments": {"rack": {
        "node_failures": {"every": {"mean_s": 2592000, "distribution": "weibull", "shape": 0.7},
                          "repair": {"mean_s": 3600}},
        "traffic": {"publish_per_s": 50, "consume_per_s": 200},
    }},
    "trials": 100, "horizon_days": 60,
}  # fmt: skip
OWN = {
    "numbers": "our logs",
    "environment": {"node_failures": {"every": {"mean_s": 600_000, "distribution": "exponential"}}},
    "draws": [{"node_failures": {"every": {"mean_s": mean_s, "distribution": "exponential"}}}
              for mean_s in (300_000, 600_000, 1_200_000)],
    "sources": {"environment": "measured: three failures"},
}  # fmt: skip


def test_draws_round_trip():
    numbers = read_numbers(OWN)
    assert read_numbers(json.loads(json.dumps(OWN))) == numbers and "draws:" in dump(numbers)
    with pytest.raises(ScenarioRefused) as refused:
        read_numbers(OWN | {"draws": [{"node_failures": {"every": {"mean_s": -1}}}]})
    assert refused.value.path == ("draws", 0, "node_failures", "every", "mean_s")


def test_named_distribution_replaces_the_whole_one():
    every = laid_over(read_study(ASKED), read_numbers(OWN)).environments["rack"].node_failures.every
    assert (every.mean_s, every.distribution, every.shape) == (600_000, "exponential", None)


def test_each_draw_is_an_environment_with_its_share_of_the_trials():
    study = drawn(read_study(ASKED), read_numbers(OWN), 3000)
    assert [one.node_failures.every.mean_s for one in study.environments.values()] == [300_000, 600_000, 1_200_000]
    assert {of_draw(name) for name in study.environments} == {"rack"} and study.trials == 1000
    assert drawn(read_study(ASKED), read_numbers(OWN)).trials == 100
    assert drawn(read_study(ASKED | {"trials": 60}), read_numbers(OWN)).trials == 2 * BATCHES
    assert drawn(read_study(ASKED | {"trials": 700}), read_numbers(OWN)).trials == PLENTY
    assert study.environments["rack_draw_0"].node_failures.repair.mean_s == 3600


DRAWS = 32


def row(environment: str, mean: float, half: float | None = None, **more: object) -> dict[str, object]:
    low, high = (None, None) if half is None else (mean - half, mean + half)
    return {"design": "one", "environment": environment, "measure": "publish_down_s",
            "mean": mean, "mean_low": low, "mean_high": high,
            "share": 0.5, "share_low": 0.4, "share_high": 0.6, **more}  # fmt: skip


def rows_of(means: np.ndarray, name: str = "mean") -> list[dict[str, object]]:
    """Return the rows of draws with these batch means, one row per draw."""
    same = {"mean_batches": np.full(BATCHES, 10.0), "share_batches": np.full(BATCHES, 0.5)}
    found = [same | {name: float(each.mean()), f"{name}_batches": each} for each in means]
    return [row(f"e_draw_{place}", **{"mean": 10.0} | each) for place, each in enumerate(found)]


def batches(rates: float, common: float, own: float, seed: int = 1) -> np.ndarray:
    """Means of batches in each draw: with so large standard deviations of what the rates do, of what a batch of all
    draws has in common, and of what is a draw's own."""
    random = np.random.default_rng(seed)
    of_draw, of_batch = random.normal(10, rates, (DRAWS, 1)), random.normal(0, common, BATCHES)
    return of_draw + of_batch + random.normal(0, own, (DRAWS, BATCHES))


def test_interval_includes_the_variance_between_draws():
    values = batches(2, 0, 0)
    [wide] = widened([row("e", 10.0, 3.0)], rows_of(values))
    off = STUDENT_T * stdev(values[:, 0])
    assert wide["open_mean"] == pytest.approx(off, rel=1e-3)
    ends = 10 - sqrt(9 + off**2), 10 + sqrt(9 + off**2)
    assert (wide["mean_low"], wide["mean_high"]) == pytest.approx(ends, rel=1e-3)
    assert (wide["share_low"], wide["share_high"], wide["open_share"]) == pytest.approx((0.4, 0.6, 0))


def test_common_variance_of_a_batch_is_not_subtracted():
    assert between(batches(2, 50, 0)) == pytest.approx(between(batches(2, 0, 0)))


def test_variance_within_a_draw_is_not_attributed_to_the_rates():
    found = [(between(batches(2, 5, own, seed)) / STUDENT_T) ** 2 for own in (0, 8) for seed in range(200)]
    # the square of 8 over the root of 32 batches, 2, would be on top of the 4
    assert (fmean(found[:200]), fmean(found[200:])) == pytest.approx((4, 4), rel=0.07)


def test_undetectable_variance_between_draws_is_bounded():
    found = [between(batches(0, 5, 8, seed)) / STUDENT_T for seed in range(50)]
    assert 0 < min(found) < max(found) < 2  # of the 8 over the root of 32, which the trials do
    assert between(np.zeros((DRAWS, BATCHES))) == between(np.zeros((1, BATCHES))) == 0
    assert above_nothing(3.0, 0.0) == 3 and above_nothing(-3.0, 0.0) == above_nothing(-1.0, 1e-3) == 0
    assert above_nothing(0.0, 1.0) == pytest.approx(sqrt(2 / pi))  # the mean of half a normal distribution


def test_nothing_is_added_without_draws_or_an_interval():
    [row_drawn] = widened([row("e", 10.0)], [])
    assert (row_drawn["mean_low"], row_drawn["open_mean"]) == (None, 0)


def test_share_stays_between_0_and_1():
    [wide] = widened([row("e", 10.0, 1.0)], rows_of(batches(1, 0, 0), "share"))
    assert (wide["share_low"], wide["share_high"]) == (0.0, 1.0)


def test_answer_states_the_contribution_of_the_rates():
    means = np.repeat([6.0, 8.0, 12.0, 14.0], 8)[:, None] + np.zeros(BATCHES)
    [wide] = widened([row("e", 10.0, 3.0)], rows_of(means))
    [part] = rates_part([wide])
    assert part.table.rows == [("seconds out of use", "e", "one", "10", "7 to 13", "2.793 to 17.21", "82.7 %")]
    assert rates_part([row("e", 10.0, 3.0)]) == ()


def test_fewer_failures_in_a_draw_mean_less_downtime():
    played = live(drawn(read_study(ASKED | {"trials": 128}), read_numbers(OWN)), in_batches=True)
    down = [one["mean"] for one in played if one["measure"] == "publish_down_s" and one["design"] == "one"]
    assert down[0] > 1.5 * down[1] > 2.2 * down[2]
    for one in played:
        assert (fmean(one["mean_batches"]), fmean(one["share_batches"])) == pytest.approx((one["mean"], one["share"]))


# Does the interval hold what is true?


def made_up_trials(rate: float, gaps: np.ndarray, repairs: np.ndarray) -> dict[str, np.ndarray]:
    """What comes of trials in which each of two nodes fails `rate` times, in the mean: how long the first is away, and
    whether its first failure is while the other is away for its own."""
    failed = gaps.cumsum(axis=2) / rate
    one, other = failed[:, 0, 0], failed[:, 1, 0]
    meets = (other < one) & (one < np.minimum(1, other + repairs[:, 1, 0]))
    return {"out": (repairs[:, 0] * (failed[:, 0] < 1)).sum(axis=1), "lost": meets.astype(float)}


def studies(failures: int, repair: float, trials: int, count: int) -> Iterator[dict[str, dict[str, object]]]:
    """Made-up studies, by what they measure: of a cluster whose nodes fail twice in a trial, of which so many failures
    are known, in the mean."""
    random = np.random.default_rng(failures)
    for _ in range(count):
        known = max(2, random.poisson(failures))
        rates = [2 * known / failures, *(2 * random.gamma(known, size=DRAWS) / failures)]
        shape = trials, 2, int(2 * max(rates) + 12)
        gaps, repairs = random.exponential(size=shape), repair * random.exponential(size=shape)
        each = min(PLENTY, trials)
        rows = []
        for place, rate in enumerate(rates):
            first = slice(trials if place == 0 else each)
            result = made_up_trials(rate, gaps[first], repairs[first])
            weights = Weights(pa.RecordBatch.from_pydict({TRIAL: np.arange(len(result["out"]))}))
            rows += [
                {"design": "one", "environment": f"e_draw_{place - 1}" if place else "e", "measure": measure,
                 "mean_batches": weights.in_batches(values), "share_batches": weights.in_batches(values > 0)}
                | weights.mean_of(values) | weights.share_of(values) for measure, values in result.items()
            ]  # fmt: skip
        yield {one["measure"]: one for one in widened(rows[:2], rows[2:])}


@pytest.mark.parametrize(("failures", "repair"), [(16, 0.05), (100, 0.01)])
def test_interval_covers_the_true_value(failures, repair):
    random = np.random.default_rng(0)
    shape = 100_000, 2, 16
    true = made_up_trials(2.0, random.exponential(size=shape), repair * random.exponential(size=shape))
    held = {name: [] for name in ("out", "alone", "lost")}
    for item in studies(failures, repair, 512, 70):
        out, lost = item["out"], item["lost"]
        alone = sqrt((out["mean_high"] - out["mean"]) ** 2 - out["open_mean"] ** 2)
        held["out"].append(out["mean_low"] <= true["out"].mean() <= out["mean_high"])
        held["alone"].append(abs(out["mean"] - true["out"].mean()) <= alone)
        held["lost"].append(lost["share_low"] <= true["lost"].mean() <= lost["share_high"])
    assert fmean(held["alone"]) < 0.65 and all(fmean(held[name]) >= 0.88 for name in ("out", "lost"))


@pytest.mark.full
@pytest.mark.spark
def test_command_plays_the_draws(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(spark_commands, "spark_session", lambda master, settings: nullcontext(spark))
    monkeypatch.setattr("hawb.study.sensitivity.WITHIN_S", 0.0)  # nothing is varied
    file, own = tmp_path / "asked.yaml", tmp_path / "own.yaml"
    file.write_text(json.dumps(ASKED | {"trials": 400}))
    own.write_text(json.dumps(OWN))
    arguments = ["study", str(file), "--output", str(tmp_path / "out"), "--numbers", str(own)]
    result = CliRunner().invoke(cli.main, arguments, catch_exceptions=False)
    assert result.exit_code == 0 and "How well the rates are known" in result.stdout
    again = CliRunner().invoke(cli.main, [*arguments, "--json"], catch_exceptions=False)
    rows = [one for one in json.loads(again.stdout) if one["measure"] == "publish_down_s"]
    assert {one["environment"] for one in rows} == {"rack"} and all(one["open_mean"] > 0 for one in rows)
    assert spark.read.parquet(str(tmp_path / "out" / "trials")).count() == 2 * 400 + 3 * 2 * PLENTY
