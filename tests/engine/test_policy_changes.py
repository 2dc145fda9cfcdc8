"""Operator policies: applied alone, merged with a policy, and reported separately."""

from __future__ import annotations

from random import Random

import pytest
from conftest import LONG

from hawb.engine.queues import policy_changes
from hawb.scenario.load import load, read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.refused import ScenarioRefused
from hawb.scenario.run import Run
from hawb.views.story.chronicle import Chronicle
from hawb.views.story.policies_in_force import PoliciesInForce
from hawb.views.story.telling import sentences
from hawb.views.story.why import why

MIRRORS = {"name": "mirrors", "pattern": "^q", "definition": {"ha-mode": "exactly", "ha-params": 2}}


def played(*steps: dict, **more: object) -> dict:
    given = {"scenario": "t", "cluster": {"nodes": ["a", "b", "c"], "version": "3.13"}, "steps": list(steps)}
    return outcome(Run.of(read_scenario(given | more)))


def declare(**more: object) -> dict:
    return {"declare": {"queue": "q", "node": "a", **more}}


def test_operator_policy_alone_mirrors_a_queue():
    queue = played(declare(), operator_policies=[MIRRORS])["queues"]["q"]
    assert (queue["policy"], queue["operator_policy"], len(queue["mirrors"])) == (None, "mirrors", 1)


def test_policy_and_operator_policy_of_one_name_are_independent():
    both = [{"set_policy": MIRRORS}, {"set_operator_policy": MIRRORS}]
    queue = played(*both, declare(), {"clear_policy": "mirrors"})["queues"]["q"]
    assert (queue["policy"], queue["operator_policy"], queue["mirrored"]) == (None, "mirrors", True)


def test_operator_policy_of_highest_priority_applies():
    other = MIRRORS | {"name": "other", "priority": 1, "definition": {"ha-mode": "all"}}
    assert played(declare(), operator_policies=[MIRRORS, other])["queues"]["q"]["mirrors"] == ["b", "c"]


def test_operator_policy_does_not_mirror_exclusive_queues():
    assert played(declare(exclusive=True), operator_policies=[MIRRORS])["queues"]["q"]["mirrors"] == []


def test_invalid_initial_operator_policy_is_refused():
    entry = "{name: p, pattern: q, definition: {ha-mode: all}}"
    text = f"scenario: t\ncluster: {{nodes: [a]}}\noperator_policies: [{entry}]\n"
    with pytest.raises(ScenarioRefused, match="ha-mode") as refused:
        Run(load(text))
    assert refused.value.path == ("operator_policies", 0)


def test_new_definition_is_reported_only_if_it_changes_the_queue():
    wider = MIRRORS | {"definition": {"ha-mode": "exactly", "ha-params": 3}}
    everywhere = {"name": "all", "pattern": "^q", "definition": {"ha-mode": "all"}}
    setting = [{"set_operator_policy": entry} for entry in (MIRRORS, wider)]
    found = played({"set_policy": everywhere}, declare(), *setting)
    assert [event["detail"] for event in found["events"] if event["event"] == "operator_policy_applied"] == [
        {"policy": "mirrors", "was": None}
    ]


def test_story_and_loss_name_the_operator_policy():
    manual = MIRRORS | {"name": "ops", "definition": {"ha-mode": "exactly", "ha-params": 2, "ha-sync-mode": "manual"}}
    mine = {"name": "mine", "pattern": "^q", "definition": {"ha-mode": "all", "ha-sync-mode": "automatic"}}
    found = played(
        {"set_policy": mine},
        declare(),
        {"set_operator_policy": manual},
        {"stop": ["b", "c"]},
        {"publish": {"queue": "q", "count": 5}},
        {"start": "b"},
        {"kill": "a"},
    )
    manual = "ha-sync-mode is manual (set by operator policy ops), and no synchronisation was requested"
    assert manual in why(found, "q", 1)
    assert "ha-promote-on-failure is always (its default)" in why(found, "q", 1)
    assert "Operator policy ops now applies to q, besides any policy." in [line.text for line in sentences(found)]
    merged = {"ha-mode": "all", "ha-params": 2, "ha-sync-mode": "manual"}
    assert PoliciesInForce(Chronicle(found)).definition("q", len(found["events"]) - 1) == merged


PATTERNS = ["", "^q", "^q1", "q2$", "^q1$|^x", "^s", "^q\\.", "^q3$"]
DEFINITIONS = [{"ha-mode": "all"}, {"ha-mode": "exactly", "ha-params": 2}, {"message-ttl": 60_000}, {"max-length": 5},
               {"max-length": 9, "message-ttl": 1}, {"delivery-limit": 2}, {"consumer-timeout": 120_000}]  # fmt: skip


def drawn_steps(random: Random, release: str) -> list[dict]:
    """Draw steps that change policies, queues and nodes."""
    of_release = [one for one in DEFINITIONS if release != "4.0" or "ha-mode" not in one]

    def policy() -> dict:
        return {"name": random.choice("pqr"), "pattern": random.choice(PATTERNS), "priority": random.choice((0, 0, 1)),
                "definition": random.choice(of_release)}  # fmt: skip

    def queue() -> str:
        return random.choice(["q1", "q2", "q3", "x1", "s1", "q.1"])

    draws = [
        lambda: {"set_policy": policy()}, lambda: {"set_policy": policy()},
        lambda: {"clear_policy": random.choice("pqr")},
        lambda: {"set_operator_policy": policy() | {"definition": random.choice(DEFINITIONS[2:4])}},
        lambda: {"declare": {"queue": queue(), "node": random.choice("abc")}},
        lambda: {"declare": {"queue": queue(), "node": "a", "arguments": {"x-queue-type": "quorum"}}},
        lambda: {"delete": {"queue": queue(), "node": "a"}}, lambda: {"publish": {"queue": queue(), "count": 3}},
        lambda: {"consume": {"consumer": f"c{random.random()}", "queue": queue(), "node": "b"}},
        lambda: {random.choice(("stop", "kill")): random.choice("abc")}, lambda: {"start": random.choice("abc")},
        lambda: {"partition": [["a", "b"], ["c"]]}, lambda: {"heal": True}, lambda: {"wait": 90},
    ]  # fmt: skip
    begun = [{"declare": {"queue": name, "node": "a"}} for name in ("q1", "q2", "s1")]
    return begun + [random.choice(draws)() for _ in range(25)]


@pytest.mark.parametrize("release", ["3.8", "3.13", "4.0"])
def test_policy_change_reconsiders_each_queue_that_it_affects(
    release: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(60 if LONG else 6):
        given = {"scenario": "t", "cluster": {"nodes": ["a", "b", "c"], "version": release},
                 "steps": drawn_steps(Random(f"{release}{seed}"), release)}  # fmt: skip
        found = outcome(Run.of(read_scenario(given)))
        with monkeypatch.context() as patch:
            patch.setattr(policy_changes, "settled_queues", lambda _turn: {})
            assert found == outcome(Run.of(read_scenario(given))), given["steps"]


def test_policy_change_skips_other_queues(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[str] = []
    reconsider = policy_changes.reconsider
    monkeypatch.setattr(
        policy_changes, "reconsider", lambda turn, name, kind: looked_at.append(name) or reconsider(turn, name, kind)
    )
    declared = [{"declare": {"queue": name, "node": "a"}} for name in ("q1", "q2", "x")]
    set_for = [{"set_policy": MIRRORS | {"name": name, "pattern": f"^{name}$"}} for name in ("y", "q1", "x")]
    played(*declared, *set_for)
    assert looked_at == ["q1", "q2", "x", "q1", "q1", "x"]  # at q1 once more, as its record has changed
