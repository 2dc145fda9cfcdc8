"""Faults that no node has detected yet are in the outcome, and `hawb run` does not answer yes."""

from __future__ import annotations

from typing import Any

import pytest

from hawb.scenario.load import read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.scenario.unnoticed import unnoticed_s
from hawb.views.story import summary as in_the_lab
from hawb.views.verdicts.run import todo, verdict

CUT = [["a", "b"], ["a", "c"]]
PARTED = {"partition": [["a"], ["b", "c"]]}
NOTHING_PASSES = "nothing is lost so far, but no node has noticed yet that nothing passes between a–b and a–c"


def story(*steps: Any, version: str = "3.10") -> dict:
    """Return the outcome of steps after a mirrored queue with five messages and its master on a."""
    begun = [
        {"set_policy": {"name": "ha", "pattern": "^q", "definition": {"ha-mode": "all", "ha-sync-mode": "automatic"}}},
        {"declare": {"queue": "q", "node": "a"}},
        {"publish": {"queue": "q", "count": 5}},
    ]
    cluster = {"nodes": ["a", "b", "c"], "version": version}
    return outcome(Run.of(read_scenario({"scenario": "s", "cluster": cluster, "steps": [*begun, *steps]})))


@pytest.mark.parametrize(
    ("steps", "unnoticed", "sentence"),
    [
        ([PARTED], {"links": CUT, "nodes": [], "waiting": {}, "operations": 0}, NOTHING_PASSES),
        ([PARTED, {"publish": {"queue": "q", "count": 3, "node": "a"}}],
         {"links": CUT, "nodes": [], "waiting": {"q": 3}, "operations": 0}, f"{NOTHING_PASSES}; 3 messages for q wait"),
        ([PARTED, {"publish": {"queue": "q", "count": 1, "node": "b"}}],
         {"links": CUT, "nodes": [], "waiting": {"q": 1}, "operations": 0}, f"{NOTHING_PASSES}; 1 message for q waits"),
        ([PARTED, {"consume": {"consumer": "k", "queue": "q", "node": "b"}}],
         {"links": CUT, "nodes": [], "waiting": {}, "operations": 1},
         f"{NOTHING_PASSES}; 1 operation of a client waits"),
        ([{"power_off": "c"}], {"links": [], "nodes": ["c"], "waiting": {}, "operations": 0},
         "nothing is lost so far, but no node has noticed yet that c is gone"),
    ],
    ids=["partition", "waits for a confirm", "does not reach the master", "consume", "power off"],
)  # fmt: skip
def test_answer_is_unknown_before_failure_detection(steps: list, unnoticed: dict, sentence: str):
    found = story(*steps)
    assert found["unnoticed"].pop("noticed_at_s") == pytest.approx(60, abs=0.01)
    assert found["unnoticed"] == unnoticed
    found = story(*steps)
    assert (verdict(found).answer, verdict(found).why) == ("unknown", sentence)
    assert in_the_lab.toned_headline(found)["tone"] == in_the_lab.HARMED
    assert "add the step `wait: 61` to the end of the scenario" in todo(found)[0].what
    assert unnoticed_s(found) == 61
    waited = story(*steps, {"wait": unnoticed_s(found)})
    assert "unnoticed" not in waited and unnoticed_s(waited) == 0


def test_unavailable_queue_is_named_first():
    found = verdict(story({"power_off": "a"}))
    assert (found.answer, found.why) == ("no", "nothing is lost, but q is down; no node has noticed yet that a is gone")


@pytest.mark.parametrize("steps", [
    [PARTED, {"heal": True}], [{"kill": "c"}], [{"stop": "c"}, {"cut": [["a", "c"]]}],
    [{"power_off": ["a", "b", "c"]}],
])  # fmt: skip
def test_detected_and_ended_faults_are_not_listed(steps: list):
    assert "unnoticed" not in story(*steps)
