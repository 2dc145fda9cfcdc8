"""Read a study from a file, or refuse it with the reason.

It is read like a scenario, by the structs of `question`, `design` and `environment`, and then checked by RabbitMQ's own
rules.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hawb.scenario import text
from hawb.scenario.beginning import policy_refusal, queue_refusal, settings_of
from hawb.scenario.document import Scenario, Timing
from hawb.scenario.load import Reader, read_file
from hawb.scenario.refused import ScenarioRefused
from hawb.study.design import NODES, Design
from hawb.study.question import Control, Study

SOURCES = ("https://", "assumed", "measured")
NO_STREAMS = "streams are not played in studies, because a trial has no consumers of streams"
INSTEAD = "write a story with a stream and play it with hawb run, or ask hawb replicas how many replicas streams need"


def load(source: Path | str | bytes, file: str | None = None) -> Study:
    """Return the study of a file (a `Path`) or of a text (`str`, `bytes`); `file` is its name in messages.

    Raise ScenarioRefused, and no other error.
    """
    return read_file(source, file, read_study)


def read_study(given: Any) -> Study:
    """Return the study of plain values (maps, lists, text, numbers). Raise ScenarioRefused."""
    text.check_values(given)
    try:
        study = Reader(NODES).struct(Study, given, ())
    except ScenarioRefused as refused:
        if refused.path[-1:] == ("queue_type",) and refused.given == "stream":
            refused.problem, refused.hint = NO_STREAMS, INSTEAD
        raise
    for name, design in study.designs.items():
        _check_design(name, design)
    for path, source in study.sources.items():
        check_source(path, source, given, SOURCES)
    if study.control is not None:
        _check_control(study, study.control)
    return study


def _check_control(study: Study, control: Control) -> None:
    """Refuse a control of what is not in the study, or whose trials do not have the faults of the study's."""
    for part in ("designs", "environments"):
        for name in getattr(control, part):
            if name not in (names := getattr(study, part)):
                problem, accepted = f"a control of none of the study's {part}", f"one of {', '.join(names)}"
                raise ScenarioRefused(problem, ("control", part), given=name, accepted=accepted)
    if control.trials < study.trials:
        problem = "fewer trials of the control than of the study"
        raise ScenarioRefused(problem, ("control", "trials"), given=control.trials, accepted=f"{study.trials} or more")
    for name, design in control.designs.items():
        _check_design(name, design, ("control", "designs"))
        if design.nodes != (nodes := study.designs[name].nodes):
            problem = "a control with another number of nodes, whose trials have other faults"
            where = ("control", "designs", name, "nodes")
            raise ScenarioRefused(problem, where, given=design.nodes, accepted=f"{nodes}")
    for name, environment in control.environments.items():
        if environment.failure_biasing is not None:
            where = ("control", "environments", name, "failure_biasing")
            raise ScenarioRefused("a control with biased failures", where, accepted="a control without")


def _check_design(name: str, design: Design, part: tuple[str, ...] = ("designs",)) -> None:
    """Refuse a design that RabbitMQ would refuse, and mirroring in a release that no longer has it."""
    at = (*part, name)
    if (typed := design.arguments.get("x-queue-type", design.queue_type)) != design.queue_type:
        where, is_stream = (*at, "arguments", "x-queue-type"), typed == "stream"
        problem, hint = (NO_STREAMS, INSTEAD) if is_stream else ("a type other than queue_type", "")
        raise ScenarioRefused(problem, where, given=typed, accepted=design.queue_type, hint=hint)
    if design.queue_type == "classic" and (design.replicas or 1) > 1 and not design.profile.mirroring:
        raise ScenarioRefused(
            f"{design.version} does not mirror classic queues",
            (*at, "replicas"),
            given=design.replicas,
            accepted="1, an older version, or queue_type: quorum",
        )
    settings = settings_of(Scenario(scenario=name, cluster=design.cluster(Timing())))
    for place, entries in (("policy", design.policies()), ("operator_policy", design.operator_policies())):
        for entry in entries:
            reason = policy_refusal(entry, settings, operator=place == "operator_policy")
            if reason is not None:
                problem = f"RabbitMQ would refuse this policy: {reason}"
                raise ScenarioRefused(problem, (*at, place), given=entry.definition)
    reason = queue_refusal(design.queue(), settings)
    if reason is not None:
        raise ScenarioRefused(f"RabbitMQ would refuse this queue: {reason}", (*at, "arguments"))


def check_source(path: str, source: str, given: Any, begins: tuple[str, ...]) -> None:
    """Refuse a source whose path is not in `given`, or whose text has none of these beginnings.

    Raise ScenarioRefused.
    """
    found = given
    for part in path.split("."):
        if not isinstance(found, dict) or part not in found:
            raise ScenarioRefused("a source for something that is not in the file", ("sources", path), given=path)
        found = found[part]
    if not source.startswith(begins):
        accepted = f"text that begins with {' or '.join(map(str.strip, begins))}"
        raise ScenarioRefused("not a source", ("sources", path), given=source, accepted=accepted)
