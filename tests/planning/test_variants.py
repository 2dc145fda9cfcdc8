"""Variants: the same steps under another policy or as another type of queue, and the two stories beside each other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from samples import each_third
from views_outcomes import HOSTILE

from hawb.planning.variants import Variant, policy, setting, settings, varied
from hawb.scenario.dump import plain
from hawb.scenario.load import load
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.views.cluster import side_by_side
from hawb.views.formatting import html
from hawb.views.tables import CHANGED

HA = {"name": "ha", "pattern": "^h", "definition": {"ha-mode": "all"}}
HEAD = {"scenario": "t", "cluster": {"nodes": ["a", "b", "c"], "version": "3.10"}, "policies": [HA]}
QUORUM = {"declare": {"queue": "q", "node": "a", "arguments": {"x-queue-type": "quorum", "x-delivery-limit": 3}}}
LATE = (
    *({"declare": {"queue": "h", "node": "a"}}, {"publish": {"queue": "h", "count": 9}}, {"stop": "b"}, {"start": "b"}),
    *({"stop": "c"}, {"kill": "a"}),
)
SCENARIOS = sorted((Path(__file__).parents[2] / "data" / "scenarios").glob("*.yaml"))


def story(*steps: dict, **more: object) -> Run:
    return Run.of(load(json.dumps(HEAD | more | {"steps": list(steps)})))


def lost(run: Run, variant: Variant, queue: str = "h") -> tuple[list, list]:
    """What is lost of a queue as it is, and in a variant."""
    return tuple(outcome(one)["ledger"][queue]["lost"] for one in (run, varied(run, variant).run))


def test_another_setting_takes_the_same_steps():
    run = story(*LATE)
    assert lost(run, setting("h", "ha-sync-mode: automatic")) == ([[1, 9]], [])
    assert lost(run, setting("h", "a quorum queue")) == ([[1, 9]], [])
    assert lost(run, setting("h", "ha-promote-on-shutdown: always")) == ([[1, 9]], [[1, 9]])


def test_a_variant_goes_on_with_its_story():
    variant = setting("h", "ha-sync-mode: automatic")
    for number in range(1, len(LATE) + 1):
        other = varied(story(*LATE[:number]), variant).run
        assert [step.name for step in other.steps] == [next(iter(step)) for step in LATE[:number]]


def test_a_quorum_queue_as_a_mirrored_one_has_as_many_replicas_and_the_arguments_that_it_may_have():
    run = story(QUORUM, {"publish": {"queue": "q", "count": 5}}, {"kill": "a"})
    what = "a mirrored queue (ha-mode: exactly, ha-params: 3)"
    told = outcome(varied(run, setting("q", what)).run)
    assert (told["errors"], told["queues"]["q"]["type"], told["queues"]["q"]["master"]) == ([], "classic", "b")
    assert told["queues"]["q"]["synchronised_mirrors"] == ["c"]


def test_a_quorum_queue_that_stands_at_the_start_is_mirrored_where_it_had_members():
    standing = {"queue": "q", "type": "quorum", "messages": 4, "leader": "b", "members": ["a", "b"]}
    run = story({"wait": 1}, queues=[standing])
    told = outcome(varied(run, setting("q", "a mirrored queue (ha-mode: exactly, ha-params: 2)")).run)
    assert told["queues"]["q"]["master"] == "b"
    assert (told["queues"]["q"]["synchronised_mirrors"], told["queues"]["q"]["messages"]) == (["a"], 4)


def test_another_policy_holds_from_the_beginning_and_wherever_the_story_sets_it():
    kept = {"name": "ha", "pattern": "^h", "definition": {"ha-mode": "all", "ha-sync-mode": "automatic"}}
    assert lost(story(*LATE), policy(kept)) == ([[1, 9]], [])
    assert lost(story({"set_policy": HA}, *LATE, policies=[]), policy(kept)) == ([[1, 9]], [])
    again = {"set_policy": HA | {"definition": {"ha-mode": "exactly", "ha-params": 2}}}
    assert lost(story(*LATE[:2], again, *LATE[2:]), policy(kept)) == ([[1, 9]], [])
    other = varied(story(*LATE), policy(kept | {"name": "new", "priority": 1})).run
    assert outcome(other)["queues"]["h"]["policy"] == "new"
    by_operator = {"name": "op", "pattern": "^h", "definition": {"max-length": 5}}
    other = varied(story(*LATE), policy(by_operator, operator=True)).run
    assert outcome(other)["queues"]["h"]["operator_policy"] == "op"


def test_what_cannot_be_says_why():
    run = story(*LATE)
    for variant in (setting("h", "ha-sync-mode: manual"), setting("nobody", "a quorum queue")):
        assert "the story has it itself, or" in varied(run, variant).change.impossible
    wrong = varied(run, policy(HA | {"definition": {"ha-mode": "none"}}))
    assert wrong.run is None
    assert wrong.change.impossible
    exclusive = story({"declare": {"queue": "h", "node": "a", "exclusive": True}})
    assert varied(exclusive, setting("h", "a quorum queue")).run is not None  # RabbitMQ's refusal is part of it


def test_before_the_first_step_and_about_an_unknown_queue_there_is_nothing_to_set():
    assert settings(story(), "h") == settings(story(*LATE), "nobody") == []


@pytest.mark.parametrize("file", each_third(SCENARIOS[::11]), ids=lambda file: file.stem)
def test_every_setting_of_every_queue_can_be_laid_out_and_the_story_is_left_as_it_was(file):
    run = Run.of(load(file))
    before, told = plain(run.scenario), outcome(run)
    for queue in list(told["ledger"])[:3]:
        for one in settings(run, queue):
            other = varied(run, setting(queue, one.what)).run
            if other is not None:
                assert side_by_side.text(told, outcome(other), one.what)
                assert side_by_side.table_html(told, outcome(other), one.what)
    assert plain(run.scenario) == before


# Beside each other


def test_what_differs_comes_first_and_is_marked_and_what_does_not_is_counted():
    run = story(*LATE[:2], {"declare": {"queue": "plain", "node": "b"}}, *LATE[2:])
    told, other = outcome(run), outcome(varied(run, setting("h", "ha-sync-mode: automatic")).run)
    first, second = side_by_side.pairs(told, other)
    assert (first.queue, first.differs, second.queue, second.differs) == ("h", True, "plain", False)
    assert first.as_played.figures["lost (confirmed)"] == "9 (9)"
    assert first.varied.figures["lost (confirmed)"] == "0 (0)"
    text = side_by_side.text(told, other, "automatic")
    assert "1 of 2 queues are the same in both." in text
    assert "plain" not in text
    table = side_by_side.table_html(told, other, "automatic")
    assert table.count('rowspan="2"') == 1
    assert CHANGED in table
    assert [pair.queue for pair in side_by_side.pairs(told, other, "plain")] == ["plain", "h"]
    assert "rowspan" not in side_by_side.table_html(told, told, "the same")


def test_a_queue_of_one_story_alone_is_gone_in_the_other():
    told, other = outcome(story(QUORUM)), outcome(story({"wait": 1}))
    (pair,) = side_by_side.pairs(told, other)
    assert (pair.as_played.state, pair.varied.state, pair.varied.replicas) == ("running", "gone", {})


def test_names_from_outside_stay_text():
    for name in HOSTILE:
        told = outcome(story({"declare": {"queue": name, "node": "a"}}))
        page = side_by_side.table_html(told, outcome(story({"wait": 1})), name)
        assert "<script>" not in page and html(name) in page
        assert "\u202e" not in page
        assert "\n" not in side_by_side.text(told, told, name)
