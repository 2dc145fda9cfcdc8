"""Variants: the same steps under another policy or with another queue type, compared side by side."""

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
    """Return what is lost of a queue in the story and in a variant."""
    return tuple(outcome(one)["ledger"][queue]["lost"] for one in (run, varied(run, variant).run))


def test_variant_plays_the_same_steps():
    run = story(*LATE)
    assert lost(run, setting("h", "ha-sync-mode: automatic")) == ([[1, 9]], [])
    assert lost(run, setting("h", "a quorum queue")) == ([[1, 9]], [])
    assert lost(run, setting("h", "ha-promote-on-shutdown: always")) == ([[1, 9]], [[1, 9]])


def test_variant_continues_with_its_story():
    variant = setting("h", "ha-sync-mode: automatic")
    for number in range(1, len(LATE) + 1):
        other = varied(story(*LATE[:number]), variant).run
        assert [step.name for step in other.steps] == [next(iter(step)) for step in LATE[:number]]


def test_quorum_queue_as_a_mirrored_one_keeps_replicas_and_valid_arguments():
    run = story(QUORUM, {"publish": {"queue": "q", "count": 5}}, {"kill": "a"})
    what = "a mirrored queue (ha-mode: exactly, ha-params: 3)"
    result = outcome(varied(run, setting("q", what)).run)
    assert (result["errors"], result["queues"]["q"]["type"], result["queues"]["q"]["master"]) == ([], "classic", "b")
    assert result["queues"]["q"]["synchronised_mirrors"] == ["c"]


def test_initial_quorum_queue_is_mirrored_on_the_nodes_of_its_members():
    standing = {"queue": "q", "type": "quorum", "messages": 4, "leader": "b", "members": ["a", "b"]}
    run = story({"wait": 1}, queues=[standing])
    result = outcome(varied(run, setting("q", "a mirrored queue (ha-mode: exactly, ha-params: 2)")).run)
    assert result["queues"]["q"]["master"] == "b"
    assert (result["queues"]["q"]["synchronised_mirrors"], result["queues"]["q"]["messages"]) == (["a"], 4)


def test_changed_policy_applies_from_the_start_and_at_each_set_policy():
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


def test_impossible_variant_is_explained():
    run = story(*LATE)
    for variant in (setting("h", "ha-sync-mode: manual"), setting("nobody", "a quorum queue")):
        assert "the story makes this change itself, or" in varied(run, variant).change.impossible
    wrong = varied(run, policy(HA | {"definition": {"ha-mode": "none"}}))
    assert wrong.run is None
    assert wrong.change.impossible
    exclusive = story({"declare": {"queue": "h", "node": "a", "exclusive": True}})
    assert varied(exclusive, setting("h", "a quorum queue")).run is not None  # RabbitMQ's refusal is part of it


def test_empty_story_and_unknown_queue_have_no_variants():
    assert settings(story(), "h") == settings(story(*LATE), "nobody") == []


@pytest.mark.parametrize("file", each_third(SCENARIOS[::11]), ids=lambda file: file.stem)
def test_every_variant_can_be_shown_and_the_story_is_unchanged(file):
    run = Run.of(load(file))
    before, result = plain(run.scenario), outcome(run)
    for queue in list(result["ledger"])[:3]:
        for one in settings(run, queue):
            other = varied(run, setting(queue, one.what)).run
            if other is not None:
                assert side_by_side.text(result, outcome(other), one.what)
                assert side_by_side.table_html(result, outcome(other), one.what)
    assert plain(run.scenario) == before


# Beside each other


def test_differences_come_first_and_equal_rows_are_counted():
    run = story(*LATE[:2], {"declare": {"queue": "plain", "node": "b"}}, *LATE[2:])
    result, other = outcome(run), outcome(varied(run, setting("h", "ha-sync-mode: automatic")).run)
    first, second = side_by_side.pairs(result, other)
    assert (first.queue, first.differs, second.queue, second.differs) == ("h", True, "plain", False)
    assert first.as_played.figures["lost (confirmed)"] == "9 (9)"
    assert first.varied.figures["lost (confirmed)"] == "0 (0)"
    text = side_by_side.text(result, other, "automatic")
    assert "1 of 2 queues are the same in both." in text
    assert "plain" not in text
    table = side_by_side.table_html(result, other, "automatic")
    assert table.count('rowspan="2"') == 1
    assert CHANGED in table
    assert [pair.queue for pair in side_by_side.pairs(result, other, "plain")] == ["plain", "h"]
    assert "rowspan" not in side_by_side.table_html(result, result, "the same")


def test_queue_of_one_story_only_is_gone_in_the_other():
    result, other = outcome(story(QUORUM)), outcome(story({"wait": 1}))
    (pair,) = side_by_side.pairs(result, other)
    assert (pair.as_played.state, pair.varied.state, pair.varied.replicas) == ("running", "gone", {})


def test_names_are_escaped():
    for name in HOSTILE:
        result = outcome(story({"declare": {"queue": name, "node": "a"}}))
        page = side_by_side.table_html(result, outcome(story({"wait": 1})), name)
        assert "<script>" not in page and html(name) in page
        assert "\u202e" not in page
        assert "\n" not in side_by_side.text(result, result, name)
