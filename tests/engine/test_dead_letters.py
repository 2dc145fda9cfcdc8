"""Dead letters: their targets, properties, cycles and losses."""

from __future__ import annotations

import pytest

from hawb.engine.queues.dead_letters import is_cycle
from hawb.scenario.load import read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run


def played(*steps: dict, **more: object) -> dict:
    given = {"scenario": "t", "cluster": {"nodes": ["a", "b"], "version": "3.10"}, "steps": list(steps)}
    return outcome(Run.of(read_scenario(given | more)))


def declare(queue: str, node: str = "a", **arguments: object) -> dict:
    named = {f"x-{key.replace('_', '-')}": value for key, value in arguments.items()}
    return {"declare": {"queue": queue, "node": node, "arguments": named}}


def dead_lettering(queue: str = "q", to: str = "dead", **arguments: object) -> dict:
    return declare(queue, dead_letter_exchange="", dead_letter_routing_key=to, **arguments)


def publish(count: int, queue: str = "q", **more: object) -> dict:
    return {"publish": {"queue": queue, "count": count, **more}}


def details(found: dict, event: str) -> list[dict]:
    return [entry["detail"] for entry in found["events"] if entry["event"] == event]


# Where they go


def test_dead_letters_arrive_after_the_link_latency():
    found = played(declare("dead", "b"), dead_lettering(max_length=0), publish(3, node="a") | {"at": 1})
    arrived = [event["t"] for event in found["events"] if event["event"] == "messages_published"]
    assert arrived == [1.0, 1.0005]


def test_exchange_routes_dead_letters_to_each_queue_bound_with_their_key():
    found = played(
        declare("one"), declare("other"), declare("third"), declare("q", dead_letter_exchange="x", max_length=0),
        {"bind": {"queue": "one", "exchange": "x", "routing_key": "q"}},
        {"bind": {"queue": "other", "exchange": "x", "routing_key": "q"}},
        {"bind": {"queue": "third", "exchange": "x", "routing_key": "r"}},
        {"bind": {"queue": "third", "exchange": "y", "routing_key": "q"}}, publish(2),
    )  # fmt: skip
    assert [found["queues"][name]["messages"] for name in ("one", "other", "third", "q")] == [2, 2, 0, 0]


def test_deleting_a_queue_removes_its_bindings_but_not_the_exchange():
    bind = {"bind": {"queue": "dead", "exchange": "x", "routing_key": "q"}}
    source = declare("q", dead_letter_exchange="x", max_length=0)
    found = played(declare("dead"), bind, source, {"delete": {"queue": "dead"}}, declare("dead"), publish(1))
    assert found["queues"]["dead"]["messages"] == 0
    assert found["ledger"]["q"]["removed"]["dead_lettered"] == [[1, 1]]
    assert details(found, "messages_dead_lettered")[0]["targets"] == []


def test_undeclared_exchange_drops_dead_letters():
    found = played(declare("q", dead_letter_exchange="x", max_length=0), publish(1))
    assert found["ledger"]["q"]["removed"]["dropped"] == [[1, 1]]


def test_each_virtual_host_has_its_own_exchanges():
    found = played(
        declare("v::dead"), {"bind": {"queue": "v::dead", "exchange": "x", "routing_key": "q"}},
        declare("q", dead_letter_exchange="x", max_length=0), declare("v::q", dead_letter_exchange="x", max_length=0),
        publish(1), publish(1, "v::q"),
    )  # fmt: skip
    assert found["ledger"]["q"]["removed"]["dropped"] == [[1, 1]]
    assert found["queues"]["v::dead"]["messages"] == 1


def test_bindings_survive_a_failover():
    found = played(
        declare("dead", "b"), {"bind": {"queue": "dead", "exchange": "x", "routing_key": "q"}},
        declare("q", "a", dead_letter_exchange="x", max_length=1), publish(1), {"kill": "a"}, publish(2),
        policies=[{"name": "ha", "pattern": "^q", "definition": {"ha-mode": "all"}}],
    )  # fmt: skip
    assert found["queues"]["dead"]["messages"] == 2


# What they take along


def test_dead_letters_keep_size_persistence_and_priority_but_not_the_ttl():
    found = played(
        declare("dead", max_priority=9, max_length_bytes=250), dead_lettering(message_ttl=1000, max_priority=1),
        publish(1, size=100), publish(1, size=100, priority=7), publish(1, size=100, priority=4, persistent=False),
        {"wait": 30},
    )  # fmt: skip
    # They go in the order 2, 3, 1; the third makes it too many bytes, and the most urgent has to go.
    assert found["queues"]["dead"]["ids"] == [[2, 3]]
    assert found["ledger"]["dead"]["removed"]["dropped"] == [[1, 1]]
    found = played(
        declare("dead"), dead_lettering(max_length=0), publish(1, persistent=False), publish(1), {"kill": "a"}
    )  # fmt: skip
    assert found["queues"]["dead"]["ids"] == [[2, 2]]


def test_dead_letters_are_not_confirmed():
    found = played(declare("dead"), dead_lettering(max_length=1), publish(3))
    assert found["ledger"]["dead"]["confirmed"] == []
    assert found["ledger"]["q"]["confirmed"] == [[1, 3]]


def test_rejected_messages_are_dead_lettered_in_order():
    found = played(
        declare("dead"), dead_lettering(), publish(1, size=1), publish(1, size=2), publish(1, size=1),
        {"get": {"queue": "q", "count": 3, "ack": False, "consumer": "h"}},
        {"nack": {"consumer": "h", "requeue": False}},
    )  # fmt: skip
    assert found["queues"]["dead"]["ids"] == [[1, 3]]
    assert [detail["ids"] for detail in details(found, "messages_published")[3:]] == [[[1, 1]], [[2, 2]], [[3, 3]]]


# Cycles


@pytest.mark.parametrize(
    ("deaths", "cycle"),
    [
        ([], False),
        ([("other", "expired")], False),
        ([("q", "expired")], True),
        ([("q", "maxlen"), ("other", "rejected")], True),
        ([("other", "rejected"), ("q", "expired")], False),
        ([("other", "expired"), ("q", "rejected")], False),
        ([("other", "expired"), ("q", "maxlen")], True),
    ],
)
def test_cycle_is_detected_unless_a_rejection_is_part_of_it(deaths: list, cycle: bool):
    assert is_cycle("q", tuple(deaths)) is cycle


@pytest.mark.parametrize("limit", [{"max_length": 0}, {"message_ttl": 0}])
def test_queue_that_dead_letters_to_itself_without_rejection_is_a_cycle(limit: dict):
    found = played(dead_lettering(to="q", **limit), publish(3))
    assert found["ledger"]["q"]["published"] == 3
    assert details(found, "messages_dead_lettered")[0]["cycles"] == ["q"]


def test_rejected_messages_may_be_dead_lettered_to_the_same_queue():
    get = {"get": {"queue": "q", "count": 2, "ack": False, "consumer": "h"}}
    found = played(dead_lettering(to="q"), publish(2), get, {"nack": {"consumer": "h", "requeue": False}})
    assert found["queues"]["q"]["ids"] == [[3, 4]]
    assert found["ledger"]["q"]["removed"]["dead_lettered"] == [[1, 2]]


# On the way


def test_dead_letters_wait_for_a_synchronising_target():
    ha = {"ha-mode": "all", "ha-sync-mode": "automatic"}
    found = played(
        declare("dead"), dead_lettering(max_length=0), publish(20, "dead"),
        {"set_policy": {"name": "ha", "pattern": "^dead", "definition": ha}, "at": 1}, publish(1) | {"at": 1.5},
        {"wait": 20}, cluster={"nodes": ["a", "b"], "timing": {"sync_messages_s": 10}},
    )  # fmt: skip
    assert found["queues"]["dead"]["ids"] == [[1, 21]]


def test_dead_letters_wait_for_the_promotion_of_a_mirror():
    found = played(
        declare("dead", "b"), dead_lettering(max_length=0), publish(2, "dead"), publish(1, node="a") | {"at": 1},
        {"kill": "b", "at": 1}, policies=[{"name": "ha", "pattern": "^dead", "definition": {"ha-mode": "all"}}],
    )  # fmt: skip
    assert found["queues"]["dead"]["ids"] == [[1, 3]]


def test_dead_letters_to_a_target_deleted_in_flight_are_dropped():
    found = played(
        declare("dead", "b"), dead_lettering(max_length=0), publish(2, node="a") | {"at": 1},
        {"delete": {"queue": "dead", "node": "b"}, "at": 1},
    )  # fmt: skip
    assert details(found, "dead_letters_dropped") == [{"messages": 2, "reason": "no_queue"}]
    assert found["ledger"]["dead"]["published"] == 0


def test_quorum_queue_gets_dead_letters_once_committed():
    quorum = {"queue": "dead", "type": "quorum", "leader": "a", "members": ["a", "b"]}
    found = played(dead_lettering(max_length=0), publish(1), queues=[quorum])
    assert (found["queues"]["dead"]["messages"], found["queues"]["dead"]["uncommitted"]) == (1, [])
    assert found["ledger"]["dead"]["confirmed"] == []


@pytest.mark.parametrize("version", ["3.8", "3.10", "3.13", "4.0", "4.3"])
def test_dead_letters_to_a_quorum_queue_without_a_leader_are_dropped(version):
    target = declare("dead", "b", queue_type="quorum", quorum_initial_group_size=1)
    down = {"cluster": {"nodes": ["a", "b"], "version": version}}
    found = played(
        target, dead_lettering(message_ttl=1000), publish(2) | {"at": 5}, {"kill": "b"},
        {"wait": 10}, {"start": "b"}, {"wait": 10}, **down,
    )  # fmt: skip
    assert details(found, "dead_letters_dropped") == [{"messages": 2, "reason": "no_leader"}]
    assert found["queues"]["dead"]["messages"] == 0


@pytest.mark.parametrize(("strategy", "kept"), [("at-most-once", 0), ("at-least-once", 2)])
def test_dead_letters_to_a_dying_leader_are_lost_unless_at_least_once(strategy, kept):
    target = declare("dead", "b", queue_type="quorum", quorum_initial_group_size=1)
    source = dead_lettering(
        queue_type="quorum", quorum_initial_group_size=1, overflow="reject-publish", dead_letter_strategy=strategy,
        message_ttl=1000,
    )  # fmt: skip
    begun, cluster = [target, source, publish(2) | {"at": 5}], {"nodes": ["a", "b"], "version": "4.0"}
    found = played(*begun, {"wait": 10}, cluster=cluster)
    sent = next(event["t"] for event in found["events"] if event["event"] == "messages_dead_lettered")
    found = played(
        *begun, {"kill": "b", "at": sent + 0.0002}, {"wait": 10}, {"start": "b"}, {"wait": 200}, cluster=cluster
    )  # fmt: skip
    assert found["queues"]["dead"]["messages"] == kept


def test_dead_letters_over_a_link_that_heals_in_time_arrive():
    target = declare("dead", "b", queue_type="quorum", quorum_initial_group_size=1)
    found = played(
        target, dead_lettering(message_ttl=1000), publish(2) | {"at": 5}, {"partition": [["a"], ["b"]]}, {"wait": 10},
        {"heal": True}, {"wait": 10},
    )  # fmt: skip
    assert found["queues"]["dead"]["messages"] == 2
