"""Pictures of lessons: the messages of each node before and after a step."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from hawb.cluster import Cluster
from hawb.views.cluster import scene
from hawb.views.story import pictures
from hawb.views.story.pictures import Panel
from hawb.views.style import CHANGED, LOOKS

NASTY = "<script>alert('1')</script>"


@pytest.fixture
def late() -> Cluster:
    """Return a cluster with a queue of 110 messages whose mirrors have the last 10."""
    cluster = Cluster("a", "b", "c", version="3.10").set_policy("ha", "^orders", {"ha-mode": "all"})
    cluster.declare("orders", node="a").publish("orders", 100)
    return cluster.stop("b").start("b").stop("c").start("c").publish("orders", 10)


def panel(caption: str, cluster: Cluster) -> Panel:
    state = cluster.run.moment().state
    return Panel(caption, cluster.outcome, scene.held(state, cluster.run.settings.names))


def drawn(*panels: Panel) -> ElementTree.Element:
    return ElementTree.fromstring(pictures.svg(panels))


def words(picture: ElementTree.Element) -> list[str]:
    return ["".join(text.itertext()) for text in picture.iter("{http://www.w3.org/2000/svg}text")]


def bars(picture: ElementTree.Element, role: str) -> list[tuple[float, float]]:
    """Return start and width of the bars in the colour of a role."""
    found = [rect.attrib for rect in picture.iter("{http://www.w3.org/2000/svg}rect")]
    return [(float(one["x"]), float(one["width"])) for one in found if one["fill"] == LOOKS[role].colour]


def test_replica_is_filled_for_the_messages_it_holds(late: Cluster):
    picture = drawn(panel("before", late))
    ((left, width),) = bars(picture, "master")
    mirrors = bars(picture, "unsynchronised")
    assert [round(wide / width, 2) for _, wide in mirrors] == [0.09, 0.09]  # 10 of 110
    assert all(x > left for x, _ in mirrors)
    assert "nothing is lost" in " ".join(words(picture))


def test_loss_is_stated_and_changes_are_marked(late: Cluster):
    before, after = panel("before", late), panel("a is killed", late.copy().kill("a"))
    picture = drawn(before, after)
    assert f"{LOOKS['lost'].glyph} 100 messages of orders lost, all confirmed" in words(picture)
    marked = [rect for rect in picture.iter("{http://www.w3.org/2000/svg}rect") if rect.get("fill") == CHANGED]
    assert len(marked) == 4  # the node, and all three replicas
    assert pictures.svg([before]).count(CHANGED) == 0
    text = pictures.text([before, after])
    assert text.splitlines()[0] == "before"
    assert "orders (running): a ✕ left over on disk, 110 messages; b ■ master, 10 messages" in text
    assert text.endswith("100 messages of orders lost, all confirmed")


def test_unavailable_queue_is_stated_beside_the_loss(late: Cluster):
    keys = {"ha-mode": "all", "ha-promote-on-failure": "when-synced"}
    result = pictures.verdicts(late.set_policy("ha", "^orders", keys).kill("a").outcome)
    assert result == [("running", "nothing is lost"), ("waiting", "orders is down")]


def test_sides_of_a_partition_have_separate_rows(late: Cluster):
    picture = pictures.svg([panel("", late.cut(["a", "b"], ["a", "c"]).wait(70))])
    assert picture.count("these nodes do not reach each other") == 1
    assert {"by a", "by b+c"} <= set(words(ElementTree.fromstring(picture)))


def test_panels_wrap_if_they_do_not_fit():
    few, many = (Cluster(*nodes).declare("q", node="a").publish("q", 1) for nodes in ("abc", "abcdef"))
    twice = [drawn(panel("x", one), panel("y", one)) for one in (few, many)]
    sizes = [(float(picture.get("width")), float(picture.get("height"))) for picture in twice]
    assert sizes[0][0] > 900 and sizes[1][1] > 1.9 * sizes[0][1]
    assert all(width <= pictures.WIDEST for width, _ in sizes)


def test_logs_show_terms_and_committed_entries():
    cluster = Cluster("a", "b", "c").declare("q", node="a", arguments={"x-queue-type": "quorum"}).publish("q", 2)
    cluster.kill("b", "c").publish("q", 1)
    state = cluster.run.moment().state
    picture = pictures.logs_svg([("now", state)], cluster.run.settings.names, "q")
    found = words(ElementTree.fromstring(picture))
    assert found[0] == "now: logs of q"
    assert found.count("t1") == 3 + 3 + 4
    assert [part[0] for part in found if part[0] in "⬢⬡"] == ["⬡"]  # a leader without a majority
    assert len(re.findall('stroke-dasharray="4 2"', picture)) == 1  # what the leader alone has
    with pytest.raises(ValueError, match="no quorum queue"):
        pictures.logs_svg([("", state)], cluster.run.settings.names, "none")


def test_large_numbers_of_entries_do_not_overlap():
    cluster = Cluster("a").declare("q", node="a", arguments={"x-queue-type": "quorum"}).publish("q", 100_000)
    picture = pictures.logs_svg([("", cluster.run.moment().state)], cluster.run.settings.names, "q")
    places = [(float(one.get("x")), "".join(one.itertext())) for one in
              ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")]  # fmt: skip
    numbers = [(x, text) for x, text in places if text.startswith(("99,", "100,"))]
    assert len(numbers) == 8
    assert all(right - left > 6.2 * len(text) for (left, _), (right, text) in pairwise(numbers))


def test_names_are_escaped():
    cluster = Cluster("a").declare(NASTY, node="a").publish(NASTY, 1)
    picture = pictures.svg([panel(NASTY, cluster)])
    assert "<script" not in picture
    assert NASTY in [*ElementTree.fromstring(picture).itertext()]
