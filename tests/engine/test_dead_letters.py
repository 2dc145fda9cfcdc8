"""Dead letters: where they go, what they take along, and when they do not arrive."""

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


def details(told: dict, event: str) -> list[dict]:
    return [entry["detail"] for entry in told["events"] if entry["event"] == event]


# Where they go


def test_they_take_the_link_to_their_target():
    told = played(declare("dead", "b"), dead_lettering(max_length=0), publish(3, node="a") | {"at": 1})
    arrived = [event["t"] for event in told["events"] if event["event"] == "messages_published"]
    assert arrived == [1.0, 1.0005]


def test_an_exchange_brings_them_to_every_queue_that_is_bound_by_their_key():
    told = played(
        declare("one"), declare("other"), declare("third"), declare("q", dead_letter_exchange="x", max_length=0),
        {"bind": {"queue": "one", "exchange": "x", "routing_key": "q"}},
        {"bind": {"queue": "other", "exchange": "x", "routing_key": "q"}},
        {"bind": {"queue": "third", "exchange": "x", "routing_key": "r"}},
        {"bind": {"queue": "third", "exchange": "y", "routing_key": "q"}}, publish(2),
    )  # fmt: skip
    assert [told["queues"][name]["messages"] for name in ("one", "other", "third", "q")] == [2, 2, 0, 0]


def test_a_binding_goes_with_its_queue_and_an_exchange_stays():
    bind = {"bind": {"queue": "dead", "exchange": "x", "routing_key": "q"}}
    source = declare("q", dead_letter_exchange="x", max_length=0)
    told = played(declare("dead"), bind, source, {"delete": {"queue": "dead"}}, declare("dead"), publish(1))
    assert told["queues"]["dead"]["messages"] == 0
    assert told["ledger"]["q"]["removed"]["dead_lettered"] == [[1, 1]]
    assert details(told, "messages_dead_lettered")[0]["targets"] == []


def test_an_exchange_that_no_one_declared_is_none():
    told = played(declare("q", dead_letter_exchange="x", max_length=0), publish(1))
    assert told["ledger"]["q"]["removed"]["dropped"] == [[1, 1]]


def test_virtual_hosts_have_exchanges_of_their_own():
    told = played(
        declare("v::dead"), {"bind": {"queue": "v::dead", "exchange": "x", "routing_key": "q"}},
        declare("q", dead_letter_exchange="x", max_length=0), declare("v::q", dead_letter_exchange="x", max_length=0),
        publish(1), publish(1, "v::q"),
    )  # fmt: skip
    assert told["ledger"]["q"]["removed"]["dropped"] == [[1, 1]]
    assert told["queues"]["v::dead"]["messages"] == 1


def test_the_queues_of_a_side_that_are_bound_survive_a_failover():
    told = played(
        declare("dead", "b"), {"bind": {"queue": "dead", "exchange": "x", "routing_key": "q"}},
        declare("q", "a", dead_letter_exchange="x", max_length=1), publish(1), {"kill": "a"}, publish(2),
        policies=[{"name": "ha", "pattern": "^q", "definition": {"ha-mode": "all"}}],
    )  # fmt: skip
    assert told["queues"]["dead"]["messages"] == 2


# What they take along


def test_they_keep_size_persistence_and_priority_but_not_their_time():
    told = played(
        declare("dead", max_priority=9, max_length_bytes=250), dead_lettering(message_ttl=1000, max_priority=1),
        publish(1, size=100), publish(1, size=100, priority=7), publish(1, size=100, priority=4, persistent=False),
        {"wait": 30},
    )  # fmt: skip
    # They go in the order 2, 3, 1; the third makes it too many bytes, and the most urgent has to go.
    assert told["queues"]["dead"]["ids"] == [[2, 3]]
    assert told["ledger"]["dead"]["removed"]["dropped"] == [[1, 1]]
    told = played(
        declare("dead"), dead_lettering(max_length=0), publish(1, persistent=False), publish(1), {"kill": "a"}
    )  # fmt: skip
    assert told["queues"]["dead"]["ids"] == [[2, 2]]


def test_nobody_waits_for_their_confirms():
    told = played(declare("dead"), dead_lettering(max_length=1), publish(3))
    assert told["ledger"]["dead"]["confirmed"] == []
    assert told["ledger"]["q"]["confirmed"] == [[1, 3]]


def test_one_by_one_or_together_a_rejection_is_in_order():
    told = played(
        declare("dead"), dead_lettering(), publish(1, size=1), publish(1, size=2), publish(1, size=1),
        {"get": {"queue": "q", "count": 3, "ack": False, "consumer": "h"}},
        {"nack": {"consumer": "h", "requeue": False}},
    )  # fmt: skip
    assert told["queues"]["dead"]["ids"] == [[1, 3]]
    assert [detail["ids"] for detail in details(told, "messages_published")[3:]] == [[[1, 1]], [[2, 2]], [[3, 3]]]


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
def test_a_cycle_has_no_rejection_since_the_last_death_there(deaths: list, cycle: bool):
    assert is_cycle("q", tuple(deaths)) is cycle


@pytest.mark.parametrize("limit", [{"max_length": 0}, {"message_ttl": 0}])
def test_a_queue_is_kept_from_its_own_dead_letters(limit: dict):
    told = played(dead_lettering(to="q", **limit), publish(3))
    assert told["ledger"]["q"]["published"] == 3
    assert details(told, "messages_dead_lettered")[0]["cycles"] == ["q"]


def test_its_own_rejected_messages_come_back_to_a_queue():
    get = {"get": {"queue": "q", "count": 2, "ack": False, "consumer": "h"}}
    told = played(dead_lettering(to="q"), publish(2), get, {"nack": {"consumer": "h", "requeue": False}})
    assert told["queues"]["q"]["ids"] == [[3, 4]]
    assert told["ledger"]["q"]["removed"]["dead_lettered"] == [[1, 2]]


# On the way


def test_they_wait_for_a_target_that_synchronises():
    ha = {"ha-mode": "all", "ha-sync-mode": "automatic"}
    told = played(
        declare("dead"), dead_lettering(max_length=0), publish(20, "dead"),
        {"set_policy": {"name": "ha", "pattern": "^dead", "definition": ha}, "at": 1}, publish(1) | {"at": 1.5},
        {"wait": 20}, cluster={"nodes": ["a", "b"], "timing": {"sync_messages_s": 10}},
    )  # fmt: skip
    assert told["queues"]["dead"]["ids"] == [[1, 21]]


def test_they_wait_for_the_mirror_that_takes_over():
    told = played(
        declare("dead", "b"), dead_lettering(max_length=0), publish(2, "dead"), publish(1, node="a") | {"at": 1},
        {"kill": "b", "at": 1}, policies=[{"name": "ha", "pattern": "^dead", "definition": {"ha-mode": "all"}}],
    )  # fmt: skip
    assert told["queues"]["dead"]["ids"] == [[1, 3]]


def test_they_are_gone_with_a_target_that_is_deleted_before_they_arrive():
    told = played(
        declare("dead", "b"), dead_lettering(max_length=0), publish(2, node="a") | {"at": 1},
        {"delete": {"queue": "dead", "node": "b"}, "at": 1},
    )  # fmt: skip
    assert details(told, "dead_letters_dropped") == [{"messages": 2, "reason": "no_queue"}]
    assert told["ledger"]["dead"]["published"] == 0


def test_a_quorum_queue_gets_them_once_they_are_committed():
    quorum = {"queue": "dead", "type": "quorum", "leader": "a", "members": ["a", "b"]}
    told = played(dead_lettering(max_length=0), publish(1), queues=[quorum])
    assert (told["queues"]["dead"]["messages"], told["queues"]["dead"]["uncommitted"]) == (1, [])
    assert told["ledger"]["dead"]["confirmed"] == []


@pytest.mark.parametrize("version", ["3.8", "3.10", "3.13", "4.0", "4.3"])
def test_a_quorum_queue_whose_leader_is_down_does_not_get_them(version):
    target = declare("dead", "b", queue_type="quorum", quorum_initial_group_size=1)
    down = {"cluster": {"nodes": ["a", "b"], "version": version}}
    told = played(
        target, dead_lettering(message_ttl=1000), publish(2) | {"at": 5}, {"kill": "b"},
        {"wait": 10}, {"start": "b"}, {"wait": 10}, **down,
    )  # fmt: skip
    assert details(told, "dead_letters_dropped") == [{"messages": 2, "reason": "no_leader"}]
    assert told["queues"]["dead"]["messages"] == 0


@pytest.mark.parametrize(("strategy", "kept"), [("at-most-once", 0), ("at-least-once", 2)])
def test_letters_to_a_leader_that_dies_meanwhile_are_lost_unless_their_sender_waits_for_a_confirm(strategy, kept):
    target = declare("dead", "b", queue_type="quorum", quorum_initial_group_size=1)
    source = dead_lettering(
        queue_type="quorum", quorum_initial_group_size=1, overflow="reject-publish", dead_letter_strategy=strategy,
        message_ttl=1000,
    )  # fmt: skip
    begun, cluster = [target, source, publish(2) | {"at": 5}], {"nodes": ["a", "b"], "version": "4.0"}
    told = played(*begun, {"wait": 10}, cluster=cluster)
    sent = next(event["t"] for event in told["events"] if event["event"] == "messages_dead_lettered")
    told = played(
        *begun, {"kill": "b", "at": sent + 0.0002}, {"wait": 10}, {"start": "b"}, {"wait": 200}, cluster=cluster
    )  # fmt: skip
    assert told["queues"]["dead"]["messages"] == kept


def test_letters_over_a_link_that_is_back_in_time_arrive():
    target = declare("dead", "b", queue_type="quorum", quorum_initial_group_size=1)
    told = played(
        target, dead_lettering(message_ttl=1000), publish(2) | {"at": 5}, {"partition": [["a"], ["b"]]}, {"wait": 10},
        {"heal": True}, {"wait": 10},
    )  # fmt: skip
    assert told["queues"]["dead"]["messages"] == 2
