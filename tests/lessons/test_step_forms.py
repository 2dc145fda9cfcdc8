"""Examples of steps shown to readers are valid and complete."""

from __future__ import annotations

import pytest

from hawb.lessons import step_forms
from hawb.lessons.exercises import Form
from hawb.lessons.notebook import EXERCISES, check, exercise
from hawb.scenario.load import read_scenario
from hawb.scenario.verbs import VERBS

BEGINNING = {"scenario": "any", "cluster": {"nodes": ["a", "b", "c"], "version": "3.10"}}


def test_the_example_of_each_verb_is_read_as_a_step(subtests: pytest.Subtests):
    for verb in VERBS:
        with subtests.test(msg="example with a time", verb=verb):
            scenario = read_scenario(BEGINNING | {"steps": [step_forms.example(verb) | {"at": 20}]})
            assert [(step.name, step.at) for step in scenario.steps] == [(verb, 20)]


def test_optional_keys_of_a_step_are_listed():
    assert step_forms.more("forget_cluster_node") == "besides: from, offline"
    assert step_forms.more("publish").startswith("besides: queues, size, ")
    assert step_forms.more("kill") == "or several at once: ['a', 'b']"
    assert (step_forms.more("heal"), step_forms.more("sync_queue"), step_forms.more("add_member")) == ("", "", "")


def test_an_exercise_shows_how_each_of_its_steps_is_written():
    page = exercise("15-forget").value
    assert "{&#x27;forget_cluster_node&#x27;: {&#x27;node&#x27;: &#x27;a&#x27;}}</code>, besides: from, offline" in page
    for each in EXERCISES.values():
        value = exercise(each.key).value
        assert value.count("<li>") == len(each.verbs), each.key
        assert ("how to write them" in value) is (each.form is Form.STEPS), each.key


def test_missing_answer_shows_an_example_of_the_expected_form(tmp_path, monkeypatch):
    monkeypatch.setenv("HAWB_ANSWERS", str(tmp_path / "answers.json"))
    assert "a list of steps, such as [{'set_policy': {'name': " in check("10-late-mirror", ...).says
    assert "settings of the nodes, such as {'quorum_cluster_size': …}" in check("17-size", ...).says
