"""The headline of a story agrees with the ledger. `tests/house/test_scenarios.py` compares those of data/scenarios."""

from __future__ import annotations

import pytest
from conftest import LONG
from headlines import disagreements
from samples import of_the_day
from views_outcomes import play, policy, steps

from hawb.conformance.random_scenarios import random_scenario
from hawb.scenario.document import Scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.views.story.headline import headline
from hawb.views.story.summary import toned_headline

STORIES = 20
"""Random stories of a test. `make test` takes 20, `make test-full` 180 more, `make test-long` 2,000."""
VERSIONS = ("3.10", "3.8", "3.13", "4.0", "4.3")

WITH_QUEUE_AND_ONE_MORE = """
scenario: Five messages are lost with their queue, a sixth never found it
cluster: {nodes: [a, b], version: "3.8"}
steps:
  - declare: {queue: q, node: a}
  - publish: {queue: q, count: 5}
  - kill: a
  - publish: {queue: q, count: 1, node: b}
  - forget_cluster_node: {node: a, from: b}
  - start: a
"""


def wrong_headlines(scenario: Scenario) -> list[str]:
    """Return the wrong headlines at the end of a story and after each step."""
    run = Run.of(scenario)
    return [wrong for count in range(len(run.steps) + 1) for wrong in disagreements(outcome(run, run.moment(count)))]


@pytest.mark.parametrize(
    "first", [0, *of_the_day(range(STORIES, 2_000 if LONG else 200, STORIES), 3, pytest.mark.full)]
)
def test_headlines_of_random_stories_agree_with_their_ledgers(first: int):
    for number in range(first, first + STORIES):
        assert wrong_headlines(random_scenario(13, number, VERSIONS[number % len(VERSIONS)])) == []


def test_lost_and_refused_messages_are_counted_separately():
    result = play(WITH_QUEUE_AND_ONE_MORE)
    assert disagreements(result) == []
    assert toned_headline(result)["text"] == (
        "5 messages of q are lost, all of them confirmed; no queue took 1 message for q, though it was confirmed;"
        " RabbitMQ refused step 6."
    )


def test_headline_counts_lost_messages_that_were_confirmed():
    transient = {"declare": {"queue": "q", "node": "a", "durable": False}}
    plain = {"publish": {"queue": "q", "count": 2, "mode": "plain", "node": "a"}}
    result = steps(transient, {"publish": {"queue": "q", "count": 3, "node": "a"}}, plain, {"kill": "a"})
    assert disagreements(result) == []
    assert toned_headline(result)["text"].startswith("5 messages of q are lost, 3 of them confirmed")


@pytest.mark.parametrize("mode", ["confirm", "plain", "tx"])
def test_refused_messages_prevent_a_yes(mode: str):
    result = steps({"declare": {"queue": "ha.orders"}}, {"publish": {"queue": "ha.order", "count": 3, "mode": mode}})
    assert disagreements(result) == []
    assert toned_headline(result)["tone"] == "harmed"
    assert toned_headline(result)["text"].startswith("No queue took 3 messages for ha.order")


def test_paused_node_is_not_a_side_of_a_partition():
    result = play("""
        scenario: paused
        cluster: {nodes: [a, b, c], version: "3.13", cluster_partition_handling: pause_minority}
        steps:
          - declare: {queue: q, node: a}
          - declare: {queue: r, node: b}
          - partition: [[a], [b, c]]
          - wait: 100
    """)
    assert "views" in result["queues"]["r"] and result["nodes"]["a"] == "paused"
    assert toned_headline(result)["text"] == "Nothing is lost, but q is down."


def test_full_queue_is_stated():
    full = {"queue": "q", "arguments": {"x-max-length": 2, "x-overflow": "reject-publish"}}
    result = steps({"declare": full}, {"publish": {"queue": "q", "count": 5}}, {"publish": {"queue": "q", "count": 5}})
    assert disagreements(result) == []
    assert headline(result).untaken.count and not headline(result).untaken.confirmed


def test_losses_outages_and_refusals_share_one_headline():
    result = steps(
        {"declare": {"queue": "t", "node": "a", "durable": False}}, {"declare": {"queue": "q", "node": "a"}},
        {"publish": {"queue": "t", "count": 2, "node": "a"}}, {"kill": "a"}, {"purge": "x"},
    )  # fmt: skip
    assert toned_headline(result)["text"] == (
        "2 messages of t are lost, all of them confirmed; q is down; RabbitMQ refused step 5."
    )
    healthy = steps(policy(ha_mode="all"), {"declare": {"queue": "q"}}, {"purge": "x"})
    assert toned_headline(healthy) == {
        "tone": "well", "text": "Nothing is lost, and every queue can be used; RabbitMQ refused step 3.",
    }  # fmt: skip
