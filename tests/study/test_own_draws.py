"""Rates that are known within intervals only: played at draws of them, and taken into the answer's intervals."""

from __future__ import annotations

import json
from contextlib import nullcontext
from math import sqrt

import pytest
from click.testing import CliRunner

from hawb import cli
from hawb.cli import spark as spark_commands
from hawb.scenario.dump import dump
from hawb.scenario.refused import ScenarioRefused
from hawb.study.intervals import STUDENT_T
from hawb.study.live import live
from hawb.study.load import read_study
from hawb.study.numbers import laid_over, read_numbers
from hawb.study.own_draws import drawn, of_draw, widened
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


def test_draws_are_numbers_like_others_and_are_written_as_they_are_read():
    numbers = read_numbers(OWN)
    assert read_numbers(json.loads(json.dumps(OWN))) == numbers and "draws:" in dump(numbers)
    with pytest.raises(ScenarioRefused) as refused:
        read_numbers(OWN | {"draws": [{"node_failures": {"every": {"mean_s": -1}}}]})
    assert refused.value.path == ("draws", 0, "node_failures", "every", "mean_s")


def test_a_distribution_that_is_named_stands_in_place_of_the_whole():
    every = laid_over(read_study(ASKED), read_numbers(OWN)).environments["rack"].node_failures.every
    assert (every.mean_s, every.distribution, every.shape) == (600_000, "exponential", None)


def test_each_draw_is_an_environment_with_its_share_of_the_trials():
    study = drawn(read_study(ASKED), read_numbers(OWN), 3000)
    assert [one.node_failures.every.mean_s for one in study.environments.values()] == [300_000, 600_000, 1_200_000]
    assert {of_draw(name) for name in study.environments} == {"rack"} and study.trials == 1000
    assert drawn(read_study(ASKED), read_numbers(OWN)).trials == 64
    assert study.environments["rack_draw_0"].node_failures.repair.mean_s == 3600


def row(environment: str, mean: float, half: float | None = None, **more: object) -> dict[str, object]:
    low, high = (None, None) if half is None else (mean - half, mean + half)
    return {"design": "one", "environment": environment, "measure": "publish_down_s",
            "mean": mean, "mean_low": low, "mean_high": high,
            "share": 0.5, "share_low": 0.4, "share_high": 0.6, **more}  # fmt: skip


def test_an_interval_takes_in_what_differs_between_the_draws():
    [wide] = widened([row("e", 10.0, 3.0)], [row(f"e_draw_{place}", mean) for place, mean in enumerate((8, 10, 12))])
    off = 2 * STUDENT_T
    assert wide["open_mean"] == pytest.approx(off)
    assert (wide["mean_low"], wide["mean_high"]) == pytest.approx((10 - sqrt(9 + off**2), 10 + sqrt(9 + off**2)))
    assert (wide["share_low"], wide["share_high"], wide["open_share"]) == pytest.approx((0.4, 0.6, 0))


def test_what_the_trials_of_a_draw_scatter_by_themselves_is_not_the_rates():
    played = [row(f"e_draw_{place}", mean, STUDENT_T * 1.5) for place, mean in enumerate((8, 10, 12))]
    [wide] = widened([row("e", 10.0, 3.0)], played)
    assert wide["open_mean"] == pytest.approx(STUDENT_T * sqrt(4 - 1.5**2))
    [none] = widened([row("e", 10.0, 3.0)], [{**one, "mean_high": 99.0} for one in played])
    assert (none["open_mean"], none["mean_low"]) == (0, 7)


def test_without_draws_and_without_an_interval_nothing_is_added():
    [told] = widened([row("e", 10.0)], [])
    assert (told["mean_low"], told["open_mean"]) == (None, 0)


def test_a_share_stays_a_share():
    rows = [row(f"e_draw_{place}", 10.0, share=share) for place, share in enumerate((0.0, 1.0))]
    [wide] = widened([row("e", 10.0, 1.0)], rows)
    assert (wide["share_low"], wide["share_high"]) == (0.0, 1.0)


def test_the_answer_says_how_much_comes_from_the_rates():
    [wide] = widened([row("e", 10.0, 3.0)], [row(f"e_draw_{place}", mean) for place, mean in enumerate((8, 10, 12))])
    [part] = rates_part([wide])
    assert part.table.rows == [("seconds out of use", "e", "one", "10", "7 to 13", "4.937 to 15.06", "64.9 %")]
    assert rates_part([row("e", 10.0, 3.0)]) == ()


def test_fewer_failures_in_a_draw_mean_less_time_out_of_use():
    played = live(drawn(read_study(ASKED), read_numbers(OWN)))
    down = [one["mean"] for one in played if one["measure"] == "publish_down_s" and one["design"] == "one"]
    assert down[0] > 1.5 * down[1] > 2.2 * down[2]


@pytest.mark.spark
def test_the_command_plays_the_draws_too(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(spark_commands, "spark_session", lambda master: nullcontext(spark))
    file, own = tmp_path / "asked.yaml", tmp_path / "own.yaml"
    file.write_text(json.dumps(ASKED))
    own.write_text(json.dumps(OWN))
    arguments = ["study", str(file), "--output", str(tmp_path / "out"), "--numbers", str(own)]
    result = CliRunner().invoke(cli.main, arguments, catch_exceptions=False)
    assert result.exit_code == 0 and "How well the rates are known" in result.stdout
    again = CliRunner().invoke(cli.main, [*arguments, "--json"], catch_exceptions=False)
    rows = [one for one in json.loads(again.stdout) if one["measure"] == "publish_down_s"]
    assert {one["environment"] for one in rows} == {"rack"} and all(one["open_mean"] > 0 for one in rows)
    assert spark.read.parquet(str(tmp_path / "out" / "trials")).count() == 2 * 100 + 3 * 2 * 64
