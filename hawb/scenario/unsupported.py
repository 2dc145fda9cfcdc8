"""What a scenario can say and hawb has no rules for: refused by name before anything runs, never half simulated."""

from __future__ import annotations

from hawb.scenario.document import Scenario, Step
from hawb.scenario.refused import ScenarioRefused
from hawb.scenario.verbs import Declare


def check_scenario(scenario: Scenario) -> None:
    """Raises ScenarioRefused for the first thing in a scenario that has no rules."""
    for index, step in enumerate(scenario.steps):
        check_step(step, index)


def check_step(step: Step, index: int) -> None:
    """Raises ScenarioRefused if a step has no rules: streams are not simulated."""
    if isinstance(step.verb, Declare) and step.verb.arguments.get("x-queue-type") == "stream":
        path = ("steps", index, step.name, "arguments", "x-queue-type")
        raise ScenarioRefused("queue type stream has no rules in this version of hawb", path)
