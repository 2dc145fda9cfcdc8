"""Shrink a scenario that shows something to a shorter one that still does.

Steps are removed first, in ever smaller runs, then optional fields of a step, a policy or the cluster, then messages.
Each attempt may take a real cluster a minute, so their number is limited, and none is made twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from hawb.scenario.document import Scenario
from hawb.scenario.dump import plain
from hawb.scenario.load import read_scenario
from hawb.scenario.refused import ScenarioRefused

Plain = dict[str, Any]
Shows = Callable[[Scenario], bool]

KEPT = frozenset({"version", "net_ticktime"})
"""Keys that are never removed: another version would need another broker, and waits fit the net_ticktime."""
SILENT, WAITS = frozenset({"partition", "cut", "power_off"}), frozenset({"wait"})
"""Verbs after which links are silent, and the verb that gives nodes time to detect it."""


def shrunk(scenario: Scenario, shows: Shows, attempts: int) -> Scenario:
    """Return the shortest scenario found that shows the same, with at most `attempts` calls of `shows`."""
    best = plain(scenario)
    tried = {json.dumps(best)}
    while (shorter := first_that_shows(best, shows, tried, attempts)) is not None:
        best = shorter
    return read_scenario(best)


def first_that_shows(given: Plain, shows: Shows, tried: set[str], attempts: int) -> Plain | None:
    """Return the first simpler form of a scenario that still differs; None if no form or attempt is left."""
    for simpler in simpler_forms(given):
        text = json.dumps(simpler)
        if text in tried or hurried(simpler, given) or (candidate := readable(simpler)) is None:
            continue
        if len(tried) > attempts:
            return None
        tried.add(text)
        if shows(candidate):
            return simpler
    return None


def hurried(simpler: Plain, given: Plain) -> bool:
    """Return True if the simpler form no longer waits for nodes to detect silent links.

    Its result would be a race.
    """
    return occurrences(simpler, SILENT) > 0 and occurrences(simpler, WAITS) < occurrences(given, WAITS)


def occurrences(given: Plain, verbs: frozenset[str]) -> int:
    """Return how many steps have one of these verbs."""
    return sum(1 for step in given["steps"] if step.keys() & verbs)


def readable(given: Plain) -> Scenario | None:
    """Return the scenario of plain values; None if a required part is missing."""
    try:
        return read_scenario(given)
    except ScenarioRefused:
        return None


def simpler_forms(given: Plain) -> Iterator[Plain]:
    """Yield a scenario without some of its steps, then without one of its details, then with fewer messages."""
    steps = given["steps"]
    size = len(steps)
    while size := size // 2:
        for end in range(len(steps), 0, -size):
            yield given | {"steps": steps[: max(0, end - size)] + steps[end:]}
    for simpler in (without_a_detail, with_fewer_messages):
        for part in ("steps", "cluster"):
            yield from (given | {part: other} for other in simpler(given[part]))


def without_a_detail(value: Any) -> Iterator[Any]:
    """Yield a value without one of its keys at any depth, or without one item of a list that holds no steps."""
    if isinstance(value, dict):
        for key in [key for key in value if key not in KEPT]:
            yield {other: inner for other, inner in value.items() if other != key}
    elif isinstance(value, list) and not any(isinstance(item, dict) for item in value):
        for at in range(len(value)):
            yield value[:at] + value[at + 1 :]
    yield from with_one_part(value, without_a_detail)


def with_fewer_messages(value: Any) -> Iterator[Any]:
    """Yield a value in which one count of messages is 1."""
    if isinstance(value, dict) and isinstance(count := value.get("count"), int) and count > 1:
        yield value | {"count": 1}
    yield from with_one_part(value, with_fewer_messages)


def with_one_part(value: Any, simpler: Callable[[Any], Iterator[Any]]) -> Iterator[Any]:
    """Yield a map or list in which one of its values is simpler."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from (value | {key: other} for other in simpler(inner))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from ([*value[:at], other, *value[at + 1 :]] for other in simpler(inner))
