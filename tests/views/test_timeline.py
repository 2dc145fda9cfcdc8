"""The timeline: marks with explanations, the shown moment, cut links and outages."""

from __future__ import annotations

import re
from html import unescape
from xml.etree import ElementTree

import pytest
from views_outcomes import HOSTILE, QUORUM_PARTED, UNSYNCHRONISED, hostile, play, steps

from hawb.views.story import timeline
from hawb.views.story.chronicle import Chronicle
from hawb.views.story.lanes import lanes
from hawb.views.story.marks import because, explained, marks
from hawb.views.story.roles import outages, partings


def of(outcome: dict, look: str, queue: str | None = None) -> list:
    return [mark for mark in marks(outcome, queue) if mark.look == look]


def test_mark_of_a_loss_shows_its_causes():
    result = play(UNSYNCHRONISED)
    (lost,) = of(result, "lost", "ha.orders")
    lines = [line for _, line in explained(Chronicle(result), lost)]
    assert lines[0] == "a was killed."
    assert lines[-2].startswith("Messages 1 to 100 of ha.orders were lost")
    assert "ha-promote-on-failure is always (its default)" in lines[-1]
    times = [t for t, _ in explained(Chronicle(result), lost)]
    assert (lost.node, times) == ("b", sorted(times))


def test_first_cause_comes_first_and_a_fault_has_none():
    result = play(UNSYNCHRONISED)
    index = next(i for i, event in enumerate(result["events"]) if event["event"] == "messages_lost")
    assert [t for t, _ in because(result, index)] == sorted(t for t, _ in because(result, index))
    fault = of(result, "fault")[0]
    assert explained(Chronicle(result), fault) == [(fault.t, fault.sentences[0].text)]


def test_redeliveries_have_marks_and_first_deliveries_have_none():
    got = {"get": {"queue": "q", "count": 3, "ack": False, "consumer": "c"}}
    three = ({"declare": {"queue": "q", "node": "b"}}, {"publish": {"queue": "q", "count": 3}})
    assert of(steps(*three, got), "redelivered") == []
    again = steps(*three, got, {"nack": {"consumer": "c"}}, got)
    requeued, delivered = of(again, "redelivered")
    assert requeued.node == "b"
    assert delivered.text.endswith(" were delivered to consumer c, messages 1 to 3 marked as redelivered.")


def test_cut_links_are_lines_until_they_heal():
    result = steps({"cut": [["a", "b"]], "at": 1}, {"cut": [["a", "c"]], "at": 2}, {"heal": True, "at": 4}, {"wait": 1})
    found = partings(result)
    assert found["a"] == [(1.0, 2.0, {"b"}), (2.0, 4.0, {"b", "c"})]
    assert (found["b"], found["c"]) == ([(1.0, 4.0, {"a"})], [(2.0, 4.0, {"a"})])
    assert "a: no link to b and c from 2.0 to 4.0 s" in lanes(result).svg
    still = steps({"cut": [["a", "b"]], "at": 1}, {"wait": 5})
    assert partings(still)["b"] == [(1.0, 6.0, {"a"})]


def test_queue_without_a_master_has_a_line_on_the_axis():
    down = steps({"declare": {"queue": "q", "node": "a"}}, {"kill": "a", "at": 3}, {"start": "a", "at": 4}, {"wait": 9})
    ((since, then),) = outages(down, "q")
    assert (since, then) == (3.0, 9.0)
    assert "q: no leader from 3.0 to 9.0 s" in lanes(down, "q").svg
    assert "led by nobody" not in lanes(down).svg
    gone = steps({"declare": {"queue": "q", "node": "a"}}, {"delete": {"queue": "q"}}, {"wait": 5})
    assert outages(gone, "q") == []
    parted = play(QUORUM_PARTED)
    assert all(since < then <= parted["time_s"] for since, then in outages(parted, "q"))


def test_each_mark_is_a_button_that_opens_its_text():
    result = play(UNSYNCHRONISED)
    drawn = lanes(result, "ha.orders")
    page = timeline.html(drawn, result, "one")
    targets = re.findall(r'popovertarget="([^"]*)"', page)
    assert targets == re.findall(r' id="([^"]*)"', page)
    assert len(set(targets)) == len(targets) == len(drawn.marks)
    assert [unescape(name) for name in re.findall(r'aria-label="([^"]*)" title', page)] == [m.text for m in drawn.marks]


def test_only_the_latest_marks_have_buttons(monkeypatch):
    monkeypatch.setattr(timeline, "MOST", 2)
    result = play(UNSYNCHRONISED)
    drawn = lanes(result)
    page = timeline.html(drawn, result, "one")
    assert page.count("<button") == 2
    assert f'aria-label="{drawn.marks[-1].text}"' in page


def test_shown_moment_has_a_labelled_line():
    result = play(UNSYNCHRONISED)
    drawn = lanes(result)
    ends = list(drawn.scale.places.items())
    places = [drawn.scale.at(t) for t in (-1.0, 0.0, 3.5, result["time_s"], 1e9)]
    assert places == sorted(places)
    assert (places[0], places[1], places[3], places[4]) == (ends[0][1], ends[0][1], ends[-1][1], ends[-1][1])
    assert all(drawn.scale.at(t) == x for t, x in ends)
    assert f"left:{drawn.scale.at(3.5):.1f}px" in timeline.framed("", drawn, 3.5)
    assert 'aria-label="3.5 s is shown"' in timeline.framed("", drawn, 3.5)


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_escaped(name):
    story = hostile(name)
    for queue in (None, name):
        page = timeline.framed(timeline.html(lanes(story, queue), story, "<n>"), lanes(story, queue), 0.0)
        ElementTree.fromstring(page.replace("<div popover ", "<div "))
        assert "<script" not in page
