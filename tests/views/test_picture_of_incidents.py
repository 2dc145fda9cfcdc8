"""The content of incident pictures of real clusters."""

from __future__ import annotations

import pytest
from incidents import LOGS, SOME, incident
from kept_logs import title
from samples import sample

from hawb.incident.asked import when
from hawb.incident.understanding import understand
from hawb.views.incident.figure import SHAPES, STATES, Mark, Picture
from hawb.views.incident.incident_report import account
from hawb.views.incident.times import time_of_day


def drawn(story: str) -> Picture:
    return account(incident(story)).picture


def way(story: str, words: str) -> list[tuple[str, str, str]]:
    [found] = [way for way in drawn(story).ways if way.words == words]
    return [(leg.node, time_of_day(leg.from_us), time_of_day(leg.until_us)) for leg in found.legs]


@pytest.mark.parametrize("story", sample(SOME, 5), ids=title)
def test_every_element_has_a_style_and_a_lane(story):
    found = drawn(title(story))
    assert {span.node for span in found.spans} == {*found.nodes}
    assert all(span.state in STATES and span.from_us <= span.until_us for span in found.spans)
    assert all(mark.look in SHAPES and mark.node in found.nodes for mark in found.marks)
    assert all(leg.node in found.nodes and leg.from_us <= leg.until_us for one in found.ways for leg in one.legs)


def test_a_node_boots_runs_is_paused_and_boots_again():
    states = [span.state for span in drawn("3.10/partition-autoheal").spans if span.node == "n2"]
    assert states == ["booting", "running", "paused", "booting", "running"]


def test_state_of_a_killed_node_is_uncertain_after_its_last_line():
    spans = [span for span in drawn("4.3/quorum-leader-killed").spans if span.node == "n1"]
    assert [span.state for span in spans] == ["booting", "running", "doubted"]


def test_nodes_of_one_side_are_adjacent():
    found = drawn("3.10/partition-autoheal")
    assert found.nodes == ("n1", "n2", "n3")
    assert [tear.sides for tear in found.tears] == [(("n1",), ("n2", "n3"))]


def test_queue_has_two_masters_during_a_partition():
    legs = way("3.10/partition-autoheal", "orders")
    assert [node for node, *_ in legs[:2]] == ["n1", "n2"] or [node for node, *_ in legs[:2]] == ["n2", "n1"]
    assert ("n2", "08:55:23", "08:55:32") in legs


def test_path_of_a_queue_continues_at_the_promoted_mirror():
    assert way("3.10/promotion-table-stop", "5 queues") == [
        ("n1", "08:59:01", "08:59:49"), ("n2", "08:59:50", "09:01:00"),
    ]  # fmt: skip
    assert way("4.3/quorum-leader-killed", "orders") == [
        ("n1", "09:03:33", "09:03:40"), ("n3", "09:03:40", "09:03:44"),
    ]  # fmt: skip


def test_marks_have_the_numbers_of_their_sentences():
    found = account(incident("3.10/promotion-table-stop"))
    stop = next(mark for mark in found.picture.marks if mark.look == "stopped")
    assert found.story[stop.number - 1].text == "n1 was asked to stop."


def test_events_outside_the_time_span_are_not_drawn():
    found = understand([LOGS / "3.10/unsynchronised-mirror-promoted"], since=when("12:05:00"), until=when("12:05:03"),
                       keepers=False)  # fmt: skip
    drawn = account(found).picture
    moments = [moment for one in (*drawn.spans, *drawn.marks) for moment in
               ((one.at_us,) if isinstance(one, Mark) else (one.from_us, one.until_us))]  # fmt: skip
    assert all(moment in found.asked for moment in moments)
    assert {span.node for span in drawn.spans} == {"n1", "n2", "n3"} and len(drawn.marks) == 1
    assert drawn.title == "At 12:05:01 n3 was asked to stop: no queue changed its master."
