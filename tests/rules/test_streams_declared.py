"""Declarations of streams: errors and resulting settings in each release."""

from __future__ import annotations

import pytest

from hawb.rules.profiles import PROFILES
from hawb.rules.quorum import ALL_MEMBERS
from hawb.rules.streams import STREAM_PROFILES, ignored_arguments, inequivalent, left_out, refusal, settings

NAME = "queue 's' in vhost '/'"
STREAM = {"x-queue-type": "stream"}


def error(version: str, arguments: dict, **properties: bool) -> str | None:
    text = refusal(STREAM | arguments, NAME, PROFILES[version], **properties)
    return None if text is None else text.replace(NAME, "Q")


@pytest.mark.parametrize("version", STREAM_PROFILES)
def test_stream_arguments_are_accepted_by_each_release(version: str):
    assert error(version, {}) is None
    assert error(version, {"x-max-age": "7D", "x-max-length-bytes": 5, "x-stream-max-segment-size-bytes": 9}) is None
    placed = {"x-initial-cluster-size": 3, "x-queue-leader-locator": "balanced", "x-unheard-of": 1}
    assert error(version, placed) is None


@pytest.mark.parametrize("version", STREAM_PROFILES)
@pytest.mark.parametrize(
    "key",
    ["x-expires", "x-message-ttl", "x-max-length", "x-overflow", "x-max-priority", "x-single-active-consumer",
     "x-delivery-limit", "x-quorum-initial-group-size", "x-dead-letter-exchange", "x-queue-master-locator"],
)  # fmt: skip
def test_arguments_of_other_queue_types_are_refused(version: str, key: str):
    value = "x" if key == "x-dead-letter-exchange" else 5
    assert error(version, {key: value}) == f"invalid arg '{key}' for Q of queue type rabbit_stream_queue"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"x-max-age": "D"}, "invalid arg 'x-max-age' for Q: invalid_max_age"),
        ({"x-max-age": "0s"}, "invalid arg 'x-max-age' for Q: invalid_max_age"),
        ({"x-max-age": 5}, "invalid arg 'x-max-age' for Q: {unacceptable_type,signedint}"),
        ({"x-initial-cluster-size": -1}, "invalid arg 'x-initial-cluster-size' for Q: {value_negative,-1}"),
        ({"x-queue-leader-locator": "near"}, "invalid arg 'x-queue-leader-locator' for Q: invalid_queue_locator_arg"),
        ({"x-stream-max-segment-size-bytes": 2**40}, "Exceeded max value for x-stream-max-segment-size-bytes"),
    ],
)
@pytest.mark.parametrize("version", STREAM_PROFILES)
def test_invalid_values_are_refused(version: str, arguments: dict, text: str):
    assert error(version, arguments) == text


def test_properties_are_checked_before_sizes():
    too_much = {"x-stream-max-segment-size-bytes": 2**40}
    wrong = {"auto_delete": "auto-delete", "exclusive": "exclusive-owner"}
    for field, name in wrong.items():
        assert error("4.0", too_much, **{field: True}) == f"invalid property '{name}' for Q"
    assert error("4.0", too_much, durable=False) == "invalid property 'non-durable' for Q"


@pytest.mark.parametrize(
    ("version", "text"),
    [("3.10", None), ("3.13", "Invalid value for  x-stream-filter-size-bytes"),
     ("4.0", "Invalid value for  x-stream-filter-size-bytes"), ("4.3", "Invalid value for x-stream-filter-size-bytes")],
)  # fmt: skip
def test_filter_size_is_checked_since_3_13(version: str, text: str | None):
    assert [error(version, {"x-stream-filter-size-bytes": size}) for size in (15, 16, 255, 256)] == [
        text, None, None, text,
    ]  # fmt: skip


def test_policy_overrides_the_argument():
    assert settings({}, {}).group_size == ALL_MEMBERS
    assert settings({}, {"x-initial-cluster-size": 2}).group_size == 2
    assert settings({"initial-cluster-size": 5}, {"x-initial-cluster-size": 2}).group_size == 5


def test_redeclaration_with_inequivalent_arguments_is_refused():
    had = STREAM | {"x-max-age": "7D"}
    assert inequivalent(had, had, PROFILES["4.0"]) is None
    assert inequivalent(STREAM | {"x-max-age": "8D"}, had, PROFILES["3.10"]) == ("x-max-age", "'8D'", "'7D'")
    assert inequivalent(STREAM | {"x-max-age": "8D"}, had, PROFILES["4.3"]) == (
        "x-max-age", "'691200000'", "'604800000'")  # fmt: skip
    assert inequivalent(STREAM | {"x-max-age": "1h"}, STREAM, PROFILES["4.3"]) == (
        "x-max-age", "the value '3600000' of type 'longstr'", "none")  # fmt: skip
    hours = STREAM | {"x-max-age": "168h"}
    assert inequivalent(hours, had, PROFILES["4.3"]) is None
    assert inequivalent(hours, had, PROFILES["4.0"]) == ("x-max-age", "'168h'", "'7D'")
    assert inequivalent(STREAM | {"x-max-age": "9" * 5000 + "h"}, had, PROFILES["4.3"])[0] == "x-max-age"
    assert inequivalent({}, STREAM, PROFILES["4.0"]) == ("x-queue-type", "'classic'", "'stream'")


def test_ignored_and_unsimulated_arguments():
    given = STREAM | {"x-max-age": "7D", "x-unheard-of": 1, "x-initial-cluster-size": 3}
    assert ignored_arguments(given, PROFILES["3.10"]) == ["x-unheard-of"]
    assert left_out(given, PROFILES["3.10"]) == ["x-max-age"]


@pytest.mark.parametrize(
    ("age", "same"),
    [("1m", "60s"), ("1h", "60m"), ("1D", "24h"), ("1M", "30D"), ("1Y", "365D"), ("2s", "02s")],
)
def test_4_3_compares_max_age_in_any_unit(age, same):
    more = {"x-max-length-bytes": 1}
    assert inequivalent(STREAM | {"x-max-age": same}, STREAM | {"x-max-age": age}, PROFILES["4.3"]) is None
    assert inequivalent(STREAM | {"x-max-age": age}, STREAM | {"x-max-age": same} | more, PROFILES["4.3"]) is not None
    assert inequivalent(STREAM | {"x-max-age": "1x"}, STREAM | {"x-max-age": age}, PROFILES["4.3"])[1] == "'1x'"
