"""The first page: small, with precomputed first actions that agree with the engine."""

from __future__ import annotations

import json
import re

import pytest
from browser_pages import ROOT
from samples import sample

from hawb.languages import LANGUAGES
from hawb.scenario.catalogue import catalogue
from hawb.scenario.load import load
from hawb.site import lab as site_lab
from hawb.site.bundle import listed
from hawb.site.chosen import CHOSEN
from hawb.site.first import first_moves, key
from hawb.site.front_page import first_script, front_page, front_script
from hawb.site.lab import begin
from hawb.site.pages import PlayedStory, stylesheet
from hawb.views.formatting import html

ENTRIES = catalogue(ROOT / "data" / "scenarios")
MOST_BYTES = 300_000
KILL, TRY, UNDO = {"do": "node", "node": "a", "entry": "kill", "asked": 1}, {"do": "try", "number": 1}, {"do": "undo"}
MENU = {"do": "menu", "menu": "node", "name": "a", "asked": 2}


def led_to(messages: list[dict]) -> dict:
    """Return the precomputed view that answers the last message."""
    first, state, view = first_moves("en"), 0, 0
    for message in messages:
        view, state = first["states"][state][key(message)]
    return first["views"][view]


@pytest.mark.parametrize(
    "messages",
    sample([
        [KILL], [KILL, UNDO], [KILL, TRY], [KILL, {"do": "step back"}], [KILL, UNDO, KILL, TRY],
        [KILL, {"do": "node", "node": "b", "entry": "stop"}], [{"do": "queue", "queue": "qq.orders", "entry": "purge"}],
    ], 2),
)  # fmt: skip
def test_engine_continues_from_precomputed_actions(messages, tmp_path, monkeypatch):
    (tmp_path / "index.json").write_text("[]")
    monkeypatch.setattr(site_lab, "STORIES", tmp_path)
    posted: list[dict] = []
    lab = begin("", "en", [MENU, *messages], lambda result: posted.append(json.loads(result)))
    played, shown = posted[-1]["view"], json.loads(json.dumps(led_to(messages)))
    anew = {"play", "answered", "refused", "logs"}  # how it came to that, which the page has seen
    assert {name: value for name, value in played.items() if name not in anew} == {
        name: value for name, value in shown.items() if name not in anew
    }
    assert lab.view["address"] == shown["address"]


def test_tour_is_precomputed():
    assert led_to([KILL])["leads"]["verdict"]["tone"] == "lost"
    assert [one["what"] for one in led_to([KILL])["leads"]["now"]["kept"]][1] == "ha-sync-mode: automatic"
    assert led_to([KILL, TRY])["leads"]["verdict"]["tone"] == "well"
    assert led_to([KILL])["play"]["at_once"] and led_to([KILL])["play"]["movements"]


def test_actions_offered_initially_are_precomputed():
    first = first_moves("en")
    offers = first["views"][0]["offers"]
    played = first["states"][0].keys()
    wanted = {key({"do": "node", "node": node, "entry": entry}) for node, at in offers["node"].items()
              for entry in offers["lists"][at] if not entry.endswith("…")}  # fmt: skip
    assert wanted <= played and key({"do": "queue", "queue": "ha.orders", "entry": "publish 10"}) in played


def test_address_opens_its_view():
    first = first_moves("en")
    for address, (view, _state) in first["addresses"].items():
        assert first["views"][view]["address"] == address


@pytest.mark.full
@pytest.mark.parametrize("name", [name for name in LANGUAGES if name != "en"])
def test_other_languages_have_the_same_actions(name: str):
    """So the language can be changed at any point."""
    first, other = first_moves("en"), first_moves(name)
    assert [first["states"], len(first["views"])] == [other["states"], len(other["views"])]
    assert [*other["addresses"].values()] == [*first["addresses"].values()]


def test_first_page_loads_little_before_python():
    found = [PlayedStory(entry, entry.title, "", 0, "", "") for entry in ENTRIES]
    page = front_page(ENTRIES, has_engine=True)
    files = {"site.css": stylesheet(), "front.js": front_script()}
    assert set(re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="([^"]+)"', page)) - {"data:,"} == files.keys()
    files |= {"index.html": page, "first-en.js": first_script("en", listed(found))}
    sizes = {name: len(text.encode()) for name, text in files.items()}
    assert sum(sizes.values()) <= MOST_BYTES, sizes


def test_first_page_has_one_invitation_and_few_words():
    page = front_page(ENTRIES, has_engine=True)
    drawn = page[: page.index('<section class="ws-chosen">')]
    assert re.findall(r"<a [^>]+>([^<]+)</a>", drawn) == ["Kill a"]
    paragraphs = re.findall(r"<(?:h1|p)[^>]*>([^<]+)<", drawn[: drawn.index('id="waiting"')])
    assert 20 <= len(" ".join(paragraphs).split()) <= 35


def test_twelve_featured_stories_have_pictures():
    page = front_page(ENTRIES, has_engine=True)
    cards = re.findall(r'<li><a href="stories/([^"]+)\.html"><b[^>]*>([^<]+)</b>.*?(<svg.*?</svg>)', page, re.DOTALL)
    assert [card[:2] for card in cards] == [(one.name, html(one.question)) for one in CHOSEN]
    assert len(set(cards)) == 12 and page.index("stories.html") > page.index(cards[-1][0])


@pytest.mark.parametrize("chosen", CHOSEN, ids=lambda chosen: chosen.name)
def test_question_is_asked_before_the_last_step(chosen):
    steps = load(ROOT / "data" / "scenarios" / f"{chosen.name}.yaml").steps
    assert chosen.played < len(steps)
