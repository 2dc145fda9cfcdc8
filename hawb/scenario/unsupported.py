"""What the contract has and hawb has no rules for yet: refused by name before anything runs, never half simulated."""

from __future__ import annotations

from collections.abc import Collection

from hawb.engine.naming import join_queue, split_queue
from hawb.scenario.document import Scenario, Step
from hawb.scenario.forms import Verb
from hawb.scenario.refused import ScenarioRefused, Where
from hawb.scenario.verbs import Declare, Expect, Publish, Wait


def check_scenario(scenario: Scenario, verbs: Collection[type[Verb]]) -> None:
    """Raises ScenarioRefused for the first thing in a scenario that has no rules. `verbs` are those that have."""
    quorum = quorum_queues(scenario)
    for index, step in enumerate(scenario.steps):
        check_step(step, index, verbs, quorum)


def quorum_queues(scenario: Scenario) -> frozenset[str]:
    """The quorum queues that stand in a scenario's cluster."""
    return frozenset(join_queue(*split_queue(entry.queue)) for entry in scenario.queues if entry.type == "quorum")


def check_step(step: Step, index: int, verbs: Collection[type[Verb]], quorum: Collection[str]) -> None:
    """Raises ScenarioRefused if a step has no rules. `quorum` are the names of quorum queues."""
    verb, path = step.verb, ("steps", index, step.name)
    if type(verb) not in verbs and not isinstance(verb, Wait | Expect):
        raise _refused(f"the verb {step.name}", path[:2])
    if isinstance(verb, Declare) and verb.arguments.get("x-queue-type", "classic") != "classic":
        raise _refused(f"queue type {verb.arguments['x-queue-type']}", (*path, "arguments", "x-queue-type"))
    for name in _queues(verb):
        if join_queue(*split_queue(name)) in quorum:
            raise _refused(f"quorum queue {name!r}, which is shown as it stands:", path)


def _queues(verb: Verb) -> tuple[str, ...]:
    """The queues that a verb touches."""
    return verb.targets if isinstance(verb, Publish) else tuple(filter(None, [getattr(verb, "queue", None)]))


def _refused(what: str, path: Where) -> ScenarioRefused:
    return ScenarioRefused(f"{what} has no rules in this version of hawb yet", path)
