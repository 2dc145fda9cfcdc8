"""Play stories of a quorum queue q on three nodes."""

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
    """Play steps, checking the invariants after every event."""
    given = {"scenario": "s", "cluster": {"nodes": list(nodes)} | cluster, "steps": list(steps)}
    with watched():
        run = Run.of(read_scenario(given))
        check_settled(run.settings, run.moment())
        check_trace(run.moment())
    return run


def declared(**arguments: object) -> dict:
    """Return the step that declares q with these arguments; underscores stand for dashes."""
    more = {f"x-{key.replace('_', '-')}": value for key, value in arguments.items()}
    return {"declare": {"queue": "q", "node": "a", "arguments": QUORUM | more}}


def publish(count: int, node: str = "a", **more: object) -> dict:
    """Return the step that publishes to q."""
    return {"publish": {"queue": "q", "count": count, "node": node} | more}


def queue(run: Run, name: str = "q") -> Queue:
    """Return the queue at the end of the run."""
    return run.moment().state.queues[name]


def entries(run: Run, *events: str) -> list[Entry]:
    """Return the trace entries of these events."""
    return [entry for entry in run.moment().trace() if entry.event in events]


def refusals(run: Run) -> list[tuple[int | None, str]]:
    """Return the code and the text of each refused step."""
    return [(refusal.code, refusal.text) for refusal in run.moment().refusals]
