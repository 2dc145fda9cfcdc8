"""Moving to quorum queues: verdicts, remaining arguments and the number of members."""

from __future__ import annotations

import pytest
from inventories import ROOT, cluster, policy, queue
from migrations import MATRIX, planned

from hawb.exports.routing import Binding, Exchange, Routing
from hawb.planning.assignments import assign
from hawb.planning.migrated_definitions import definitions
from hawb.planning.migration import migrate
from hawb.planning.queue_checks import before_quorum
from hawb.planning.replication import members_for
from hawb.rules.quorum import majority, tolerated_failures
from hawb.views.planning.migration_files import planned as plan_from


def one_named(name: str):
    return planned(cluster(queues=[queue(name)])).moves[0]


def one(arguments: dict | None = None, to: str = "4.0", **facts: object):
    return planned(cluster(queues=[queue(arguments=arguments or {}, **facts)]), to).moves[0]


@pytest.mark.parametrize(
    ("arguments", "to", "verdict", "kept"),
    [
        ({}, "3.8", "ready", {}),
        ({"x-message-ttl": 9}, "3.8", "not", {"x-message-ttl": 9}),
        ({"x-message-ttl": 9}, "3.10", "ready", {"x-message-ttl": 9}),
        ({"x-expires": 9}, "3.8", "not", {"x-expires": 9}),
        ({"x-queue-mode": "lazy"}, "3.8", "ready with changes", {"x-max-in-memory-length": 0}),
        ({"x-queue-mode": "lazy"}, "3.13", "ready with changes", {}),
        ({"x-queue-mode": "default"}, "3.8", "ready with changes", {}),
        ({"x-max-priority": 5}, "3.13", "not", {"x-max-priority": 5}),
        ({"x-max-priority": 5}, "4.0", "ready with changes", {}),
        ({"x-overflow": "reject-publish"}, "3.8", "not", {"x-overflow": "reject-publish"}),
        ({"x-overflow": "reject-publish"}, "3.10", "ready", {"x-overflow": "reject-publish"}),
        ({"x-overflow": "drop-head"}, "3.8", "ready with changes", {}),
        ({"x-overflow": "reject-publish-dlx"}, "3.10", "ready with changes", {"x-overflow": "reject-publish"}),
        ({"x-queue-master-locator": "min-masters"}, "3.8", "ready with changes", {}),
        ({"x-queue-master-locator": "random"}, "3.10", "ready with changes", {"x-queue-leader-locator": "balanced"}),
        ({"x-queue-master-locator": "client-local"}, "4.0", "ready with changes", {}),
        ({"x-ha-policy": "all"}, "4.0", "ready with changes", {}),
        ({"x-max-length": 5, "x-single-active-consumer": True}, "3.8", "ready",
         {"x-max-length": 5, "x-single-active-consumer": True}),
        ({"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}, "4.0", "ready",
         {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}),
        ({"x-max-length": -5}, "4.0", "ready with changes", {}),
    ],
)  # fmt: skip
def test_verdict_and_remaining_arguments(arguments: dict, to: str, verdict: str, kept: dict):
    move = one(arguments, to)
    assert (move.verdict, move.type) == (verdict, "classic" if verdict == "not" else "quorum")
    assert {key: value for key, value in move.arguments.items() if key != "x-queue-type"} == kept
    assert all(reason.source for reason in move.reasons)


TEMPORARY = [{"durable": False}, {"exclusive": True}, {"auto_delete": True}]


@pytest.mark.parametrize("facts", TEMPORARY)
@pytest.mark.parametrize("to", ["3.13", "4.0"])
def test_temporary_queue_stays_classic(facts: dict, to: str):
    move = one(to=to, **facts)
    assert (move.verdict, move.type) == ("stays", "classic")
    assert move.reasons[0].what.startswith("stays a classic queue; nothing to do, as it ")


@pytest.mark.parametrize("facts", [TEMPORARY[0], TEMPORARY[2]])
def test_temporary_mirrored_queue_cannot_be_moved_and_loses_its_mirrors(facts: dict):
    plan = planned(cluster(policy(ha_mode="all"), queues=[queue(**facts)]))
    assert plan.moves[0].verdict == "not"
    assert "one-replica" in {clash.code for clash in plan.clashes}


def test_an_exclusive_queue_has_no_mirrors_to_lose():
    plan = planned(cluster(policy(ha_mode="all"), queues=[queue(exclusive=True)]))
    assert (plan.moves[0].verdict, [*plan.clashes]) == ("stays", [])


def test_stream_stays_a_stream_except_in_3_8():
    kept = {"x-queue-type": "stream", "x-max-age": "1D"}
    for to in ("3.10", "3.13", "4.0", "4.3"):
        move = one(kept, to, type="stream")
        assert (move.verdict, move.type, move.arguments) == ("stays", "stream", kept)
        assert [reason.what for reason in move.reasons] == ["stays a stream; nothing to do"]
    move = one(kept, "3.8", type="stream")
    assert (move.verdict, move.type) == ("not", "stream")


OWNED = [
    ("federation: orders -> rabbit@far", {"x-internal-purpose": "federation", "x-expires": 9}, "federation link"),
    ("federation: orders -> rabbit@far:other", {}, "federation link"),
    ("anything", {"x-internal-purpose": "federation"}, "federation link"),
    ("mqtt-subscription-lamp-1qos0", {}, "MQTT plugin"),
    ("mqtt-subscription-lamp-1qos1", {"x-expires": 86_400_000}, "MQTT plugin"),
    ("sharding: images - rabbit@a - 0", {}, "sharding plugin"),
    ("amq.rabbitmq.reply-to.g1h2.x", {}, "client that waits for replies"),
]


@pytest.mark.parametrize(("name", "arguments", "owner"), OWNED)
def test_queue_declared_by_a_plugin_is_not_moved(name: str, arguments: dict, owner: str):
    plan = planned(cluster(queues=[queue(name, arguments=arguments), queue("mine")]))
    theirs, mine = plan.moves
    assert (theirs.verdict, mine.verdict) == ("stays", "ready")
    assert owner in theirs.reasons[0].what and theirs.reasons[0].source
    assert [entry["name"] for entry in definitions(plan)["queues"]] == ["mine"], "nor imported"
    lint_says = before_quorum(assign(cluster(queues=[queue(name, arguments=arguments)])).assignments[0], plan.source)
    assert not any(lint_says.values())


@pytest.mark.parametrize("name", ["federation", "mqtt-subscription-lamp", "my.mqtt-subscription-xqos1", "sharding"])
def test_similar_name_counts_as_an_applications_queue(name: str):
    assert planned(cluster(queues=[queue(name)])).moves[0].verdict == "ready"


def test_mirrored_federation_queue_is_reported_to_lose_its_mirrors():
    plan = planned(cluster(policy(pattern="", ha_mode="all"), queues=[queue("federation: x -> y")]))
    assert "in 4.0.5 it has no mirrors" in plan.moves[0].reasons[0].what
    assert [clash.code for clash in plan.clashes] == ["one-replica"]


def test_queue_of_another_type_belongs_to_a_plugin():
    plan = planned(cluster(queues=[queue("x", type="rabbit_mqtt_qos0_queue")]))
    assert plan.moves[0].verdict == "stays" and definitions(plan)["queues"] == []


def test_server_named_queue_stays_classic():
    assert one_named("amq.gen-JzTY20BRgKO").verdict == "stays"
    mirrored = planned(cluster(policy(pattern="", ha_mode="all"), queues=[queue("amq.gen-JzTY20BRgKO")])).moves[0]
    why = "RabbitMQ generated its name, and RabbitMQ does not generate names for quorum queues"
    assert (mirrored.verdict, mirrored.reasons[0].what) == ("not", why)


def test_bindings_to_queues_that_are_not_imported_are_dropped():
    inner, outer = "federation: x -> far A", Exchange("x", "/", "topic")
    ways = [Binding("x", inner, "/", "exchange"), Binding(inner, "federation: x -> far", "/"), Binding("x", "q", "/"),
            Binding("x", "mine", "/")]  # fmt: skip
    routing = Routing(["/"], [outer, Exchange(inner, "/", "x-federation-upstream", internal=True)], ways)
    queues = [queue("federation: x -> far"), queue("q"), queue("mine", exclusive=True)]
    made = definitions(migrate(cluster(queues=queues), "4.0", MATRIX, routing))
    assert [one["name"] for one in made["exchanges"]] == ["x"]
    assert [(one["source"], one["destination"]) for one in made["bindings"]] == [("x", "q")]


def test_negative_delivery_limit_is_dropped_before_4_0():
    arguments = {"x-delivery-limit": -1, "x-queue-type": "quorum"}
    assert "x-delivery-limit" not in one(arguments, "3.13", type="quorum").arguments
    assert one(arguments, "4.0", type="quorum").arguments["x-delivery-limit"] == -1


def test_default_delivery_limit_is_noted_if_none_is_set():
    found = [reason.what for reason in one().reasons if "21st" in reason.what]
    assert found and not [r for r in one({"x-delivery-limit": 5}, type="quorum").reasons if "21st" in r.what]


def test_4_3_has_more_priorities_and_does_not_count_requeues():
    found = {to: "; ".join(reason.what for reason in one({"x-max-priority": 5}, to).reasons) for to in ("4.0", "4.3")}
    assert "two priorities" in found["4.0"] and "not basic.nack" not in found["4.0"]
    assert "32 priorities" in found["4.3"] and "not basic.nack" in found["4.3"]


def test_overflow_of_the_policy_applies_to_a_quorum_queue():
    asked = {"x-overflow": "reject-publish"}
    made = cluster(policy(overflow="drop-head", max_length=1), queues=[queue(arguments=asked)])
    assert planned(made).moves[0].verdict == "ready with changes"
    assert planned(made, "3.8").moves[0].verdict == "not"


def test_policy_setting_blocks_the_move_like_an_argument():
    assert planned(cluster(policy(message_ttl=9)), "3.8").moves[0].verdict == "not"


@pytest.mark.parametrize(
    ("said", "nodes", "members"),
    [
        ({"ha_mode": "exactly", "ha_params": 2}, 3, None), ({"ha_mode": "all"}, 5, None),
        ({"ha_mode": "exactly", "ha_params": 4}, 5, 5), ({"ha_mode": "exactly", "ha_params": 6}, 6, 5),
        ({"ha_mode": "exactly", "ha_params": 2}, 2, 2),
    ],
)  # fmt: skip
def test_number_of_members_that_replace_mirrors(said: dict, nodes: int, members: int | None):
    made = cluster(policy(**said), nodes=dict.fromkeys("abcdefg"[:nodes], True))
    assert planned(made).moves[0].arguments.get("x-quorum-initial-group-size") == members


def test_members_for_failures_is_odd_and_sufficient():
    for failures in range(4):
        members = members_for(failures)
        assert members % 2 and tolerated_failures(members) >= failures and 3 <= members <= 7
        assert majority(members) * 2 > members
    assert [members_for(1, nodes) for nodes in range(1, 6)] == [1, 2, 3, 3, 3]
    assert [members_for(3, nodes) for nodes in range(3, 9)] == [3, 3, 5, 5, 7, 7]


def test_missing_facts_are_reported():
    alone = [ROOT / "data" / "real" / "list_queues.txt"]
    moves = plan_from(alone, "4.0").moves
    said = [one.what for move in moves for one in move.reasons]
    assert sum("no file contains its arguments, durability, policy" in what for what in said) == len(moves)
    assert not [what for what in said if "not mirrored today" in what]
