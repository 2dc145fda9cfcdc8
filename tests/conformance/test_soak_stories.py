"""Soak stories: their content, and the shortened form for a real cluster. `test_real_live.py` plays short ones."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from hawb.cli import main
from hawb.conformance.compare import compare
from hawb.conformance.fuzz import by_another_seed
from hawb.conformance.random_faults import FAULTS
from hawb.conformance.soak_stories import BRISK_S, CHAPTERS, QUIET_S, briskly, soak_story
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.scenario.verbs import Expect, Wait

pytestmark = pytest.mark.full


def test_soak_takes_six_hours_with_expectations_throughout():
    story = soak_story(0, 0)
    waits = [step.verb.seconds for step in story.steps if isinstance(step.verb, Wait)]
    assert waits.count(QUIET_S) == CHAPTERS
    assert sum(waits) >= 6 * 3600
    assert sum(isinstance(step.verb, Expect) for step in story.steps) > 2 * CHAPTERS
    assert outcome(Run.of(story))["time_s"] >= 6 * 3600


def test_soak_repeats_every_fault():
    steps = [step.name for step in soak_story(0, 0).steps]
    assert {"kill", "stop", "power_off", "partition", "cut", "heal", "wipe", "reset", "force_boot"} <= set(steps)
    assert 4 * len(FAULTS) <= CHAPTERS // 3


@pytest.mark.parametrize("seed", [0, 1])
def test_outcome_of_a_soak_does_not_depend_on_random_draws(seed: int):
    played = by_another_seed(soak_story(seed, 0, chapters=24))
    assert [str(difference) for difference in compare(played, seeds=0)] == []


def test_quiet_times_are_shortened_on_a_real_cluster():
    story = soak_story(0, 0, chapters=6)
    brisk = briskly(story)
    changed = [(step, other) for step, other in zip(story.steps, brisk.steps, strict=True) if step != other]
    assert [(step.verb.seconds, other.verb.seconds) for step, other in changed] == [(QUIET_S, BRISK_S)] * 6


def test_wide_and_soak_exclude_each_other():
    result = CliRunner().invoke(main, ["fuzz", "--wide", "--soak"])
    assert result.exit_code == 2
    assert "give only one" in result.output
