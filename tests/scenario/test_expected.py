"""`expect` accepts every key of an outcome."""

from __future__ import annotations

from inventories import ROOT

from hawb.scenario.load import load, read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run

SCENARIO = r"""
scenario: A classic queue loses messages, a quorum queue stands by
cluster: {nodes: [a, b, c], version: "3.10"}
queues:
  - {queue: quorum, type: quorum, leader: a, members: [a, b, c]}
steps:
  - set_policy: {name: ha, pattern: '^ha\.', definition: {ha-mode: all}}
  - declare: {queue: ha.q, node: a}
  - declare: {queue: gone, node: a}
  - publish: {queue: ha.q, count: 100}
  - consume: {consumer: reader, queue: ha.q, prefetch: 5}
  - stop: b
  - start: b
  - stop: c
  - declare: {queue: ha.q, durable: false, node: a}
  - delete: {queue: gone}
  - kill: a
"""


def test_whole_outcome_can_be_expected():
    found = outcome(Run.of(load(SCENARIO)))
    assert all(found[part] for part in ("losses", "errors", "consumers", "deleted", "ledger", "availability"))
    assert expected_as(found) == found


def test_former_member_can_be_expected_without_a_term():
    found = outcome(Run.of(load(ROOT / "data" / "scenarios" / "quorum-two-members-one-lost.yaml")))
    assert found["queues"]["leaderless"]["replicas"]["b"]["term"] is None
    assert expected_as(found) == found


def expected_as(found: dict) -> object:
    """Return an outcome as it is read from a scenario's `expect`."""
    values = {"scenario": "t", "cluster": {"nodes": ["a", "b", "c"]}, "expect": found}
    return read_scenario(values).expect
