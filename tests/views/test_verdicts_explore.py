"""The verdict of a worst-case search."""

from __future__ import annotations

import pytest
from answered_reports import searched
from inventories import ROOT

from hawb import Cluster
from hawb.planning.explore import Progress, Question
from hawb.planning.goals import GOALS
from hawb.planning.moves import Spent
from hawb.scenario.load import load
from hawb.views.verdicts.explore import HOLDS, QUESTIONS, Files, step_in_words, todo, verdict

SCENARIOS = ("autoheal-who-wins", "unsynchronised-mirror-promoted")
LOST = Question("lost-confirmed", Spent(1, 0), frozenset({"kill"}))


def alone() -> Cluster:
    return Cluster("a", "b", version="3.10").declare("q", node="a", durable=False).publish("q", 2)


@pytest.mark.parametrize("goal", GOALS)
def test_every_goal_has_a_question_and_answers(goal: str):
    assert QUESTIONS[goal].endswith("?") and len(HOLDS[goal]) == 2


def test_found_story_is_a_no_with_its_steps():
    answer = searched(alone(), LOST)
    assert verdict(LOST, answer).sentence == "No: confirmed messages of q are lost after 1 step: kill a."
    asked = todo(LOST, answer, Files("drill.yaml", "worst case.yaml"))
    assert [one.commands for one in asked] == [("hawb run 'worst case.yaml'",), ("hawb lab 'worst case.yaml'",)]
    assert [one.commands for one in todo(LOST, answer)] == [(), ()]
    kept, played = todo(LOST, answer, Files("drill.yaml"))[0].commands
    assert kept.startswith("hawb explore drill.yaml --for ") and kept.endswith(" --scenario story.yaml")
    assert played == "hawb run story.yaml"


def test_exhausted_search_is_a_yes_within_its_bound():
    question = Question("lost-confirmed", Spent(0, 1), frozenset({"publish"}))
    answer = searched(alone(), question)
    assert verdict(question, answer).sentence == "Yes: no confirmed message is lost within no faults and 1 operation."
    more = todo(question, answer, Files("drill.yaml"))
    (command,) = more[0].commands
    assert command.startswith("hawb explore drill.yaml --for lost-confirmed --faults 1 --operations 1 --without ")
    assert "--without kill" in command and "--without publish" not in command


def test_stopped_search_is_unknown():
    answer = Progress(states=7, tried=9, depth=2, left=3)
    assert verdict(LOST, answer).sentence == (
        "Cannot tell: the search is not complete: no confirmed message is lost in stories of up to 2 steps with at most"
        " 1 fault and no operations."
    )
    assert len(todo(LOST, answer)) == 1 and verdict(LOST, answer).exit_status == 3


def test_steps_are_shown_as_typed():
    scenarios = [load(ROOT / "data" / "scenarios" / f"{name}.yaml") for name in SCENARIOS]
    found = [step_in_words(step) for scenario in scenarios for step in scenario.steps]
    assert "stop b" in found and "kill a" in found and "publish ha.orders" in found
    assert not [one for one in found if "{" in one or "None" in one or "True" in one]
