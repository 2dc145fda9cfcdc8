"""Declarations of quorum queues: errors and resulting settings in each release."""

from __future__ import annotations

from math import inf

import pytest

from hawb.rules import quorum_declaration
from hawb.rules.limits import DROP_HEAD, REJECT_PUBLISH
from hawb.rules.locators import CLIENT_LOCAL, MIN_MASTERS
from hawb.rules.profiles import PROFILES
from hawb.rules.quorum import ALL_MEMBERS
from hawb.rules.quorum_declaration import AT_LEAST_ONCE, AT_MOST_ONCE, QuorumSettings

NAMED = "queue 'q' in vhost '/'"
VERSIONS = ("3.8", "3.10", "3.13", "4.0", "4.3")

SINCE_3_10 = "invalid arg '{}' for queue 'q' in vhost '/' of queue type rabbit_quorum_queue"
IN_3_8 = "invalid arg '{}' for queue 'q' in vhost '/'"


def refusal(version: str, arguments: dict | None = None, **properties: bool) -> str | None:
    return quorum_declaration.refusal(arguments or {}, NAMED, PROFILES[version], **properties)


def settings(version: str, definition: dict | None = None, size: int = 3, **arguments: object) -> QuorumSettings:
    named = {f"x-{key.replace('_', '-')}": value for key, value in arguments.items()}
    return quorum_declaration.quorum_settings(definition or {}, named, PROFILES[version], size)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("properties", "named"),
    [
        ({"auto_delete": True}, "auto-delete"),
        ({"exclusive": True}, "exclusive-owner"),
        ({"durable": False}, "non-durable"),
        ({"durable": False, "exclusive": True}, "exclusive-owner"),
        ({"durable": False, "exclusive": True, "auto_delete": True}, "auto-delete"),
    ],
)
def test_quorum_queue_must_be_durable_and_not_exclusive(version: str, properties: dict, named: str):
    assert refusal(version, **properties) == f"invalid property '{named}' for queue 'q' in vhost '/'"


REFUSED = {
    ("x-message-ttl", 1000): (IN_3_8, None, None, None),
    ("x-expires", 1000): (IN_3_8, None, None, None),
    ("x-overflow", "drop-head"): (IN_3_8, None, None, None),
    ("x-overflow", "reject-publish"): (IN_3_8, None, None, None),
    ("x-overflow", "reject-publish-dlx"): (IN_3_8, None, None, None),
    ("x-expires", 0): (f"{IN_3_8}: {{{{value_zero,0}}}}",) * 4,
    ("x-message-ttl", -1): (f"{IN_3_8}: {{{{value_negative,-1}}}}",) * 4,
    ("x-overflow", "drop-tail"): (f"{IN_3_8}: invalid_overflow",) * 4,
    ("x-max-length-bytes", -1): (f"{IN_3_8}: {{{{value_negative,-1}}}}",) * 4,
    ("x-max-in-memory-length", -1): (f"{IN_3_8}: {{{{value_negative,-1}}}}",) * 4,
    ("x-dead-letter-strategy", "at-most-once"): (None,) * 4,
    ("x-queue-leader-locator", "client-local"): (None,) * 4,
    ("x-max-priority", 10): (IN_3_8, SINCE_3_10, SINCE_3_10, SINCE_3_10),
    ("x-queue-mode", "lazy"): (IN_3_8, SINCE_3_10, SINCE_3_10, SINCE_3_10),
    ("x-queue-version", 2): (None, SINCE_3_10, SINCE_3_10, SINCE_3_10),
    ("x-queue-master-locator", "random"): (None, SINCE_3_10, SINCE_3_10, SINCE_3_10),
    ("x-max-age", "7D"): (None, SINCE_3_10, SINCE_3_10, SINCE_3_10),
    ("x-stream-max-segment-size-bytes", 5): (None, SINCE_3_10, SINCE_3_10, SINCE_3_10),
    ("x-initial-cluster-size", 3): (None, SINCE_3_10, SINCE_3_10, SINCE_3_10),
    ("x-quorum-initial-group-size", 0): (f"{IN_3_8}: {{{{value_zero,0}}}}",) * 4,
    ("x-quorum-initial-group-size", -1): (f"{IN_3_8}: {{{{value_negative,-1}}}}",) * 4,
    ("x-quorum-initial-group-size", "hop"): (
        f"{IN_3_8}: {{{{unacceptable_type,longstr}}}}",
        *(f'{IN_3_8}: "expected integer, got longstr"',) * 3,
    ),
    ("x-quorum-initial-group-size", 100): (None,) * 4,
    ("x-quorum-queue-size", 0): (None,) * 4,
    ("x-quorum-cluster-size", "many"): (None,) * 4,
    ("x-delivery-limit", "none"): (None,) * 4,
    ("x-max-length", 5): (None,) * 4,
    ("x-max-in-memory-length", 5): (None,) * 4,
    ("x-max-in-memory-bytes", -1): (f"{IN_3_8}: {{{{value_negative,-1}}}}",) * 4,
    ("x-dead-letter-strategy", "sometimes"): (None, *(f"{IN_3_8}: invalid_dlx_strategy",) * 3),
    ("x-dead-letter-strategy", 1): (None, *(f"{IN_3_8}: {{{{unacceptable_type,signedint}}}}",) * 3),
    ("x-queue-leader-locator", "balanced"): (None,) * 4,
    ("x-queue-leader-locator", "nearest"): (None, *(f"{IN_3_8}: invalid_queue_locator_arg",) * 3),
    ("x-queue-leader-locator", "min-masters"): (None, *(f"{IN_3_8}: invalid_queue_locator_arg",) * 2, None),
    ("x-single-active-consumer", "true"): (f"{IN_3_8}: {{{{unacceptable_type,longstr}}}}",) * 4,
    ("x-dead-letter-routing-key", "k"): (f"{IN_3_8}: routing_key_but_no_dlx_defined",) * 4,
    ("x-dead-letter-exchange", 5): (
        "invalid type 'signedint' for arg 'x-dead-letter-exchange' in queue 'q' in vhost '/'",
    ) * 4,
}  # fmt: skip


@pytest.mark.parametrize(("argument", "texts"), REFUSED.items(), ids=str)
def test_invalid_arguments_are_refused_with_the_text_of_each_release(argument: tuple, texts: tuple):
    key, value = argument
    # 4.3 says what 4.0 says.
    expected = tuple(text and text.format(key) for text in (*texts, texts[-1]))
    assert tuple(refusal(version, {key: value}) for version in VERSIONS) == expected


def test_order_in_which_arguments_and_properties_are_checked():
    """Check values, then unsupported arguments (in 3.8 by its own list, later as sent), then properties."""
    both = {"x-queue-mode": "lazy", "x-max-priority": 5}
    assert "x-max-priority" in refusal("3.8", both)
    assert "x-queue-mode" in refusal("3.10", both)
    assert "x-max-length" in refusal("3.8", {"x-queue-mode": "lazy", "x-max-length": -1}, auto_delete=True)
    assert "x-max-length" in refusal("4.0", {"x-queue-mode": "lazy", "x-max-length": -1}, auto_delete=True)
    assert "x-queue-mode" in refusal("4.0", {"x-queue-mode": "lazy"}, auto_delete=True)
    assert "invalid_queue_mode" in refusal("3.8", {"x-queue-mode": "quick"})
    assert refusal("3.10", {"x-queue-mode": "quick"}) == SINCE_3_10.format("x-queue-mode")


@pytest.mark.parametrize(("version", "without"), [("3.8", ALL_MEMBERS), ("3.10", 5), ("3.13", 5), ("4.0", 5)])
def test_only_quorum_initial_group_size_sets_the_group_size(version: str, without: int):
    assert settings(version, size=5).group_size == without
    assert settings(version, size=5, quorum_initial_group_size=2).group_size == 2
    assert settings(version, size=5, quorum_queue_size=2).group_size == without
    assert settings(version, size=5, quorum_cluster_size=2).group_size == without


@pytest.mark.parametrize("version", VERSIONS)
def test_smaller_limit_of_policy_and_argument_applies(version: str):
    for policy, argument in ((5, 9), (9, 5)):
        given = settings(
            version, {"max-length": policy, "max-length-bytes": policy, "delivery-limit": policy},
            max_length=argument, max_length_bytes=argument, delivery_limit=argument,
        )  # fmt: skip
        assert (given.max_length, given.max_length_bytes, given.delivery_limit) == (5, 5, 5)


def test_in_memory_limits_apply_in_3_8_only():
    given = {"max-in-memory-length": 7, "max-in-memory-bytes": 70}
    kept = [settings(version, given, max_in_memory_length=5, max_in_memory_bytes=80) for version in VERSIONS]
    assert [(one.max_in_memory_length, one.max_in_memory_bytes) for one in kept] == [(5, 70), *[(None, None)] * 4]


def test_3_8_reads_only_max_length_of_a_policy_for_classic_queues():
    given = {"max-length": 5, "overflow": "reject-publish", "message-ttl": 9, "expires": 9, "dead-letter-strategy": "?"}
    old, new = settings("3.8", given), settings("3.10", given)
    assert (old.max_length, old.overflow, old.message_ttl_ms, old.expires_ms) == (5, DROP_HEAD, None, None)
    assert (new.max_length, new.overflow, new.message_ttl_ms, new.expires_ms) == (5, REJECT_PUBLISH, 9, 9)


def test_policy_overrides_overflow_and_before_4_0_expires():
    for version, expires in (("3.10", 900), ("3.13", 900), ("4.0", 100)):
        one = settings(version, {"overflow": "reject-publish", "expires": 900}, overflow="drop-head", expires=100)
        assert (one.overflow, one.expires_ms) == (REJECT_PUBLISH, expires)


def test_reject_publish_dlx_is_accepted_and_acts_as_drop_head():
    assert settings("3.10", overflow="reject-publish-dlx").overflow == DROP_HEAD


@pytest.mark.parametrize(
    ("version", "policy", "argument", "expected"),
    [
        ("3.8", None, None, None),
        ("3.13", None, None, None),
        ("4.0", None, None, 20),
        ("4.0", None, -1, None),
        ("4.0", -1, 5, 5),
        ("4.0", 5, -1, 5),
        ("4.0", -1, -2, None),
        ("4.0", 30, None, 30),
        ("4.0", None, 0, 0),
        ("3.10", None, -1, -1),
        ("3.10", 5, -1, -1),
        ("3.10", None, "never", inf),
        ("4.0", None, "never", inf),
        ("4.0", 7, "never", 7),
        ("3.10", None, True, inf),
        ("3.10", 5, 2.5, 2.5),
    ],
)
def test_delivery_limit_of_policy_and_argument_by_release(
    version: str, policy: int | None, argument: object, expected: float | None
):
    definition = {} if policy is None else {"delivery-limit": policy}
    given = {} if argument is None else {"delivery_limit": argument}
    assert settings(version, definition, **given).delivery_limit == expected


@pytest.mark.parametrize(
    ("version", "given", "expected"),
    [
        ("3.8", {"dead_letter_exchange": "dlx", "dead_letter_strategy": "at-least-once"}, AT_MOST_ONCE),
        ("3.10", {"dead_letter_exchange": "dlx", "dead_letter_strategy": "at-least-once"}, AT_MOST_ONCE),
        ("3.10", {"dead_letter_strategy": "at-least-once", "overflow": "reject-publish"}, AT_MOST_ONCE),
        ("3.10", {"dead_letter_exchange": "dlx", "overflow": "reject-publish"}, AT_MOST_ONCE),
        (
            "3.10",
            {"dead_letter_exchange": "dlx", "dead_letter_strategy": "at-least-once", "overflow": "reject-publish"},
            AT_LEAST_ONCE,
        ),
    ],
)
def test_at_least_once_needs_a_dead_letter_exchange_and_reject_publish(version: str, given: dict, expected: str):
    assert settings(version, **given).dead_letter_strategy == expected


@pytest.mark.parametrize("version", VERSIONS)
def test_dead_letter_argument_overrides_the_policy(version: str):
    policy = {"dead-letter-exchange": "theirs", "dead-letter-routing-key": "their key"}
    one = settings(version, policy, dead_letter_exchange="mine")
    assert (one.dead_letter_exchange, one.dead_letter_routing_key) == ("mine", "their key")
    assert settings(version, {"dead-letter-routing-key": "k"}).dead_letter_routing_key is None


def test_leader_locator_of_policy_and_argument_by_release():
    for name, meant in (("client-local", CLIENT_LOCAL), ("balanced", MIN_MASTERS), ("random", MIN_MASTERS)):
        assert settings("3.10", queue_leader_locator=name).leader_locator == meant
    assert settings("3.8", queue_leader_locator="balanced").leader_locator == CLIENT_LOCAL
    assert settings("3.13").leader_locator == CLIENT_LOCAL
    assert settings("3.13", {"queue-leader-locator": "balanced"}, queue_leader_locator="client-local").leader_locator


def test_ignored_arguments_by_release():
    given = {
        "x-queue-type": "quorum", "x-quorum-queue-size": 5, "x-quorum-initial-group-size": 5, "x-max-length": 1,
        "x-max-in-memory-length": 1, "x-queue-leader-locator": "balanced", "x-single-active-consumer": True, "mine": 1,
    }  # fmt: skip
    old, new = (quorum_declaration.ignored_arguments(given, PROFILES[version]) for version in ("3.8", "3.13"))
    assert old == ["x-quorum-queue-size", "x-queue-leader-locator", "mine"]
    assert new == ["x-quorum-queue-size", "x-max-in-memory-length", "mine"]


def test_redeclaration_with_inequivalent_arguments_is_refused():
    def difference(version: str, given: dict, current: dict) -> tuple | None:
        return quorum_declaration.inequivalent(given, current, PROFILES[version])

    quorum = {"x-queue-type": "quorum"}
    for version in VERSIONS:
        assert difference(version, quorum, quorum | {"x-quorum-queue-size": 3}) is None
        said = version in ("4.0", "4.3")
        without = ("'classic'", "'quorum'") if said else ("none", "the value 'quorum' of type 'longstr'")
        assert difference(version, {}, quorum) == ("x-queue-type", *without)
        assert difference(version, {"x-queue-type": "classic"}, quorum) == ("x-queue-type", "'classic'", "'quorum'")
        sizes = [quorum | {"x-quorum-initial-group-size": size} for size in (3, 5)]
        assert difference(version, *sizes) == ("x-quorum-initial-group-size", "'3'", "'5'")
    limits = [quorum | {"x-delivery-limit": limit} for limit in (3, 5)]
    assert [difference(version, *limits) for version in VERSIONS] == [None, *[("x-delivery-limit", "'3'", "'5'")] * 4]


COMPARED_3_8 = """expires message-ttl dead-letter-exchange dead-letter-routing-key max-length max-length-bytes
    max-in-memory-length max-in-memory-bytes max-priority overflow queue-mode single-active-consumer queue-type
    quorum-initial-group-size"""
COMPARED_3_10 = """dead-letter-exchange dead-letter-routing-key dead-letter-strategy expires max-length max-length-bytes
    max-in-memory-length max-in-memory-bytes overflow single-active-consumer queue-type quorum-initial-group-size
    delivery-limit message-ttl queue-leader-locator"""
COMPARED_4_3 = f"""{COMPARED_3_10} consumer-disconnected-timeout consumer-timeout delayed-retry-type delayed-retry-min
    delayed-retry-max"""


@pytest.mark.parametrize(
    ("version", "keys"),
    [("3.8", COMPARED_3_8), ("3.10", COMPARED_3_10), ("3.13", COMPARED_3_10), ("4.0", COMPARED_3_10),
     ("4.3", COMPARED_4_3)],
)
def test_order_in_which_redeclared_arguments_are_compared(version: str, keys: str):
    current, found = {f"x-{key}": key for key in sorted(keys.split())} | {"x-mine": 1}, []
    given = dict.fromkeys(current, "other")
    while difference := quorum_declaration.inequivalent(given, current, PROFILES[version]):
        found.append(difference[0].removeprefix("x-"))
        given[difference[0]] = current[difference[0]]
    assert found == keys.split()


def test_error_text_when_the_group_cannot_be_formed():
    old, new = (quorum_declaration.not_formed(NAMED, "a", "b", PROFILES[version]) for version in ("3.8", "3.10"))
    assert old == "Cannot declare a queue 'queue 'q' in vhost '/'' on node 'a': cluster_not_formed"
    assert new == "Cannot declare quorum queue 'q' in vhost '/' on node 'a' with leader on node 'b': cluster_not_formed"
