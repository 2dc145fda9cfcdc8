"""Operator policies: beside a queue's policy, merged with it, and told apart from it."""

from __future__ import annotations

import pytest

from hawb.scenario.load import load, read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.refused import ScenarioRefused
from hawb.scenario.run import Run
from hawb.views.story.chronicle import Chronicle
from hawb.views.story.policies_in_force import PoliciesInForce
from hawb.views.story.telling import sentences
from hawb.views.story.why import why

MIRRORS = {"name": "mirrors", "pattern": "^q", "definition": {"ha-mode": "exactly", "ha-params": 2}}


def played(*steps: dict, **more: object) -> dict:
    given = {"scenario": "t", "cluster": {"nodes": ["a", "b", "c"], "version": "3.13"}, "steps": list(steps)}
    return outcome(Run.of(read_scenario(given | more)))


def declare(**more: object) -> dict:
    return {"declare": {"queue": "q", "node": "a", **more}}


def test_one_alone_mirrors_a_queue_that_has_no_policy():
    queue = played(declare(), operator_policies=[MIRRORS])["queues"]["q"]
    assert (queue["policy"], queue["operator_policy"], len(queue["mirrors"])) == (None, "mirrors", 1)


def test_a_policy_of_the_same_name_is_another():
    both = [{"set_policy": MIRRORS}, {"set_operator_policy": MIRRORS}]
    queue = played(*both, declare(), {"clear_policy": "mirrors"})["queues"]["q"]
    assert (queue["policy"], queue["operator_policy"], queue["mirrored"]) == (None, "mirrors", True)


def test_the_highest_priority_wins_among_them():
    other = MIRRORS | {"name": "other", "priority": 1, "definition": {"ha-mode": "all"}}
    assert played(declare(), operator_policies=[MIRRORS, other])["queues"]["q"]["mirrors"] == ["b", "c"]


def test_exclusive_queues_are_not_mirrored_by_them():
    assert played(declare(exclusive=True), operator_policies=[MIRRORS])["queues"]["q"]["mirrors"] == []


def test_one_that_rabbitmq_would_refuse_cannot_stand_at_the_start():
    entry = "{name: p, pattern: q, definition: {ha-mode: all}}"
    text = f"scenario: t\ncluster: {{nodes: [a]}}\noperator_policies: [{entry}]\n"
    with pytest.raises(ScenarioRefused, match="ha-mode") as refused:
        Run(load(text))
    assert refused.value.path == ("operator_policies", 0)


def test_one_with_another_definition_is_told_only_where_it_changes_something():
    wider = MIRRORS | {"definition": {"ha-mode": "exactly", "ha-params": 3}}
    everywhere = {"name": "all", "pattern": "^q", "definition": {"ha-mode": "all"}}
    setting = [{"set_operator_policy": entry} for entry in (MIRRORS, wider)]
    found = played({"set_policy": everywhere}, declare(), *setting)
    assert [event["detail"] for event in found["events"] if event["event"] == "operator_policy_applied"] == [
        {"policy": "mirrors", "was": None}
    ]


def test_the_story_and_the_reason_of_a_loss_say_which_one_decided():
    manual = MIRRORS | {"name": "ops", "definition": {"ha-mode": "exactly", "ha-params": 2, "ha-sync-mode": "manual"}}
    mine = {"name": "mine", "pattern": "^q", "definition": {"ha-mode": "all", "ha-sync-mode": "automatic"}}
    found = played(
        {"set_policy": mine},
        declare(),
        {"set_operator_policy": manual},
        {"stop": ["b", "c"]},
        {"publish": {"queue": "q", "count": 5}},
        {"start": "b"},
        {"kill": "a"},
    )
    assert "ha-sync-mode is manual (set by operator policy ops), and nobody asked" in why(found, "q", 1)
    assert "ha-promote-on-failure is always (its default)" in why(found, "q", 1)
    assert "Operator policy ops now applies to q, besides any policy." in [line.text for line in sentences(found)]
    merged = {"ha-mode": "all", "ha-params": 2, "ha-sync-mode": "manual"}
    assert PoliciesInForce(Chronicle(found)).definition("q", len(found["events"]) - 1) == merged
