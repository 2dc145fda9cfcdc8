"""Whether queues outlive failures, in a sentence."""

from __future__ import annotations

from inventories import cluster, policy, queue
from migrations import MATRIX

from hawb.study.replicas import WhatIf, what_if
from hawb.views.study.replica_verdict import todo, verdict


def found(*queues, failures: int = 1, **more) -> WhatIf:
    return what_if(cluster(policy(ha_mode="all"), queues=list(queues), **more), MATRIX, failures, trials=0)


def members(name: str, number: int):
    return queue(name, type="quorum", members=list("abcde"[:number]))


def mirrors(name: str, number: int):
    return queue(name, mirrors=list("bcde"[:number]))


def test_majorities_of_all_queues_are_a_yes():
    assert verdict(found()).sentence == "Yes: there is no queue."
    assert verdict(found(members("q", 3))).sentence == "Yes: every queue outlives 1 failure."
    assert verdict(found(members("q", 2), failures=0)).answer == "yes"


def test_mirrors_outlive_failures_while_they_are_synchronised():
    assert verdict(found(mirrors("q", 1))).sentence == "Yes, but only while mirrors are synchronised: q."
    both = verdict(found(mirrors("q", 1), members("qq", 3)))
    assert both.sentence == "Yes, but 1 of 2 queues only while mirrors are synchronised: q."


def test_what_files_do_not_tell_is_a_yes_with_a_but():
    assert verdict(found(queue("q"))).sentence.startswith("Yes, but only as far as files tell, and of none they tell")


def test_queues_with_too_few_replicas_and_clusters_with_too_few_nodes_are_a_no():
    few = verdict(found(members("q", 2), members("r", 3)))
    assert few.sentence == "No: 1 of 2 queues does not outlive 1 failure: q."
    assert verdict(found(members("q", 3), failures=2)).sentence == "No: 1 of 1 queue does not outlive 2 failures: q."
    two = found(members("q", 2), nodes=dict.fromkeys("ab", True), failures=0)
    assert verdict(two).answer in ("yes", "no")


def test_what_to_do_has_the_command_for_each_queue_and_the_plan_of_the_move():
    asked = todo(found(members("q", 2), mirrors("classic", 2), queue("t", durable=False)))
    assert asked[0].commands == ("rabbitmq-queues add_member -p / q NODE",)
    assert asked[1].commands[0].startswith("hawb migrate ") and "1 classic queue " in asked[1].what
    assert asked[2].what.startswith("Decide about t, which cannot be")
