"""The verdict on the number of replicas."""

from __future__ import annotations

import pytest
from inventories import cluster, policy, queue
from migrations import MATRIX
from msgspec.structs import replace

from hawb.study.replicas import WhatIf, what_if
from hawb.views.verdicts.replicas import on_streams, todo, verdict


def found(*queues, failures: int = 1, **more) -> WhatIf:
    return what_if(cluster(policy(ha_mode="all"), queues=list(queues), **more), MATRIX, failures, trials=0)


def members(name: str, number: int):
    return queue(name, type="quorum", members=list("abcde"[:number]))


def mirrors(name: str, number: int):
    return queue(name, mirrors=list("bcde"[:number]))


def test_majority_of_each_queue_is_a_yes():
    assert verdict(found()).sentence == "Yes: there is no queue."
    assert verdict(found(members("q", 3))).sentence == "Yes: every queue survives 1 failure."
    assert verdict(found(members("q", 2), failures=0)).answer == "yes"


def test_synchronised_mirrors_are_a_yes_but():
    assert verdict(found(mirrors("q", 1))).sentence == "Yes, but only while mirrors are synchronised: q."
    both = verdict(found(mirrors("q", 1), members("qq", 3)))
    assert both.sentence == "Yes, but 1 of 2 queues only while mirrors are synchronised: q."


def test_missing_facts_prevent_a_yes():
    findings = found(queue("q"))
    assert verdict(findings).sentence == "Cannot tell: no file says how many replicas q has."
    assert todo(findings)[0].commands[-1] == "hawb replicas queues.txt"
    assert verdict(findings).exit_status == 3
    assert verdict(found(queue("q"), members("r", 1))).sentence == "No: 1 of 2 queues does not survive 1 failure: r."


def test_too_few_replicas_or_nodes_are_a_no():
    few = verdict(found(members("q", 2), members("r", 3)))
    assert few.sentence == "No: 1 of 2 queues does not survive 1 failure: q."
    assert verdict(found(members("q", 3), failures=2)).sentence == "No: 1 of 1 queue does not survive 2 failures: q."
    two = found(members("q", 2), nodes=dict.fromkeys("ab", True), failures=0)
    assert verdict(two).answer in ("yes", "no")


@pytest.mark.parametrize(("version", "keep"), [("3.13", "mirror them"), ("4.0", "accept one replica")])
def test_mirroring_is_advised_only_by_releases_with_mirrors(version: str, keep: str):
    shown = " ".join(one.what for one in todo(found(queue("q", durable=False), version=version)))
    assert f"Decide about q, which cannot be quorum queues: {keep}, or stop using the settings" in shown


def stream(name: str, **more):
    return queue(name, type="stream", **more)


def test_streams_count_as_replicated_queues():
    """A stream needs a majority of its replicas; offline ones do not count."""
    assert verdict(found(stream("s", members=list("abc")))).sentence == "Yes: every queue survives 1 failure."
    few = "No: 1 of 1 queue does not survive 1 failure: s."
    assert verdict(found(stream("s", members=["a"]))).sentence == few
    assert verdict(found(stream("s", members=list("abc"), online=list("ab")))).sentence == few
    assert verdict(found(stream("s"))).sentence == "Cannot tell: no file says how many replicas s has."


def test_declared_size_of_a_stream_is_stated():
    findings = found(stream("s", arguments={"x-initial-cluster-size": 2}), stream("t"))
    first, second, rule = on_streams(findings)
    assert first == "s: declared with an initial cluster size of 2."
    assert second.startswith("t: declared with a replica on every node that the cluster has then")
    assert "with 1 or 2 replicas survives no failure, with 3 or 4 it survives one" in rule
    assert [one.declared for one in findings.advice] == [2, None]


def test_offline_member_does_not_count():
    offline = queue("q", type="quorum", members=list("abc"), online=list("ab"))
    assert verdict(found(offline)).sentence == "No: 1 of 1 queue does not survive 1 failure: q."


def test_advice_has_commands_and_the_plan_of_the_move():
    findings = found(mirrors("classic", 2), queue("t", durable=False, mirrors=[]))
    asked = todo(replace(findings, before=replace(findings.before, files=("own.json",))))
    assert asked[0].commands == ("hawb migrate own.json --plan plan/",) and "1 classic queue " in asked[0].what
    assert asked[1].what.startswith("Decide about t, which cannot be")
