"""Maintenance mode: details that the scenarios do not cover."""

from __future__ import annotations

import pytest
from invariants import watched
from settled_invariants import check_settled, check_trace

from hawb.scenario.load import load
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run

HEAD = """
scenario: a story
seed: {seed}
cluster: {{nodes: [a, b, c], version: "{version}", queue_master_locator: {locator}}}
policies: [{{name: all, pattern: ^q, definition: {{ha-mode: all}}}}]
steps:
"""


def story(*steps: str, version: str = "3.10", locator: str = "client-local", seed: int = 0) -> Run:
    """Play the steps on three nodes, checking the invariants after every event."""
    head = HEAD.format(version=version, locator=locator, seed=seed)
    with watched():
        run = Run.of(load(head + "".join(f"  - {step}\n" for step in steps)))
    check_settled(run.settings, run.moment())
    check_trace(run.moment())
    return run


def masters(run: Run) -> dict[str, str]:
    """Return the node of each queue's master."""
    return {name: queue["master"] for name, queue in outcome(run)["queues"].items()}


@pytest.mark.parametrize("locator", ["random", "min-masters"])
def test_new_masters_are_not_placed_on_a_drained_node(locator):
    steps = [f"declare: {{queue: 'new{number}', node: b}}" for number in range(8)]
    placed = masters(story("drain: a", *steps, locator=locator))
    assert set(placed.values()) == {"b", "c"}


def test_mirrors_are_still_placed_on_a_drained_node():
    run = story("drain: a", "declare: {queue: q, node: b}")
    assert outcome(run)["queues"]["q"]["synchronised_mirrors"] == ["a", "c"]


@pytest.mark.parametrize("seed", range(8))
def test_3_8_moves_masters_to_running_nodes_not_in_maintenance(seed):
    run = story("declare: {queue: q, node: a}", "declare: {queue: plain, node: a}", "publish: {queue: q, count: 3}",
                "drain: b", "drain: a", version="3.8", seed=seed)  # fmt: skip
    assert masters(run) == {"q": "c", "plain": "a"}
    assert outcome(run)["ledger"]["q"]["lost"] == []


def test_3_8_picks_the_new_master_at_random():
    steps = ("declare: {queue: q, node: a}", "drain: a")
    assert {masters(story(*steps, version="3.8", seed=seed))["q"] for seed in range(8)} == {"b", "c"}


def test_3_8_last_node_keeps_its_masters_when_drained():
    run = story("declare: {queue: q, node: a}", "drain: b", "drain: c", "drain: a", version="3.8")
    assert masters(run) == {"q": "a"}


@pytest.mark.parametrize(("version", "moves_to"), [("3.8", {"b", "c"}), ("3.10", {"b"}), ("3.13", {"b"})])
def test_rebalance_skips_drained_nodes_except_in_3_8(version, moves_to):
    declares = [f"declare: {{queue: q{number}, node: a}}" for number in range(4)]
    placed = masters(story(*declares, "drain: c", "rebalance: true", version=version))
    assert set(placed.values()) - {"a"} == moves_to


def test_publisher_closed_by_a_drain_gets_no_confirm():
    run = story(
        "declare: {queue: q, node: b}", "{publish: {queue: q, count: 3, node: a}, at: 1}", "{drain: a, at: 1.001}"
    )
    account = outcome(run)["ledger"]["q"]
    assert account["confirmed"] == account["nacked"] == []
    assert outcome(run)["queues"]["q"]["ids"] == [[1, 3]]


def test_client_can_connect_after_revive_or_restart():
    for back in (["revive: a"], ["stop: a", "start: a"]):
        run = story("drain: a", *back, "declare: {queue: q, node: a}")
        assert outcome(run)["errors"] == [] and outcome(run)["maintenance"] == []


def test_closing_an_unknown_connection_is_an_error():
    run = story("declare: {queue: q, node: a}", "publish: {queue: q, count: 1, connection: p}", "close: p", "close: x")
    assert [(error["step"], error["code"]) for error in outcome(run)["errors"]] == [(3, None)]
