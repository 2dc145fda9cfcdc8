"""Reasons of unavailable queues, nodes and metadata: complete, with causes before effects."""

from __future__ import annotations

import json

import pytest
from lab_clusters import FOUR_QUEUES
from views_outcomes import DECLARE, play, policy, publish, steps

from hawb.lab.controller import Controller
from hawb.views.story.chronicle import Chronicle
from hawb.views.story.summary import reasons, toned_headline
from hawb.views.story.telling import sentences
from hawb.views.story.troubles import why_in_trouble

QUORUM = {"declare": {"queue": "qq", "node": "a", "arguments": {"x-queue-type": "quorum"}}}
LATE = ({"stop": "b"}, {"stop": "c"}, publish(3), {"start": "b"}, {"start": "c"})
"""Mirrors on b and c that lack three messages, whose master is on a."""


def troubles_after(*given: dict, version: str = "3.10") -> list[str]:
    """Return the reasons after the steps of a story, without their times."""
    return [line.partition(" s: ")[2] for line in reasons(steps(*given, version=version))]


def test_each_queue_of_the_verdict_has_a_reason():
    controller = Controller(FOUR_QUEUES)
    controller.act("stop", "a")
    text = toned_headline(controller.outcome)["text"]
    assert text.count("ha.orders and plain.log are down and qq.orders is without") == 1
    lines = reasons(controller.outcome)
    for said in ("plain.log is down: there is no mirror", "ha.orders is down until a is back", "qq.orders has lost"):
        assert sum(said in line for line in lines) == 1


def test_loss_comes_first_and_other_queues_that_are_down_have_reasons():
    controller = Controller(FOUR_QUEUES)
    controller.act("kill", "a")
    lines = reasons(controller.outcome)
    assert lines[0].startswith("Messages 1 to 100 of ha.orders were lost")
    assert lines[-1].endswith("plain.log is down: there is no mirror to take over from a.")


def test_causes_precede_effects():
    controller = Controller(FOUR_QUEUES)
    controller.act("kill", "a")
    times = [float(line.partition(" s: ")[0]) for line in reasons(controller.outcome)[1:]]
    assert times == sorted(times) != []


@pytest.mark.parametrize("verb", ["kill", "power_off"])
def test_nodes_that_went_down_together_precede_the_effects(verb: str):
    outcome = steps(QUORUM, {verb: ["b", "c"]}, {"wait": 70})
    lines = [line.partition(" s: ")[2] for line in reasons(outcome)]
    gone = ["b was killed.", "c was killed."] if verb == "kill" else [
        f"The host of {node} lost power, without closing its connections." for node in ("b", "c")
    ]  # fmt: skip
    assert lines[:2] == gone and "qq no longer commits anything" in lines[-1]
    story = [one.text for one in sentences(outcome)]
    assert story.index(gone[1]) == story.index(gone[0]) + 1


@pytest.mark.parametrize(
    ("definition", "step", "said"),
    [
        ({"ha_promote_on_failure": "when-synced"}, "kill", "ha-promote-on-failure is when-synced, so none took over."),
        ({}, "stop", "ha-promote-on-shutdown is when-synced (its default), so the master stopped all mirrors."),
        (
            {"ha_promote_on_shutdown": "when-synced"}, "stop",
            "ha-promote-on-shutdown is when-synced, so the master stopped all mirrors.",
        ),
        (
            {"ha_promote_on_shutdown": "always", "ha_promote_on_failure": "when-synced"}, "kill",
            "ha-promote-on-failure is when-synced, so none took over.",
        ),
    ],
)  # fmt: skip
def test_policy_key_that_prevented_promotion_is_named(definition, step, said):
    lines = troubles_after(policy(ha_mode="all", **definition), DECLARE, *LATE, {step: "a"})
    assert next(line for line in lines if "q is down until a is back" in line).endswith(said)
    assert not any("mirrors on" in line for line in lines)


def test_each_missing_member_has_a_reason():
    assert troubles_after(QUORUM, {"kill": "b"}, {"stop": "c"}) == [
        "b was killed.",
        "c was shut down in a controlled way.",
        "qq no longer commits anything: a leads it and reaches no majority of its members.",
    ]
    drained = troubles_after(QUORUM, {"drain": "b"}, {"kill": "c"})
    assert drained[0].startswith("b is being drained") and drained[1] == "c was killed."


def test_metadata_alarms_and_partitions_have_their_reasons():
    assert "a was killed." in troubles_after({"kill": "a"}, {"kill": "b"}, version="4.3")
    alarms = troubles_after(DECLARE, {"alarm": {"node": "b", "resource": "disk"}}, publish(1))
    assert alarms == ["b is short of disk: publishers on all nodes are blocked."]
    parted = troubles_after(policy(ha_mode="all"), DECLARE, {"partition": [["a"], ["b", "c"]]}, {"wait": 100})
    assert parted[0].startswith("From now on, the network passes nothing")
    assert parted[-1].startswith("The cluster is partitioned")


def test_ended_reason_is_not_listed():
    assert troubles_after(DECLARE, {"kill": "a"}, {"start": "a"}, {"stop": "a"}) == [
        "a was shut down in a controlled way.", "b and c noticed that a is gone.",
        "q is down: there is no mirror to take over from a.",
    ]  # fmt: skip


def test_undetected_power_loss_is_a_reason():
    assert troubles_after(DECLARE, {"power_off": "a"}) == [
        "The host of a lost power, without closing its connections.", "q lost the master on a: its host lost power.",
    ]  # fmt: skip


def test_initial_state_is_named_as_the_reason():
    members = {"queue": "q", "type": "quorum", "members": ["a", "b", "c"], "leader": "a", "stopped_members": ["b", "c"]}
    cluster = {"nodes": ["a", "b", "c"], "version": "3.10"}
    found = play(json.dumps({"scenario": "s", "cluster": cluster, "queues": [members]}))
    assert "q" in toned_headline(found)["text"]
    assert why_in_trouble(Chronicle(found)) == [
        "q has been out of use since the start of the story. The story does not say why."
    ]
