"""Upgrades by a cluster's own times: the numbers that are used, and the uncertainty of the draws."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import numpy as np
import pytest
from upgrade_clusters import ALL, cluster, mirrored, quorum

from hawb.planning.full_stop import plan_full_stop
from hawb.planning.upgrade import Restart, played_plan, task_of
from hawb.scenario.refused import ScenarioRefused
from hawb.scenario.run import Run
from hawb.study.numbers import read_numbers
from hawb.study.own_upgrade import middle, own_times, within
from hawb.views.planning.own_times import sentences

AWAY = "rolling_upgrades"


def own(environment: dict[str, Any], *draws: dict[str, Any]):
    return own_times(read_numbers({
        "numbers": "our logs", "environment": environment, "draws": list(draws),
        "sources": {"environment": "measured: 12 restarts"},
    }))  # fmt: skip


def away(down_s: float) -> dict[str, Any]:
    return {AWAY: {"every_days": 60, "down_s": down_s}}


def test_upgrade_uses_only_the_downtime_and_the_timing():
    times = own(away(90) | {"timing": {"start_s": 8}, "node_failures": {"every": {"mean_s": 600_000}}}).times
    assert (times.away_s, times.timing) == (90, {"start_s": 8})
    scenario = cluster(quorum("qq")).scenario
    timing = times.over(scenario).cluster.timing
    assert (timing.start_s, timing.stop_s) == (8, scenario.cluster.timing.stop_s)
    assert times.task(task_of(Run.of(scenario))).away_s == 90


def test_task_keeps_its_own_downtime_if_none_is_given():
    task = task_of(cluster(quorum("qq")), away_s=12)
    assert own({"timing": {"start_s": 8}}).times.task(task).away_s == 12


def test_numbers_without_a_downtime_are_refused():
    with pytest.raises(ScenarioRefused) as refused:
        own({"node_failures": {"every": {"mean_s": 600_000}}})
    assert refused.value.path == ("environment",)
    assert "rolling_upgrades.down_s or timing" in str(refused.value)


def test_plan_is_simulated_in_each_draw():
    run = cluster(quorum("qq"))
    times = own(away(30), *(away(down_s) for down_s in range(41)))
    task = task_of(run, away_s=30)
    plan = played_plan(run, task, [Restart(node, "ready") for node in "abc"])
    found = within(run.scenario, task, plan, times)
    # three nodes, each away one second longer from draw to draw: of 0 to 40 s a fortieth of 42 draws is left out
    for end, down_s in zip(found.duration_s, (0.05, 39.95), strict=True):
        assert end == pytest.approx(plan.prediction.duration_s + 3 * (down_s - 30), abs=0.01)
    assert found.draws == 41 and found.lost == (0, 0) and found.away == ()


def test_draw_overrides_the_timing_of_the_numbers():
    run = cluster(mirrored("ha", messages=60_000), ha=ALL | {"ha-sync-mode": "automatic"})
    times = own(away(5) | {"timing": {"sync_messages_s": 3_000}},
                *({"timing": {"sync_messages_s": pace}} for pace in (1_500, 6_000)))  # fmt: skip
    assert [draw.away_s for draw in times.draws] == [5, 5]
    task = times.times.task(task_of(run))
    plan = played_plan(Run.of(times.times.over(run.scenario)), task, [Restart(node, "synced") for node in "abc"])
    found = within(run.scenario, task, plan, times)
    # c waits until b's 60,000 messages are there: for 40, 20 and 10 s, of which its boot takes the last
    assert plan.prediction.duration_s == pytest.approx(43, abs=0.1)
    assert found.duration_s == pytest.approx((35, 63), abs=0.1)


def test_full_stop_is_simulated_in_each_draw():
    run = cluster(quorum("qq"))
    times = own(away(30), away(10), away(110))
    plan = plan_full_stop(run, task_of(run, away_s=30)).plan
    found = within(run.scenario, task_of(run, away_s=30), plan, times)
    assert found.duration_s[1] - found.duration_s[0] == pytest.approx(100)  # two draws tell no further than they reach


def test_given_downtime_applies_to_every_draw():
    times = own(away(30), away(10), away(110)).with_away(7)
    assert {times.times.away_s, *(draw.away_s for draw in times.draws)} == {7} and times.sources == {}
    run = cluster(quorum("qq"))
    task = task_of(run, away_s=7)
    assert within(run.scenario, task, played_plan(run, task, [Restart("a", "ready")]), times) is None
    assert sentences(times, None) == ("None of the times of our logs is used.",)


def test_interval_omits_a_fortieth_at_each_end():
    assert middle([5.0]) == (5, 5)
    assert middle([float(value) for value in range(41)]) == (0.05, 39.95)
    assert middle([float(value) for value in range(32)]) == (0, 31)


def test_interval_covers_new_values_as_often_as_stated():
    values = np.random.default_rng(2).lognormal(size=(2000, 33))
    for draws, share in ((32, 31 / 33), (20, 19 / 21)):
        held = [low <= each[-1] <= high for each in values for low, high in [middle(each[:draws].tolist())]]
        assert fmean(held) == pytest.approx(share, abs=0.015)


def test_uncertainty_is_stated_with_the_source_of_the_times():
    run = cluster(quorum("qq"))
    times = own(away(30), away(10), away(110))
    task = task_of(run, away_s=30)
    plan = played_plan(run, task, [Restart("a", "ready")])
    taken, left = sentences(times, within(run.scenario, task, plan, times))
    assert taken == "Times come from our logs: rolling_upgrades.down_s 30 (measured: 12 restarts)."
    assert left.startswith("Given the uncertainty of these times (95 %, by 2 draws), the plan takes 16.0 to 116.0 s")
