"""Queue arguments and bindings that RabbitMQ refuses."""

from __future__ import annotations

import pytest

from hawb.rules.profiles import PROFILES
from hawb.rules.queue_arguments import refusal
from hawb.scenario.load import read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.refused import ScenarioRefused
from hawb.scenario.run import Run

NAMED = "queue 'q' in vhost '/'"

OLD_AND_NEW = {
    ("x-max-length", -1): ("{value_negative,-1}",) * 2,
    ("x-max-length", "5"): ("{unacceptable_type,longstr}", '"expected integer, got longstr"'),
    ("x-max-length-bytes", 5.0): ("{unacceptable_type,double}", '"expected integer, got double"'),
    ("x-max-length", True): ("{unacceptable_type,bool}", '"expected integer, got bool"'),
    ("x-max-length", (1,)): ("{unacceptable_type,array}", '"expected integer, got array"'),
    ("x-max-length", None): ("{unacceptable_type,void}", '"expected integer, got void"'),
    ("x-expires", 0): ("{value_zero,0}",) * 2,
    ("x-expires", -1): ("{value_negative,-1}",) * 2,
    ("x-expires", 315_360_000_001): (None, "{value_too_large,315360000001}"),
    ("x-message-ttl", 315_360_000_000): (None, None),
    ("x-message-ttl", 0): (None, None),
    ("x-message-ttl", -5): ("{value_negative,-5}",) * 2,
    ("x-max-priority", 255): (None, None),
    ("x-max-priority", 256): ("{max_value_exceeded,256}",) * 2,
    ("x-overflow", "reject"): ("invalid_overflow",) * 2,
    ("x-overflow", 1): ("{unacceptable_type,signedint}",) * 2,
    ("x-queue-mode", "eager"): ("invalid_queue_mode", "\"unsupported queue mode 'eager'\""),
    ("x-queue-version", 3): (None, "\"unsupported queue version '3'\""),
    ("x-single-active-consumer", "true"): ("{unacceptable_type,longstr}",) * 2,
    ("x-dead-letter-routing-key", "k"): ("routing_key_but_no_dlx_defined",) * 2,
    ("x-max-in-memory-length", -1): ("{value_negative,-1}", "of queue type"),
    ("x-quorum-initial-group-size", 0): ("{value_zero,0}", "of queue type"),
    ("x-delivery-limit", 5): (None, "of queue type"),
    ("x-whatever", -1): (None, None),
}


@pytest.mark.parametrize(("argument", "errors"), OLD_AND_NEW.items(), ids=str)
def test_error_texts_of_each_release(argument: tuple, errors: tuple):
    key, value = argument
    for version, error in zip(("3.8", "3.10", "3.13"), (*errors, errors[1]), strict=True):
        text = refusal({key: value}, NAMED, PROFILES[version])
        if error == "of queue type":
            assert text == f"invalid arg '{key}' for {NAMED} of queue type rabbit_classic_queue"
        else:
            assert text == (None if error is None else f"invalid arg '{key}' for {NAMED}: {error}")


@pytest.mark.parametrize(
    ("version", "typed", "first"),
    [("3.13", False, "x-max-age"), ("4.0", False, "x-delivery-limit"), ("4.0", True, "x-max-age")],
)
def test_4_0_checks_arguments_in_sorted_order_without_a_type(version: str, typed: bool, first: str):
    arguments = {"x-max-age": "1D", "x-delivery-limit": 5} | ({"x-queue-type": "classic"} if typed else {})
    text = refusal(arguments, NAMED, PROFILES[version])
    assert text == f"invalid arg '{first}' for {NAMED} of queue type rabbit_classic_queue"


def test_dead_letter_exchange_must_be_a_string():
    text = refusal({"x-dead-letter-exchange": 5, "x-expires": 0}, NAMED, PROFILES["3.10"])
    assert text == f"invalid type 'signedint' for arg 'x-dead-letter-exchange' in {NAMED}"
    assert refusal({"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "k"}, NAMED, PROFILES["3.10"]) is None


@pytest.mark.parametrize(
    ("version", "value", "error"),
    [("3.8", "hop", "invalid_queue_type"), ("3.8", 5, "{unacceptable_type,signedint}"),
     ("3.10", "hop", "\"unsupported queue type 'hop'\""), ("4.0", 5, "{unacceptable_type,signedint}")],
)  # fmt: skip
def test_unknown_queue_type_is_refused(version: str, value: object, error: str):
    found = played(declare(queue_type=value), cluster={"nodes": ["a"], "version": version})
    assert found["errors"][0]["text"] == f"PRECONDITION_FAILED - invalid arg 'x-queue-type' for {NAMED}: {error}"


def test_first_error_in_rabbitmqs_order_is_reported():
    text = refusal({"x-overflow": "no", "x-max-length": -1, "x-expires": -1}, NAMED, PROFILES["3.8"])
    assert "x-expires" in text


def played(*steps: dict, **more: object) -> dict:
    given = {"scenario": "t", "cluster": {"nodes": ["a", "b"], "version": "3.10"}, "steps": list(steps)}
    return outcome(Run.of(read_scenario(given | more)))


def declare(**arguments: object) -> dict:
    return {"declare": {"queue": "q", "arguments": {f"x-{key.replace('_', '-')}": arguments[key] for key in arguments}}}


def codes(found: dict) -> list[int]:
    return [error["code"] for error in found["errors"]]


@pytest.mark.parametrize(
    ("number", "kind"), [(2**31 - 1, "signedint"), (-(2**31), "signedint"), (2**31, "long"), (-(2**31) - 1, "long")]
)
def test_integer_is_reported_with_the_amqp_type_it_is_sent_as(number: int, kind: str):
    assert f"{{unacceptable_type,{kind}}}" in refusal({"x-overflow": number}, NAMED, PROFILES["3.10"])
    assert refusal({"x-max-length": abs(number)}, NAMED, PROFILES["3.10"]) is None


def test_redeclaration_compares_arguments_and_does_not_validate_them():
    assert codes(played(declare(max_length=5), declare(max_length=-1))) == [406]
    assert "inequivalent arg 'x-max-length'" in played(declare(), declare(max_length=-1))["errors"][0]["text"]
    assert codes(played(declare(), declare(whatever=5))) == []
    assert codes(played(declare(), declare(queue_master_locator="random"))) == [406]


@pytest.mark.parametrize(("version", "shown"), [("3.8", '<<"é">>'), ("3.10", '<<"é">>'), ("4.0", '<<"é"/utf8>>')])
def test_strings_in_an_array_are_printed_as_in_each_release(version: str, shown: str):
    cluster = {"nodes": ["a"], "version": version}
    found = played(declare(max_length=5), declare(max_length=["é"]), cluster=cluster)
    assert f"received '[{{longstr,{shown}}}]' but" in found["errors"][0]["text"]


@pytest.mark.parametrize(
    ("version", "exclusive", "expected"),
    [("3.8", False, [541]), ("3.8", True, [541]), ("3.10", False, [541]), ("3.10", True, []), ("3.13", False, [541]),
     ("3.13", True, []), ("4.0", False, []), ("4.0", True, [])],
)  # fmt: skip
@pytest.mark.parametrize("locator", ["min-master", "", 5, None, [1]])
def test_unknown_master_locator_fails_the_declaration_if_it_is_used(
    version: str, exclusive: bool, expected: list, locator: object
):
    asked = {"queue": "q", "exclusive": exclusive, "arguments": {"x-queue-master-locator": locator}}
    found = played({"declare": asked}, cluster={"nodes": ["a", "b"], "version": version})
    assert codes(found) == expected
    assert ("q" in found["queues"]) == (not expected)


def test_hard_error_closes_the_connection_with_its_consumers_and_exclusive_queues():
    found = played(
        declare(), {"publish": {"queue": "q", "count": 3}},
        {"declare": {"queue": "replies", "exclusive": True, "connection": "app"}},
        {"declare": {"queue": "others", "exclusive": True}},
        {"consume": {"consumer": "mine", "queue": "q", "connection": "app"}},
        {"consume": {"consumer": "elsewhere", "queue": "q", "connection": "app", "node": "b"}},
        {"consume": {"consumer": "other", "queue": "q"}},
        {"declare": {"queue": "x", "connection": "app", "arguments": {"x-queue-master-locator": "no"}}},
        {"declare": {"queue": "again", "connection": "app", "exclusive": True}},
    )  # fmt: skip
    assert codes(found) == [541]
    assert found["deleted"] == ["replies"]
    assert set(found["queues"]) == {"q", "others", "again"}
    states = {name: consumer["state"] for name, consumer in found["consumers"].items()}
    assert states == {"mine": "closed", "elsewhere": "active", "other": "active"}
    assert found["queues"]["q"]["redelivered"] == [[1, 3]]


def test_unread_publishes_are_lost_with_a_connection_closed_by_an_error():
    found = played(
        declare(queue_type="quorum"), {"kill": "b"}, {"get": {"queue": "q", "count": 1}},
        {"at": 30, "alarm": {"node": "a", "resource": "memory"}}, {"at": 31, "publish": {"queue": "q", "count": 5}},
        {"at": 200, "clear_alarm": {"node": "a", "resource": "memory"}}, {"start": "b"}, {"wait": 30},
    )  # fmt: skip
    assert codes(found) == [541]
    assert found["ledger"]["q"]["refused"] == [[1, 5]]


@pytest.mark.parametrize("kind", ["classic", "quorum"])
def test_reserved_name_cannot_be_declared_even_if_the_queue_exists(kind: str):
    """`rabbit_channel` looks at the name (`check_name`) before it looks for the queue; a passive declare does not."""
    own = {"arguments": {"x-queue-type": kind}}
    found = played(
        {"declare": {"queue": "amq.gen-1"}}, {"declare": {"queue": "v::amq.mine"} | own},
        {"declare": {"queue": "amq.mine", "passive": True}}, {"declare": {"queue": "amqp"} | own},
        {"declare": {"queue": "amq.gen-1", "passive": True}},
        queues=[{"queue": "amq.gen-1", "master": "a"}],
    )  # fmt: skip
    assert codes(found) == [403, 403, 404]
    text = "ACCESS_REFUSED - queue name 'amq.mine' contains reserved prefix 'amq.*'"
    assert found["errors"][1]["text"] == text
    assert set(found["queues"]) == {"amq.gen-1", "amqp"}


def test_scenario_with_an_invalid_initial_queue_is_refused():
    with pytest.raises(ScenarioRefused, match="RabbitMQ would refuse this queue: invalid arg 'x-max-length'"):
        played(queues=[{"queue": "q", "arguments": {"x-max-length": "many"}}])


@pytest.mark.parametrize(
    ("binding", "expected"),
    [
        ({}, []),
        ({"exchange": "amq.direct"}, []),
        ({"exchange": ""}, [403]),
        ({"exchange": "amq.fanout"}, [406]),
        ({"exchange": "amq.mine"}, [403]),
        ({"queue": "other"}, [404]),
        ({"queue": "locked"}, [405]),
        ({"queue": "away"}, [404]),
    ],
)
def test_invalid_bindings_are_refused(binding: dict, expected: list):
    found = played(
        declare(), {"declare": {"queue": "locked", "exclusive": True, "connection": "mine"}},
        {"declare": {"queue": "away", "node": "b"}}, {"kill": "b"},
        {"bind": {"queue": "q", "exchange": "x", "routing_key": "k"} | binding},
    )  # fmt: skip
    assert codes(found) == expected
    bound = [event["queue"] for event in found["events"] if event["event"] == "queue_bound"]
    assert bound == ([] if expected else ["q"])


def test_second_identical_bind_has_no_effect():
    bind = {"bind": {"queue": "q", "exchange": "x", "routing_key": "k"}}
    found = played(declare(), bind, bind)
    assert [event["event"] for event in found["events"]].count("queue_bound") == 1


def test_classic_queues_accept_a_leader_locator_since_4_0():
    located = declare(queue_leader_locator="balanced")
    found = played(located, cluster={"nodes": ["a", "b"], "version": "4.0"})
    assert codes(found) == []
    assert "not_simulated" not in {event["event"] for event in found["events"]}
    assert codes(played(located)) == [406]
