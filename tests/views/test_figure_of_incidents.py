"""The picture of an incident: shapes with labels that do not overlap, and escaped names."""

from __future__ import annotations

import re
from itertools import combinations
from xml.etree import ElementTree

import pytest
from incident_pictures import HOUR, SECOND, picture
from msgspec.structs import replace

from hawb.views.incident.figure import LETTER, MOST_ROWS, SHAPES, STATES, WIDTH, Mark, Span, Way, svg
from hawb.views.incident.strips import Strips, head, key

SVG = "{http://www.w3.org/2000/svg}"


def parsed(**changed: object) -> ElementTree.Element:
    return ElementTree.fromstring(svg(picture(**changed), titled=True))


def texts(drawn: ElementTree.Element) -> list[str]:
    return ["".join(one.itertext()) for one in drawn.iter(f"{SVG}text")]


def test_picture_has_a_description_and_escapes_names():
    drawn = parsed()
    assert drawn.find(f"{SVG}title").text == "orders had two masters, and <what> b took was thrown away."
    assert drawn.find(f"{SVG}desc").text == "b took over orders. b paused. c was killed."
    assert "<c><c>" in texts(drawn)


def test_each_state_of_a_node_is_a_bar():
    titles = [one.text for one in parsed().iter(f"{SVG}title")]
    assert "rabbit@b boots from 00:00:00 to 00:00:02" in titles
    assert "<c> runs from 00:00:00 to 00:00:50" in titles
    assert not [one for one in titles if one.startswith("<c>") and "01:00:00" in one]


def test_partitions_are_drawn_between_lanes_of_different_sides():
    assert [one.text for one in parsed().iter(f"{SVG}title") if "|" in (one.text or "")] == [
        "rabbit@a | rabbit@b, <c>: 20 s"
    ]


def test_discarded_data_is_drawn_dashed():
    way = [one for one in parsed().iter(f"{SVG}path") if (one.findtext(f"{SVG}title") or "").startswith("orders on")]
    assert [bool(one.get("stroke-dasharray")) for one in way] == [False, True]


def test_omitted_time_is_labelled():
    assert "59 min left out" in texts(parsed())


def test_legend_lists_only_what_is_drawn():
    shown = texts(parsed())
    assert {"takes over", "is paused", "killed", "partition", "thrown away"} <= {*shown}
    assert not {"alarm", "stops"} & {*shown}


@pytest.mark.parametrize("count", [2, 12, 60])
def test_labels_do_not_overlap(count):
    many = tuple(Mark(SECOND * at, "rabbit@a", "noted", at, "something that happened") for at in range(1, count + 1))
    drawn = parsed(marks=many, ways=(), tears=())
    words = [one for one in drawn.iter(f"{SVG}text") if one.get("font-size") == "11.5"]
    boxes = [(float(one.get("x")), float(one.get("y")), LETTER * len(one.text or "")) for one in words]
    badges = [one for one in drawn.iter(f"{SVG}rect") if one.get("rx") == "6.5"]
    boxes += [(float(one.get("x")), float(one.get("y")) + 10.5, float(one.get("width"))) for one in badges]
    assert badges and len({y for _, y, _ in boxes}) <= MOST_ROWS
    for (x, y, width), (other, below, _) in combinations(sorted(boxes), 2):
        assert y != below or x + width <= other
    assert max(x + width for x, _, width in boxes) <= WIDTH


def test_one_moment_can_be_drawn():
    assert "00:00:00" in texts(parsed(spans=(Span("rabbit@a", "running", 0, 0),), tears=(), ways=(), marks=()))


@pytest.mark.parametrize("table", [SHAPES, STATES])
def test_shapes_differ_without_colours(table):
    shapes = [re.sub(r'(fill|stroke)="var\([^"]*"', "", drawn) for _, drawn in table.values()]
    assert len({*shapes}) == len(shapes)


def test_text_form_shows_the_same():
    nodes = {"rabbit@a": "a", "rabbit@b": "b", "<c>": "c"}
    made = picture()
    result = picture(
        nodes=tuple(nodes.values()), spans=tuple(replace(one, node=nodes[one.node]) for one in made.spans),
        tears=tuple(replace(one, sides=(("a",), ("b", "c"))) for one in made.tears),
        ways=tuple(Way(one.words, tuple(replace(leg, node=nodes[leg.node]) for leg in one.legs)) for one in made.ways),
    )  # fmt: skip
    moments = [0, 5, 12, 30, 41, 50]
    assert [Strips(result).at(at * SECOND) for at in moments] == [
        "●   ◌   ●", "■   ●   ●", "■ ≠ ■   ●", "■   ‖   ●", "■   ✕   ●", "■   ✕   ✕",
    ]  # fmt: skip
    assert Strips(result).at(HOUR) == "■   ✕   ✕"
    assert "■ master or leader of orders" in key(result)
    assert head(result) == "a   b   c"


def test_letters_are_below_names_that_fit():
    assert head(picture()) == "rabbit@a rabbit@b <c>"
    assert Strips(picture()).at(12 * SECOND) == "■   ≠    ■        ●"
    long = picture(nodes=("a" * 20, "b" * 20))
    assert (head(long), Strips(long).at(0)) == ("nodes", "·   ·")


def test_labels_of_queues_that_start_together_are_side_by_side():
    legs = picture().ways[0].legs
    drawn = parsed(ways=(Way("orders", legs), Way("bills", legs)))
    named = [one for one in drawn.iter(f"{SVG}text") if one.text in ("orders", "bills") and one.get("font-weight")]
    one, other = sorted(float(each.get("x")) for each in named)
    assert other >= one + LETTER * len("orders")
