"""Consumers: in what order they are served, who is served alone, and what limits them."""

from __future__ import annotations

import pytest
import yaml

from hawb.engine.core import runs
from hawb.scenario.load import read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run


def played(steps: str, version: str = "3.10") -> dict:
    """The outcome of steps on nodes a, b and c, where all queues are mirrored and q stands on a."""
    given = {
        "scenario": "t",
        "cluster": {"nodes": ["a", "b", "c"], "version": version},
        "policies": [{"name": "ha", "pattern": "^q", "definition": {"ha-mode": "all"}}],
        "steps": [{"declare": {"queue": "q", "node": "a"}}, *yaml.safe_load(steps)],
    }
    return outcome(Run.of(read_scenario(given)))


def received(told: dict) -> dict[str, list]:
    return {name: consumer["received"] for name, consumer in told["consumers"].items()}


def statuses(told: dict) -> dict[str, str | None]:
    return {name: consumer["activity_status"] for name, consumer in told["consumers"].items()}


def codes(told: dict) -> list[int | None]:
    return [error["code"] for error in told["errors"]]


SINGLE_ACTIVE = """
- delete: {queue: q}
- declare: {queue: q, node: a, arguments: {x-single-active-consumer: true}}
"""


# The circle


def test_equal_consumers_take_turns():
    told = played("""
- consume: {consumer: c1, queue: q}
- consume: {consumer: c2, queue: q}
- publish: {queue: q, count: 5}
""")
    assert received(told) == {"c1": [[1, 1], [3, 3], [5, 5]], "c2": [[2, 2], [4, 4]]}


@pytest.mark.parametrize("priority, first", [(1, "c2"), (-1, "c1")])
def test_a_higher_priority_takes_all_that_it_has_room_for(priority: int, first: str):
    told = played(f"""
- consume: {{consumer: c1, queue: q, prefetch: 3}}
- consume: {{consumer: c2, queue: q, prefetch: 3, priority: {priority}}}
- publish: {{queue: q, count: 4}}
""")
    second = {"c1": "c2", "c2": "c1"}[first]
    assert received(told) == {first: [[1, 3]], second: [[4, 4]]}


def test_one_found_without_room_comes_back_behind_its_equals():
    told = played("""
- consume: {consumer: c1, queue: q, prefetch: 1}
- consume: {consumer: c2, queue: q}
- publish: {queue: q, count: 3}
- ack: {consumer: c1}
- publish: {queue: q, count: 2}
""")
    assert received(told) == {"c1": [[1, 1], [5, 5]], "c2": [[2, 4]]}


def test_one_whose_want_of_room_nobody_noticed_keeps_its_place():
    told = played("""
- consume: {consumer: c1, queue: q, prefetch: 1}
- consume: {consumer: c2, queue: q}
- publish: {queue: q, count: 2}
- ack: {consumer: c1}
- publish: {queue: q, count: 2}
""")
    assert received(told) == {"c1": [[1, 1], [3, 3]], "c2": [[2, 2], [4, 4]]}


def test_a_cancelled_consumer_does_not_come_back_when_it_answers():
    told = played("""
- consume: {consumer: c1, queue: q, prefetch: 1}
- publish: {queue: q, count: 3}
- cancel: c1
- ack: {consumer: c1}
""")
    assert received(told) == {"c1": [[1, 1]]}
    assert statuses(told) == {"c1": None}


def test_great_depths_are_dealt_in_lots_by_priority_too():
    told = played("""
- publish: {queue: q, count: 1000000}
- consume: {consumer: c1, queue: q, prefetch: 60000, priority: 2}
- consume: {consumer: c2, queue: q, prefetch: 60000, priority: 2}
- consume: {consumer: c3, queue: q}
""")
    assert {name: runs.size(tuple(map(tuple, had))) for name, had in received(told).items()} == {
        "c1": 60_000,
        "c2": 60_000,
        "c3": 880_000,
    }


# Prefetch


def test_a_consumers_own_prefetch_is_full_again_when_it_subscribes_again():
    told = played("""
- consume: {consumer: c1, queue: q, prefetch: 2}
- publish: {queue: q, count: 9}
- cancel: c1
- consume: {consumer: c1, queue: q, prefetch: 2}
""")
    assert told["consumers"]["c1"]["unacknowledged"] == [[1, 4]]


def test_a_global_prefetch_counts_what_was_held_before():
    told = played("""
- consume: {consumer: c1, queue: q, prefetch: 2, global_prefetch: true}
- publish: {queue: q, count: 9}
- cancel: c1
- consume: {consumer: c1, queue: q, prefetch: 3, global_prefetch: true}
""")
    assert told["consumers"]["c1"]["unacknowledged"] == [[1, 3]]


def test_neither_limits_automatic_acknowledgement():
    told = played("""
- consume: {consumer: c1, queue: q, prefetch: 1, ack: auto, global_prefetch: true}
- consume: {consumer: c2, queue: q, prefetch: 1, ack: auto}
- publish: {queue: q, count: 4}
""")
    assert received(told) == {"c1": [[1, 1], [3, 3]], "c2": [[2, 2], [4, 4]]}


# Exclusive consumers


@pytest.mark.parametrize("one, other, refused", [(True, False, True), (False, True, True), (False, False, False)])
def test_an_exclusive_consumer_and_another_exclude_each_other(one: bool, other: bool, refused: bool):
    told = played(f"""
- consume: {{consumer: c1, queue: q, exclusive: {str(one).lower()}}}
- consume: {{consumer: c2, queue: q, exclusive: {str(other).lower()}}}
""")
    assert codes(told) == ([403] if refused else [])
    assert ("c2" in told["consumers"]) == (not refused)


@pytest.mark.parametrize("end", ["{cancel: c1}", "{close: c1}", "{kill: b}"])
def test_when_an_exclusive_consumer_has_gone_others_may_come(end: str):
    told = played(f"""
- consume: {{consumer: c1, queue: q, node: b, exclusive: true}}
- {end}
- consume: {{consumer: c2, queue: q, exclusive: true}}
""")
    assert codes(told) == []
    assert told["consumers"]["c2"]["state"] == "active"


# One at a time


@pytest.mark.parametrize("version", ["3.8", "3.10", "3.13"])
def test_after_the_active_consumer_comes_the_oldest_of_the_highest_priority(version: str):
    told = played(
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
    assert statuses(told) == {"c1": None, "c2": "waiting", "c3": "single_active", "c4": "waiting"}


def test_the_active_consumer_stays_active_while_it_has_no_room():
    told = played(
        SINGLE_ACTIVE
        + """
- consume: {consumer: c1, queue: q, prefetch: 1}
- consume: {consumer: c2, queue: q}
- publish: {queue: q, count: 3}
- ack: {consumer: c1}
"""
    )
    assert received(told) == {"c1": [[1, 2]], "c2": []}


@pytest.mark.parametrize("move, served", [("{publish: {queue: q, count: 1}}", [[2, 4]]), ("{ack: {consumer: c1}}", [])])
def test_after_a_cancel_the_successor_waits_until_something_moves_the_queue(move: str, served: list):
    told = played(
        SINGLE_ACTIVE
        + f"""
- consume: {{consumer: c1, queue: q, prefetch: 1}}
- consume: {{consumer: c2, queue: q}}
- publish: {{queue: q, count: 3}}
- cancel: c1
- {move}
"""
    )
    assert statuses(told) == {"c1": None, "c2": "single_active"}
    assert received(told)["c2"] == served


def test_after_a_failover_one_of_them_is_active_again():
    told = played(
        SINGLE_ACTIVE
        + """
- consume: {consumer: c1, queue: q, node: b, cancel_on_ha_failover: true}
- consume: {consumer: c2, queue: q, node: b}
- consume: {consumer: c3, queue: q, node: c}
- publish: {queue: q, count: 1}
- kill: a
"""
    )
    assert statuses(told) == {"c1": None, "c2": "single_active", "c3": "waiting"}
    assert received(told) == {"c1": [[1, 1]], "c2": [[1, 1]], "c3": []}


# On the way


@pytest.mark.parametrize("verb, fault", [("stop", "node_stopping"), ("kill", "node_killed")])
def test_the_story_of_a_loss_in_flight_begins_with_the_fault(verb: str, fault: str):
    told = played(f"""
- consume: {{consumer: c1, queue: q, node: c, ack: auto}}
- {{publish: {{queue: q, count: 3, node: b}}, at: 5}}
- {{{verb}: c, at: 5}}
""")
    (loss,) = told["losses"]
    assert (loss["cause"], loss["ids"]) == ("auto_ack_in_flight", [[1, 3]])
    cause = told["events"][loss["event"]]["because"]
    assert told["events"][cause]["event"] == fault


def test_a_steady_publishers_loss_in_flight_is_told_by_an_entry_of_its_own():
    told = played("""
- consume: {consumer: c1, queue: q, node: c, ack: auto}
- {publisher: {name: p, queue: q, node: a, rate: 1000}, at: 5}
- {stop: c, at: 5.0005}
""")
    (loss,) = told["losses"]
    entry = told["events"][loss["event"]]
    assert (entry["event"], entry["detail"]["ids"], entry["step"]) == ("messages_lost", loss["ids"], None)
    assert told["events"][entry["because"]]["event"] == "node_stopping"


@pytest.mark.parametrize("dead", ["a", "c"])
def test_what_was_on_its_way_is_lost_with_either_end(dead: str):
    told = played(f"""
- consume: {{consumer: c1, queue: q, node: c, ack: auto}}
- {{publish: {{queue: q, count: 3, node: a}}, at: 5}}
- {{kill: {dead}, at: 5.0002}}
""")
    (loss,) = told["losses"]
    cause = told["events"][told["events"][loss["event"]]["because"]]
    assert (cause["event"], cause["node"]) == ("node_killed", dead)
    assert told["ledger"]["q"]["removed"]["acknowledged"] == []
    assert received(told) == {"c1": []}


def test_what_has_arrived_when_the_master_dies_is_not_lost():
    told = played("""
- consume: {consumer: c1, queue: q, node: c, ack: auto}
- {publish: {queue: q, count: 3, node: a}, at: 5}
- {kill: a, at: 5.0006}
""")
    assert told["losses"] == []
    assert received(told) == {"c1": [[1, 3]]}


def test_who_comes_back_before_a_new_leader_has_looked_for_channels_begins_with_nothing():
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
    told = outcome(Run.of(read_scenario({"scenario": "t", "cluster": cluster, "steps": steps})))
    elected, begins = (next(event for event in reversed(told["events"]) if event["event"] == name)
                       for name in ("leader_elected", "consumer_started"))  # fmt: skip
    assert (elected["node"], elected["t"]) == ("b", 25.3) and begins["t"] > 25.32
    assert told["queues"]["q"]["redelivered"] == told["ledger"]["q"]["delivered_twice"] == [[1, 3]]
