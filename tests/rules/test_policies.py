"""The policy that applies to a queue, and the definition that results."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hawb.rules.policies import (
    HaMode,
    Mirroring,
    Policy,
    Promote,
    SyncMode,
    effective_definition,
    matching,
    mirroring,
    ties,
)
from hawb.rules.profiles import PROFILES

V3_8, V3_10, V3_13, *_ = PROFILES.values()
ALL = {"ha-mode": "all"}
DEFAULTS = Mirroring(HaMode.ALL, None, (), SyncMode.MANUAL, None, Promote.WHEN_SYNCED, Promote.ALWAYS)


def names(policies, queue="ha.q", queue_type="classic", profile=V3_10, vhost="/", declaring=False):
    found = matching(policies, vhost, queue, queue_type, profile, declaring=declaring)
    return [policy.name for policy in found]


def test_policies_compare_by_value_and_copy_their_definition():
    definition = {"ha-params": ["b", "a"], "ha-mode": "nodes"}
    policy = Policy.of("p", "^ha", definition)
    assert policy == Policy.of("p", "^ha", dict(reversed(definition.items())))
    assert hash(policy) == hash(Policy.of("p", "^ha", definition))
    assert policy.definition == definition
    policy.definition["ha-params"].append("c")
    assert policy.definition == definition


def test_highest_priority_wins_and_policies_are_not_merged():
    low = Policy.of("low", "ha", {"ha-mode": "all", "max-length": 5})
    high = Policy.of("high", "^ha\\.", {"message-ttl": 1}, priority=10)
    assert names([low, high]) == ["high", "low"]
    assert names([low, high], queue="other") == []


def test_equal_priorities_are_ordered_by_name_and_reported_as_ties():
    policies = [Policy.of(name, ".", ALL, priority) for name, priority in [("b", 1), ("a", 1), ("c", 0)]]
    winners = matching(policies, "/", "q", "classic", V3_10, declaring=False)
    assert [policy.name for policy in winners] == ["a", "b", "c"]
    assert [policy.name for policy in ties(winners)] == ["a", "b"]
    assert ties(winners[1:]) == []
    assert ties([]) == []


def test_policy_applies_in_its_virtual_host_only():
    assert names([Policy.of("p", ".", ALL, vhost="shop")]) == []
    assert names([Policy.of("p", ".", ALL, vhost="shop")], vhost="shop") == ["p"]


@pytest.mark.parametrize(
    ("apply_to", "types"),
    [
        ("queues", ["classic", "quorum", "stream"]),
        ("all", ["classic", "quorum", "stream"]),
        ("classic_queues", ["classic"]),
        ("quorum_queues", ["quorum"]),
        ("streams", ["stream"]),
        ("exchanges", []),
    ],
)
def test_apply_to_selects_queue_types(apply_to, types):
    policies = [Policy.of("p", ".", {"max-length-bytes": 5}, apply_to=apply_to)]
    kinds = ("classic", "quorum", "stream")
    assert [kind for kind in kinds if names(policies, queue_type=kind, profile=V3_13)] == types


@pytest.mark.parametrize(
    ("definition", "queue_type", "applies"),
    [
        (ALL, "classic", ["3.8", "3.10", "3.13"]),
        (ALL, "quorum", []),
        ({"ha-mode": "all", "max-length": 5}, "quorum", []),
        ({"max-length": 5}, "quorum", ["3.8", "3.10", "3.13", "4.0", "4.3"]),
        ({"message-ttl": 5}, "quorum", ["3.10", "3.13", "4.0", "4.3"]),
        ({"overflow": "reject-publish"}, "quorum", ["3.10", "3.13", "4.0", "4.3"]),
        ({"expires": 5}, "quorum", ["3.10", "3.13", "4.0", "4.3"]),
        ({"queue-mode": "lazy"}, "quorum", []),
        ({"delivery-limit": 5}, "classic", ["3.8"]),
        ({"max-in-memory-length": 5}, "classic", ["3.8", "3.10"]),
        ({"queue-leader-locator": "balanced"}, "classic", ["4.0", "4.3"]),
        ({"ha-sync-batch-size": 5}, "quorum", ["3.10", "3.13"]),
        ({"delayed-retry-type": "all", "delayed-retry-min": 5}, "quorum", ["4.3"]),
    ],
)
def test_policy_with_an_unsupported_setting_does_not_apply(definition, queue_type, applies):
    policy = Policy.of("p", ".", definition, priority=5)
    other = Policy.of("other", ".", {"max-length-bytes": 5})
    for version, profile in PROFILES.items():
        if definition.keys() <= profile.policy_settings:
            expected = ["p", "other"] if version in applies else ["other"]
            assert names([policy, other], queue_type=queue_type, profile=profile) == expected


def test_3_8_ignores_the_queue_type_while_declaring():
    policies = [Policy.of("ha", ".", ALL)]
    assert names(policies, queue_type="quorum", profile=V3_8, declaring=True) == ["ha"]
    assert names(policies, queue_type="quorum", profile=V3_8) == []
    assert names(policies, queue_type="quorum", profile=V3_10, declaring=True) == []


@pytest.mark.parametrize(
    ("definition", "operators", "merged"),
    [
        ({"max-length": 5, "expires": 7}, {"max-length": 9, "expires": 3}, {"max-length": 5, "expires": 3}),
        ({"delivery-limit": 5}, {"delivery-limit": 3}, {"delivery-limit": 3}),
        ({"delivery-limit": -1}, {"delivery-limit": 3}, {"delivery-limit": 3}),
        ({"target-group-size": 5}, {"target-group-size": 3}, {"target-group-size": 5}),
        ({"overflow": "drop-head"}, {"overflow": "reject-publish"}, {"overflow": "reject-publish"}),
        ({"message-ttl": 5}, {"max-length": 9}, {"message-ttl": 5, "max-length": 9}),
        ({"ha-mode": "nodes", "ha-params": ["a"]}, ALL, {"ha-mode": "all", "ha-params": ["a"]}),
        (
            {"ha-mode": "nodes", "ha-params": ["a", "b", "c"]},
            {"ha-mode": "exactly", "ha-params": 2},
            {"ha-mode": "exactly", "ha-params": 2},
        ),
        (ALL, {"ha-mode": "exactly", "ha-params": 2}, {"ha-mode": "all", "ha-params": 2}),
        ({"ha-params": 3}, {"ha-params": 2}, {"ha-params": 3}),
        ({"ha-params": ["a", "b"]}, {"ha-params": ["c"]}, {"ha-params": ["a", "b"]}),
        ({"ha-params": ["a"]}, {"ha-params": ["c"]}, {"ha-params": ["c"]}),
        ({"ha-sync-mode": "automatic"}, {"ha-sync-mode": "manual"}, {"ha-sync-mode": "manual"}),
    ],
)
def test_operator_policy_is_merged_key_by_key(definition, operators, merged):
    policy, operator_policy = Policy.of("p", ".", definition), Policy.of("o", ".", operators)
    assert effective_definition(policy, operator_policy) == merged
    assert effective_definition(policy, None) == definition
    assert effective_definition(None, operator_policy) == operators
    assert effective_definition(None, None) == {}


limits = st.dictionaries(st.sampled_from(["max-length", "message-ttl", "expires"]), st.integers(0, 99))


@given(limits, limits)
def test_operator_policy_only_tightens_limits(definition, operators):
    merged = effective_definition(Policy.of("p", ".", definition), Policy.of("o", ".", operators))
    assert merged.keys() == definition.keys() | operators.keys()
    assert all(merged[key] <= given[key] for given in (definition, operators) for key in given)


@pytest.mark.parametrize(
    ("definition", "asked"),
    [
        ({"max-length": 5}, None),
        (ALL, DEFAULTS),
        ({"ha-mode": "all", "ha-params": 3}, DEFAULTS),
        ({"ha-mode": "exactly", "ha-params": 2}, replace(DEFAULTS, mode=HaMode.EXACTLY, count=2)),
        ({"ha-mode": "nodes", "ha-params": ["b", "a"]}, replace(DEFAULTS, mode=HaMode.NODES, nodes=("b", "a"))),
        ({"ha-mode": "all", "ha-sync-batch-size": 1}, DEFAULTS),
        (
            {
                "ha-mode": "all",
                "ha-sync-mode": "automatic",
                "ha-sync-batch-size": 2,
                "ha-promote-on-shutdown": "always",
                "ha-promote-on-failure": "when-synced",
            },
            Mirroring(
                HaMode.ALL,
                count=None,
                nodes=(),
                sync_mode=SyncMode.AUTOMATIC,
                sync_batch_size=2,
                promote_on_shutdown=Promote.ALWAYS,
                promote_on_failure=Promote.WHEN_SYNCED,
            ),
        ),
    ],
)
def test_mirroring_settings_of_a_definition(definition, asked):
    assert mirroring(definition) == asked


def test_default_promotion_is_when_synced_on_shutdown_and_always_on_failure():
    asked = mirroring(ALL)
    assert (asked.promote_on_shutdown, asked.promote_on_failure) == (Promote.WHEN_SYNCED, Promote.ALWAYS)


def test_quorum_cluster_size_by_release():
    assert [profile.quorum_cluster_size for profile in PROFILES.values()] == [None, 3, 3, 3, 3]
    assert [profile.release for profile in PROFILES.values()] == ["3.8.9", "3.10.8", "3.13.7", "4.0.5", "4.3.6"]
