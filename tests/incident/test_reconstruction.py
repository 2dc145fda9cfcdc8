"""Stories of real clusters, reconstructed from their logs: which events are found, how the stories end, and which
messages are reported as lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from kept_logs import DATA, DRAWN, STORIES, exports, title
from made_up_story import occurred
from measured_stories import differences, lost, measured, understood
from samples import of_the_day, sample, todays

from hawb.incident.doubts import DOUBTS
from hawb.incident.reconstruction import together
from hawb.incident.step_context import TimedStep
from hawb.scenario.dump import dump
from hawb.scenario.load import load
from hawb.scenario.verbs import Kill, Start, Stop, SyncQueue

PLAYED = [story for story in STORIES if exports(story, "before")]
"""The stories that have exports."""
FIRST = [story for story in sample(STORIES, 12) if isinstance(story, Path)]
OTHERS = [story for story in STORIES if story not in FIRST]
TODAY = len(OTHERS) // 3
"""The number of other stories that `make test-full` plays; each day, it takes different ones."""
MEASURED = [*FIRST, *todays(OTHERS, TODAY)]
LOGS = DATA / "logs"


@pytest.mark.parametrize("story", [*FIRST, *of_the_day(OTHERS, TODAY, pytest.mark.full)], ids=title)
def test_story_is_reconstructed_from_its_logs(story: Path, subtests: pytest.Subtests):
    with subtests.test(msg="every event that is found took place"):
        assert not measured(story).unconfirmed
    with subtests.test(msg="a queue that ends differently is reported as not sure"):
        assert not [one for one in differences(story) if not one.unsure]
    with subtests.test(msg="no more messages are reported as certainly lost than were lost"):
        assert not [one for one in lost(story) if one.certain > one.real]
    with subtests.test(msg="every loss is reported as certain or as possible"):
        assert not [one for one in lost(story) if one.real > one.certain and not one.possible]
    # In stories drawn at random members lead that no log has seen added.
    if story in PLAYED and story not in DRAWN:
        with subtests.test(msg="the same members are elected leaders as in the real cluster"):
            comparison = understood(story).comparison
            assert comparison is not None
            assert not [pair for pair in comparison.apart if pair.kind == "leader_elected"]
    with subtests.test(msg="the story is a scenario file, with a source for each step and a text for each doubt"):
        reconstructed = understood(story).reconstructed
        assert reconstructed is not None
        assert load(dump(reconstructed.scenario)) == reconstructed.scenario
        assert len(reconstructed.sources) == len(reconstructed.scenario.steps)
        assert {doubt.kind for doubt in reconstructed.doubts} <= DOUBTS.keys()
        assert all(doubt.text for doubt in reconstructed.doubts)


@pytest.mark.full
def test_nearly_all_events_are_found():
    of_each = [measured(story) for story in MEASURED]
    missing = [fact for one in of_each for fact in one.missing]
    assert len(missing) <= 0.01 * sum(one.found + len(one.missing) for one in of_each), missing


@pytest.mark.full
def test_most_stories_end_with_the_same_replicas():
    """With exports of before, and of after for stories drawn at random, in which classic queues are declared, which no
    log tells; depths too, where a listing of after tells what clients did."""
    played = [story for story in MEASURED if story in PLAYED]
    places = [story for story in played
              if any(one.what == "place" for one in differences(story, later=story in DRAWN))]  # fmt: skip
    assert len(places) <= 0.1 * len(played), places
    depths = [story for story in PLAYED[:2] if differences(story, later=True)]
    assert not depths


def steps_of(name: str) -> list[tuple[str, tuple[str, ...]]]:
    reconstructed = understood(LOGS / name).reconstructed
    assert reconstructed is not None
    return [(step.name, step.verb.nodes) for step in reconstructed.scenario.steps
            if isinstance(step.verb, Stop | Kill | Start)]  # fmt: skip


def test_steps_are_the_faults_and_operations_of_nodes():
    a, b, c = (f"n{n}@10.77.0.{n}" for n in (1, 2, 3))
    assert steps_of("3.10/unsynchronised-mirror-promoted") == [
        ("stop", (b,)), ("start", (b,)), ("stop", (c,)), ("kill", (a,)),
    ]  # fmt: skip


def test_story_without_exports_begins_with_the_logs():
    reconstructed = understood(LOGS / "3.10" / "promotion-table-stop").reconstructed
    assert reconstructed is not None
    stood = {entry.queue: entry for entry in reconstructed.scenario.queues}
    assert all(entry.master == "n1@10.77.0.1" and entry.mirrors == ("n2@10.77.0.2",) for entry in stood.values())
    assert {queue for queue, entry in stood.items() if not entry.synchronised_mirrors} >= {
        "default.behind", "failure-when-synced.behind",
    }  # fmt: skip
    assert {"no_listing", "no_definitions"} <= {doubt.kind for doubt in reconstructed.doubts}


def test_requested_synchronisation_is_a_step():
    reconstructed = understood(LOGS / "3.10" / "sync-cancelled").reconstructed
    assert reconstructed is not None
    assert isinstance(reconstructed.scenario.steps[0].verb, SyncQueue)
    assert reconstructed.scenario.queues[0].messages == 30010


def test_nodes_killed_together_are_one_step():
    sources = [occurred(at_s, "node_killed", node) for at_s, node in ((1, "a"), (1.05, "b"), (9, "c"))]
    result = together([TimedStep(one.at_us, Kill((one.node,)), (one,)) for one in sources])
    assert [step.verb for step in result] == [Kill(("a", "b")), Kill(("c",))]
    assert result[0].source == tuple(sources[:2])


def test_story_ends_as_the_logs_unless_a_node_still_boots():
    """A boot that was under way then would be over in the story, and its mirrors be back."""
    for name, goes_on in (("wide-kills-3-10", True), ("wide-partition-pause-if-all-down-autoheal", False)):
        reconstructed = understood(LOGS / "3.10" / name).reconstructed
        assert reconstructed is not None
        logs_s = (reconstructed.ends_us - reconstructed.begins_us) / 1e6
        assert (reconstructed.scenario.steps[-1].at > logs_s + 1) is goes_on
