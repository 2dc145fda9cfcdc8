"""States with equal search keys have equal futures: any next step has the same visible result.

Random draws are held fixed; if the next step draws, both extremes are tried.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, permutations, product
from unittest import mock

import pytest
from conftest import LONG
from hypothesis import given, note, settings
from programs import programs
from state_keys import key_of

from hawb.engine.core import randomness
from hawb.scenario.dump import plain
from hawb.scenario.load import read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run

pytestmark = pytest.mark.usefixtures("no_chance")


def seen(run: Run, since: Run, names: dict[str, str]) -> dict:
    """Return the visible state of a run and its events since another run that it continues.

    Messages are renumbered, times count from that run's end, and nodes are renamed."""
    now, before = outcome(run), outcome(since)
    events = [
        (round((event["t"] - before["time_s"]) * 1e6), event["event"], event["node"], event["queue"])
        for event in now["events"][len(before["events"]) :]
    ]
    queues = {name: queue_seen(queue) for name, queue in now["queues"].items()}
    return renamed({"nodes": now["nodes"], "queues": queues, "events": sorted(events, key=str)}, names)


OF_A_LOG = ("term", "commit_index", "log_entries", "disk_bytes", "memory_bytes", "replicas_by_view")
"""What an outcome tells of how a quorum queue's log came to be."""


def queue_seen(queue: dict) -> dict:
    """Return a queue without message numbers: their count, and which are redelivered, counted from the oldest."""
    numbers = [number for first, last in queue["ids"] for number in range(first, last + 1)]
    again = {number for first, last in queue["redelivered"] for number in range(first, last + 1)}
    views = [view | {"ids": sum(last - first + 1 for first, last in view["ids"])} for view in queue.get("views", [])]
    flags = [index for index, number in enumerate(numbers) if number in again]
    replicas = {node: {field: value for field, value in one.items() if field != "term"}
                for node, one in queue.get("replicas", {}).items()}  # fmt: skip
    visible = {field: value for field, value in queue.items() if field not in OF_A_LOG}
    return visible | {"ids": len(numbers), "redelivered": flags, "views": views, "replicas": replicas}


def renamed(value: object, names: dict[str, str]) -> object:
    """Return a value with nodes renamed. Sort lists again that are in alphabetical order."""
    if isinstance(value, dict):
        found = {names.get(field, field): in_order(field, renamed(inner, names)) for field, inner in value.items()}
        return dict(sorted(found.items()))
    if isinstance(value, list | tuple):
        return [renamed(inner, names) for inner in value]
    return names.get(value, value) if isinstance(value, str) else value


def in_order(field: str, value: object) -> object:
    alphabetical = field in ("synchronised_mirrors", "critical_nodes", "events")
    return sorted(value, key=str) if alphabetical else value


PAST = [
    {"wait": 12},
    {"declare": {"queue": "gone", "node": "a"}},
    {"publish": {"queues": ["q1", "q2", "gone"], "count": 7, "node": "a"}},
    {"delete": {"queue": "gone"}},
    {"get": {"queue": "q1", "count": 7}},
    {"get": {"queue": "q2", "count": 7}},
    {"consume": {"consumer": "past", "queue": "q1", "node": "a"}},
    {"publish": {"queue": "q1", "count": 5, "node": "a"}},
    {"ack": {"consumer": "past"}},
    {"close": "past"},
    {"purge": "nowhere"},
]


def unlimited(step: dict) -> dict:
    """Return a step without limits, which would leave timers and dead letters."""
    if "set_policy" in step:
        policy = step["set_policy"]
        kept = {key: value for key, value in policy["definition"].items() if key.startswith("ha-")}
        return {"set_policy": policy | {"definition": kept}}
    if "declare" in step:
        kept = {key: value for key, value in step["declare"]["arguments"].items() if key == "x-single-active-consumer"}
        return {"declare": step["declare"] | {"arguments": kept}}
    return step


@settings(max_examples=500 if LONG else 40)
@given(programs())
def test_past_without_lasting_effect_does_not_change_the_key(program):
    """Play the same steps with and without a past: keys and visible states stay equal after each step.

    This holds in 3.8; since 3.9 late acks go by how many messages a replica has counted."""
    given_, prelude, rest = program[0], program[1][:3], program[1][3:]
    fresh = Run(read_scenario(given_ | {"cluster": given_["cluster"] | {"version": "3.8"}}))
    for step in [unlimited(group[0][1]) for group in prelude] + [PAST[-7], PAST[-5], PAST[-2]]:
        fresh.apply_plain(step)
    aged = fresh.copy()
    for step in PAST:
        aged.apply_plain(step)
    since, since_past = fresh.copy(), aged.copy()
    assert key_of(fresh) == key_of(aged)
    for step in [step for group in rest for _, step in group]:
        fresh.apply_plain(step)
        aged.apply_plain(step)
        note(step)
        assert key_of(fresh) == key_of(aged)
    assert seen(fresh, since, {}) == seen(aged, since_past, {})


# Steps that name their nodes: without one it is the first running node of the file's list, which tells nodes apart.
STEPS = [
    *({verb: node} for verb in ("kill", "stop", "start") for node in "abc"),
    {"publish": {"queue": "q1", "count": 2, "node": "a"}},
    {"consume": {"consumer": "client", "queue": "q1", "node": "b", "ack": "auto"}},
    {"declare": {"queue": "q2", "node": "a"}},
    {"sync_queue": "q1"},
]
CLUSTERS = {
    "quorum": {"x-queue-type": "quorum"},
    "not mirrored": {},
    "all": {"ha-mode": "all"},
    "exactly": {"ha-mode": "exactly", "ha-params": 2, "ha-promote-on-failure": "when-synced"},
    "nodes": {"ha-mode": "nodes", "ha-params": ["b", "c"]},
}


def cluster_of(definition: dict) -> Run:
    """Return a run with three nodes and a queue with one message."""
    run = Run(read_scenario({"scenario": "t", "cluster": {"nodes": ["a", "b", "c"]}}))
    arguments = {name: value for name, value in definition.items() if name.startswith("x-")}
    if definition and not arguments:
        run.apply_plain({"set_policy": {"name": "p", "pattern": "^q", "definition": definition}})
    run.apply_plain({"declare": {"queue": "q1", "node": "a", "arguments": arguments}})
    run.apply_plain({"publish": {"queue": "q1", "count": 1}})
    return run


def after(run: Run, steps: Iterable[dict]) -> Run:
    """Return a copy of the run after these steps."""
    other = run.copy()
    for step in steps:
        other.apply_plain(step)
    return other


def futures(run: Run, step: dict, names: dict[str, str]) -> set[str]:
    """Return all visible results of a step. A draw may pick either of two nodes."""
    found = set()
    for drawn in (0, 2**64 - 1):
        with mock.patch.object(randomness, "draw", lambda *_, drawn=drawn: drawn):
            found.add(repr(seen(after(run, [step]), run, names)))
    return found


def alike(one: Run, other: Run) -> bool:
    """Return True if some renaming of nodes makes both look the same after any step."""
    names = one.settings.names
    return any(
        all(futures(one, step, renaming) == futures(other, renamed(step, renaming), {}) for step in STEPS)
        for renaming in (dict(zip(names, order, strict=True)) for order in permutations(names))
    )


@pytest.mark.parametrize("definition", CLUSTERS.values(), ids=CLUSTERS)
def test_states_with_equal_keys_have_equal_futures(definition):
    """Compare all states that few steps lead to and that have equal keys."""
    beginning = cluster_of(definition)
    groups: dict[tuple, list[Run]] = {}
    for steps in chain.from_iterable(product(STEPS, repeat=depth) for depth in range(4 if LONG else 3)):
        run = after(beginning, steps)
        group = groups.setdefault(key_of(run), [])
        if all(structure(run) != structure(other) for other in group):
            group.append(run)
    assert len(groups) > 10
    for first, *others in groups.values():
        for other in others:
            assert alike(first, other), [plain(run.scenario)["steps"] for run in (first, other)]


def structure(run: Run) -> dict:
    """Return the visible state, to skip states that are the same node by node."""
    return seen(run, run, {})
