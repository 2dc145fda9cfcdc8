"""Runs of a mirrored queue q with clients that have a rate, and the part of their outcome that is compared."""

from __future__ import annotations

from hawb.scenario.load import read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run

NODES = ("a", "b", "c")
HEAD = {
    "scenario": "flows",
    "cluster": {"nodes": ["a", "b", "c"], "version": "3.10", "timing": {"sync_messages_s": 100}},
    "policies": [{"name": "p", "pattern": "", "definition": {"ha-mode": "all"}}],
}


def run_of(*steps: dict) -> Run:
    """Run these steps on queue q with its master on a."""
    return Run.of(read_scenario(HEAD | {"steps": [{"declare": {"queue": "q", "node": "a"}}, *steps]}))


def publisher(rate: float, **fields: object) -> dict:
    """Return the step in which p publishes to q."""
    return {"publisher": {"name": "p", "queue": "q", "rate": rate, "node": "a"} | fields}


def consumer(rate: float, **fields: object) -> dict:
    """Return the step in which c consumes from q."""
    return {"consume": {"consumer": "c", "queue": "q", "rate": rate, "node": "a"} | fields}


def what_matters(run: Run) -> dict:
    """Return what must be equal when the last step begins: everything except when it is reported."""
    result = outcome(run, run.moment_of(len(run.steps) - 1))
    losses = [{key: loss[key] for key in ("queue", "ids", "confirmed", "cause")} for loss in result["losses"]]
    return {"losses": losses} | {part: result[part] for part in ("queues", "ledger", "consumers", "availability")}
