"""Comparison of an outcome with the expectations of a scenario."""

from __future__ import annotations

import pytest
import yaml

from hawb.scenario.expect import check, compare
from hawb.scenario.load import load
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run

STORY = """
scenario: one queue that is there, one that was deleted, one refusal
cluster: {nodes: [a, b], version: "3.10"}
policies: [{name: ha, pattern: '^q', definition: {ha-mode: all}}]
steps:
  - declare: {queue: q1, node: a}
  - declare: {queue: gone, node: a}
  - publish: {queue: q1, count: 3}
  - delete: {queue: gone}
  - purge: missing
"""
OUTCOME = outcome(Run.of(load(STORY)))


def differences(expected: str) -> list[tuple[str, object, object]]:
    """Return the differences from the story's outcome."""
    return list(compare(yaml.safe_load(expected), OUTCOME))


@pytest.mark.parametrize(
    "expected",
    [
        "{}",
        "queues: {}",
        "queues: {q1: {master: a, mirrors: [b], messages: 3, mirrored: true, ids: [[1, 3]]}}",
        "queues: {gone: null, never: null}",
        "queues: {q1: {policy: ha}}",
        "nodes: {b: running}",
        "deleted: [gone]",
        "ledger: {q1: {removed: {acknowledged: []}, lost_confirmed: 0}}",
        "time_s: 0.00253",
        "errors: [{step: 4, code: 404}]",
        "errors: [{step: 4, code: 404, contains: missing}]",
        "errors: [{step: 4}]",
    ],
)
def test_matching_expectation_has_no_difference(expected):
    if expected.startswith("time_s"):
        expected = f"time_s: {OUTCOME['time_s']}"
    assert differences(expected) == []


@pytest.mark.parametrize(
    ("expected", "places"),
    [
        ("queues: {q1: {master: b}}", {"queues.q1.master": ("b", "a")}),
        ("queues: {q1: {ids: [[1, 2], [3, 3]]}}", {"queues.q1.ids": ([[1, 2], [3, 3]], [[1, 3]])}),
        ("queues: {q1: {mirrors: []}}", {"queues.q1.mirrors": ([], ["b"])}),
        ("queues: {q1: {mirrored: 1}}", {"queues.q1.mirrored": (1, True)}),
        ("queues: {q1: {messages: true}}", {"queues.q1.messages": (True, 3)}),
        ("queues: {q1: {policy: null}}", {"queues.q1.policy": (None, "ha")}),
        ("nodes: {a: down, b: running}", {"nodes.a": ("down", "running")}),
        ("deleted: []", {"deleted": ([], ["gone"])}),
        ("queues: {q1: {master: b, messages: 4}}", {"queues.q1.master": ("b", "a"), "queues.q1.messages": (4, 3)}),
    ],
)
def test_difference_names_its_place_and_both_values(expected, places):
    assert {place: (wanted, got) for place, wanted, got in differences(expected)} == places


def test_null_expects_that_a_queue_does_not_exist():
    ((place, wanted, got),) = differences("queues: {q1: null}")
    assert (place, wanted) == ("queues.q1", None)
    assert got == OUTCOME["queues"]["q1"]


def test_missing_queue_is_a_difference():
    run = Run.of(load(STORY))
    (difference,) = check(run, {"queues": {"gone": {"messages": 0}}})
    assert str(difference) == "at the end: queues.gone: expected {'messages': 0}, got nothing"


@pytest.mark.parametrize(
    ("expected", "count"),
    [
        ("errors: []", 1),
        ("errors: [{step: 4}, {step: 5}]", 1),
        ("errors: [{step: 3}]", 1),
        ("errors: [{step: 4, code: 405}]", 1),
        ("errors: [{step: 4, code: null}]", 1),
        ("errors: [{step: 4, contains: locked}]", 1),
        ("errors: [{step: 4, text: NOT_FOUND}]", 1),
        ("errors: [{step: 3}, {step: 4}]", 2),
    ],
)
def test_errors_must_match_the_refused_steps_exactly(expected, count):
    assert len(differences(expected)) == count


EXPECTING = """
scenario: expectations on the way
cluster: {nodes: [a, b]}
policies: [{name: ha, pattern: '^q', definition: {ha-mode: all}}]
steps:
  - declare: {queue: q, node: a}
  - expect: {queues: {q: {master: a, mirrors: [b]}}}
  - kill: a
  - {expect: {queues: {q: {master: a, state: down}}, nodes: {a: down}}, at: 0}
  - expect: {queues: {q: {master: b, state: running}}}
  - expect: {queues: {q: {master: a}}}
  - start: a
  - expect: {queues: {q: {mirrors: [a]}}, errors: []}
"""


def test_expect_step_compares_the_outcome_at_that_step():
    scenario = load(EXPECTING)
    (only,) = check(Run.of(scenario), scenario.expect)
    assert (only.step, only.place, only.expected, only.got) == (5, "queues.q.master", "a", "b")
    assert str(only) == "steps[5] (the 6th step): queues.q.master: expected 'a', got 'b'"


def test_expect_steps_and_the_final_expect_are_compared():
    run = Run.of(load(EXPECTING))
    found = check(run, {"queues": {"q": {"master": "a"}}})
    assert [difference.step for difference in found] == [5, None]
