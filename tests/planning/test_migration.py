"""Moving to quorum queues: verdicts, the arguments that are left, and how many members there are."""

from __future__ import annotations

import pytest
from inventories import ROOT, cluster, policy, queue
from migrations import planned

from hawb.planning.replication import members_for
from hawb.rules.quorum import majority, tolerated_failures
from hawb.views.planning.migration_files import planned as plan_from


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
def test_a_verdict_and_the_arguments_that_are_left(arguments: dict, to: str, verdict: str, kept: dict):
    move = one(arguments, to)
    assert (move.verdict, move.type) == (verdict, "classic" if verdict == "not" else "quorum")
    assert {key: value for key, value in move.arguments.items() if key != "x-queue-type"} == kept
    assert all(reason.source for reason in move.reasons)


@pytest.mark.parametrize("facts", [{"durable": False}, {"exclusive": True}, {"auto_delete": True}])
def test_what_is_temporary_stays_classic(facts: dict):
    assert one(**facts).verdict == "not"


def test_a_negative_delivery_limit_would_end_messages_at_once_before_4_0():
    arguments = {"x-delivery-limit": -1, "x-queue-type": "quorum"}
    assert "x-delivery-limit" not in one(arguments, "3.13", type="quorum").arguments
    assert one(arguments, "4.0", type="quorum").arguments["x-delivery-limit"] == -1


def test_the_default_delivery_limit_is_told_where_none_is_set():
    told = [reason.what for reason in one().reasons if "21st" in reason.what]
    assert told and not [r for r in one({"x-delivery-limit": 5}, type="quorum").reasons if "21st" in r.what]


def test_from_4_3_on_there_are_more_priorities_and_giving_back_does_not_count():
    told = {to: "; ".join(reason.what for reason in one({"x-max-priority": 5}, to).reasons) for to in ("4.0", "4.3")}
    assert "two priorities" in told["4.0"] and "not basic.nack" not in told["4.0"]
    assert "32 priorities" in told["4.3"] and "not basic.nack" in told["4.3"]


def test_the_policys_overflow_counts_in_a_quorum_queue():
    asked = {"x-overflow": "reject-publish"}
    made = cluster(policy(overflow="drop-head", max_length=1), queues=[queue(arguments=asked)])
    assert planned(made).moves[0].verdict == "ready with changes"
    assert planned(made, "3.8").moves[0].verdict == "not"


def test_a_setting_of_a_policy_blocks_like_an_argument():
    assert planned(cluster(policy(message_ttl=9)), "3.8").moves[0].verdict == "not"


@pytest.mark.parametrize(
    ("said", "nodes", "members"),
    [
        ({"ha_mode": "exactly", "ha_params": 2}, 3, None), ({"ha_mode": "all"}, 5, None),
        ({"ha_mode": "exactly", "ha_params": 4}, 5, 5), ({"ha_mode": "exactly", "ha_params": 6}, 6, 5),
        ({"ha_mode": "exactly", "ha_params": 2}, 2, 2),
    ],
)  # fmt: skip
def test_how_many_members_take_the_place_of_mirrors(said: dict, nodes: int, members: int | None):
    made = cluster(policy(**said), nodes=dict.fromkeys("abcdefg"[:nodes], True))
    assert planned(made).moves[0].arguments.get("x-quorum-initial-group-size") == members


def test_the_rule_of_members():
    for failures in range(4):
        members = members_for(failures)
        assert members % 2 and tolerated_failures(members) >= failures and 3 <= members <= 7
        assert majority(members) * 2 > members
    assert [members_for(1, nodes) for nodes in range(1, 6)] == [1, 2, 3, 3, 3]
    assert [members_for(3, nodes) for nodes in range(3, 9)] == [3, 3, 5, 5, 7, 7]


def test_what_no_file_tells_is_said_and_not_taken_for_nothing():
    alone = [ROOT / "data" / "real" / "list_queues.txt"]
    moves = plan_from(alone, "4.0").moves
    said = [one.what for move in moves for one in move.reasons]
    assert sum("no file tells its arguments, whether it lasts, its policy" in what for what in said) == len(moves)
    assert not [what for what in said if "not mirrored today" in what]


def test_what_an_old_client_is_told():
    move = one()
    assert move.redeclare == ("x-queue-type", "'classic'", "'quorum'")
    assert "redeclare" in {clash.code for clash in planned(cluster()).clashes}
