"""Unknown names in steps, and the known names that may have been meant."""

from __future__ import annotations

import json

import pytest

from hawb.planning.advised import Advice
from hawb.scenario.load import ScenarioRefused, load
from hawb.scenario.outcome import outcome
from hawb.scenario.refused import nearest
from hawb.scenario.run import Run
from hawb.scenario.unknown_names import unknown_names
from hawb.views.verdicts.run import todo, verdict

TO_ORDER = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "ha.order"}
ORDERS = {"declare": {"queue": "ha.orders", "node": "a"}}
BOUND = {"bind": {"queue": "ha.orders", "exchange": "dlx", "routing_key": "x"}}


def policy(pattern: str, definition: dict | None = None, **more: object) -> dict:
    given = definition or {"ha-mode": "all"}
    return {"set_policy": {"name": "ha-all", "pattern": pattern, "definition": given, **more}}


def found(*steps: dict, **more: object) -> list[tuple[str, str, int | None, tuple[str, ...]]]:
    scenario = load(json.dumps({"scenario": "t", "cluster": {"nodes": ["a", "b", "c"]}, "steps": steps, **more}))
    names = unknown_names(scenario, outcome(Run.of(scenario)))
    return [(one.kind, one.name, one.step, one.near) for one in names]


@pytest.mark.parametrize(
    ("step", "kind", "name", "near"),
    [
        ({"publish": {"queue": "ha.order", "count": 3}}, "queue", "ha.order", "ha.orders"),
        ({"publish": {"queues": ["ha.orders", "HA.Orders"], "count": 3}}, "queue", "HA.Orders", "ha.orders"),
        ({"publisher": {"name": "p", "queue": "ha-orders", "rate": 5}}, "queue", "ha-orders", "ha.orders"),
        ({"consume": {"consumer": "c", "queue": "ha.oders"}}, "queue", "ha.oders", "ha.orders"),
        ({"get": {"queue": "haorders", "count": 1}}, "queue", "haorders", "ha.orders"),
        ({"purge": "ha.orderss"}, "queue", "ha.orderss", "ha.orders"),
        ({"delete": {"queue": "orders"}}, "queue", "orders", "ha.orders"),
        ({"declare": {"queue": "ha.order", "passive": True}}, "queue", "ha.order", "ha.orders"),
        ({"sync_queue": "ha.ordres"}, "queue", "ha.ordres", "ha.orders"),
        ({"publish": {"queue": "shop::ha.orders", "count": 1}}, "queue", "shop::ha.orders", "ha.orders"),
        (policy(r"^ha\.ordres$"), "policy", "ha-all", "ha.orders"),
        (policy("^ha-"), "policy", "ha-all", "ha.orders"),
        (policy("^HA"), "policy", "ha-all", "ha.orders"),
        (policy("^orders"), "policy", "ha-all", "ha.orders"),
        (policy("^ha", vhost="shop"), "policy", "shop::ha-all", "ha.orders"),
        (policy("^ha", {"ha-mode": "nodes", "ha-params": ["aa"]}), "node", "aa", "a"),
        ({"ack": {"consumer": "redaer"}}, "client", "redaer", "reader"),
        ({"close": "readers"}, "client", "readers", "reader"),
        ({"clear_policy": "haall"}, "policy", "haall", "ha-all"),
        ({"declare": {"queue": "q", "arguments": {"x-dead-letter-exchange": "dlxx"}}}, "exchange", "dlxx", "dlx"),
        ({"declare": {"queue": "q", "arguments": TO_ORDER}}, "queue", "ha.order", "ha.orders"),
    ],
)  # fmt: skip
def test_misspelt_name_suggests_the_nearest_one(step: dict, kind: str, name: str, near: str):
    before = [ORDERS, BOUND, {"consume": {"consumer": "reader", "queue": "ha.orders"}}]
    before += [policy("^ha")] if "clear_policy" in step else []
    assert found(*before, step) == [(kind, name, len(before), (near,))]


@pytest.mark.parametrize(
    "steps",
    [
        [ORDERS, {"publish": {"queue": "ha.orders", "count": 1}}],
        [{"publish": {"queue": "ha.orders", "count": 1}}, ORDERS],
        [ORDERS, {"delete": {"queue": "ha.orders"}}, {"publish": {"queue": "/::ha.orders", "count": 1}}],
        [ORDERS, {"publish": {"queue": "bills", "count": 1}}],
        [ORDERS, policy(r"^ha\.")], [ORDERS, policy(r"^(mirrored|lasting)\.")], [ORDERS, policy("^haa(")],
        [ORDERS, policy("^hx", apply_to="exchanges")], [policy("^ha")],
        [ORDERS, BOUND, {"declare": {"queue": "q", "arguments": {"x-dead-letter-exchange": "amq.direct"}}}],
        [ORDERS, {"close": "default"}],
    ],
)  # fmt: skip
def test_known_names_and_names_without_a_near_one_are_not_reported(steps: list[dict]):
    assert found(*steps) == []


def test_refused_policy_is_not_reported_as_matching_nothing():
    of_streams = policy("^ha-orders", {"max-length": 5}, apply_to="streams")
    assert found(ORDERS, of_streams, cluster={"nodes": ["a"], "version": "3.10"}) == []


def test_initial_queues_and_policies_are_checked_too():
    standing = {"queues": [{"queue": "ha.orders", "arguments": {"x-dead-letter-exchange": "dlxx"}}],
                "policies": [{"name": "p", "pattern": "^ha_orders", "definition": {"ha-mode": "all"}}]}  # fmt: skip
    assert found(BOUND, **standing) == [
        ("exchange", "dlxx", None, ("dlx",)), ("policy", "p", None, ("ha.orders",)),
    ]  # fmt: skip


def test_two_equally_near_names_are_suggested_and_more_are_not():
    assert nearest("rabbit@c", ["rabbit@a", "rabbit@b"]) == ("rabbit@a", "rabbit@b")
    assert nearest("rabbit@d", ["rabbit@a", "rabbit@b", "rabbit@c"]) == ()
    with pytest.raises(ScenarioRefused, match="not a node") as refused:
        load('scenario: t\ncluster: {nodes: ["rabbit@one", "rabbit@two"]}\nsteps: [kill: "rabbit@won"]')
    assert "did you mean rabbit@two" in str(refused.value) or "did you mean rabbit@one" in str(refused.value)


def test_misspelt_name_prevents_a_yes_and_is_the_first_remedy():
    scenario = load(json.dumps({
        "scenario": "t", "cluster": {"nodes": ["a"]},
        "steps": [policy("^hq.orders"), ORDERS, {"publish": {"queue": "ha.order", "count": 3}}],
    }))  # fmt: skip
    result = outcome(Run.of(scenario))
    unknown = unknown_names(scenario, result)
    assert verdict(result, unknown).sentence == (
        "No: no queue took 3 messages for ha.order, though all of them were confirmed; policy ha-all matches no queue."
    )
    assert [one.what for one in todo(result, Advice(unknown))] == [
        "Step 3: there is no queue ha.order: did you mean ha.orders?",
        "Step 1: policy ha-all matches no queue, its pattern is ^hq.orders: did you mean ha.orders?",
    ]
