"""Unchanged declarations of a queue that became a quorum queue: errors by release and default queue type."""

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
def test_default_type_is_filled_in_by_release(sent: dict, default_type: str | None, version: str, filled: dict):
    assert filled_in(sent, default_type, PROFILES[version]) == filled


@pytest.mark.parametrize("version", ["3.10", "3.13", "4.0", "4.3"])
def test_default_type_quorum_refuses_only_another_type(version: str):
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
def test_relaxed_checks_skip_arguments_of_a_classic_declaration(
    version: str, sent: dict, default_type: str | None, keys: list
):
    assert differing(sent, QUORUM, default_type, PROFILES[version], relaxed=True) == keys


def test_relaxed_checks_accept_a_missing_type_only_if_classic_is_filled_in():
    found = {version: differing({}, QUORUM, None, PROFILES[version], relaxed=True) for version in RELAXED_SINCE}
    assert found == {"3.13": TYPE, "4.0": [], "4.3": []}


def test_classic_queue_needs_its_type_if_the_default_is_quorum():
    for version in ("3.10", "3.13", "4.0", "4.3"):
        assert differing({}, {}, "quorum", PROFILES[version]) == TYPE
        assert differing(CLASSIC, {}, "quorum", PROFILES[version]) == []
