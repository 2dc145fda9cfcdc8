"""Consumer timeouts: the effective value by release, and the text of RabbitMQ's error."""

from __future__ import annotations

import pytest

from hawb.rules.consumer_timeouts import DAY_MS, configured_ms, error, timeout_ms
from hawb.rules.profiles import PROFILES

HALF_AN_HOUR = 1_800_000


@pytest.mark.parametrize(
    ("version", "default", "undefined"),
    [("3.8", None, None), ("3.10", HALF_AN_HOUR, None), ("3.13", HALF_AN_HOUR, None), ("4.0", HALF_AN_HOUR, None),
     ("4.3", HALF_AN_HOUR, DAY_MS)],
)  # fmt: skip
def test_consumer_timeout_has_a_default_since_3_8_15(version: str, default: int | None, undefined: int | None):
    profile = PROFILES[version]
    assert [configured_ms(given, profile) for given in (None, "undefined", 7)] == [default, undefined, 7]


@pytest.mark.parametrize(
    ("definition", "arguments", "by_queue"),
    [
        ({}, {}, 100),
        ({"consumer-timeout": 50}, {}, 50),
        ({"consumer-timeout": 500}, {}, 500),
        ({}, {"x-consumer-timeout": 500}, 500),
        ({"consumer-timeout": 50}, {"x-consumer-timeout": 40}, 40),
        ({"consumer-timeout": 50}, {"x-consumer-timeout": "never"}, 50),
        ({}, {"x-consumer-timeout": "never"}, None),
        ({}, {"x-consumer-timeout": 0}, 0),
    ],
)  # fmt: skip
def test_policy_and_argument_override_the_configured_timeout_since_3_12(
    definition: dict, arguments: dict, by_queue: int | None
):
    found = {version: timeout_ms(definition, arguments, 100, profile) for version, profile in PROFILES.items()}
    assert found == {"3.8": 100, "3.10": 100, "3.13": by_queue, "4.0": by_queue, "4.3": by_queue}


def test_error_text_names_the_timeout_since_3_8_15():
    assert error(5, PROFILES["3.8"]) == "PRECONDITION_FAILED - consumer ack timed out on channel 1"
    for version in ("3.10", "3.13", "4.0", "4.3"):
        assert error(HALF_AN_HOUR, PROFILES[version]) == (
            "PRECONDITION_FAILED - delivery acknowledgement on channel 1 timed out. Timeout value used: 1800000 ms. "
            "This timeout value can be configured, see consumers doc guide to learn more"
        )
