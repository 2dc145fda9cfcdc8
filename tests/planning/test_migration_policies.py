"""Moving to quorum queues: split policies, overridden policies and the resulting settings."""

from __future__ import annotations

import pytest
from inventories import HA, cluster, policy, queue
from migrations import BOTH, VERSIONS, planned

from hawb.planning.assignments import assign
from hawb.planning.migration import Migration
from hawb.planning.policy_split import NOTHING
from hawb.views.planning.migration import policy_rows


def parts(plan: Migration) -> dict[str, tuple]:
    found = [part.policy for split in plan.splits for part in split.parts]
    return {one.name: (one.apply_to, one.priority, one.definition) for one in found}


def test_mirroring_keys_are_removed_and_others_stay():
    plan = planned(cluster(policy(ha_mode="all", max_length=5)))
    assert parts(plan) == {"p": ("queues", 0, {"max-length": 5})}


@pytest.mark.parametrize("to", VERSIONS)
def test_policy_for_both_types_is_split(to: str):
    plan = planned(cluster(policy(ha_mode="all", max_length=5), queues=BOTH), to)
    if to in ("4.0", "4.3"):
        assert parts(plan) == {"p": ("queues", 0, {"max-length": 5})}
        return
    assert set(parts(plan)) == {"p", "p-quorum"}
    assert parts(plan)["p"][2]["ha-mode"] == "all"
    above = parts(plan)["p"][1] - parts(plan)["p-quorum"][1]
    assert above == (to == "3.8"), "3.8's classic queues would take either"
    assert parts(plan)["p-quorum"][2]["max-length"] == 5
    found = [(clash.code, clash.name) for clash in plan.clashes if clash.code in ("policy-for-both", "other-settings")]
    assert found == [("policy-for-both", "p"), ("other-settings", "q.is")], "q.is had no policy, and has one now"


def test_policy_still_overrides_another_after_the_move():
    quiet, ttl = policy("quiet", priority=1, ha_mode="all"), policy("ttl", message_ttl=9)
    plan = planned(cluster(quiet, ttl))
    assert parts(plan)["quiet"] == ("queues", 1, NOTHING)
    assert "keeps-silence" in {clash.code for clash in plan.clashes}
    assert "other-settings" not in {clash.code for clash in plan.clashes}


def test_policy_that_would_apply_to_other_queues_is_reported():
    quorum_only = policy("limit", priority=5, delivery_limit=3)
    plan = planned(cluster(policy(ha_mode="all"), quorum_only, queues=[queue("q"), queue("q2", type="quorum")]))
    assert {clash.name for clash in plan.clashes if clash.code == "other-settings"} == {"q"}


def test_upstreams_are_set_by_hand():
    plan = planned(cluster(policy(ha_mode="all", federation_upstream_set="all")))
    assert "needs-upstream" in {clash.code for clash in plan.clashes}
    assert parts(plan)["p"][2] == {"federation-upstream-set": "all"}


def test_parts_of_a_policy_have_unused_names():
    taken = policy("p-quorum", pattern="^z", max_length=1)
    plan = planned(cluster(policy(ha_mode="all", max_length=5), taken, queues=BOTH), "3.13")
    assert set(parts(plan)) == {"p", "p-quorum", "p-quorum-2"}


@pytest.mark.parametrize("to", VERSIONS)
@pytest.mark.parametrize("keys", [{"ha_mode": "all", "max_length": 5}, {"max_length": 5, "queue_mode": "lazy"}])
def test_each_type_gets_its_own_part_of_a_policy(to: str, keys: dict):
    """Apply the rules of the release, with another policy of higher priority for neither."""
    made = cluster(policy(**keys), policy("other", "^z", 7, max_length=1), queues=BOTH[:2])
    plan = planned(made, to)
    now = [queue(move.queue.name, type=move.type, arguments=move.arguments) for move in plan.moves]
    moved, stays = (
        one.in_force.definition for one in assign(cluster(*plan.policies(False), version=to, queues=now)).assignments
    )
    assert moved["max-length"] == stays["max-length"] == 5
    assert not {"ha-mode", "queue-mode"} & moved.keys()
    kept = {key.replace("_", "-") for key in keys if key != "ha_mode" or to not in ("4.0", "4.3")}
    assert kept <= stays.keys()
    assert "other-settings" not in {clash.code for clash in plan.clashes}


def test_policy_is_split_if_only_defaults_differ():
    plan = planned(cluster(policy(overflow="reject-publish-dlx", max_length=1), queues=BOTH[:2]), "3.10")
    assert parts(plan) == {
        "p": ("queues", 0, {"max-length": 1, "overflow": "reject-publish-dlx", "queue-mode": "default"}),
        "p-quorum": ("queues", 0, {"max-length": 1, "overflow": "reject-publish",
                                   "dead-letter-strategy": "at-most-once"}),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("keys", "said"),
    [({"queue_version": 2}, "nothing but queue-version"), (HA, "nothing but mirroring"),
     ({"queue_mode": "lazy", **HA}, "nothing but ha-mode, ha-params, queue-mode")],
)  # fmt: skip
def test_removed_policy_is_listed_with_its_content(keys: dict, said: str):
    alone = planned(cluster(policy(**keys), version="3.13"))
    assert [row[1] for row in policy_rows(alone)] == [f"is removed: it contained {said}"]
    silencing = planned(cluster(policy("one", priority=1, **keys), policy("two", max_length=9), version="3.13"))
    [clash] = [one for one in silencing.clashes if one.code == "keeps-silence"]
    assert clash.what.startswith(f"said {said}, and kept other policies from applying")
