"""What is refused of a declaration as before, once a queue is a quorum queue, by releases and default types."""

from __future__ import annotations

import pytest

from hawb.rules.profiles import PROFILES
from hawb.rules.redeclaration import RELAXED_SINCE, differing, filled_in

CLASSIC, QUORUM = {"x-queue-type": "classic"}, {"x-queue-type": "quorum"}
TTL, OVERFLOW = {"x-message-ttl": 9}, {"x-overflow": "drop-head"}
TYPE = ["x-queue-type"]


@pytest.mark.parametrize(
    ("sent", "default_type", "version", "filled"),
    [
        ({}, None, "3.10", {}), ({}, None, "3.13", {}), ({}, None, "4.0", CLASSIC), ({}, None, "4.3", CLASSIC),
        ({}, "quorum", "3.10", QUORUM), ({}, "quorum", "4.3", QUORUM), ({}, "classic", "3.13", CLASSIC),
        (CLASSIC, "quorum", "4.0", CLASSIC), (TTL, "quorum", "3.13", TTL | QUORUM),
    ],
)  # fmt: skip
def test_the_type_that_is_filled_in(sent: dict, default_type: str | None, version: str, filled: dict):
    assert filled_in(sent, default_type, PROFILES[version]) == filled


@pytest.mark.parametrize("version", ["3.10", "3.13", "4.0", "4.3"])
def test_in_a_virtual_host_with_the_default_type_quorum_only_another_type_is_refused(version: str):
    profile = PROFILES[version]
    assert differing({}, QUORUM, "quorum", profile) == differing(QUORUM, QUORUM, "quorum", profile) == []
    assert differing(CLASSIC, QUORUM, "quorum", profile) == TYPE
    assert differing({}, QUORUM, None, profile) == differing({}, QUORUM, "classic", profile) == TYPE
    assert differing(TTL, QUORUM, "quorum", profile) == ["x-message-ttl"]
    assert differing({"x-max-priority": 5, "x-queue-mode": "lazy"}, QUORUM, "quorum", profile) == [], "not compared"


@pytest.mark.parametrize("version", RELAXED_SINCE)
@pytest.mark.parametrize(
    ("sent", "default_type", "keys"),
    [
        (CLASSIC, None, []),
        (CLASSIC | OVERFLOW, None, []),
        (CLASSIC | TTL, None, ["x-message-ttl"]),
        ({}, "classic", []),
        (QUORUM | OVERFLOW, None, ["x-overflow"]),
        (OVERFLOW, "quorum", ["x-overflow"]),
    ],
)
def test_relaxed_checks_compare_less_of_what_has_the_classic_type(
    version: str, sent: dict, default_type: str | None, keys: list
):
    assert differing(sent, QUORUM, default_type, PROFILES[version], relaxed=True) == keys


def test_relaxed_checks_help_an_application_without_a_type_only_where_classic_is_filled_in():
    found = {version: differing({}, QUORUM, None, PROFILES[version], relaxed=True) for version in RELAXED_SINCE}
    assert found == {"3.13": TYPE, "4.0": [], "4.3": []}


def test_a_classic_queue_in_such_a_virtual_host_has_to_be_declared_with_its_type():
    for version in ("3.10", "3.13", "4.0", "4.3"):
        assert differing({}, {}, "quorum", PROFILES[version]) == TYPE
        assert differing(CLASSIC, {}, "quorum", PROFILES[version]) == []
