"""Exercises of the studies: accepted answers, refused answers with reasons, and invalid answers."""

from __future__ import annotations

import pytest

from hawb.lessons.study_exercises import EXERCISES, check, exercise

POLICY = dict(zip(EXERCISES["31-policy"].keys, ("automatic", "when-synced", "when-synced"), strict=True))
PROCEDURE = {"sync_queue": True, "await_online_synchronized_mirror": True, "drain": False}

SAFE = {
    "ha-mode": "exactly", "ha-params": 2, "ha-sync-mode": "automatic", "ha-sync-batch-size": 5000,
    "ha-promote-on-failure": "when-synced",
}  # fmt: skip
TTL = {"message-ttl": 600_000}

RIGHT = {
    "25-silenced": [{"definition": SAFE | TTL}],
    "26-policy": [POLICY | {"ha-sync-mode": "manual"}, POLICY],
    "30-racks": [{"nodes": 3, "replicas": 3}, {"nodes": 7, "replicas": 3}],
    "31-policy": [POLICY, POLICY | {"ha-promote-on-shutdown": "always"}],
    "32-batch": [{"ha-sync-batch-size": 4096}, {"ha-sync-batch-size": 200}],
    "33-procedure": [PROCEDURE],
    "34-factor": [{"times": 100}],
    "35-limits": [{"classic": 200, "quorum": 250}],
}
WRONG = [
    ("26-policy", POLICY | {"ha-promote-on-failure": "always"}, "messages: stop a, then kill b."),
    ("25-silenced", {"definition": TTL}, "does not have ha-mode"),
    ("25-silenced", {"definition": SAFE}, "has a TTL of null"),
    ("25-silenced", {"definition": SAFE | TTL | {"ha-promote-on-failure": "always"}}, "not have ha-promote-on-failure"),
    ("25-silenced", {"definition": 3}, "cannot be played"),
    ("30-racks", {"nodes": 4, "replicas": 4}, "With 4 members it is out of use"),
    ("30-racks", {"nodes": 2, "replicas": 2}, "With 2 members it is out of use"),
    ("30-racks", {"nodes": 7, "replicas": 5}, "but fewer members are, too"),
    ("30-racks", {"nodes": 3, "replicas": 5}, "5 do not fit on 3 nodes"),
    ("30-racks", {"nodes": 3, "replicas": "x"}, "cannot be played"),
    ("30-racks", {"replicas": 3}, "a map of nodes, replicas"),
    ("30-racks", 3, "a map of nodes, replicas"),
    ("31-policy", POLICY | {"ha-promote-on-failure": "always"}, "killed, 4.7 % of the years lose"),
    ("31-policy", POLICY | {"ha-sync-mode": "manual"}, "out of use for 111 minutes"),
    ("31-policy", POLICY | {"ha-sync-mode": "often"}, "RabbitMQ would refuse this policy"),
    ("32-batch", {"ha-sync-batch-size": 50_000}, "net_ticktime"),
    ("32-batch", {"ha-sync-batch-size": 10_000}, "messages of 1,000,000 bytes"),
    ("32-batch", {"ha-sync-batch-size": 1}, "the broker's own"),
    ("32-batch", {"ha-sync-batch-size": 0}, "cannot be played"),
    ("32-batch", {"ha-sync-batch-size": "x"}, "cannot be played"),
    ("33-procedure", PROCEDURE | {"sync_queue": False}, "out of use"),
    ("33-procedure", PROCEDURE | {"await_online_synchronized_mirror": False}, "out of use"),
    ("33-procedure", PROCEDURE | {"drain": 3}, "cannot be played"),
    ("34-factor", {"times": 5000}, "the factor is too large"),
    ("34-factor", {"times": 2}, "the factor is too small"),
    ("34-factor", {"times": "x"}, "cannot be played"),
    ("35-limits", {"classic": 10, "quorum": 250}, "a classic queue has"),
    ("35-limits", {"classic": 200, "quorum": 10_000}, "Half of 10000 is enough for a quorum queue"),
    ("35-limits", {"classic": 200, "quorum": "many"}, "cannot be played"),
]


@pytest.mark.parametrize("key", EXERCISES)
def test_right_answers_are_accepted(key: str):
    assert [check(key, answer).right for answer in RIGHT[key]] == [True] * len(RIGHT[key])


@pytest.mark.parametrize(("key", "answer", "says"), WRONG)
def test_wrong_answers_are_refused_with_a_reason(key: str, answer: object, says: str):
    verdict = check(key, answer)
    assert not verdict.right
    assert says in verdict.says


@pytest.mark.parametrize("key", EXERCISES)
def test_question_states_the_form_of_the_answer(key: str):
    assert all(name in repr(exercise(key)) for name in EXERCISES[key].keys)
