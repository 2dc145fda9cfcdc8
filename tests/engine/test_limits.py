"""Length limits of classic queues: dropped and rejected messages, and when limits take effect."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hawb.rules.limits import NO_LIMITS, Limits, limits
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


def policy(**settings: object) -> dict:
    definition = {key.replace("_", "-"): value for key, value in settings.items()}
    return {"set_policy": {"name": "p", "pattern": "^q", "definition": definition}}


def dropped(found: dict) -> list:
    return found["ledger"]["q"]["removed"]["dropped"]


# What limits a queue has


@pytest.mark.parametrize(
    ("definition", "arguments", "expected"),
    [
        ({}, {}, NO_LIMITS),
        ({"max-length": 5}, {}, Limits(max_length=5)),
        ({"max-length": 5}, {"x-max-length": 3}, Limits(max_length=3)),
        ({"max-length": 5}, {"x-max-length": 9}, Limits(max_length=5)),
        ({"max-length-bytes": 5, "expires": 7}, {"x-expires": 3}, Limits(max_length_bytes=5, expires_ms=3)),
        ({"message-ttl": 0}, {"x-message-ttl": 1}, Limits(message_ttl_ms=0)),
        ({"overflow": "reject-publish"}, {"x-overflow": "drop-head"}, Limits(overflow="drop-head")),
        ({"overflow": "reject-publish"}, {}, Limits(overflow="reject-publish")),
        ({"dead-letter-exchange": "p"}, {"x-dead-letter-exchange": ""}, Limits(dead_letter_exchange="")),
        ({"dead-letter-routing-key": "p"}, {"x-other": 1}, Limits(dead_letter_routing_key="p")),
    ],
)
def test_smaller_number_applies_and_arguments_override_names(definition, arguments, expected):
    assert limits(definition, arguments) == expected


# drop-head


def test_max_length_counts_ready_messages_only():
    found = played(
        declare(max_length=2), publish(2), {"get": {"queue": "q", "count": 2, "ack": False}}, publish(2)
    )  # fmt: skip
    assert found["queues"]["q"]["ids"] == [[1, 4]]
    assert dropped(found) == []


def test_messages_delivered_to_a_consumer_are_not_dropped():
    found = played(declare(max_length=0), {"consume": {"consumer": "c", "queue": "q", "prefetch": 2}}, publish(5))
    assert found["consumers"]["c"]["received"] == [[1, 2]]
    assert dropped(found) == [[3, 5]]


def test_requeued_messages_are_dropped_before_redelivery():
    found = played(
        declare(max_length=1), publish(1),
        {"consume": {"consumer": "one", "queue": "q", "prefetch": 1}},
        publish(1), {"consume": {"consumer": "other", "queue": "q", "prefetch": 1}}, publish(1), {"close": "one"},
    )  # fmt: skip
    assert dropped(found) == [[1, 1]]
    assert found["queues"]["q"]["ids"] == [[2, 3]]


def test_max_length_bytes_drops_only_as_many_messages_as_needed():
    sizes = (publish(2, size=300), publish(1, size=0), publish(1, size=500))
    assert dropped(played(declare(max_length_bytes=800), *sizes)) == [[1, 1]]
    assert dropped(played(declare(max_length_bytes=500), *sizes)) == [[1, 2]]
    assert dropped(played(declare(max_length_bytes=499), *sizes)) == [[1, 4]]


def test_limit_of_a_hundred_million_messages_is_cheap():
    found = played(declare(max_length=99_999_999), publish(100_000_000), {"kill": "b"}, publish(50_000_000))
    assert dropped(found) == [[1, 50_000_001]]


# reject-publish


def test_reject_publish_nacks_all_messages_over_the_limit():
    found = played(declare(max_length=3, overflow="reject-publish"), publish(5), publish(1))
    account = found["ledger"]["q"]
    assert (account["confirmed"], account["nacked"], account["refused"]) == ([[1, 3]], [[4, 6]], [[4, 6]])


def test_reject_publish_accepts_a_smaller_message_that_still_fits():
    found = played(
        declare(max_length_bytes=1000, overflow="reject-publish"), publish(1, size=700), publish(1, size=400),
        publish(1, size=300), publish(1, size=0), publish(1, size=1),
    )  # fmt: skip
    assert found["ledger"]["q"]["refused"] == [[2, 2], [5, 5]]


@pytest.mark.parametrize(("mode", "errors"), [("plain", []), ("tx", [406])])
def test_reject_publish_nacks_only_channels_with_confirms(mode: str, errors: list):
    found = played(declare(max_length=1, overflow="reject-publish"), publish(2, mode=mode))
    assert found["ledger"]["q"]["nacked"] == []
    assert found["ledger"]["q"]["refused"] == [[2, 2]]
    assert [error["code"] for error in found["errors"]] == errors


def test_nack_does_not_wait_for_the_other_queue():
    found = played(
        declare(max_length=0, overflow="reject-publish"), {"declare": {"queue": "far", "node": "b"}},
        {"publish": {"queues": ["q", "far"], "count": 1, "size": 100_000_000, "node": "a"}},
    )  # fmt: skip
    nacked = [event["t"] for event in found["events"] if event["event"] == "messages_nacked"]
    published = [event["t"] for event in found["events"] if event["event"] == "messages_published"]
    assert nacked == [published[0]] * 2
    assert found["queues"]["far"]["ids"] == [[1, 1]]


def test_rejected_message_is_not_confirmed_if_the_master_dies():
    found = played(
        {"declare": {"queue": "q", "node": "b", "arguments": {"x-max-length": 0, "x-overflow": "reject-publish"}}},
        {"publish": {"queue": "q", "count": 1, "node": "a"}, "at": 1},
        {"kill": "b", "at": 1.0005},
    )  # fmt: skip
    assert found["ledger"]["q"]["confirmed"] == []


# When limits take effect


def test_policy_takes_effect_after_the_link_latency():
    run = Run.of(read_scenario({"scenario": "t", "cluster": {"nodes": ["a"]}, "steps": [declare(), publish(5)]}))
    run.apply_plain(policy(max_length=2) | {"at": 1})
    run.apply_plain({"wait": 0.0004, "at": 1})
    queue = run.moment().trace()
    times = {entry.event: entry.t_us for entry in queue if entry.event in ("policy_applied", "messages_dropped")}
    assert times == {"policy_applied": 1_000_000, "messages_dropped": 1_000_500}


def test_change_to_drop_head_drops_messages_over_the_limit():
    found = played(
        policy(max_length=2, overflow="reject-publish"), declare(), publish(2),
        {"get": {"queue": "q", "count": 2, "ack": False, "consumer": "h"}}, publish(2), {"close": "h"},
        policy(max_length=2),
    )  # fmt: skip
    assert dropped(found) == [[1, 2]]


def test_policy_change_takes_effect_after_a_synchronisation():
    ha = {"ha_mode": "all", "ha_sync_mode": "automatic"}
    steps = (
        declare(), publish(10), policy(**ha) | {"at": 1}, policy(**ha, max_length=4) | {"at": 1.1},
        {"expect": {}, "at": 1.2}, {"wait": 20},
    )  # fmt: skip
    found = played(*steps, timing={"sync_messages_s": 10})
    sync = next(event["t"] for event in found["events"] if event["event"] == "sync_finished")
    drop = next(event["t"] for event in found["events"] if event["event"] == "messages_dropped")
    assert drop >= sync > 1.2
    assert found["queues"]["q"]["ids"] == [[7, 10]]


# Together or one by one


SITUATIONS = st.fixed_dictionaries(
    {},
    optional={
        "max_length": st.integers(0, 6),
        "max_length_bytes": st.integers(0, 60),
        "overflow": st.sampled_from(["drop-head", "reject-publish", "reject-publish-dlx"]),
        "message_ttl": st.sampled_from([0, 1000]),
        "max_priority": st.integers(0, 5),
        "dead_letter_exchange": st.just(""),
        "dead_letter_routing_key": st.sampled_from(["dead", "q"]),
    },
).filter(lambda given: "dead_letter_exchange" in given or "dead_letter_routing_key" not in given)


@settings(max_examples=300)
@given(
    SITUATIONS,
    st.lists(
        st.tuples(st.integers(1, 8), st.integers(0, 20), st.sampled_from([None, 0, 3, 9])), min_size=1, max_size=4
    ),
    st.sampled_from([None, ("manual", 0), ("manual", 2), ("auto", 0)]),
)
def test_batch_has_the_outcome_of_its_single_messages(arguments, batches, reader):
    """Publish the single messages at the same time, as a step does."""
    if arguments.get("message_ttl") == 0 and arguments.get("max_length") == 0:
        arguments = arguments | {"max_length": 1}  # Otherwise it is open for what reason it goes.

    def outcome_of(*steps: dict) -> dict:
        ack, prefetch = reader or ("manual", 0)
        consume = {"consume": {"consumer": "c", "queue": "q", "ack": ack, "prefetch": prefetch}}
        first = [{"declare": {"queue": "dead"}}, declare(**arguments), *([consume] if reader else [])]
        result = played(*first, *steps, {"wait": 3}, timing={"link_latency_s": 0, "fsync_s": 0})
        return {name: result[name] for name in ("queues", "ledger", "consumers")}

    together = [publish(count, size=size, priority=priority) | {"at": 1} for count, size, priority in batches]
    one_by_one = [step for step in together for step in [publish_one(step)] * step["publish"]["count"]]
    assert outcome_of(*together) == outcome_of(*one_by_one)


def publish_one(step: dict) -> dict:
    return step | {"publish": step["publish"] | {"count": 1}}
