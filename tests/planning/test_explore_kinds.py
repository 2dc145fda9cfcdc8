"""The worst case of a cluster with many queues: kinds of queues, and the shortest story among them."""

from __future__ import annotations

from hawb.planning.explore import Question
from hawb.planning.explore_kinds import alike, worst_of_kinds
from hawb.planning.moves import Spent
from hawb.scenario.document import Scenario
from hawb.scenario.load import read_scenario

NODES = ["a", "b", "c"]
TWO = {"name": "two", "pattern": "^two", "definition": {"ha-mode": "exactly", "ha-params": 2}}


def mirrored(name: str, master: str, mirror: str, **more: object) -> dict:
    """Return a queue with a synchronised mirror."""
    return {"queue": name, "master": master, "mirrors": [mirror], "synchronised_mirrors": [mirror]} | more


def cluster(*queues: dict) -> Scenario:
    """Return a cluster of three nodes with queues as they are at the start."""
    return read_scenario(
        {"scenario": "kinds", "cluster": {"nodes": NODES, "version": "3.10"}, "policies": [TWO], "queues": [*queues]}
    )


QUEUES = (
    mirrored("two.a", "a", "b"), mirrored("two.b", "b", "c"), mirrored("two.full", "a", "b", messages=3),
    {"queue": "alone", "master": "a"}, {"queue": "q", "type": "quorum", "members": NODES, "leader": "a"},
)  # fmt: skip


def names(scenario: Scenario, *, replicated: bool) -> list[list[str]]:
    """Return the names of the queues of each kind."""
    return [[entry.queue for entry in kind] for kind in alike(scenario, replicated=replicated)]


def test_queues_of_a_kind_differ_in_nodes_only():
    kinds = [["two.a", "two.b"], ["two.full"], ["alone"], ["q"]]
    assert names(cluster(*QUEUES), replicated=False) == kinds
    assert names(cluster(*QUEUES), replicated=True) == [kinds[0], kinds[1], kinds[3]]


def test_shortest_story_of_any_kind_is_the_worst():
    found = worst_of_kinds(cluster(*QUEUES), Question("unavailable", Spent(1, 0)), 300, replicated=False)
    assert (found.worst.queues, found.harmed) == (("alone",), ["alone"])
    assert [step.name for step in found.answer.story.steps] == ["kill"]
    assert found.answer.states == sum(kind.answer.states for kind in found.kinds)


def test_search_that_is_cut_short_is_not_over():
    found = worst_of_kinds(cluster(*QUEUES), Question("lost-confirmed", Spent(1, 1)), 10, replicated=True)
    assert not found.answer.over and found.answer.story is None and found.harmed == []


def test_cluster_without_replicated_queues_has_no_answer():
    question = Question("unavailable", Spent(1, 0))
    assert worst_of_kinds(cluster(QUEUES[3]), question, 300, replicated=True) is None
