"""Steady clients whose messages are always in flight."""

from __future__ import annotations

from found_stories import run_of
from invariants import watched

from hawb.cluster import Cluster

ROUND = {"x-queue-type": "quorum", "x-max-length": 1, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "q2"}
"""Both queues give what they drop to the second, which drops it in turn."""


def test_step_ends_though_messages_are_always_in_flight() -> None:
    cluster = Cluster("a", "b", "c", version="3.10")
    with watched():  # which counts events, and does not wait for ever
        cluster.declare("q1", node="a", arguments=ROUND).declare("q2", node="b", arguments=ROUND)
        cluster.publisher("p", queue="q1", rate=10_000, mode="plain", node="c").publish("q1", 1, node="a")
        moment = cluster.run.moment()
    assert moment.ledger["q2"].published > 0
    assert moment.state.time_us < 1_000_000


HEALED = """
  - declare: {queue: q, node: a, arguments: {x-queue-type: quorum}}
  - partition: [[a], [b]]
  - publisher: {name: p, queue: q, rate: 10000, persistent: false, node: a}
    at: 0.014132
  - heal: true
    at: 100.014132
"""


def test_step_that_ends_with_messages_in_flight_does_not_start_autoheal() -> None:
    """Events that are due much later, such as autoheal, belong to the next step."""
    run = run_of("none", HEALED, nodes=["a", "b"], version="3.8", cluster_partition_handling="autoheal")
    assert "autoheal_started" not in {entry.event for entry in run.moment().trace()}
    run.apply_plain({"wait": 20})
    assert "autoheal_started" in {entry.event for entry in run.moment().trace()}
