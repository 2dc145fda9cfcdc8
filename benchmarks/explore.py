"""The search for the worst case, in one process: three nodes and one queue, all stories up to a bound.

TLC, the model checker of TLA+, is reported to do 32,000 distinct states a second on a model of Raft alone, with all the
machine's cores.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.measure import rate, seconds
from hawb.planning.explore import Progress, Question, explore
from hawb.planning.moves import MOVES, Spent
from hawb.scenario.load import read_scenario
from hawb.scenario.run import Run

MOST = Spent(faults=1, operations=2)
QUEUES = {
    "a mirrored queue": ({"ha-mode": "exactly", "ha-params": 2, "ha-promote-on-failure": "when-synced"}, {}),
    "a quorum queue": ({"max-length": 100}, {"x-queue-type": "quorum"}),
}


def cluster(definition: dict, arguments: dict) -> Run:
    """Three nodes and a queue with some messages."""
    policy = {"name": "p", "pattern": "^q", "definition": definition}
    declared = {"declare": {"queue": "q", "node": "a", "arguments": arguments}}
    steps = [declared, {"publish": {"queue": "q", "count": 5}}]
    nodes = {"nodes": ["a", "b", "c"], "version": "3.10"}
    return Run.of(read_scenario({"scenario": "x", "cluster": nodes, "policies": [policy], "steps": steps}))


def figures() -> Iterator[str]:
    """Distinct states and steps a second."""
    for name, (definition, arguments) in QUEUES.items():
        run, ends = cluster(definition, arguments), []
        asked = Question("unavailable", MOST, frozenset(MOVES) - {"stop", "kill", "power_off"})

        def search(run: Run = run, asked: Question = asked, ends: list[Progress] = ends) -> None:
            *_, end = explore(run, asked)
            ends.append(end)

        taken = seconds(search, 5)
        yield rate(f"{name}: distinct states ({ends[0].states:,} in all)", ends[0].states, taken)
        yield rate(f"{name}: steps played ({ends[0].tried:,} in all)", ends[0].tried, taken)
