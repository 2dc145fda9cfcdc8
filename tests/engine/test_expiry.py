"""Expiry of messages (message-ttl) and of queues (expires)."""

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


def expired(found: dict) -> list:
    return found["ledger"]["q"]["removed"]["expired"]


def times(found: dict, event: str) -> list[float]:
    return [entry["t"] for entry in found["events"] if entry["event"] == event]


# Messages


def test_message_expires_exactly_at_its_ttl():
    found = played(declare(message_ttl=1500), publish(3) | {"at": 1}, {"wait": 5})
    assert times(found, "messages_expired") == [2.5]
    assert expired(found) == [[1, 3]]


def test_each_message_expires_at_its_own_time():
    found = played(declare(message_ttl=1000), publish(1) | {"at": 1}, publish(1) | {"at": 1.4}, {"wait": 5})
    assert times(found, "messages_expired") == [2.0, 2.4]


def test_cluster_settles_before_a_ttl_ends():
    found = played(declare(message_ttl=60_000), publish(1), publish(1))
    assert found["time_s"] < 1 and found["queues"]["q"]["messages"] == 2


def test_unacknowledged_message_expires_only_when_requeued():
    hold = {"get": {"queue": "q", "count": 1, "ack": False, "consumer": "h"}}
    found = played(declare(message_ttl=1000), publish(1), hold, {"wait": 5}, {"expect": {}}, {"close": "h"})
    assert times(found, "messages_requeued") == times(found, "messages_expired")


@pytest.mark.parametrize("fresh", [1, 2])
def test_ttl_0_delivers_to_a_waiting_consumer_or_expires(fresh: int):
    consume = {"consume": {"consumer": "c", "queue": "q", "prefetch": 1}}
    found = played(declare(message_ttl=0), consume, publish(fresh))
    assert found["consumers"]["c"]["received"] == [[1, 1]]
    assert expired(found) == ([[2, 2]] if fresh == 2 else [])
    assert found["ledger"]["q"]["confirmed"] == [[1, fresh]]


def test_ttl_0_behind_a_live_head_expires_at_once_without_dead_lettering():
    """`rabbit_amqqueue_process:deliver_or_enqueue` discards at once only where there is no exchange to send it to."""
    policy = {"set_policy": {"name": "p", "pattern": "^q", "definition": {"message-ttl": 0}}}
    assert expired(played(declare(), publish(1), policy, publish(1))) == [[2, 2]]
    found = played(declare(dead_letter_exchange=""), publish(1), policy, publish(1))
    assert found["queues"]["q"]["ids"] == [[1, 2]]


def test_unexpired_message_of_higher_priority_blocks_expiry_of_lower_ones():
    policy = {"set_policy": {"name": "p", "pattern": "^q", "definition": {"message-ttl": 1000}}}
    found = played(declare(max_priority=1), publish(1, priority=1), policy, publish(2), {"wait": 5})
    assert found["queues"]["q"]["ids"] == [[1, 3]]
    found = played(declare(max_priority=1), policy, publish(2), {"clear_policy": "p"}, publish(1), {"wait": 5})
    assert found["queues"]["q"]["ids"] == [[3, 3]]


def test_nothing_expires_during_a_synchronisation():
    ha = {"set_policy": {"name": "p", "pattern": "^q", "definition": {"ha-mode": "all", "ha-sync-mode": "automatic"}}}
    found = played(
        declare(message_ttl=1000), publish(20) | {"at": 1}, ha | {"at": 1.5}, {"wait": 20},
        timing={"sync_messages_s": 10},
    )  # fmt: skip
    assert times(found, "messages_expired") == times(found, "sync_finished")


def test_ttl_of_initial_messages_counts_from_the_start():
    given = {
        "scenario": "t", "cluster": {"nodes": ["a"]}, "steps": [{"wait": 3}],
        "queues": [{"queue": "q", "messages": 5, "master": "a", "arguments": {"x-message-ttl": 2000}}],
    }  # fmt: skip
    found = outcome(Run.of(read_scenario(given)))
    assert times(found, "messages_expired") == [2.0]


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
def test_operations_that_restart_the_expiry_of_a_queue(use: dict, expires: float):
    found = played(declare(expires=10_000) | {"at": 0}, use | {"at": 6}, {"wait": 30})
    assert times(found, "queue_deleted") == [expires]


def test_queue_with_consumers_does_not_expire():
    consume = {"consume": {"consumer": "c", "queue": "q"}}
    found = played(declare(expires=10_000), consume, {"wait": 50})
    assert times(found, "queue_deleted") == []
    for end in ({"cancel": "c"}, {"close": "c"}):
        found = played(declare(expires=10_000), consume, {"wait": 50}, end | {"at": 60}, {"wait": 50})
        assert times(found, "queue_deleted") == [70.0]


def test_queue_declared_again_after_deletion_has_its_own_expiry():
    found = played(
        declare(expires=10_000) | {"at": 0}, {"delete": {"queue": "q"}, "at": 4}, declare(expires=10_000) | {"at": 5},
        {"wait": 30},
    )  # fmt: skip
    assert times(found, "queue_deleted") == [4.0, 15.0]


def test_clearing_the_policy_stops_the_expiry():
    policy = {"set_policy": {"name": "p", "pattern": "^q", "definition": {"expires": 5_000}}}
    found = played(declare(), policy, {"wait": 3}, {"clear_policy": "p"}, {"wait": 30})
    assert times(found, "queue_deleted") == []


def test_queue_expires_with_its_messages():
    found = played(declare(expires=1_000), publish(3), {"wait": 5})
    deleted = [event["detail"] for event in found["events"] if event["event"] == "queue_deleted"]
    assert deleted == [{"reason": "expired", "messages": 3}]
    assert found["ledger"]["q"]["removed"]["deleted"] == [[1, 3]]


def test_promotion_restarts_the_expiry_of_a_queue():
    found = played(
        {"set_policy": {"name": "ha", "pattern": "^q", "definition": {"ha-mode": "all"}}}, declare(expires=10_000),
        {"transfer_leadership": {"queue": "q", "node": "b"}, "at": 6},
        {"transfer_leadership": {"queue": "q", "node": "a"}, "at": 8}, {"wait": 60},
    )  # fmt: skip
    promoted, (deleted,) = times(found, "promoted"), times(found, "queue_deleted")
    assert len(promoted) == 2 and deleted == promoted[-1] + 10
