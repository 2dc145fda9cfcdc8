"""Clusters for tests of upgrades, and rehearsed plans for them."""

from __future__ import annotations

from pathlib import Path

from hypothesis import strategies as st

from hawb.planning.upgrade import MEASURES, Plan, prediction, task_of
from hawb.planning.upgrade_search import Answer, search
from hawb.scenario.dump import dump
from hawb.scenario.expect import check
from hawb.scenario.load import load, read_scenario
from hawb.scenario.run import Run

DATA = Path(__file__).parents[2] / "data"
ALL = {"ha-mode": "all"}


def mirrored(name: str, nodes: str = "abc", messages: int = 1000, synchronised: str | None = None) -> dict:
    """Return a mirrored queue on these nodes, with its master on the first."""
    mirrors = list(nodes[1:])
    result = mirrors if synchronised is None else list(synchronised)
    return {"queue": name, "messages": messages, "master": nodes[0], "mirrors": mirrors, "synchronised_mirrors": result}


def quorum(name: str, nodes: str = "abc", messages: int = 1000) -> dict:
    """Return a quorum queue with members on these nodes, led by the first."""
    return {"queue": name, "type": "quorum", "messages": messages, "leader": nodes[0], "members": list(nodes)}


def cluster(*queues: dict, nodes: str = "abc", steps: tuple = (), version: str = "3.10", **policies: dict) -> Run:
    """Return a run of a cluster with a policy for each prefix of queue names."""
    entries = [{"name": name, "pattern": f"^{name}", "definition": it} for name, it in policies.items()]
    return Run.of(read_scenario({
        "scenario": "x", "cluster": {"nodes": list(nodes), "version": version}, "policies": entries,
        "queues": list(queues), "steps": list(steps),
    }))  # fmt: skip


def planned(run: Run, *objective: str, **how: object) -> Answer:
    """Return the search's answer. Rehearse each of its plans."""
    answer = search(run, task_of(run), objective or MEASURES, **how)
    for plan in (answer.plan, *answer.others):
        rehearsed(run, plan)
    return answer


def rehearsed(run: Run, plan: Plan) -> None:
    """Require that a plan's scenario, written and read again, shows the prediction."""
    scenario = load(dump(plan.rehearsal))
    again = Run.of(scenario)
    assert again.steps[: len(run.steps)] == run.steps
    assert check(again, scenario.expect) == []
    assert prediction(run.moment(), again, plan.stages) == plan.prediction


POLICIES = st.fixed_dictionaries(
    {"ha-mode": st.just("all")},
    optional={
        "ha-sync-mode": st.sampled_from(["manual", "automatic"]),
        "ha-promote-on-shutdown": st.sampled_from(["always", "when-synced"]),
        "ha-promote-on-failure": st.sampled_from(["always", "when-synced"]),
    },
)


@st.composite
def clusters(draw: st.DrawFn, most_nodes: int = 4) -> Run:
    """Draw a cluster with a few queues of both types."""
    nodes = "abcd"[: draw(st.integers(2, most_nodes))]
    queues = []
    for number in range(draw(st.integers(1, 3))):
        some = "".join(draw(st.permutations(nodes)))[: draw(st.integers(1, len(nodes)))]
        messages = draw(st.sampled_from([0, 3, 1000, 90_000]))
        if draw(st.booleans()):
            queues.append(quorum(f"qq{number}", some, messages))
        else:
            synchronised = "".join(node for node in some[1:] if draw(st.booleans()))
            queues.append(mirrored(f"ha{number}", some, messages, synchronised))
    steps = ({"publisher": {"name": "p", "queue": queues[0]["queue"], "rate": 20}},) if draw(st.booleans()) else ()
    version = draw(st.sampled_from(["3.8", "3.10", "3.13"]))
    return cluster(*queues, nodes=nodes, steps=steps, version=version, ha=draw(POLICIES))
