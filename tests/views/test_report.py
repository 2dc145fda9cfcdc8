"""The report of a story: one self-contained page without scripts, with escaped names."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from html_pages import FETCHING, Page
from views_outcomes import HOSTILE, UNSYNCHRONISED, play, steps

from hawb import Cluster
from hawb.views.formatting import shown
from hawb.views.story import report
from hawb.views.story.summary import chains
from hawb.views.story.telling import sentences

SCENARIOS = sorted((Path(__file__).parents[2] / "data" / "scenarios").glob("*.yaml"))
ADDRESSES = ("src", "href", "srcset", "action", "data", "xlink:href", "background", "poster", "style")


def page_of(outcome: dict, scenario: str = "scenario: x") -> Page:
    return Page(report.page(outcome, scenario))


def test_page_has_story_figures_ledger_and_reasons():
    result = play(UNSYNCHRONISED)
    page = page_of(result, "scenario: <x>")
    assert [one.text for one in sentences(result) if one.text not in page.said] == []
    for said in ("Messages 1 to 100 of ha.orders were lost", "scenario: <x>", "publishes written"):
        assert said in page.said
    headings = re.findall("<h2>(.*?)</h2>", report.page(result, ""))
    assert headings == [
        *("What to do", "At a glance", "What was lost, and why", "In numbers", "What happened"),
        *("This story as a scenario file", "What is assumed"),
    ]
    assert [tag for tag, _ in page.elements].count("svg") == 6  # matrix, nodes, the queue that lost: broad and slim


def test_page_fetches_and_runs_nothing():
    for file in SCENARIOS[::25]:
        for tag, attributes in page_of(Cluster.load(file).outcome, file.read_text()).elements:
            assert tag not in FETCHING
            assert not [name for name in attributes if name.startswith("on")]
            assert not [one for one in ADDRESSES if "//" in (attributes.get(one) or "")]
            assert not [one for one in ADDRESSES if "url(" in (attributes.get(one) or "")]
    assert "default-src 'none'" in report.page(play(UNSYNCHRONISED), "")


def test_each_loss_has_its_chain_of_causes_and_each_cause_opens_its_sentence():
    result = play(UNSYNCHRONISED)
    text, links = report.page(result, ""), chains(result)[0]
    (causes,) = re.findall('<ol class="chain".*?</ol>', text)
    assert re.findall(r"<button [^>]*>(?:<i .*?</i> )?(.*?)</button>", causes) == [link.text for link in links]
    sentences_of = dict(re.findall(r'<div popover id="(.*?)">(.*?)</div>', causes))
    opened = [sentences_of[name].replace("\u00a0", " ") for name in re.findall('popovertarget="(.*?)"', causes)]
    assert opened == [link.told for link in links]
    assert text.index(causes) < text.index("Messages 1 to 100 of ha.orders were lost", text.index("<h2>What was lost"))


def test_page_without_a_loss_has_no_chain():
    assert '<ol class="chain"' not in report.page(steps({"declare": {"queue": "q", "node": "a"}}), "")


def test_names_are_escaped():
    for name in HOSTILE:
        publish = {"publish": {"queue": name, "count": 2}}
        result = steps({"declare": {"queue": name, "node": "a"}}, publish, {"kill": "a"})
        page = page_of(result | {"scenario": name}, name)
        assert not [tag for tag, _ in page.elements if tag == "script"] and shown(name) in page.said
        assert "\u202e" not in report.page(result, "")


@pytest.mark.parametrize("file", SCENARIOS[::9], ids=lambda file: file.stem)
def test_every_story_gives_a_page_with_valid_pictures(file):
    text = Cluster.load(file).html()
    assert Page(text).said.count("In numbers") == 1
    assert "td { white-space: normal !important; }" in text
    for svg in re.findall(r"<svg.*?</svg>", text, re.S):
        ElementTree.fromstring(svg)


def test_lanes_show_the_worst_affected_queues():
    result = play(UNSYNCHRONISED)
    assert report.worst(result) == ["ha.orders"]
    assert report.worst(steps({"declare": {"queue": "q", "node": "a"}})) == []
    many = [{"declare": {"queue": f"q{number}", "node": "a"}} for number in range(9)]
    publish = {"publish": {"queue": "q7", "count": 5, "persistent": False}}
    assert len(report.worst(steps(*many, publish, {"kill": "a"}))) == report.MOST_LANES
    assert report.worst(steps(*many, publish, {"kill": "a"}, {"start": "a"}))[0] == "q7"


def test_refusals_are_listed():
    page = page_of(Cluster("a", version="3.10").declare("q", node="a").delete("q").declare("q", passive=True).outcome)
    assert "step 3: 404 NOT_FOUND" in page.said
