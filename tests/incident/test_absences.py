"""Absences in the logs of real clusters: which node lost contact with which other node, and whether by a partition."""

from __future__ import annotations

from pathlib import Path

import pytest
from kept_logs import STORIES, reading_of, scenario_of, short_cuts, story_of, title
from samples import each_third

from hawb.incident.absences import SILENCE, Absence, absences, found_apart
from hawb.incident.events import Event
from hawb.scenario import verbs


@pytest.mark.parametrize("story", each_third(STORIES), ids=title)
def test_absences_of_a_story_are_what_its_steps_cause(story: Path, subtests: pytest.Subtests):
    reading = reading_of(story)
    found = absences(reading.events, reading.clocks)
    with subtests.test(msg="each cut shows as a partition, from the cut on; without a cut there is none"):
        check_partitions(story, [absence for absence in found if absence.partition])
    with subtests.test(msg="the other nodes miss a node that was killed alone"):
        check_kills(story, [absence for absence in found if not absence.partition])


def check_partitions(story: Path, apart: list[Absence]) -> None:
    """Compare the absences by a partition with the links that the driver cut."""
    facts = story_of(story)
    names, begun = facts["names"], {place: at_s for at_s, place in facts["begun"]}
    places = [place for place, step in enumerate(scenario_of(story).steps)
              if isinstance(step.verb, verbs.Partition | verbs.Cut)]  # fmt: skip
    short = short_cuts(story)
    cuts = [(begun[place], scenario_of(story).steps[place].verb) for place in places if place not in short]
    assert bool(cuts) <= bool(apart) <= bool(places)
    for at_s, cut in cuts:
        if isinstance(cut, verbs.Partition) and len(cut.groups) == 2:
            found = {(names[one.seer], names[one.peer]) for one in apart if one.from_us / 1e6 >= at_s}
            one, other = map(set, cut.groups)
            assert {*found} <= {(here, there) for here in one | other for there in one | other if here != there}
            assert {frozenset(ends) for ends in found} & {frozenset((here, there)) for here in one for there in other}


def check_kills(story: Path, absent: list[Absence]) -> None:
    """Compare the absences without a partition with the node that the driver killed. If it killed several nodes, there
    may be none left that logs it: require nothing then."""
    facts, steps = story_of(story), scenario_of(story).steps
    killed = {node for step in steps if isinstance(step.verb, verbs.Kill) for node in step.verb.nodes}
    missed = {facts["names"][absence.peer] for absence in absent}
    assert killed - missed <= ({*killed} if len(killed) > 1 else set())


def logged(*said: tuple[int, str, str, str | None], reason: str | None = None) -> list[Event]:
    return [Event(at_us=at_s * 1_000_000, node=node, kind=kind, peer=peer, reason=peer and reason)
            for at_s, node, kind, peer in said]  # fmt: skip


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        (logged((1, "a", "node_down", "b"), (9, "a", "node_up", "b"), (11, "a", "rabbit_up", "b")),
         [("a", "b", 1, 11, False)]),
        (logged((1, "b", "node_stopping", None), (2, "a", "rabbit_down", "b"), (3, "b", "rabbit_down", "a")),
         [("a", "b", 2, None, False), ("b", "a", 3, None, False)]),
        (logged((1, "a", "node_down", "b"), (4, "b", "node_down", "a"), (9, "a", "node_up", "b"),
              (9, "b", "node_up", "a")),
         [("a", "b", 1, 9, True), ("b", "a", 4, 9, True)]),
        # who has booted since it missed another no longer does, whatever it says of that
        (logged((1, "a", "node_down", "b"), (3, "a", "node_starting", None), (9, "b", "node_down", "a")),
         [("a", "b", 1, None, False), ("b", "a", 9, None, False)]),
        # paused by the partition, which makes the other miss it
        (logged((1, "a", "rabbit_down", "b"), (2, "a", "node_stopping", None), (4, "b", "node_down", "a")),
         [("a", "b", 1, None, True), ("b", "a", 4, None, True)]),
        # paused because a third one was missed first: nothing was heard over this link either
        *((logged((1, "a", "node_stopping", None), (2, "a", "node_down", "b"), (4, "b", "node_down", "a"),
                  reason=reason),
           [("a", "b", 2, None, silent), ("b", "a", 4, None, silent)])
          for reason, silent in ((SILENCE, True), ("connection_closed", False))),
        # only Mnesia tells, in one log
        (logged((1, "a", "node_down", "b"), (9, "a", "node_up", "b"), (10, "a", "partition_seen", "b"),
              (30, "a", "rabbit_down", "b"), (40, "a", "rabbit_up", "b"), (90, "a", "partition_seen", "b")),
         [("a", "b", 1, 9, True), ("a", "b", 30, 40, False)]),
        # a node that boots knows nothing of what it missed before
        (logged((1, "a", "node_down", "b"), (5, "a", "node_starting", None), (6, "a", "rabbit_up", "b")),
         [("a", "b", 1, None, False)]),
        # lines of another node in a log
        (logged((1, "a", "node_down", "a"), (3, "a", "partition_seen", "a"), (5, "a", "node_up", "a")), []),
    ],
)  # fmt: skip
def test_what_was_missed(events, expected):
    assert [(one.seer, one.peer, one.from_us // 1_000_000, one.until_us and one.until_us // 1_000_000, one.partition)
            for one in absences(events, {})] == expected  # fmt: skip


def test_no_node_is_found_apart_from_itself() -> None:
    said = [(one.at_us, one) for one in logged((1, "a", "partition_seen", "a"), (2, "a", "partition_seen", "b"))]
    assert list(found_apart(said, [], 9_000_000)) == [said[1:]]
