"""A plan for a rolling upgrade: seven nodes and a thousand queues of both types, searched and predicted."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.measure import duration, seconds
from hawb.planning.upgrade import task_of
from hawb.planning.upgrade_search import Answer, search
from hawb.scenario.load import read_scenario
from hawb.scenario.run import Run

SIZES = ((3, 100), (7, 1000))
LIMITS = {(7, 1000): "limit 30 s"}


def cluster(nodes_count: int, queues_count: int) -> dict:
    """Mirrored queues with two copies and quorum queues with three, turn by turn over all nodes, none filled alike."""
    nodes, queues = [f"rabbit@node-{number}" for number in range(nodes_count)], []
    for number in range(queues_count):
        first, *others = [nodes[(number // 2 + more) % nodes_count] for more in range(3)]
        messages = number * 37 % 5000
        if number % 2:
            queues.append({"queue": f"qq.{number}", "type": "quorum", "messages": messages, "leader": first,
                           "members": [first, *others]})  # fmt: skip
        else:
            queues.append({"queue": f"ha.{number}", "messages": messages, "master": first, "mirrors": others[:1],
                           "synchronised_mirrors": others[:1]})  # fmt: skip
    policy = {"name": "ha", "pattern": r"^ha\.", "definition": {"ha-mode": "exactly", "ha-params": 2}}
    return {"scenario": "x", "cluster": {"nodes": nodes, "version": "3.10"}, "policies": [policy], "queues": queues}


def figures() -> Iterator[str]:
    """From the scenario to the plan, its prediction and those of the plans beside it."""
    for size in SIZES:
        scenario, found = read_scenario(cluster(*size)), []

        def plan(scenario=scenario, found: list[Answer] = found) -> None:
            run = Run.of(scenario)
            found.append(search(run, task_of(run)))

        taken = seconds(plan, 1 if size[0] > 3 else 3)
        name = f"{size[0]} nodes, {size[1]:,} queues of {found[0].kinds} kinds, {found[0].tried:,} turns played"
        yield duration(name, taken, "s", LIMITS.get(size, ""))
