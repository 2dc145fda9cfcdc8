"""The nodes that a policy lists."""

from __future__ import annotations

import pytest

from hawb.rules import mirror_placement
from hawb.scenario.load import read_scenario
from hawb.scenario.run import Run


def test_a_node_that_a_policy_names_repeatedly_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[list[int]] = []
    wanted = mirror_placement.wanted_replicas

    def noted(mode, count, nodes, *more):
        listed.append(nodes)
        return wanted(mode, count, nodes, *more)

    monkeypatch.setattr(mirror_placement, "wanted_replicas", noted)
    definition = {"ha-mode": "nodes", "ha-params": ["b", "elsewhere", *["c", "b", "a"] * 50]}
    run = Run.of(read_scenario({
        "scenario": "a", "cluster": {"nodes": ["a", "b", "c"], "version": "3.10"},
        "steps": [{"set_policy": {"name": "p", "pattern": "", "definition": definition}},
                  {"declare": {"queue": "q", "node": "b"}}],
    }))  # fmt: skip
    [queue] = run.moment().state.sides[0].queues.values()
    assert {tuple(nodes) for nodes in listed} == {(1, 2, 0)}
    assert (queue.master, {*queue.mirrors}) == (1, {0, 2})
