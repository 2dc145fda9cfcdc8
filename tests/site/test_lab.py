"""The lab of the site, with text in place of widgets: same actions as in Jupyter, and typed steps."""

from __future__ import annotations

import json
from functools import partial

import pytest
from browser_pages import ROOT

from hawb.lab.controller import Controller
from hawb.lab.sources import START, TITLE
from hawb.scenario.load import load
from hawb.scenario.verbs import VERBS
from hawb.site import lab as site_lab
from hawb.site.lab import TextLab, begin, form, read_typed


@pytest.fixture
def lab():
    """Return a lab, with the last messages to its page as `lab.messages`."""
    made = TextLab(Controller(), [(TITLE, START)], lambda result: setattr(made, "messages", json.loads(result)))
    made.show()
    return made


def test_kill_shows_the_explanation(lab):
    lab.receive({"do": "node", "node": "a", "entry": "kill"})
    leads = lab.messages["view"]["leads"]
    assert leads["verdict"]["tone"] == "lost" and "ha-sync-mode is manual" in leads["why"][0]
    assert lab.messages["drawer"] is None


def test_texts_of_a_language_are_sent_before_the_view(lab):
    found = []
    lab.post = lambda text: found.append(json.loads(text))
    lab.receive({"do": "panel", "panel": "Story"})
    lab.receive({"do": "language", "language": "pt"})
    given, shown = found[-2:]
    assert given["words"]["What now"] == "E agora"
    assert shown["view"]["leads"]["verdict"]["text"] == "Nada se perdeu, e todas as filas podem ser usadas."
    assert shown["drawer"]["title"] == "História" and "A política ha-all" in shown["drawer"]["read"]


def test_form_is_a_typed_step(lab):
    lab.receive({"do": "queue", "queue": "ha.orders", "entry": "publish…"})
    assert lab.messages["drawer"]["typed"] == "publish:\n  queue: ha.orders\n  count:\n"
    lab.receive({"do": "step", "text": "publish:\n  queue: ha.orders\n  count: 7\n"})
    assert lab.messages["drawer"] is None
    assert lab.controller.outcome["ledger"]["ha.orders"]["published"] == 117


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("kill: nobody", "nobody"),
        ("kill: a\nstop: b", "one key and its value"),
        ("- kill", "one key and its value"),
        ("kill: [", "YAML"),
        ("fly: a", "fly"),
        ("", "one key and its value"),
    ],
)
def test_invalid_step_is_explained_and_changes_nothing(lab, typed, said):
    lab.receive({"do": "panel", "panel": "Any step"})
    before = lab.controller.outcome
    lab.receive({"do": "step", "text": typed})
    assert said in lab.messages["drawer"]["message"]
    assert lab.controller.outcome is before


def test_a_typed_step_may_have_a_time(lab):
    assert read_typed("kill: a\nat: 12.5") == ("kill", "a", "12.5")
    lab.receive({"do": "step", "text": "kill: a\nat: 60"})
    assert lab.controller.outcome["events"][-1]["t"] >= 60


def test_there_is_a_form_for_every_verb():
    for verb in VERBS:
        assert form(verb, {}).startswith(f"{verb}:")
    assert form("heal", {}) == "heal: true\n"
    assert form("transfer_leadership", {"queue": "q"}).startswith("transfer_leadership:\n  queue: q\n")


def test_panels_are_plain_text(lab):
    lab.receive({"do": "panel", "panel": "Story"})
    assert "6.013 s  b joined ha.orders as an empty mirror that is not synchronised: " in lab.messages["drawer"]["read"]
    lab.receive({"do": "panel", "panel": "Export"})
    assert load(lab.messages["drawer"]["read"].encode()).scenario == lab.controller.outcome["scenario"]
    lab.receive({"do": "close"})
    assert lab.messages["drawer"] is None


def test_unavailable_panels_are_not_offered(lab):
    result = lab.given()["menus"]
    more = [one["label"] for group in result["more"] for one in group["entries"]]
    assert "export…" in more and "ledger" not in more and "your own cluster…" not in more
    assert "compare with another…" not in [one["label"] for group in result["queue"] for one in group["entries"]]


def test_story_of_the_site_can_be_opened(tmp_path, monkeypatch):
    name = "unsynchronised-mirror-promoted.yaml"
    (tmp_path / name).write_bytes((ROOT / "data" / "scenarios" / name).read_bytes())
    (tmp_path / "index.json").write_text(json.dumps([["Which mirror takes over", ""], ["Promoted", name]]))
    monkeypatch.setattr(site_lab, "STORIES", tmp_path)
    posted: list[dict] = []
    begun = partial(begin, spoken="en", messages=[], post=lambda result: posted.append(json.loads(result)))
    lab = begun("story=unsynchronised-mirror-promoted")
    assert [one["label"] for one in posted[0]["choices"]][1:] == ["Which mirror takes over", "Promoted"]
    assert posted[1]["view"]["bar"]["title"] == "An unsynchronised mirror is promoted after a crash"
    lab.receive({"do": "open", "number": 0})
    assert posted[-1]["view"]["bar"]["title"].startswith("A mirrored queue whose")
    assert begun("story=../../etc").controller.is_at_rest
    assert "there is no such story" in posted[-1]["view"]["leads"]["answers"][0]


def test_each_state_has_an_address_that_can_be_opened(lab):
    lab.receive({"do": "node", "node": "a", "entry": "kill"})
    assert lab.messages["view"]["address"] == "kill=a"
    killed = lab.controller.outcome
    lab.receive({"do": "address", "address": "drain=b"})
    assert (lab.messages["view"]["address"], lab.messages["view"]["bar"]["can_undo"]) == ("drain=b", True)
    lab.receive({"do": "address", "address": "kill=a"})
    assert lab.controller.outcome == killed


def test_invalid_address_is_explained_and_changes_nothing(lab):
    before = lab.controller.outcome
    lab.receive({"do": "address", "address": "fly=<b>"})
    (said,) = lab.messages["view"]["leads"]["answers"]
    assert said.startswith("The address of this page cannot be opened:") and "fly: unknown verb" in said
    assert lab.controller.outcome is before and lab.messages["view"]["address"] == ""
