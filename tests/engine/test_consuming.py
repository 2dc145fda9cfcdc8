"""Consumers: the order of deliveries, exclusive and single active consumers, and prefetch."""

from __future__ import annotations

import pytest
import yaml

from hawb.engine.core import runs
from hawb.scenario.load import read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run


def played(steps: str, version: str = "3.10") -> dict:
    """Return the outcome of steps on nodes a, b and c. All queues are mirrored; the master of q is on a."""
    given = {
        "scenario": "t",
        "cluster": {"nodes": ["a", "b", "c"], "version": version},
        "policies": [{"name": "ha", "pattern": "^q", "definition": {"ha-mode": "all"}}],
        "steps": [{"declare": {"queue": "q", "node": "a"}}, *yaml.safe_load(steps)],
    }
    return outcome(Run.of(read_scenario(given)))


def received(found: dict) -> dict[str, list]:
    return {name: consumer["received"] for name, consumer in found["consumers"].items()}


def statuses(found: dict) -> dict[str, str | None]:
    return {name: consumer["activity_status"] for name, consumer in found["consumers"].items()}


def codes(found: dict) -> list[int | None]:
    return [error["code"] for error in found["errors"]]


SINGLE_ACTIVE = """
- delete: {queue: q}
- declare: {queue: q, node: a, arguments: {x-single-active-consumer: true}}
"""


# The circle


def test_consumers_of_equal_priority_are_served_in_turn():
    found = played("""
- consume: {consumer: c1, queue: q}
- consume: {consumer: c2, queue: q}
- publish: {queue: q, count: 5}
""")
    assert received(found) == {"c1": [[1, 1], [3, 3], [5, 5]], "c2": [[2, 2], [4, 4]]}


@pytest.mark.parametrize("priority, first", [(1, "c2"), (-1, "c1")])
def test_higher_priority_is_served_up_to_its_prefetch(priority: int, first: str):
    found = played(f"""
- consume: {{consumer: c1, queue: q, prefetch: 3}}
- consume: {{consumer: c2, queue: q, prefetch: 3, priority: {priority}}}
- publish: {{queue: q, count: 4}}
""")
    second = {"c1": "c2", "c2": "c1"}[first]
    assert received(found) == {first: [[1, 3]], second: [[4, 4]]}


def test_consumer_found_at_its_prefetch_moves_to_the_end_of_the_turn():
    found = played("""
- consume: {consumer: c1, queue: q, prefetch: 1}
- consume: {consumer: c2, queue: q}
- publish: {queue: q, count: 3}
- ack: {consumer: c1}
- publish: {queue: q, count: 2}
""")
    assert received(found) == {"c1": [[1, 1], [5, 5]], "c2": [[2, 4]]}


def test_consumer_at_its_prefetch_keeps_its_turn_if_no_message_came():
    found = played("""
- consume: {consumer: c1, queue: q, prefetch: 1}
- consume: {consumer: c2, queue: q}
- publish: {queue: q, count: 2}
- ack: {consumer: c1}
- publish: {queue: q, count: 2}
""")
    assert received(found) == {"c1": [[1, 1], [3, 3]], "c2": [[2, 2], [4, 4]]}


def test_ack_of_a_cancelled_consumer_does_not_reactivate_it():
    found = played("""
- consume: {consumer: c1, queue: q, prefetch: 1}
- publish: {queue: q, count: 3}
- cancel: c1
- ack: {consumer: c1}
""")
    assert received(found) == {"c1": [[1, 1]]}
    assert statuses(found) == {"c1": None}


def test_a_million_messages_are_delivered_by_priority():
    found = played("""
- publish: {queue: q, count: 1000000}
- consume: {consumer: c1, queue: q, prefetch: 60000, priority: 2}
- consume: {consumer: c2, queue: q, prefetch: 60000, priority: 2}
- consume: {consumer: c3, queue: q}
""")
    assert {name: runs.size(tuple(map(tuple, had))) for name, had in received(found).items()} == {
        "c1": 60_000,
        "c2": 60_000,
        "c3": 880_000,
    }


# Prefetch


def test_new_subscription_has_its_full_prefetch():
    found = played("""
- consume: {consumer: c1, queue: q, prefetch: 2}
- publish: {queue: q, count: 9}
- cancel: c1
- consume: {consumer: c1, queue: q, prefetch: 2}
""")
    assert found["consumers"]["c1"]["unacknowledged"] == [[1, 4]]


def test_global_prefetch_counts_messages_of_the_cancelled_consumer():
    found = played("""
- consume: {consumer: c1, queue: q, prefetch: 2, global_prefetch: true}
- publish: {queue: q, count: 9}
- cancel: c1
- consume: {consumer: c1, queue: q, prefetch: 3, global_prefetch: true}
""")
    assert found["consumers"]["c1"]["unacknowledged"] == [[1, 3]]


def test_prefetch_does_not_limit_automatic_acknowledgement():
    found = played("""
- consume: {consumer: c1, queue: q, prefetch: 1, ack: auto, global_prefetch: true}
- consume: {consumer: c2, queue: q, prefetch: 1, ack: auto}
- publish: {queue: q, count: 4}
""")
    assert received(found) == {"c1": [[1, 1], [3, 3]], "c2": [[2, 2], [4, 4]]}


# Exclusive consumers


@pytest.mark.parametrize("one, other, refused", [(True, False, True), (False, True, True), (False, False, False)])
def test_exclusive_consumer_and_another_consumer_exclude_each_other(one: bool, other: bool, refused: bool):
    found = played(f"""
- consume: {{consumer: c1, queue: q, exclusive: {str(one).lower()}}}
- consume: {{consumer: c2, queue: q, exclusive: {str(other).lower()}}}
""")
    assert codes(found) == ([403] if refused else [])
    assert ("c2" in found["consumers"]) == (not refused)


@pytest.mark.parametrize("end", ["{cancel: c1}", "{close: c1}", "{kill: b}"])
def test_others_may_consume_after_an_exclusive_consumer_has_gone(end: str):
    found = played(f"""
- consume: {{consumer: c1, queue: q, node: b, exclusive: true}}
- {end}
- consume: {{consumer: c2, queue: q, exclusive: true}}
""")
    assert codes(found) == []
    assert found["consumers"]["c2"]["state"] == "active"


# One at a time


@pytest.mark.parametrize("version", ["3.8", "3.10", "3.13"])
def test_next_active_consumer_is_the_oldest_of_the_highest_priority(version: str):
    found = played(
        SINGLE_ACTIVE
        + """
- consume: {consumer: c1, queue: q, node: b}
- consume: {consumer: c2, queue: q, node: c}
- consume: {consumer: c3, queue: q, node: c, priority: 1}
- consume: {consumer: c4, queue: q, node: c, priority: 1}
- kill: b
""",
        version,
    )
    assert statuses(found) == {"c1": None, "c2": "waiting", "c3": "single_active", "c4": "waiting"}


def test_active_consumer_stays_active_at_its_prefetch():
    found = played(
        SINGLE_ACTIVE
        + """
- consume: {consumer: c1, queue: q, prefetch: 1}
- consume: {consumer: c2, queue: q}
- publish: {queue: q, count: 3}
- ack: {consumer: c1}
"""
    )
    assert received(found) == {"c1": [[1, 2]], "c2": []}


@pytest.mark.parametrize("move, served", [("{publish: {queue: q, count: 1}}", [[2, 4]]), ("{ack: {consumer: c1}}", [])])
def test_next_active_consumer_is_served_at_the_next_publish_or_ack(move: str, served: list):
    found = played(
        SINGLE_ACTIVE
        + f"""
- consume: {{consumer: c1, queue: q, prefetch: 1}}
- consume: {{consumer: c2, queue: q}}
- publish: {{queue: q, count: 3}}
- cancel: c1
- {move}
"""
    )
    assert statuses(found) == {"c1": None, "c2": "single_active"}
    assert received(found)["c2"] == served


def test_one_consumer_is_active_again_after_a_failover():
    found = played(
        SINGLE_ACTIVE
        + """
- consume: {consumer: c1, queue: q, node: b, cancel_on_ha_failover: true}
- consume: {consumer: c2, queue: q, node: b}
- consume: {consumer: c3, queue: q, node: c}
- publish: {queue: q, count: 1}
- kill: a
"""
    )
    assert statuses(found) == {"c1": None, "c2": "single_active", "c3": "waiting"}
    assert received(found) == {"c1": [[1, 1]], "c2": [[1, 1]], "c3": []}


# On the way


@pytest.mark.parametrize("verb, fault", [("stop", "node_stopping"), ("kill", "node_killed")])
def test_loss_in_flight_is_caused_by_the_fault(verb: str, fault: str):
    found = played(f"""
- consume: {{consumer: c1, queue: q, node: c, ack: auto}}
- {{publish: {{queue: q, count: 3, node: b}}, at: 5}}
- {{{verb}: c, at: 5}}
""")
    (loss,) = found["losses"]
    assert (loss["cause"], loss["ids"]) == ("auto_ack_in_flight", [[1, 3]])
    cause = found["events"][loss["event"]]["because"]
    assert found["events"][cause]["event"] == fault


def test_loss_of_a_steady_publisher_in_flight_has_its_own_trace_entry():
    found = played("""
- consume: {consumer: c1, queue: q, node: c, ack: auto}
- {publisher: {name: p, queue: q, node: a, rate: 1000}, at: 5}
- {stop: c, at: 5.0005}
""")
    (loss,) = found["losses"]
    entry = found["events"][loss["event"]]
    assert (entry["event"], entry["detail"]["ids"], entry["step"]) == ("messages_lost", loss["ids"], None)
    assert found["events"][entry["because"]]["event"] == "node_stopping"


@pytest.mark.parametrize("dead", ["a", "c"])
def test_delivery_in_flight_is_lost_if_master_or_client_node_dies(dead: str):
    found = played(f"""
- consume: {{consumer: c1, queue: q, node: c, ack: auto}}
- {{publish: {{queue: q, count: 3, node: a}}, at: 5}}
- {{kill: {dead}, at: 5.0002}}
""")
    (loss,) = found["losses"]
    cause = found["events"][found["events"][loss["event"]]["because"]]
    assert (cause["event"], cause["node"]) == ("node_killed", dead)
    assert found["ledger"]["q"]["removed"]["acknowledged"] == []
    assert received(found) == {"c1": []}


def test_delivery_that_arrived_before_the_master_died_is_not_lost():
    found = played("""
- consume: {consumer: c1, queue: q, node: c, ack: auto}
- {publish: {queue: q, count: 3, node: a}, at: 5}
- {kill: a, at: 5.0006}
""")
    assert found["losses"] == []
    assert received(found) == {"c1": [[1, 3]]}


def test_consumer_that_returns_before_the_new_leader_checks_channels_holds_nothing():
    steps = [
        {"declare": {"queue": "q", "node": "b", "arguments": {"x-queue-type": "quorum"}}},
        {"publish": {"queue": "q", "count": 5, "node": "b"}},
        {"consume": {"consumer": "c", "queue": "q", "node": "b", "prefetch": 3}},
        {"kill": ["a", "b"], "at": 10},
        {"start": ["a", "b"], "at": 20},
        {"consume": {"consumer": "c", "queue": "q", "node": "b", "prefetch": 3}, "at": 25.31},
        {"wait": 20},
    ]
    cluster = {"nodes": ["a", "b"], "timing": {"link_latency_s": 0.02}}
    found = outcome(Run.of(read_scenario({"scenario": "t", "cluster": cluster, "steps": steps})))
    elected, begins = (next(event for event in reversed(found["events"]) if event["event"] == name)
                       for name in ("leader_elected", "consumer_started"))  # fmt: skip
    assert (elected["node"], elected["t"]) == ("b", 25.3) and begins["t"] > 25.32
    assert found["queues"]["q"]["redelivered"] == found["ledger"]["q"]["delivered_twice"] == [[1, 3]]
