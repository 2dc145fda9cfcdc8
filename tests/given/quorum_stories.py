"""Stories of a quorum queue q on three nodes, and what came of them."""

from __future__ import annotations

from invariants import watched
from settled_invariants import check_settled, check_trace

from hawb.engine.core.state import Queue
from hawb.engine.core.trace import Entry
from hawb.scenario.load import read_scenario
from hawb.scenario.run import Run

QUORUM = {"x-queue-type": "quorum"}
DECLARE = {"declare": {"queue": "q", "node": "a", "arguments": QUORUM}}


def played(*steps: dict, nodes: str = "abc", **cluster: object) -> Run:
    """A scenario, watched."""
    given = {"scenario": "s", "cluster": {"nodes": list(nodes)} | cluster, "steps": list(steps)}
    with watched():
        run = Run.of(read_scenario(given))
        check_settled(run.settings, run.moment())
        check_trace(run.moment())
    return run


def declared(**arguments: object) -> dict:
    """The step that declares q with more arguments; underscores stand for dashes."""
    more = {f"x-{key.replace('_', '-')}": value for key, value in arguments.items()}
    return {"declare": {"queue": "q", "node": "a", "arguments": QUORUM | more}}


def publish(count: int, node: str = "a", **more: object) -> dict:
    """The step that publishes to q."""
    return {"publish": {"queue": "q", "count": count, "node": node} | more}


def queue(run: Run, name: str = "q") -> Queue:
    """The queue as it is in the end."""
    return run.moment().state.queues[name]


def told(run: Run, *events: str) -> list[Entry]:
    """What the trace has of these events."""
    return [entry for entry in run.moment().trace() if entry.event in events]


def refusals(run: Run) -> list[tuple[int | None, str]]:
    """The code and the text of each."""
    return [(refusal.code, refusal.text) for refusal in run.moment().refusals]
