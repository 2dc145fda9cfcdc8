"""A full stop and start of a cluster: no planned order deadlocks or loses messages."""

from __future__ import annotations

from hypothesis import given, settings
from upgrade_clusters import ALL, cluster, clusters, mirrored, quorum

from hawb.planning.full_stop import full_stop, plan_full_stop
from hawb.planning.upgrade import task_of
from hawb.scenario.dump import dump
from hawb.scenario.expect import check
from hawb.scenario.load import load
from hawb.scenario.run import Run
from hawb.views.planning.upgrade_runbook import started, stop_runbook


@settings(max_examples=15)
@given(clusters())
def test_planned_full_stop_never_deadlocks(run: Run) -> None:
    found = plan_full_stop(run, task_of(run, away_s=0))
    assert found.plan.stuck is None and found.plan.prediction.away == ()
    assert found.plan.starts == found.plan.stops[::-1]
    for plan in (found.plan, *found.others):
        scenario = load(dump(plan.rehearsal))
        assert check(Run.of(scenario), scenario.expect) == []


def test_starting_the_first_stopped_node_first_deadlocks():
    run = cluster(mirrored("ha"), quorum("qq"), ha=ALL)
    found = full_stop(run, task_of(run), "abc", "abc", "wrong")
    assert (found.stuck, found.waits_for, found.prediction.away) == ("a", ("b", "c"), ("a", "b", "c"))
    assert full_stop(run, task_of(run), "cba", "abc", "ordinals").stuck is None


def test_node_with_the_only_full_copies_stops_last():
    run = cluster(mirrored("ha", "bac", 1000, synchronised=""), ha=ALL | {"ha-promote-on-shutdown": "always"})
    found = plan_full_stop(run, task_of(run))
    assert found.plan.stops[-1] == "b" and found.plan.prediction.lost == 0
    assert found.others[1].prediction.lost == 1000


def test_with_khepri_a_majority_starts_together():
    run = cluster(quorum("qq"), version="4.3")
    found = plan_full_stop(run, task_of(run))
    assert (found.plan.together, found.plan.stuck, found.plan.prediction.away) == (2, None, ())
    assert len({stage.start_s for stage in found.plan.stages[:2]}) == 1
    result = stop_runbook(found, task_of(run), "x")
    first, second, third = found.plan.starts
    result = result.partition("## Start the first 2 together")[2]
    assert result.index(f"host of {second}") < result.index(started(first)) < result.index(f"host of {third}")
    assert full_stop(run, task_of(run), "abc", "abc", "whoever stops first").stuck is None


def test_with_khepri_a_member_that_is_down_does_not_count():
    run = cluster(quorum("qq"), version="4.3")
    run.apply_plain({"kill": "c"})
    found = plan_full_stop(run, task_of(run))
    assert (found.plan.together, found.plan.stuck) == (2, None)
