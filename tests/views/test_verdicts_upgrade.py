"""The verdict of an upgrade plan."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from upgrade_clusters import ALL, cluster, mirrored, planned, quorum

from hawb.planning.full_stop import plan_full_stop
from hawb.planning.upgrade import task_of
from hawb.views.report import Verdict
from hawb.views.verdicts.upgrade import road_verdict, stop_todo, stop_verdict, todo, verdict


def test_nothing_lost_and_no_queue_away_is_a_yes():
    assert verdict(planned(cluster(quorum("qq")))).sentence == (
        "Yes: nothing is lost and every queue stays in use, if the plan is followed."
    )


def test_loss_without_a_plan_is_stated():
    answer = planned(cluster(mirrored("ha"), ha=ALL | {"ha-promote-on-shutdown": "always"}))
    assert verdict(answer).sentence.endswith("without a plan, 1,000 more messages would be lost.")


def test_unavailable_queues_are_a_yes_but():
    one = verdict(planned(cluster(mirrored("q", "a"))))
    assert one.sentence == "Yes, but q cannot be used for 36 s; nothing is lost."
    two = verdict(planned(cluster(mirrored("q", "a"), mirrored("r", "b"))))
    assert two.sentence.startswith("Yes, but 2 queues cannot be used while nodes are down, ")


def test_a_loss_is_a_no():
    answer = planned(cluster(mirrored("t", "a", 7) | {"durable": False}))
    assert verdict(answer).sentence == "No: even the best plan loses 7 messages of t, not confirmed."
    prediction = answer.plan.prediction
    gone = replace(answer, plan=replace(answer.plan, prediction=replace(prediction, away=("a", "b"))))
    assert verdict(gone).sentence == "No: a and b do not come back."


def test_advice_is_the_order_then_endless_waits():
    planned_ = planned(cluster(quorum("pair", "ab")))
    asked = todo(planned_, ("own.json", "its queues.json"))
    assert asked[0].what.startswith("Restart ") and asked[0].commands == (
        "hawb upgrade own.json 'its queues.json' --runbook runbook.md",
    )
    assert todo(planned_)[0].commands == ()
    assert asked[1].what.startswith("Do not wait for quorum + 1 on the nodes of pair")


@pytest.mark.parametrize(("nodes", "answer"), [("abc", "but"), ("a", "but")])
def test_a_full_stop_is_never_more_than_a_yes_with_a_but(nodes: str, answer: str):
    run = cluster(mirrored("ha", nodes), nodes=nodes, ha=ALL)
    found = plan_full_stop(run, task_of(run))
    assert (verdict_ := stop_verdict(found)).answer == answer and "nothing is lost" in verdict_.why
    assert stop_todo(found)[0].what.startswith("Stop in this order: ")
    stuck = replace(found, plan=replace(found.plan, stuck="a", waits_for=("b",)))
    assert stop_verdict(stuck).sentence == "No: a waits for b for ever."


def test_path_has_the_verdict_of_its_worst_step():
    yes, but, no = (Verdict(answer, answer) for answer in ("yes", "but", "no"))
    assert road_verdict(2, [("1", yes), ("2", yes)]).sentence.startswith("Yes: in 2 steps; nothing is lost")
    assert road_verdict(2, [("1", yes), ("2", but)]).sentence == "Yes, but 2: but."
    assert road_verdict(2, [("1", no), ("2", but)]).sentence == "No: 1: no."
