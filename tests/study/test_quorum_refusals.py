"""The compiled search takes up quorum queues of each release with Mnesia. Nothing is compiled here."""

from __future__ import annotations

import pytest

from hawb.scenario.load import read_scenario
from hawb.scenario.run import Run
from hawb.study.compiled_search import refused

PUBLISH = {"publish": {"queue": "q", "count": 1, "node": "a"}}


def story(version: str, *steps: dict) -> Run:
    """A quorum queue with some messages on three nodes."""
    begun = [{"declare": {"queue": "q", "node": "b", "arguments": {"x-queue-type": "quorum"}}}, PUBLISH, {"wait": 1}]
    nodes = {"nodes": ["a", "b", "c"], "version": version}
    return Run.of(read_scenario({"scenario": "x", "cluster": nodes, "steps": [*begun, *steps]}))


@pytest.mark.parametrize("version", ["3.8", "3.10", "3.13", "4.0"])
@pytest.mark.parametrize("steps", [
    (), ({"kill": "a"},), ({"partition": [["a"], ["b", "c"]]}, PUBLISH, {"wait": 75}, PUBLISH),
], ids=["all run", "one is down", "a channel waits"])  # fmt: skip
def test_quorum_queues_are_searched_compiled(version, steps):
    assert refused(story(version, *steps)) is None


def test_queue_with_two_levels_of_priority_that_has_delivered_is_refused():
    """A queue of 4.0 counts what has left it, since two urgent messages are served before one other."""
    run = story("4.0", PUBLISH, {"get": {"queue": "q", "count": 1}})
    assert refused(run) == "what the queue's state machine knows"
