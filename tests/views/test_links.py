"""The graph of links while some are down."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from views_outcomes import HOSTILE, steps

from hawb.views.cluster import links

SVG = "{http://www.w3.org/2000/svg}"
PARTED = {"nodes": {"r@a": "running", "r@b": "running", "r@c": "running"}, "partitions": [["r@a"], ["r@b", "r@c"]]}


def titles(svg: str) -> list[str]:
    return [title.text for title in ElementTree.fromstring(svg).iter(f"{SVG}title")]


def test_every_link_is_drawn_as_working_or_down():
    told = titles(links.svg(PARTED, [("r@a", "r@b"), ("r@c", "r@a")]))
    assert set(told[1:]) == {
        "r@a – r@b: drops everything", "r@a – r@c: drops everything", "r@b – r@c: works",
    }  # fmt: skip


def test_links_and_sides_are_told_in_words():
    assert links.text(PARTED, [("r@a", "r@b")]) == "Links down: r@a – r@b. Sides: a | b and c."
    assert titles(links.svg(PARTED, [("r@a", "r@b")]))[0] == "Links down: r@a – r@b. Sides: a | b and c."
    assert "No node has noticed" in links.text(PARTED | {"partitions": []}, [("r@a", "r@b")])


def test_nodes_stand_above_their_columns_in_the_matrix():
    circles = [float(circle.get("cx")) for circle in ElementTree.fromstring(links.svg(PARTED, [])).iter(f"{SVG}circle")]
    cell = links.cell_width_for(3)
    assert circles == [links.NAME_WIDTH + cell * column + 15 for column in range(3)]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_cannot_leave_their_place(name):
    svg = links.svg(steps(nodes=("a", name)) | {"partitions": [["a"], [name]]}, [("a", name)])
    ElementTree.fromstring(svg)
    assert "<script" not in svg
