"""Any valid scenario plays to an outcome or is refused as not simulated."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace
from scenario_strategies import scenarios

from hawb.scenario.actions import ACTIONS
from hawb.scenario.document import Scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.refused import ScenarioRefused
from hawb.scenario.run import Run
from hawb.scenario.verbs import Expect, Wait
from hawb.views.story.run_report import report


def with_rules(scenario: Scenario) -> Scenario:
    """Return the scenario without steps and policies that would be refused before it plays."""
    steps = tuple(step for step in scenario.steps if type(step.verb) in ACTIONS or isinstance(step.verb, Wait | Expect))
    return replace(scenario, operator_policies=(), policies=(), steps=steps)


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(scenarios)
def test_any_scenario_plays_or_is_refused(scenario: Scenario):
    try:
        run = Run.of(with_rules(scenario))
    except ScenarioRefused as refused:
        assert len(str(refused).splitlines()) <= 4
        return
    result = outcome(run)
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert report(result)
