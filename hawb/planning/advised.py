"""Advice on a story: what makes its answer better, each of it played before it is given.

- what was lost: each single change of the story (`hawb.planning.alternatives`);
- what no queue took, as there was none of that name: its declaration before;
- consumers that did not acknowledge in time: a longer timeout, where it is set;
- what is not well in the end: steps after it (`hawb.planning.remedies`).

Names that name nothing are asked about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any

from msgspec import Struct

from hawb.engine.core import runs
from hawb.planning.alternatives import Alternatives, toll, what_would_have_kept
from hawb.planning.changes import OPERATOR_POLICIES, POLICIES
from hawb.planning.harm import harms
from hawb.planning.remedies import Remedy, remedies
from hawb.rules.consumer_timeouts import DAY_MS, SETTING
from hawb.scenario.dump import plain
from hawb.scenario.load import read_scenario
from hawb.scenario.outcome import late_consumers
from hawb.scenario.outcome import outcome as outcome_of
from hawb.scenario.refused import ScenarioRefused
from hawb.scenario.run import Run
from hawb.scenario.unknown_names import Unknown, unknown_names

MOST_HARMS = 3
"""Alternatives are tried for this many losses, the largest ones."""
MOST_EVENTS = 2_000
"""A scenario with more events is not played again for its advice: that takes longer than an answer may."""
MOST_DECLARED = 3


class Raised(Struct, frozen=True):
    """Place where a consumer timeout is set too short.

    `kind` is one of cluster, policy, operator_policy and queue; the other field is the name of that place.
    """

    kind: str
    name: str = ""


class Advice(Struct, frozen=True):
    """Advice on a story.

    `kept` has for each of the largest losses what would have kept the messages, and for queues that took no messages
    while they could not be used what would have had them taken; `is_long` is whether the story is too
    long for that to be tried. `declared` has queues that should be declared earlier, each with the index of the step
    that publishes to it. `raised` is the timeout of consumers that should be longer. `remedies` are what to do where
    the story ends, `unknown` the names that are most likely misspelt.
    """

    unknown: tuple[Unknown, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    kept: tuple[Alternatives, ...] = ()
    declared: tuple[tuple[str, int], ...] = ()
    raised: Raised | None = None
    is_long: bool = False


def advised(run: Run, outcome: Mapping[str, Any]) -> Advice:
    """Return the advice on a run that led to an outcome. The run stays as it is."""
    unknown = unknown_names(run.scenario, outcome)
    known = Advice(unknown, remedies(run))
    if len(outcome["events"]) > MOST_EVENTS:
        return Advice(unknown, known.remedies, is_long=True)
    ledger = run.moment().ledger
    harmed = [harm for harm in harms(run) if harm.lost or ledger[harm.queue].refused]
    harmed.sort(key=lambda harm: -runs.size(harm.lost))
    kept = tuple(what_would_have_kept(run, harm) for harm in harmed[:MOST_HARMS])
    declared = tuple(_declared(run, outcome, {one.name for one in unknown}))
    return Advice(unknown, known.remedies, kept, declared, _raised(run, outcome))


def _played(document: dict) -> Run | None:
    try:
        return Run.of(read_scenario(document))
    except ScenarioRefused:
        return None


def _declared(run: Run, outcome: Mapping[str, Any], misspelt: set[str]) -> Iterator[tuple[str, int]]:
    """Yield the queues that a publisher missed, each with the step before which to declare it."""
    early = {
        event["queue"]: event["step"] for event in reversed(outcome["events"])
        if event["event"] == "messages_refused" and event["detail"]["reason"] == "no_queue"
        and event["queue"] not in misspelt and event["step"] is not None
    }  # fmt: skip
    before = toll(run)
    for queue, step in list(early.items())[:MOST_DECLARED]:
        document = deepcopy(plain(run.scenario))
        later = (one["declare"] for one in document["steps"][step:] if one.get("declare", {}).get("queue") == queue)
        document["steps"].insert(step, {"declare": next(later, {"queue": queue}) | {"passive": False}})
        ahead = _played(document)
        if ahead is not None and toll(ahead) < before:
            yield queue, step


def _raised(run: Run, outcome: Mapping[str, Any]) -> Raised | None:
    """Return the first place where a longer consumer timeout leaves fewer consumers late, or None."""
    before = len(late_consumers(outcome))
    if not before:
        return None
    long_ms = round(outcome["time_s"] * 1_000) + DAY_MS
    for raised, change in _timeouts(plain(run.scenario)):
        document = deepcopy(plain(run.scenario))
        change(document, long_ms)
        ahead = _played(document)
        if ahead is not None and len(late_consumers(outcome_of(ahead))) < before:
            return raised
    return None


def _timeouts(document: dict) -> Iterator[tuple[Raised, Callable[[dict, int], None]]]:
    """Yield each place where the scenario sets, or could set, the consumer timeout, and a function to set it."""

    def of_cluster(document: dict, long_ms: int) -> None:
        document["cluster"]["consumer_timeout"] = long_ms

    def of(kind: str, entries: Callable[[dict], Iterator[tuple[str, dict]]], key: str) -> Iterator[tuple]:
        for name in dict.fromkeys(name for name, given in entries(document) if key in given):

            def change(document: dict, long_ms: int, name: str = name) -> None:
                for other, given in entries(document):
                    if other == name and key in given:
                        given[key] = long_ms

            yield Raised(kind, name), change

    yield Raised("cluster"), of_cluster
    for kind, (at_start, verb) in (("policy", POLICIES), ("operator_policy", OPERATOR_POLICIES)):

        def policies(document: dict, at_start: str = at_start, verb: str = verb) -> Iterator[tuple[str, dict]]:
            for one in (*document.get(at_start, ()), *(step[verb] for step in document["steps"] if verb in step)):
                yield one["name"], one["definition"]

        yield from of(kind, policies, SETTING)

    def queues(document: dict) -> Iterator[tuple[str, dict]]:
        declared = (step["declare"] for step in document["steps"] if "declare" in step)
        for one in (*document.get("queues", ()), *declared):
            yield one["queue"], one.get("arguments", {})

    yield from of("queue", queues, f"x-{SETTING}")
