"""The compiled search takes up quorum queues of each release. Nothing is compiled here."""

from __future__ import annotations

import pytest

from hawb.scenario.load import read_scenario
from hawb.scenario.run import Run
from hawb.study.compiled_search import refused

PUBLISH = {"publish": {"queue": "q", "count": 1, "node": "a"}}


def story(version: str, *steps: dict, name: str = "q") -> Run:
    """A quorum queue with some messages on three nodes."""
    begun = [{"declare": {"queue": name, "node": "b", "arguments": {"x-queue-type": "quorum"}}}]
    begun += [{"publish": PUBLISH["publish"] | {"queue": name}}, {"wait": 1}]
    nodes = {"nodes": ["a", "b", "c"], "version": version}
    return Run.of(read_scenario({"scenario": "x", "cluster": nodes, "steps": [*begun, *steps]}))


@pytest.mark.parametrize("version", ["3.8", "3.10", "3.13", "4.0", "4.3"])
@pytest.mark.parametrize("steps", [
    (), ({"kill": "a"},), ({"partition": [["a"], ["b", "c"]]}, PUBLISH, {"wait": 75}, PUBLISH),
], ids=["all run", "one is down", "a channel waits"])  # fmt: skip
def test_quorum_queues_are_searched_compiled(version, steps):
    assert refused(story(version, *steps)) is None


def test_queue_with_two_levels_of_priority_that_has_delivered_is_refused():
    """A queue of 4.0 counts what has left it, since two urgent messages are served before one other."""
    run = story("4.0", PUBLISH, {"get": {"queue": "q", "count": 1}})
    assert refused(run) == "parts of the queue's state that the search does not play"


@pytest.mark.parametrize(("name", "steps"), [
    ("1", ()), ("q", ({"wipe": "a"}, {"join": "a"}, {"wait": 1})),
], ids=["a queue before the store", "a member that joined again"])  # fmt: skip
def test_unusual_metadata_store_is_refused(name, steps):
    """Groups act in the order of their names, so one of a queue 1 acts before that of the store."""
    reason = "a metadata store whose members or log have changed, or a queue whose name comes before the store's"
    assert refused(story("4.3", *steps, name=name)) == reason
