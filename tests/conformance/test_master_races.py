"""Races of masters on a real cluster: outcomes that chance decides are not compared."""

from __future__ import annotations

from concurrent.futures import Future

import pytest

from hawb.broker import cluster
from hawb.broker.cluster import CannotPlay
from hawb.broker.drive import Drive
from hawb.broker.nodes import BrokerNode
from hawb.broker.real import Played
from hawb.conformance.compare import compare
from hawb.conformance.races import unrouted
from hawb.scenario.load import load
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run

KEPT = """
scenario: A policy lists nobody who has all messages
cluster: {nodes: [a, b, c, d], version: "3.10"}
steps:
  - set_policy: {name: ha, pattern: ^q, definition: {ha-mode: nodes, ha-params: [%s]}}
  - declare: {queue: q, node: a}
  - publish: {queue: q, count: 2}
  - %s
  - set_policy: {name: ha, pattern: ^q, definition: {ha-mode: nodes, ha-params: [%s]}}
"""
WAITED = """
scenario: A mirror takes over with what channels have sent
cluster: {nodes: [a, b, c], version: "3.10"}
steps:
  - set_policy: {name: ha, pattern: ^q, definition: {ha-mode: nodes, ha-params: [a], PROMOTES}}
  - declare: {queue: q, node: a, arguments: {%s}}
  - publish: {queue: q, count: 1, node: a}
  - set_policy: {name: ha, pattern: ^q, definition: {ha-mode: nodes, ha-params: [a, c], PROMOTES}}
  - set_policy: {name: ha, pattern: ^q, definition: {ha-mode: nodes, ha-params: [a, c, b], PROMOTES}}
  - kill: a
  - publish: {queue: q, count: 1, node: %s}
  - clear_policy: ha
  - publish: {queue: q, count: 1, node: b}
  - publish: {queue: q, count: 1, node: %s}
  - kill: c
""".replace("PROMOTES", "ha-promote-on-failure: when-synced")


HELD = """
scenario: What consumers held comes back with a majority
cluster: {nodes: [a, b, c], version: "3.10"}
steps:
  - declare: {queue: q, node: a, arguments: {x-queue-type: quorum}}
  - publish: {queue: q, count: 4}
  - consume: {consumer: one, queue: q, node: c, prefetch: 2}
  - consume: {consumer: other, queue: q, node: c, prefetch: %s, connection: other}
  - stop: a
  - stop: b
  - stop: c
  - start: c
  - start: b
"""


def differing(text: str, **broker: object) -> set[str]:
    """Return the fields that differ if the broker reports these values for the queue."""
    scenario = load(text)
    result = outcome(Run.of(scenario))
    result["queues"]["q"] |= broker
    return {difference.field for difference in compare(Played(scenario, result, {}), seeds=1)}


@pytest.mark.parametrize(
    ("had", "between", "lists", "lucky"),
    [
        ("a, b, c", "expect: {}", "d", True),
        # Whoever is listed is kept, whoever was the last to be synchronised.
        ("a, b, c", "expect: {}", "b, d", False),
        ("a, b", "set_policy: {name: ha, pattern: ^q, definition: {ha-mode: nodes, ha-params: [a, b, c],"
         " ha-sync-mode: automatic}}", "d", False),
    ],
)  # fmt: skip
def test_any_of_several_mirrors_that_joined_together_may_be_kept(
    had: str, between: str, lists: str, lucky: bool
) -> None:
    assert bool(differing(KEPT % (had, between, lists), master="a")) is not lucky


@pytest.mark.parametrize(("at_first", "lucky"), [("a", True), ("a, b, c", False)])
def test_any_of_several_mirrors_added_together_may_be_promoted(at_first: str, lucky: bool) -> None:
    story = KEPT % (at_first, "expect: {}", "a, b, c") + "  - kill: a\n"
    assert bool(differing(story, master="c")) is not lucky


@pytest.mark.parametrize(
    ("arguments", "node", "broker", "lucky"),
    [
        ("", "c", {"ids": [[2, 2], [4, 4], [3, 3]]}, True),
        ("", "c", {"ids": [[2, 3]]}, False),
        ("x-max-length: 2, x-overflow: reject-publish", "c", {"ids": [[2, 2], [4, 4]]}, True),
        # Who sent alone has its messages in their order.
        ("x-max-length: 2, x-overflow: reject-publish", "b", {"ids": [[2, 2], [4, 4]]}, False),
    ],
)
def test_messages_of_a_promoted_mirror_may_come_channel_by_channel(
    arguments: str, node: str, broker: dict, lucky: bool
) -> None:
    assert bool(differing(WAITED % (arguments, node, node), **broker)) is not lucky


@pytest.mark.parametrize(("prefetch", "came_back", "lucky"), [
    (2, [[3, 4], [1, 2]], True),
    (2, [[3, 3], [1, 2], [4, 4]], True),
    (1, [[4, 4], [1, 3]], False),
])  # fmt: skip
def test_messages_of_several_consumers_may_be_requeued_in_any_order(
    prefetch: int, came_back: list, lucky: bool
) -> None:
    assert bool(differing(HELD % prefetch, ids=came_back)) is not lucky


def test_node_that_hangs_ends_the_play() -> None:
    hung: Future = Future()
    hung.set_exception(CannotPlay("nodes did not boot within 180 s"))
    drive = object.__new__(Drive)
    drive._jobs = [hung]
    with pytest.raises(CannotPlay, match="did not boot"):
        drive.settle()


@pytest.mark.parametrize(("log", "answers", "runs"), [
    ("Server startup complete", ["waiting", "booting", "running"], True),
    ("Server startup complete\nRabbitMQ is asked to stop", ["booting"], False),
    ("Waiting for Mnesia tables", ["waiting"], False),
    ("", ["booting"], False),
])  # fmt: skip
def test_booted_node_is_asked_again(
    log: str, answers: list[str], runs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = object.__new__(BrokerNode)
    monkeypatch.setattr(BrokerNode, "alive", True)
    monkeypatch.setattr(BrokerNode, "log_since_boot", lambda _: log)
    monkeypatch.setattr(cluster, "POLL_S", 0)
    result = iter(answers)
    monkeypatch.setattr(cluster.BrokerCluster, "state", lambda *_: next(result))
    assert object.__new__(cluster.BrokerCluster).is_running(node) is runs
    assert list(result) == []


@pytest.mark.parametrize(("kind", "step", "lost"), [("quorum", 5, {3, 4}), ("quorum", 6, set()), ("classic", 5, set())])
def test_dead_letters_to_a_recovering_queue_may_be_lost(kind: str, step: int, lost: set[int]) -> None:
    back = {"event": "queue_recovered", "queue": "dead", "step": 5, "detail": {}}
    letters = {
        "event": "messages_dead_lettered", "queue": "q", "step": step, "detail": {"ids": [[3, 4]], "targets": ["dead"]},
    }  # fmt: skip
    assert unrouted("dead", {"events": [back, letters], "queues": {"q": {"type": kind}}}) == lost
