"""Sides of a cluster with Khepri rejoin once links are mended: who believes whom running, and whose metadata stays."""

from __future__ import annotations

from hawb.engine.core.state import nodes_of
from hawb.scenario.load import read_scenario
from hawb.scenario.run import Run

APART = {"partition": [["a"], ["b"], ["c", "d"]]}


def after(*steps: dict) -> Run:
    """Return a cluster of 4.3 with four nodes after some steps."""
    return Run.of(read_scenario({"scenario": "x", "cluster": {"nodes": list("abcd"), "version": "4.3"},
                                 "steps": list(steps)}))  # fmt: skip


def believed(run: Run) -> list[list[int]]:
    return [nodes_of(node.believes) for node in run.moment().state.nodes]


def rejoined(run: Run) -> list[str]:
    return [entry.detail["nodes"] for entry in run.moment().trace() if entry.event == "sides_rejoined"]


def test_running_nodes_believe_each_other_and_no_node_that_is_down():
    run = after(APART, {"wait": 75}, {"kill": "a"}, {"wait": 1}, {"heal": True})
    assert believed(run) == [[], [2, 3], [1, 3], [1, 2]]
    assert len(run.moment().state.sides) == 1


def test_first_side_goes_on_where_none_can_write():
    assert rejoined(after(APART, {"wait": 75}, {"heal": True})) == [["a"]]


def test_side_with_a_majority_goes_on():
    """The next step, too, finds its records."""
    run = after({"partition": [["a"], ["b", "c", "d"]]}, {"wait": 75}, {"declare": {"queue": "q", "node": "b"}},
                {"heal": True})  # fmt: skip
    assert rejoined(run) == [["b", "c", "d"]]
    run.apply_plain({"publish": {"queue": "q", "count": 1, "node": "a"}})
    assert run.moment().ledger["q"].refused == ()


def test_links_mended_in_time_leave_one_side():
    assert rejoined(after(APART, {"heal": True})) == []
