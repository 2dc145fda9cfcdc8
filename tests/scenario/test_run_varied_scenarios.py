"""Scenarios of data/scenarios with random steps added or removed, under any release: each settles, keeps the
invariants after every event, and has an outcome.

A failing story is printed as a scenario for `hawb run`.
"""

from __future__ import annotations

import json
from contextlib import suppress
from functools import cache
from pathlib import Path

from conftest import LONG, SEED
from hypothesis import HealthCheck, given, note, seed, settings
from hypothesis import strategies as st
from invariants import watched
from msgspec.structs import replace
from programs import CONSUMERS, QUEUES, steps
from settled_invariants import check_settled, check_trace

from hawb.scenario.beginning import settings_of
from hawb.scenario.document import Scenario
from hawb.scenario.dump import dump
from hawb.scenario.load import load, read_step
from hawb.scenario.outcome import outcome
from hawb.scenario.refused import ScenarioRefused
from hawb.scenario.run import Run
from hawb.scenario.verbs import Expect, Join
from hawb.views.story.run_report import report

STORIES = sorted((Path(__file__).parents[2] / "data" / "scenarios").glob("*.yaml"))
VERSIONS = ("3.8", "3.10", "3.13", "4.0")
FOUND = Path(__file__).parents[2] / "build" / "found-in-a-story.yaml"
"""Where the shortest story that failed is left."""


@cache
def story(file: Path) -> Scenario:
    """Return a scenario without expectations and without unacknowledged messages at its start, which the checks cannot
    see."""
    scenario = load(file)
    steps = tuple(step for step in scenario.steps if not isinstance(step.verb, Expect))
    queues = tuple(replace(entry, unacknowledged=0) for entry in scenario.queues)
    return replace(scenario, expect=None, steps=steps, queues=queues)


def named(result: Scenario, field: str, otherwise: tuple[str, ...]) -> list[str]:
    """Return the names of the queues or consumers in the steps of a story."""
    found = {getattr(step.verb, field, None) for step in result.steps}
    return sorted(name for name in found if name) or list(otherwise)


def renamed(value: object, names: dict[str, str]) -> object:
    """Return a step written as in a file, with the names of the story."""
    if isinstance(value, dict):
        return {key: renamed(inner, names) for key, inner in value.items()}
    if isinstance(value, list):
        return [renamed(inner, names) for inner in value]
    return names.get(value, value) if isinstance(value, str) else value


@st.composite
def varied(draw) -> Scenario:
    """Draw a story with random steps added and some of its own removed. All its nodes stay."""
    result = story(draw(st.sampled_from(STORIES)))
    nodes, known = result.cluster.nodes, settings_of(result).names
    queues = [entry.queue for entry in result.queues] + named(result, "queue", QUEUES)
    consumers = named(result, "consumer", CONSUMERS)
    own = [step for step in result.steps if isinstance(step.verb, Join) or draw(st.integers(0, 9))]
    for _ in range(draw(st.integers(1, 8))):
        names = {name: draw(st.sampled_from(queues)) for name in QUEUES}
        names |= {name: draw(st.sampled_from(consumers)) for name in CONSUMERS} | {"^q": ".*"}
        step = renamed(draw(steps(nodes if len(nodes) > 1 else (*nodes, *nodes), quorum=True)), names)
        at = draw(st.integers(0, len(own)))
        with suppress(ScenarioRefused):
            own.insert(at, read_step(step, known))
    version = draw(st.sampled_from([result.cluster.version] * 4 + list(VERSIONS)))
    return replace(result, steps=tuple(own), cluster=replace(result.cluster, version=version))


def check(run: Run, scenario: Scenario) -> None:
    """Play a story's steps and check the invariants after each."""
    with watched():
        for step in scenario.steps:
            with suppress(ScenarioRefused):  # a stream plays only some steps
                run.apply(step)
            check_settled(run.settings, run.moment(), found=[entry.queue for entry in scenario.queues])
            check_trace(run.moment())
    result = outcome(run)
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert report(result)


@seed(SEED)
@settings(max_examples=5_000 if LONG else 75, suppress_health_check=list(HealthCheck))
@given(varied())
def test_varied_story_settles_and_has_an_outcome(scenario):
    try:
        run = Run(scenario)
    except ScenarioRefused:
        return
    try:
        check(run, scenario)
    except BaseException:
        FOUND.parent.mkdir(exist_ok=True)
        FOUND.write_text(dump(scenario), encoding="utf-8")
        note(f"It is in {FOUND}, the seed was {SEED}:\n{dump(scenario)}")
        raise
