"""Drafts reused between stories with a common beginning: the text is the same as without reuse."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from views_outcomes import UNSYNCHRONISED

from hawb.scenario.load import load
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.views.story.drafts import Drafts
from hawb.views.story.telling import sentences

SCENARIOS = sorted((Path(__file__).parents[2] / "data" / "scenarios").glob("*.yaml"))


def after(*steps: dict) -> dict:
    """Return the outcome of UNSYNCHRONISED and more steps."""
    run = Run.of(load(UNSYNCHRONISED))
    for step in steps:
        run.apply_plain(step)
    return outcome(run)


@pytest.mark.parametrize("file", SCENARIOS[::9], ids=lambda file: file.stem)
def test_drafts_do_not_change_the_text_of_a_story(file):
    result, drafts = outcome(Run.of(load(file))), Drafts()
    ends = list(range(len(result["events"]) + 1))
    Random(1).shuffle(ends)
    for end in ends[:40]:
        beginning = result | {"events": result["events"][:end]}
        assert sentences(beginning, drafts=drafts) == sentences(beginning)


def test_only_the_differing_end_of_a_story_is_drafted_again():
    drafts = Drafts()
    for more in ([{"kill": "b"}], [{"start": "a"}], [{"stop": "b"}, {"start": "a"}], []):
        result = after(*more)
        assert sentences(result, drafts=drafts) == sentences(result)
        assert sentences(result, 3, drafts) == sentences(result)[-3:]


def test_common_beginning_is_not_drafted_again(monkeypatch):
    result, drafts, added = after({"kill": "b"}), Drafts(), []
    add = Drafts._add

    def counted(self: Drafts, events: list[dict], index: int) -> None:
        added.append(index)
        add(self, events, index)

    monkeypatch.setattr(Drafts, "_add", counted)
    drafts.of(result["events"])
    assert added == list(range(len(result["events"])))
    added.clear()
    drafts.of(result["events"][:5])
    drafts.of(result["events"])
    assert added == []
