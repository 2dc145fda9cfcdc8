"""Bugs of nodes that stop, die and restart that property tests found, or that were injected to try them: the shortest
story of each and the expected outcome."""

from __future__ import annotations

import pytest
from found_stories import POLICIES, assert_comes_of, run_of

from hawb.scenario.expect import check
from hawb.scenario.load import read_scenario
from hawb.scenario.run import Run

FOUND = [
    pytest.param(
        "all",
        """
  - declare: {queue: q, node: a}
  - publish: {queue: q, count: 5}
  - consume: {consumer: c, queue: q, node: a, prefetch: 3}
  - kill: a
  - kill: [b, c]
  - force_boot: a
""",
        "{queues: {q: {ids: [[1, 5]], redelivered: [[1, 5]]}}}",
        id="what a node that died finds on its disk may have been delivered, whatever its old records say",
    ),
    pytest.param(
        "all",
        """
  - wipe: a
  - kill: [b, c]
  - force_boot: b
  - forget_cluster_node: {node: a}
  - join: a
""",
        "{nodes: {a: running, b: running, c: down}, errors: []}",
        id="a node joins whoever runs, not those with whom it was before",
    ),
    pytest.param(
        "none",
        """
  - set_policy: {name: p, pattern: '^q', definition: {ha-mode: nodes, ha-params: [a, b]}}
  - declare: {queue: q, node: b}
  - publish: {queue: q, count: 3}
  - kill: [a, b]
  - start: b
  - publish: {queue: q, count: 2}
""",
        "{queues: {q: {master: b, mirrors: []}}, ledger: {q: {confirmed: [[1, 5]]}}}",
        id="a mirror that died with its master is waited for no longer when that is back",
    ),
]


@pytest.mark.parametrize(("policy", "steps", "expect"), FOUND)
def test_outcome_of_a_former_bug(policy, steps, expect):
    assert_comes_of(policy, steps, expect)


BACK_AT_ONCE = """
  - declare: {queue: q, node: a}
  - publish: {queue: q, count: 3}
  - {kill: b, at: 1}
  - {start: b, at: 1}
"""


def test_node_restarted_before_failure_detection_is_an_empty_mirror():
    run = run_of("all", BACK_AT_ONCE, timing={"start_s": 0})
    assert not check(run, {"queues": {"q": {"mirrors": ["c", "b"], "synchronised_mirrors": ["c"]}}})


@pytest.mark.parametrize(("last", "redelivered"), [("stop", [[1, 2]]), ("kill", [[1, 15]])])
def test_master_that_was_shut_down_remembers_deliveries_after_force_boot(last, redelivered):
    steps = [
        "{declare: {queue: q, node: a}}, {publish: {queue: q, count: 10}}",
        "{get: {queue: q, count: 2, ack: false, consumer: g}}, {stop: c}, {publish: {queue: q, count: 5}}",
        f"{{stop: b}}, {{{last}: a}}, {{force_boot: c}}, {{start: a}}",
    ]
    run = run_of("all", f"[{', '.join(steps)}]")
    assert not check(run, {"queues": {"q": {"master": "a", "ids": [[1, 15]], "redelivered": redelivered}}})


STOPPED_TWICE = """
  - {stop: a, at: 0}
  - {kill: a, at: 1}
  - {start: a, at: 1}
  - {stop: a, at: 3}
"""


def test_shutdown_takes_stop_s_even_if_the_node_is_killed_and_started():
    run = run_of("none", STOPPED_TWICE, timing={"stop_s": 10, "start_s": 1})
    assert [entry.t_us for entry in run.moment().trace() if entry.event == "node_stopped"] == [13_000_000]


@pytest.mark.parametrize(("went", "nacked", "redelivered"), [("stopped", [[6, 6]], []), ("killed", [[6, 6]], [[1, 5]])])
def test_initially_stopped_and_killed_nodes_recover_differently(went, nacked, redelivered):
    scenario = {
        "scenario": "found",
        "cluster": {"nodes": ["a", "b"], "version": "3.10", "down": {"b": went}},
        "policies": [{"name": "p", "pattern": "^q", "definition": POLICIES["all"]}],
        "queues": [{"queue": "q", "master": "b", "messages": 5, "recoverable_mirrors": []}],
        "steps": [{"publish": {"queue": "q", "count": 1}}, {"start": "b"}],
    }
    run = Run.of(read_scenario(scenario))
    expected = {"ledger": {"q": {"nacked": nacked}}, "queues": {"q": {"redelivered": redelivered}}}
    assert not check(run, expected)


def test_node_down_after_a_reset_names_the_original_cause():
    run = run_of("none", "[{declare: {queue: q, node: a}}, {power_off: a}, {reset: a}]")
    trace = run.moment().trace()
    missed = next(entry for entry in trace if entry.event == "node_down_noticed")
    assert trace[missed.because].event == "node_lost_power"


def test_nodes_killed_in_one_step_do_not_cause_each_other():
    trace = run_of("none", "[{kill: [a, b]}]").moment().trace()
    assert [entry.because for entry in trace if entry.event == "node_killed"] == [None, None]
