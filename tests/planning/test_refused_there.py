"""Queues, arguments and policies that a later release refuses."""

from __future__ import annotations

import pytest
from inventories import cluster, policy, queue

from hawb.planning.refused_there import refused_arguments, refused_there
from hawb.rules.profiles import PROFILES


def refused(*policies, queues=(), to: str = "4.3", **more) -> dict[str, tuple[str, ...]]:
    found = refused_there(cluster(*policies, queues=list(queues), **more), PROFILES[to])
    assert all(one.do and one.source for one in found)
    return {one.code: one.names for one in found}


def test_transient_queues_prevent_booting_of_4_3_before_4_3_6():
    some = [queue("lasts"), queue("goes", durable=False), queue("mine", durable=False, exclusive=True)]
    assert refused(queues=some) == {"transient-queues": ("goes",)}
    assert refused(queues=some, to="4.0") == {}


@pytest.mark.parametrize(
    ("arguments", "kind", "to", "keys"),
    [
        ({"x-queue-version": 1}, "classic", "4.3", ["x-queue-version"]),
        ({"x-queue-version": 1}, "classic", "4.0", []),
        ({"x-queue-version": 2, "x-queue-mode": "lazy"}, "classic", "4.3", []),
        ({"x-queue-master-locator": "random"}, "classic", "4.3", ["x-queue-master-locator"]),
        ({"x-queue-master-locator": "random"}, "classic", "4.0", []),
        ({"x-consumer-timeout": 5}, "classic", "4.3", ["x-consumer-timeout"]),
        ({"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "k"}, "classic", "4.3", []),
        ({"x-queue-type": "quorum", "x-delivery-limit": 5}, "quorum", "4.3", []),
        ({"x-queue-type": "quorum", "x-max-priority": 5}, "quorum", "3.13", ["x-max-priority"]),
        ({"x-max-age": "1D"}, "stream", "4.3", []),
    ],
)
def test_refused_arguments_are_listed_one_by_one(arguments: dict, kind: str, to: str, keys: list[str]):
    assert refused_arguments(queue(arguments=arguments, type=kind), PROFILES[to]) == keys


def test_mirroring_policies_and_unsupported_settings_are_listed():
    some = (policy("ha", ha_mode="all"), policy("old", queue_master_locator="random"), policy("fine", max_length=5))
    found = refused_there(cluster(*some, queues=[]), PROFILES["4.3"])
    assert [(one.code, one.names) for one in found] == [("policies", ("ha",)), ("policies", ("old",))]
    operators = refused_there(cluster(queues=[], operator_policies=[policy("op", ha_mode="all")]), PROFILES["4.0"])
    assert [(one.code, one.names) for one in operators] == [("operator policies", ("op",))]
    assert refused_there(cluster(*some, queues=[]), PROFILES["3.13"]) == []


def test_advice_names_the_argument_or_setting():
    some = cluster(policy("old", queue_master_locator="random", max_length=5), policy("odd", "(", max_length=5),
                   queues=[queue(arguments={"x-queue-version": 1})])  # fmt: skip
    assert [one.do for one in refused_there(some, PROFILES["4.3"])] == [
        "leave x-queue-version out, or give it a value that 4.3.6 accepts",
        "set them without queue-master-locator, or with a value that 4.3.6 accepts",
    ]
    odd = cluster(policy("odd", "(", max_length=5), queues=[])
    assert [one.do for one in refused_there(odd, PROFILES["4.3"])] == [
        "give them a pattern and settings that 4.3.6 accepts"
    ]


def test_values_are_not_shown():
    made = cluster(policy("p", queue_master_locator="SECRET"), queues=[queue(arguments={"x-queue-version": "SECRET"})])
    assert "SECRET" not in repr(refused_there(made, PROFILES["4.3"]))
