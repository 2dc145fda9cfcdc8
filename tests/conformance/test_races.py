"""Races on a real cluster: outcomes that timing decides are not compared."""

from __future__ import annotations

import pytest

from hawb.broker.real import Played
from hawb.conformance.compare import compare
from hawb.scenario.load import load
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run

ALL = """
scenario: Two mirrors
cluster: {nodes: [a, b, c], version: "3.10"}
policies: [{name: all, pattern: ^standing, definition: {ha-mode: all}}]
queues: [{queue: standing, master: a, mirrors: [b, c], synchronised_mirrors: [b, c]}]
steps:
  - declare: {queue: new, node: a}
  - set_policy: {name: later, pattern: ^new, definition: {ha-mode: all}}
"""


FORCED = """
scenario: A node that was stopped first is forced to boot
cluster: {nodes: [a, b, c]}
policies: [{name: all, pattern: ^q, definition: {ha-mode: all}}]
steps:
  - declare: {queue: q, node: b}
  - GO: b
  - stop: c
  - stop: a
  - force_boot: b
"""


@pytest.mark.parametrize(("go", "differs"), [("stop", False), ("kill", True)])
def test_stopped_node_may_know_the_promoted_mirror(go: str, differs: bool) -> None:
    scenario = load(FORCED.replace("GO", go))
    result = outcome(Run.of(scenario))
    assert result["queues"]["q"]["master"] == "b"
    result["queues"]["q"] |= {"master": "c", "state": "down"}
    assert bool(compare(Played(scenario, result, {}))) == differs


UNCONFIRMED = """
scenario: Dead letters come to a node that is killed
cluster: {nodes: [a, b], version: "VERSION"}
steps:
  - declare: {queue: dead, node: a}
  - bind: {queue: dead, exchange: letters, routing_key: q}
  - declare: {queue: q, node: b, arguments: {x-max-length: 1, x-dead-letter-exchange: letters}}
  - publish: {queue: q, count: 3, node: b}
  - publish: {queue: dead, count: 1, node: b}
  - GO: a
  - start: a
"""


@pytest.mark.parametrize(
    ("version", "go", "left", "differs"),
    [("4.0", "kill", [[2, 3]], False), ("4.0", "kill", [[1, 2]], True), ("4.0", "kill", [[3, 3]], False),
     ("4.0", "stop", [[3, 3]], True), ("3.10", "kill", [[3, 3]], True)],
)  # fmt: skip
def test_classic_queue_of_4_0_may_lose_unconfirmed_messages(
    version: str, go: str, left: list, differs: bool
) -> None:
    scenario = load(UNCONFIRMED.replace("VERSION", version).replace("GO", go))
    result = outcome(Run.of(scenario))
    assert result["queues"]["dead"]["ids"] == [[1, 3]]
    count = sum(last - first + 1 for first, last in left)
    result["queues"]["dead"] |= {"ids": left, "messages": count, "messages_ready": count}
    if result["queues"]["dead"]["redelivered"]:
        result["queues"]["dead"]["redelivered"] = left
    assert bool(compare(Played(scenario, result, {}))) == differs


MOVED = """
scenario: A mirrored queue's consumers consume again
cluster: {nodes: [a, b, c]}
policies: [{name: all, pattern: ^q, definition: {ha-mode: all}}]
steps:
  - declare: {queue: q, node: a}
  - consume: {consumer: one, queue: q, node: b, prefetch: 2, priority: 2}
  - consume: {consumer: two, queue: q, node: c, prefetch: 2}
  - publish: {queue: q, count: 3, node: b}
"""


@pytest.mark.parametrize(
    ("steps", "differs"),
    [
        ("  - kill: a", False),
        ("", True),
        ("  - stop: c", True),
    ],
)  # fmt: skip
def test_order_of_resubscribing_or_closing_channels_is_not_compared(steps: str, differs: bool) -> None:
    scenario = load(MOVED + steps)
    result = outcome(Run.of(scenario))
    one, two = result["consumers"]["one"], result["consumers"]["two"]
    one["received"], two["received"] = two["received"], one["received"]
    assert bool(compare(Played(scenario, result, {}))) == differs


@pytest.mark.parametrize(("step", "differs"), [("stop: a", False), ("kill: a", True)])
def test_order_in_which_a_stopping_node_closes_channels_is_not_compared(step: str, differs: bool) -> None:
    story = MOVED.replace("node: b, prefetch", "node: a, prefetch").replace("node: c, ", "node: a, ")
    scenario = load(f"{story}  - {step}")
    result = outcome(Run.of(scenario))
    result["consumers"]["two"]["received"] = [[3, 3]] if step == "stop: a" else []
    assert bool(compare(Played(scenario, result, {}))) == differs


def test_mirrors_that_join_together_may_be_in_any_order() -> None:
    scenario = load(ALL)
    result = outcome(Run.of(scenario))
    for queue in result["queues"].values():
        queue.update(mirrors=["c", "b"], recoverable_mirrors=["c", "b"])
    assert {difference.field for difference in compare(Played(scenario, result, {}))} == {
        "queues.standing.mirrors", "queues.standing.recoverable_mirrors",
    }  # fmt: skip


BEHIND = """
scenario: A mirror goes that was not synchronised when another node came up
cluster: {nodes: [a, b, c], version: "3.10"}
policies: [{name: all, pattern: ^q, definition: {ha-mode: all, ha-sync-mode: MODE}}]
steps:
  - declare: {queue: q, node: b}
  - publish: {queue: q, count: 1, node: b}
  - stop: c
  - start: c
  - stop: a
  - start: a
  - GO: c
"""


@pytest.mark.parametrize(
    ("mode", "go", "fields"),
    [("manual", "kill", set()), ("automatic", "kill", {"queues.q.recoverable_mirrors"}), ("automatic", "stop", set())],
)
def test_unsynchronised_mirror_may_or_may_not_be_recoverable(
    mode: str, go: str, fields: set[str]
) -> None:
    scenario = load(BEHIND.replace("MODE", mode).replace("GO", go))
    result = outcome(Run.of(scenario))
    queue = result["queues"]["q"]
    queue["recoverable_mirrors"] = sorted({*queue["recoverable_mirrors"]} ^ {"c"}, reverse=True)
    assert {difference.field for difference in compare(Played(scenario, result, {}))} == fields


REFUSING = """
scenario: A mirror that joined with its node refuses to take over
cluster: {nodes: [a, b], version: "3.8"}
policies:
  - {name: all, pattern: ^q, definition: {ha-mode: all, ha-sync-mode: manual, ha-promote-on-failure: when-synced}}
steps:
  - declare: {queue: q, node: b}
  - publish: {queue: q, count: 1, node: b}
  - MEANWHILE: a
  - kill: b
"""


@pytest.mark.parametrize(("meanwhile", "lucky"), [("kill: a\n  - start", True), ("expect: {}\n  - wait", False)])
def test_mirror_that_refused_promotion_may_be_recoverable(meanwhile: str, lucky: bool) -> None:
    scenario = load(REFUSING.replace("MEANWHILE", meanwhile).replace("wait: a", "wait: 1"))
    result = outcome(Run.of(scenario))
    queue = result["queues"]["q"]
    queue["recoverable_mirrors"] = sorted({*queue["recoverable_mirrors"]} ^ {"a"})
    assert bool(compare(Played(scenario, result, {}))) != lucky
