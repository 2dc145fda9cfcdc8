"""Queue depths from logged synchronisations and from a listing from after."""

from __future__ import annotations

import pytest
from made_up_story import occurred, reconstruction_of

from hawb.incident.depths import deepened
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.scenario.verbs import Get, Publish

STORY = """
scenario: A mirror comes back
cluster: {nodes: [a, b], version: "3.10"}
policies:
  - {name: all, pattern: ^q$, definition: {ha-mode: all, ha-sync-mode: automatic}}
queues:
  - {queue: q, master: a, mirrors: [b], synchronised_mirrors: [b], messages: 7, unacknowledged: 2}
steps:
  - {stop: b, at: 1}
  - {start: b, at: 20}
  - {wait: 0, at: 60}
"""

PARTED = """
scenario: A partition that stays
cluster: {nodes: [a, b], version: "3.10"}
queues:
  - {queue: q, master: b, messages: 7}
steps:
  - {partition: [[a], [b]], at: 1}
  - {wait: 0, at: 100}
"""


def seen(count: int, node: str = "a"):
    return occurred(25.1, "synchronisation", node, "q", count=count)


@pytest.mark.parametrize(("ready", "verb", "held"), [(12, Publish, 14), (1, Get, 3), (5, None, 7)])
def test_story_publishes_or_gets_as_many_as_a_synchronisation_logs(ready, verb, held):
    """A synchronisation does not count unacknowledged messages."""
    story = deepened(reconstruction_of(STORY), [seen(ready)])
    new = [step for step in story.scenario.steps if isinstance(step.verb, Publish | Get)]
    assert [type(step.verb) for step in new] == ([verb] if verb else [])
    assert outcome(Run.of(story.scenario))["queues"]["q"]["messages"] == held
    assert [(doubt.kind, doubt.count) for doubt in story.doubts] == [("depth_seen", ready)] * bool(verb)
    assert len(story.sources) == len(story.scenario.steps)


def test_depth_of_another_master_is_not_used():
    assert not deepened(reconstruction_of(STORY), [seen(12, "b")]).doubts


def test_listing_from_after_gives_all_messages():
    story = deepened(reconstruction_of(STORY, depths={"q": 20, "new": 0}), [])
    assert outcome(Run.of(story.scenario))["queues"]["q"]["messages"] == 20
    assert [doubt.kind for doubt in story.doubts] == ["depth_listed"]


def test_listing_from_after_belongs_to_the_side_with_the_queue():
    """Node a is on the other side and would refuse the publish."""
    story = deepened(reconstruction_of(PARTED, depths={"q": 9}), [])
    assert outcome(Run.of(story.scenario))["queues"]["q"]["views"][1]["ids"] == [[1, 9]]


def test_node_that_joins_later_is_known():
    text = STORY.replace("  - {wait: 0, at: 60}", "  - {join: c, at: 30}\n  - {wait: 0, at: 60}")
    story = deepened(reconstruction_of(text, depths={"q": 9}), [])
    assert outcome(Run.of(story.scenario))["queues"]["q"]["messages"] == 9


@pytest.mark.parametrize(("listed", "unacknowledged"), [(0, 0), (1, 1), (3, 2)])
def test_messages_missing_from_the_queue_at_the_end_were_acknowledged(listed, unacknowledged):
    story = deepened(reconstruction_of(STORY, depths={"q": listed}), [])
    assert outcome(Run.of(story.scenario))["queues"]["q"]["messages"] == listed
    assert story.scenario.queues[0].unacknowledged == unacknowledged
