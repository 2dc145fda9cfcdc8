"""Translation of each queue argument and policy setting for quorum queues, in releases 3.8 to 4.3.

A row has an outcome for each version: kept, dropped, blocks (the queue cannot be moved), or what stands in its place.
"""

from __future__ import annotations

import pytest
from inventories import cluster, queue
from migrations import VERSIONS, planned

from hawb.planning.quorum_translation import definition
from hawb.rules.arguments_read import READ_BY
from hawb.rules.profiles import FEDERATION_SETTINGS, HA_SETTINGS, PROFILES
from hawb.rules.queue_arguments import CHECKED, CHECKS_4_0, COMPARED
from hawb.rules.queue_types import CLASSIC, QUORUM, STREAM
from hawb.rules.quorum_declaration import CHECKS_OF_VERSION
from hawb.rules.quorum_profiles import QUORUM_PROFILES

BALANCED = "x-queue-leader-locator=balanced"

TO_QUORUM = [
    # argument, value, then what happens to it in 3.8, 3.10, 3.13, 4.0 and 4.3
    ("x-expires", 9, "blocks", "kept", "kept", "kept", "kept"),
    ("x-message-ttl", 9, "blocks", "kept", "kept", "kept", "kept"),
    ("x-dead-letter-exchange", "dlx", "kept", "kept", "kept", "kept", "kept"),
    ("x-dead-letter-routing-key", "dead", "kept", "kept", "kept", "kept", "kept"),
    ("x-dead-letter-strategy", "at-least-once", "dropped", "kept", "kept", "kept", "kept"),
    ("x-max-length", 9, "kept", "kept", "kept", "kept", "kept"),
    ("x-max-length-bytes", 9, "kept", "kept", "kept", "kept", "kept"),
    ("x-max-in-memory-length", 9, "kept", "dropped", "dropped", "dropped", "dropped"),
    ("x-max-in-memory-bytes", 9, "kept", "dropped", "dropped", "dropped", "dropped"),
    ("x-max-priority", 5, "blocks", "blocks", "blocks", "dropped", "dropped"),
    ("x-overflow", "drop-head", "dropped", "kept", "kept", "kept", "kept"),
    ("x-overflow", "reject-publish", "blocks", "kept", "kept", "kept", "kept"),
    ("x-overflow", "reject-publish-dlx", "blocks", *["x-overflow=reject-publish"] * 4),
    ("x-queue-mode", "lazy", "x-max-in-memory-length=0", "dropped", "dropped", "dropped", "dropped"),
    ("x-queue-mode", "default", "dropped", "dropped", "dropped", "dropped", "dropped"),
    ("x-queue-version", 2, "dropped", "dropped", "dropped", "dropped", "dropped"),
    ("x-queue-master-locator", "min-masters", "dropped", BALANCED, BALANCED, BALANCED, BALANCED),
    ("x-queue-master-locator", "client-local", "dropped", "dropped", "dropped", "dropped", "dropped"),
    ("x-queue-leader-locator", "balanced", "dropped", "kept", "kept", "kept", "kept"),
    ("x-single-active-consumer", True, "kept", "kept", "kept", "kept", "kept"),
    ("x-quorum-initial-group-size", 5, "kept", "kept", "kept", "kept", "kept"),
    ("x-quorum-target-group-size", 5, "kept", "kept", "kept", "kept", "kept"),
    ("x-delivery-limit", 5, "kept", "kept", "kept", "kept", "kept"),
    ("x-consumer-timeout", 7_200_000, "kept", "kept", "kept", "kept", "kept"),
    ("x-consumer-disconnected-timeout", 9, "kept", "kept", "kept", "kept", "kept"),
    ("x-delayed-retry-type", "all", "kept", "kept", "kept", "kept", "kept"),
    ("x-delayed-retry-min", 9, "kept", "kept", "kept", "kept", "kept"),
    ("x-delayed-retry-max", 9, "kept", "kept", "kept", "kept", "kept"),
    ("x-max-age", "1D", "dropped", "dropped", "dropped", "dropped", "dropped"),
    ("x-stream-max-segment-size-bytes", 9, "dropped", "dropped", "dropped", "dropped", "dropped"),
    ("x-stream-filter-size-bytes", 16, "dropped", "dropped", "dropped", "dropped", "dropped"),
    ("x-initial-cluster-size", 3, "dropped", "dropped", "dropped", "dropped", "dropped"),
    ("x-internal-thing", 3, "dropped", "dropped", "dropped", "dropped", "dropped"),
]  # fmt: skip

STAYS_CLASSIC = [
    ("x-expires", 9, "kept", "kept", "kept", "kept", "kept"),
    ("x-message-ttl", 9, "kept", "kept", "kept", "kept", "kept"),
    ("x-dead-letter-exchange", "dlx", "kept", "kept", "kept", "kept", "kept"),
    ("x-dead-letter-routing-key", "dead", "kept", "kept", "kept", "kept", "kept"),
    ("x-max-length", 9, "kept", "kept", "kept", "kept", "kept"),
    ("x-max-length-bytes", 9, "kept", "kept", "kept", "kept", "kept"),
    ("x-max-priority", 5, "kept", "kept", "kept", "kept", "kept"),
    ("x-overflow", "reject-publish-dlx", "kept", "kept", "kept", "kept", "kept"),
    ("x-queue-mode", "lazy", "kept", "kept", "kept", "kept", "kept"),
    ("x-queue-version", 1, "kept", "kept", "kept", "kept", "dropped"),
    ("x-queue-version", 2, "kept", "kept", "kept", "kept", "kept"),
    ("x-queue-master-locator", "min-masters", "kept", "kept", "kept", "kept", "dropped"),
    ("x-queue-leader-locator", "balanced", "kept", "dropped", "dropped", "kept", "kept"),
    ("x-single-active-consumer", True, "kept", "kept", "kept", "kept", "kept"),
    ("x-consumer-timeout", 7_200_000, "kept", "kept", "kept", "kept", "dropped"),
    ("x-delivery-limit", 5, "dropped", "dropped", "dropped", "dropped", "dropped"),
    ("x-internal-thing", 3, "dropped", "dropped", "dropped", "dropped", "dropped"),
]

STAYS_A_STREAM = [
    # argument, value, then 3.10, 3.13, 4.0 and 4.3: 3.8 has no streams
    ("x-max-length-bytes", 9, "kept", "kept", "kept", "kept"),
    ("x-max-age", "1D", "kept", "kept", "kept", "kept"),
    ("x-stream-max-segment-size-bytes", 9, "kept", "kept", "kept", "kept"),
    ("x-stream-filter-size-bytes", 16, "kept", "kept", "kept", "kept"),
    ("x-initial-cluster-size", 3, "kept", "kept", "kept", "kept"),
    ("x-queue-leader-locator", "balanced", "kept", "kept", "kept", "kept"),
    ("x-consumer-timeout", 7_200_000, "kept", "kept", "kept", "dropped"),
    ("x-internal-thing", 3, "dropped", "dropped", "dropped", "dropped"),
]

SETTINGS = [
    # policy setting, value, then what a policy for quorum queues has of it in 3.8, 3.10, 3.13, 4.0 and 4.3
    ("expires", 9, "blocks", "kept", "kept", "kept", "kept"),
    ("message-ttl", 9, "blocks", "kept", "kept", "kept", "kept"),
    ("dead-letter-exchange", "dlx", "kept", "kept", "kept", "kept", "kept"),
    ("dead-letter-routing-key", "dead", "kept", "kept", "kept", "kept", "kept"),
    ("dead-letter-strategy", "at-least-once", "dropped", "kept", "kept", "kept", "kept"),
    ("max-length", 9, "kept", "kept", "kept", "kept", "kept"),
    ("max-length-bytes", 9, "kept", "kept", "kept", "kept", "kept"),
    ("max-in-memory-length", 9, "kept", "dropped", "dropped", "dropped", "dropped"),
    ("max-in-memory-bytes", 9, "kept", "dropped", "dropped", "dropped", "dropped"),
    ("overflow", "drop-head", "dropped", "kept", "kept", "kept", "kept"),
    ("overflow", "reject-publish", "blocks", "kept", "kept", "kept", "kept"),
    ("overflow", "reject-publish-dlx", "blocks", *["overflow=reject-publish"] * 4),
    ("queue-mode", "lazy", "max-in-memory-length=0", "dropped", "dropped", "dropped", "dropped"),
    ("queue-version", 2, "dropped", "dropped", "dropped", "dropped", "dropped"),
    ("queue-master-locator", "random", "dropped", *["queue-leader-locator=balanced"] * 4),
    ("queue-leader-locator", "balanced", "dropped", "kept", "kept", "kept", "kept"),
    ("delivery-limit", 5, "kept", "kept", "kept", "kept", "kept"),
    ("consumer-timeout", 9, "dropped", "dropped", "kept", "kept", "kept"),
    ("target-group-size", 5, "dropped", "dropped", "kept", "kept", "kept"),
    ("consumer-disconnected-timeout", 9, "dropped", "dropped", "dropped", "dropped", "kept"),
    ("delayed-retry-type", "all", "dropped", "dropped", "dropped", "dropped", "kept"),
    ("delayed-retry-min", 9, "dropped", "dropped", "dropped", "dropped", "kept"),
    ("delayed-retry-max", 9, "dropped", "dropped", "dropped", "dropped", "kept"),
    *[(key, 1, *["dropped"] * 5) for key in sorted(HA_SETTINGS)],
    *[(key, "1D", *["dropped"] * 5) for key in ("max-age", "stream-max-segment-size-bytes", "initial-cluster-size")],
    *[(key, "up", *["dropped"] + ["kept"] * 4) for key in sorted(FEDERATION_SETTINGS)],
    ("alternate-exchange", "ae", "dropped", "kept", "kept", "kept", "kept"),
    ("stream-filter-size-bytes", 16, "dropped", "dropped", "kept", "kept", "kept"),
]  # fmt: skip


def each(rows: list[tuple], versions: tuple[str, ...] = VERSIONS) -> list:
    """Return a pytest parameter for each cell of a table."""
    return [
        pytest.param(key, value, version, outcome, id=f"{key}={value}-{version}")
        for key, value, *outcomes in rows
        for version, outcome in zip(versions, outcomes, strict=True)
    ]


def outcome(key: str, value: object, settings: dict, blocked: bool) -> str:
    """Return the outcome of a setting as a row names it."""
    if blocked:
        return "blocks"
    if key in settings:
        return "kept" if settings[key] == value else f"{key}={settings[key]}"
    return next((f"{new}={worth}" for new, worth in settings.items()), "dropped")


def declared(key: str, value: object, version: str, **facts: object):
    """Return the move of a queue with an argument, and its remaining arguments."""
    needed = {"x-dead-letter-exchange": "dlx"} if key == "x-dead-letter-routing-key" else {}
    move = planned(cluster(queues=[queue(arguments=needed | {key: value}, **facts)]), version).moves[0]
    return move, {name: worth for name, worth in move.arguments.items() if name not in {"x-queue-type", *needed}}


@pytest.mark.parametrize(("key", "value", "version", "becomes"), each(TO_QUORUM))
def test_argument_of_a_queue_that_becomes_a_quorum_queue(key: str, value: object, version: str, becomes: str):
    move, kept = declared(key, value, version)
    assert outcome(key, value, kept, move.type != "quorum") == becomes
    said = [reason.what for reason in move.reasons if reason.what.startswith(f"argument {key}: ")]
    assert bool(said) is (becomes != "kept"), "what is not kept is said"


@pytest.mark.parametrize(("key", "value", "version", "becomes"), each(STAYS_CLASSIC))
def test_argument_of_a_queue_that_stays_classic(key: str, value: object, version: str, becomes: str):
    assert outcome(key, value, declared(key, value, version, durable=False)[1], blocked=False) == becomes


@pytest.mark.parametrize(("key", "value", "version", "becomes"), each(STAYS_A_STREAM, VERSIONS[1:]))
def test_argument_of_a_stream(key: str, value: object, version: str, becomes: str):
    assert outcome(key, value, declared(key, value, version, type="stream")[1], blocked=False) == becomes


@pytest.mark.parametrize(("key", "value", "version", "becomes"), each(SETTINGS))
def test_policy_setting_for_quorum_queues(key: str, value: object, version: str, becomes: str):
    found = definition({key: value}, {}, PROFILES[version])
    assert outcome(key, value, found.settings, found.blocked) == becomes


def test_tables_list_every_argument_and_setting_of_the_rules():
    checked = {key for checks in CHECKS_OF_VERSION.values() for key in checks} | {*CHECKED, *COMPARED, *CHECKS_4_0}
    read = {f"x-{key}" for profile in QUORUM_PROFILES.values() for key, _ in profile.settings}
    assert (checked | read) - READ_BY.keys() == set()
    asked = {kind: {row[0] for row in rows} for kind, rows in
             ((QUORUM, TO_QUORUM), (CLASSIC, STAYS_CLASSIC), (STREAM, STAYS_A_STREAM))}  # fmt: skip
    assert READ_BY.keys() - asked[QUORUM] == {"x-queue-type"}
    for kind, keys in asked.items():
        assert {key for key, types in READ_BY.items() if kind in types} - keys == {"x-queue-type"}
    known = {key for profile in PROFILES.values() for key in profile.policy_settings | profile.operator_policy_settings}
    assert known - {row[0] for row in SETTINGS} == set()
