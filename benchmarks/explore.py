"""The search for the worst case, in one process: three nodes and one queue, all stories up to a bound; by
the engine, and compiled where that can be. What compiling takes does not count: it is kept.

TLC, the model checker of TLA+, is reported to do 32,000 distinct states a second on a model of Raft alone, with all the
machine's cores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from benchmarks.measure import rate, seconds
from hawb.planning.explore import Progress, Question, explore
from hawb.planning.moves import MOVES, Spent
from hawb.scenario.load import read_scenario
from hawb.scenario.run import Run
from hawb.study import compiled_search

MOST, FARTHER = Spent(faults=1, operations=2), Spent(faults=3, operations=5)
QUEUES = {
    "a mirrored queue": ({"ha-mode": "exactly", "ha-params": 2, "ha-promote-on-failure": "when-synced"}, {}),
    "a quorum queue": ({"max-length": 100}, {"x-queue-type": "quorum"}),
}


def cluster(definition: dict, arguments: dict) -> Run:
    """Return three nodes and a queue with some messages."""
    policy = {"name": "p", "pattern": "^q", "definition": definition}
    declared = {"declare": {"queue": "q", "node": "a", "arguments": arguments}}
    steps = [declared, {"publish": {"queue": "q", "count": 5}}]
    nodes = {"nodes": ["a", "b", "c"], "version": "3.10"}
    return Run.of(read_scenario({"scenario": "x", "cluster": nodes, "policies": [policy], "steps": steps}))


def by_engine(run: Run, asked: Question) -> Progress:
    """Return the engine's answer."""
    *_, end = explore(run, asked)
    return end


def compiled(run: Run, asked: Question) -> Progress:
    """Return the answer of the compiled search."""
    search = compiled_search.Compiled(run, asked)
    *_, end = explore(run, asked, search.expand, name=search.name)
    return end


def searches(run: Run) -> Iterator[tuple[str, Callable[[Run, Question], Progress], Spent]]:
    """Who searches how far: the engine, and where a queue's search can be compiled, that as far and farther."""
    yield "", by_engine, MOST
    if compiled_search.refused(run) is None:
        yield "compiled, ", compiled, MOST
        yield "compiled and farther, ", compiled, FARTHER


def figures() -> Iterator[str]:
    """Distinct states and steps a second."""
    for name, (definition, arguments) in QUEUES.items():
        run = cluster(definition, arguments)
        for how, search, most in searches(run):
            asked = Question("unavailable", most, frozenset(MOVES) - {"stop", "kill", "power_off"})
            end, taken = search(run, asked), seconds(partial(search, run, asked), 5)
            yield rate(f"{how}{name}: distinct states ({end.states:,} in all)", end.states, taken)
            yield rate(f"{how}{name}: steps played ({end.tried:,} in all)", end.tried, taken)
