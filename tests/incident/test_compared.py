"""Comparison of logged events with those that the rules predict."""

from __future__ import annotations

from kept_logs import DATA
from made_up_story import occurred, reconstruction_of, us
from measured_stories import understood
from msgspec.structs import replace

from hawb.incident.compared import Comparison, compared
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run

KILLED = """
scenario: A master is killed
cluster: {nodes: [a, b, c], version: "3.10"}
policies:
  - {name: all, pattern: ^q$, definition: {ha-mode: all}}
queues:
  - {queue: q, master: a, mirrors: [b, c], synchronised_mirrors: [b, c], messages: 5}
steps:
  - {kill: a, at: 1}
  - {start: a, at: 60}
  - {wait: 0, at: 90}
"""
SEEN = [occurred(1, "node_killed", "a"), occurred(1.2, "mirror_promoted", "b", "q"),
        occurred(62, "node_started", "a", until_us=us(63)), occurred(62.1, "mirror_added", "a", "q")]  # fmt: skip


def beside(found) -> Comparison:
    story = reconstruction_of(KILLED)
    return compared(story, found, outcome(Run.of(story.scenario)))


def test_predicted_events_are_in_the_logs():
    comparison = beside(SEEN)
    assert [pair.verdict for pair in comparison.pairs] == ["equal"] * 4
    assert comparison.equal == 4
    assert all(pair.expected and pair.seen for pair in comparison.pairs)


def test_first_difference_is_found():
    comparison = beside([*SEEN[:1], occurred(1.2, "mirror_promoted", "c", "q"), *SEEN[2:3]])
    assert [(pair.verdict, pair.kind, pair.step) for pair in comparison.apart] == [
        ("only expected", "mirror_promoted", 0), ("only seen", "mirror_promoted", 0),
        ("only expected", "mirror_added", 1),
    ]  # fmt: skip


def test_unfinished_boot_is_not_compared():
    booting = occurred(88, "node_started", "a")
    assert beside([*SEEN, booting]).pairs == beside(SEEN).pairs
    assert [pair.seen for pair in beside([*SEEN, booting, occurred(89, "node_killed", "a")]).apart] == [
        booting, occurred(89, "node_killed", "a")]  # fmt: skip


CRASHED = """
scenario: A queue's process crashes
cluster: {nodes: [a, b], version: "3.10"}
policies:
  - {name: all, pattern: ^q$, definition: {ha-mode: all}}
queues:
  - {queue: q, master: a, mirrors: [b], synchronised_mirrors: [b], messages: 5}
steps:
  - {crash: {queue: q}, at: 1}
  - {wait: 0, at: 20}
"""


def test_restart_of_a_crashed_process_as_a_mirror_is_not_logged():
    story, found = reconstruction_of(CRASHED), [occurred(1.1, "mirror_promoted", "b", "q")]
    result = outcome(Run.of(story.scenario))
    assert "a" in result["queues"]["q"]["mirrors"]
    assert not compared(story, found, result).apart


FORGOTTEN = """
scenario: A node boots that was told to forget the one that it would wait for
cluster: {nodes: [a, b], version: "3.10", down: {a: stopped, b: stopped}}
steps:
  - {forget_cluster_node: {node: a, from: b, offline: true}, at: 1}
  - {start: b, at: 2}
  - {wait: 0, at: 20}
"""


def test_offline_forget_is_not_logged():
    story, found = reconstruction_of(FORGOTTEN), [occurred(2, "node_started", "b", until_us=us(3))]
    result = outcome(Run.of(story.scenario))
    assert "node_forgotten" in {event["event"] for event in result["events"]}
    assert not compared(story, found, result).apart


def test_events_far_apart_do_not_match():
    """a comes up a minute later, and its mirror another minute later."""
    comparison = beside([*SEEN[:3], occurred(140, "mirror_added", "a", "q")])
    assert [pair.verdict for pair in comparison.apart] == ["only expected", "only seen"]


def test_nearest_event_matches():
    comparison = beside([occurred(30, "mirror_added", "a", "q"), *SEEN])
    assert [pair.at_us for pair in comparison.apart] == [occurred(30, "").at_us]


def test_missing_step_makes_story_and_logs_differ():
    """Leave a kill out of a real story."""
    incident = understood(DATA / "logs" / "3.10" / "unsynchronised-mirror-promoted")
    story = incident.reconstructed
    assert story is not None and incident.comparison is not None and not incident.comparison.apart
    steps, sources = story.scenario.steps[:-2], story.sources[:-2]
    cut = replace(story, scenario=replace(story.scenario, steps=steps), sources=sources)
    comparison = compared(cut, incident.cluster_events, outcome(Run.of(cut.scenario)))
    assert [(pair.verdict, pair.kind) for pair in comparison.apart] == [
        ("only seen", "node_killed"), ("only seen", "mirror_promoted"),
    ]  # fmt: skip
