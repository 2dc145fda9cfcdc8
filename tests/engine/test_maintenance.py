"""Nodes in maintenance mode: what the scenarios about it do not show."""

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
    """The steps, played on three nodes with every check."""
    head = HEAD.format(version=version, locator=locator, seed=seed)
    with watched():
        run = Run.of(load(head + "".join(f"  - {step}\n" for step in steps)))
    check_settled(run.settings, run.moment())
    check_trace(run.moment())
    return run


def masters(run: Run) -> dict[str, str]:
    """Where each queue's master is."""
    return {name: queue["master"] for name, queue in outcome(run)["queues"].items()}


@pytest.mark.parametrize("locator", ["random", "min-masters"])
def test_no_new_master_goes_to_a_node_that_is_drained(locator):
    steps = [f"declare: {{queue: 'new{number}', node: b}}" for number in range(8)]
    placed = masters(story("drain: a", *steps, locator=locator))
    assert set(placed.values()) == {"b", "c"}


def test_a_queue_still_gets_a_mirror_on_a_node_that_is_drained():
    run = story("drain: a", "declare: {queue: q, node: b}")
    assert outcome(run)["queues"]["q"]["synchronised_mirrors"] == ["a", "c"]


@pytest.mark.parametrize("seed", range(8))
def test_in_3_8_masters_go_to_nodes_that_run_and_are_not_drained(seed):
    run = story("declare: {queue: q, node: a}", "declare: {queue: plain, node: a}", "publish: {queue: q, count: 3}",
                "drain: b", "drain: a", version="3.8", seed=seed)  # fmt: skip
    assert masters(run) == {"q": "c", "plain": "a"}
    assert outcome(run)["ledger"]["q"]["lost"] == []


def test_in_3_8_both_of_two_other_nodes_may_be_chosen():
    steps = ("declare: {queue: q, node: a}", "drain: a")
    assert {masters(story(*steps, version="3.8", seed=seed))["q"] for seed in range(8)} == {"b", "c"}


def test_in_3_8_the_last_node_keeps_its_masters():
    run = story("declare: {queue: q, node: a}", "drain: b", "drain: c", "drain: a", version="3.8")
    assert masters(run) == {"q": "a"}


@pytest.mark.parametrize(("version", "moves_to"), [("3.8", {"b", "c"}), ("3.10", {"b"}), ("3.13", {"b"})])
def test_rebalancing_leaves_drained_nodes_out_but_in_3_8(version, moves_to):
    declares = [f"declare: {{queue: q{number}, node: a}}" for number in range(4)]
    placed = masters(story(*declares, "drain: c", "rebalance: true", version=version))
    assert set(placed.values()) - {"a"} == moves_to


def test_a_publisher_whose_connection_is_closed_never_hears():
    run = story(
        "declare: {queue: q, node: b}", "{publish: {queue: q, count: 3, node: a}, at: 1}", "{drain: a, at: 1.001}"
    )
    told = outcome(run)["ledger"]["q"]
    assert told["confirmed"] == told["nacked"] == []
    assert outcome(run)["queues"]["q"]["ids"] == [[1, 3]]


def test_a_client_may_connect_again_when_the_node_is_revived_or_booted():
    for back in (["revive: a"], ["stop: a", "start: a"]):
        run = story("drain: a", *back, "declare: {queue: q, node: a}")
        assert outcome(run)["errors"] == [] and outcome(run)["maintenance"] == []


def test_closing_a_connection_that_was_never_opened_is_an_error_and_one_that_published_is_not():
    run = story("declare: {queue: q, node: a}", "publish: {queue: q, count: 1, connection: p}", "close: p", "close: x")
    assert [(error["step"], error["code"]) for error in outcome(run)["errors"]] == [(3, None)]
