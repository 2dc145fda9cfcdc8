"""Time to live: messages that expire, and queues that do."""

from __future__ import annotations

import pytest

from hawb.scenario.load import read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run


def played(*steps: dict, **cluster: object) -> dict:
    given = {"scenario": "t", "cluster": {"nodes": ["a", "b"]} | cluster, "steps": list(steps)}
    return outcome(Run.of(read_scenario(given)))


def declare(**arguments: object) -> dict:
    return {"declare": {"queue": "q", "arguments": {f"x-{key.replace('_', '-')}": arguments[key] for key in arguments}}}


def publish(count: int, **more: object) -> dict:
    return {"publish": {"queue": "q", "count": count, **more}}


def expired(told: dict) -> list:
    return told["ledger"]["q"]["removed"]["expired"]


def times(told: dict, event: str) -> list[float]:
    return [entry["t"] for entry in told["events"] if entry["event"] == event]


# Messages


def test_a_message_expires_exactly_when_its_time_is_over():
    told = played(declare(message_ttl=1500), publish(3) | {"at": 1}, {"wait": 5})
    assert times(told, "messages_expired") == [2.5]
    assert expired(told) == [[1, 3]]


def test_messages_published_at_different_times_expire_at_different_times():
    told = played(declare(message_ttl=1000), publish(1) | {"at": 1}, publish(1) | {"at": 1.4}, {"wait": 5})
    assert times(told, "messages_expired") == [2.0, 2.4]


def test_a_ttl_does_not_keep_a_cluster_from_being_settled():
    told = played(declare(message_ttl=60_000), publish(1), publish(1))
    assert told["time_s"] < 1 and told["queues"]["q"]["messages"] == 2


def test_what_a_client_holds_does_not_expire_before_it_gives_it_back():
    hold = {"get": {"queue": "q", "count": 1, "ack": False, "consumer": "h"}}
    told = played(declare(message_ttl=1000), publish(1), hold, {"wait": 5}, {"expect": {}}, {"close": "h"})
    assert times(told, "messages_requeued") == times(told, "messages_expired")


@pytest.mark.parametrize("fresh", [1, 2])
def test_without_time_a_message_goes_to_a_consumer_or_nowhere(fresh: int):
    consume = {"consume": {"consumer": "c", "queue": "q", "prefetch": 1}}
    told = played(declare(message_ttl=0), consume, publish(fresh))
    assert told["consumers"]["c"]["received"] == [[1, 1]]
    assert expired(told) == ([[2, 2]] if fresh == 2 else [])
    assert told["ledger"]["q"]["confirmed"] == [[1, fresh]]


def test_behind_a_head_that_lives_on_only_a_dead_letter_waits():
    """`rabbit_amqqueue_process:deliver_or_enqueue` discards at once only where there is no exchange to send it to."""
    policy = {"set_policy": {"name": "p", "pattern": "^q", "definition": {"message-ttl": 0}}}
    assert expired(played(declare(), publish(1), policy, publish(1))) == [[2, 2]]
    told = played(declare(dead_letter_exchange=""), publish(1), policy, publish(1))
    assert told["queues"]["q"]["ids"] == [[1, 2]]


def test_a_higher_priority_that_has_not_expired_keeps_a_lower_one():
    policy = {"set_policy": {"name": "p", "pattern": "^q", "definition": {"message-ttl": 1000}}}
    told = played(declare(max_priority=1), publish(1, priority=1), policy, publish(2), {"wait": 5})
    assert told["queues"]["q"]["ids"] == [[1, 3]]
    told = played(declare(max_priority=1), policy, publish(2), {"clear_policy": "p"}, publish(1), {"wait": 5})
    assert told["queues"]["q"]["ids"] == [[3, 3]]


def test_nothing_expires_while_a_queue_synchronises():
    ha = {"set_policy": {"name": "p", "pattern": "^q", "definition": {"ha-mode": "all", "ha-sync-mode": "automatic"}}}
    told = played(
        declare(message_ttl=1000), publish(20) | {"at": 1}, ha | {"at": 1.5}, {"wait": 20},
        timing={"sync_messages_s": 10},
    )  # fmt: skip
    assert times(told, "messages_expired") == times(told, "sync_finished")


def test_messages_that_stand_at_the_beginning_count_from_there():
    given = {
        "scenario": "t", "cluster": {"nodes": ["a"]}, "steps": [{"wait": 3}],
        "queues": [{"queue": "q", "messages": 5, "master": "a", "arguments": {"x-message-ttl": 2000}}],
    }  # fmt: skip
    told = outcome(Run.of(read_scenario(given)))
    assert times(told, "messages_expired") == [2.0]


# Queues


@pytest.mark.parametrize(
    ("use", "expires"),
    [
        ({"get": {"queue": "q", "count": 1}}, 16.0),
        ({"declare": {"queue": "q", "passive": True}}, 16.0),
        ({"declare": {"queue": "q", "arguments": {"x-expires": 10_000}}}, 16.0),
        ({"declare": {"queue": "q"}}, 10.0),
        ({"publish": {"queue": "q", "count": 1}}, 10.0),
        ({"purge": "q"}, 10.0),
        ({"set_policy": {"name": "p", "pattern": "^q", "definition": {"max-length": 5}}}, 16.0005),
        ({"set_policy": {"name": "p", "pattern": "^q", "definition": {"expires": 5_000}}}, 11.0005),
        ({"set_policy": {"name": "p", "pattern": "^q", "definition": {"expires": 50_000}}}, 16.0005),
    ],
    ids=str,
)
def test_what_counts_as_use(use: dict, expires: float):
    told = played(declare(expires=10_000) | {"at": 0}, use | {"at": 6}, {"wait": 30})
    assert times(told, "queue_deleted") == [expires]


def test_a_queue_with_consumers_does_not_expire():
    consume = {"consume": {"consumer": "c", "queue": "q"}}
    told = played(declare(expires=10_000), consume, {"wait": 50})
    assert times(told, "queue_deleted") == []
    for end in ({"cancel": "c"}, {"close": "c"}):
        told = played(declare(expires=10_000), consume, {"wait": 50}, end | {"at": 60}, {"wait": 50})
        assert times(told, "queue_deleted") == [70.0]


def test_a_queue_that_is_declared_anew_has_a_time_of_its_own():
    told = played(
        declare(expires=10_000) | {"at": 0}, {"delete": {"queue": "q"}, "at": 4}, declare(expires=10_000) | {"at": 5},
        {"wait": 30},
    )  # fmt: skip
    assert times(told, "queue_deleted") == [4.0, 15.0]


def test_a_policy_that_no_longer_says_so_lets_a_queue_live():
    policy = {"set_policy": {"name": "p", "pattern": "^q", "definition": {"expires": 5_000}}}
    told = played(declare(), policy, {"wait": 3}, {"clear_policy": "p"}, {"wait": 30})
    assert times(told, "queue_deleted") == []


def test_a_queue_expires_with_what_it_holds():
    told = played(declare(expires=1_000), publish(3), {"wait": 5})
    deleted = [event["detail"] for event in told["events"] if event["event"] == "queue_deleted"]
    assert deleted == [{"reason": "expired", "messages": 3}]
    assert told["ledger"]["q"]["removed"]["deleted"] == [[1, 3]]


def test_a_master_that_comes_back_begins_to_count_anew():
    told = played(
        {"set_policy": {"name": "ha", "pattern": "^q", "definition": {"ha-mode": "all"}}}, declare(expires=10_000),
        {"transfer_leadership": {"queue": "q", "node": "b"}, "at": 6},
        {"transfer_leadership": {"queue": "q", "node": "a"}, "at": 8}, {"wait": 60},
    )  # fmt: skip
    promoted, (deleted,) = times(told, "promoted"), times(told, "queue_deleted")
    assert len(promoted) == 2 and deleted == promoted[-1] + 10
