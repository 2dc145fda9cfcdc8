"""A story on a page shows what the lab shows at each step."""

from __future__ import annotations

import pytest
from browser_pages import ROOT

from hawb.lab.controller import Controller
from hawb.lab.stage_view import view
from hawb.site.replay import mark, replay
from hawb.views.story.drafts import Drafts

FOLDER = ROOT / "data" / "scenarios"


@pytest.mark.parametrize("name", ["unsynchronised-mirror-promoted", "quorum-leader-killed", "autoheal-who-wins"])
def test_each_stop_agrees_with_the_lab(name: str):
    file = FOLDER / f"{name}.yaml"
    played, controller = replay(file), Controller(file)
    assert len(played["stops"]) == len(played["done"]) + 1 == controller.story_place[1] + 1
    shown = view(controller, None, Drafts())
    end = played["stops"][-1]
    assert end["scene"] == shown["scene"]
    assert end["movements"] == shown["play"]["movements"]
    assert (end["verdict"], end["why"]) == (shown["leads"]["verdict"], shown["leads"]["why"])
    assert all(one in end["happened"]["told"] for one in shown["leads"]["happened"]["told"])
    assert end["time"] == shown["bar"]["time"]


def test_a_story_begins_before_its_first_step():
    first, *others = replay(FOLDER / "unsynchronised-mirror-promoted.yaml")["stops"]
    assert first["scene"]["rows"] == [] and first["movements"] == [] and first["happened"]["told"] == []
    assert [stop["verdict"]["tone"] for stop in others][-2:] == ["well", "lost"]


def test_loss_is_shown_with_the_change_that_prevents_it():
    played = replay(FOLDER / "unsynchronised-mirror-promoted.yaml")
    assert "ha-sync-mode: automatic" in [one["what"] for one in played["kept"]]
    assert replay(FOLDER / "synchronised-mirror-promoted.yaml")["kept"] == []


def test_links_lead_to_the_stop_after_their_step():
    played = replay(FOLDER / "unsynchronised-mirror-promoted.yaml")
    (links,) = played["stops"][-1]["chains"]
    led_to = [played["done"][link["position"] - 1] for link in links]
    assert dict(zip([link["text"] for link in links], led_to, strict=True))["a was killed"] == "kill a"
    assert all(not stop["chains"] or stop["chains"][0] != links for stop in played["stops"][:-2])


def test_quorum_queue_has_its_log():
    stops = replay(FOLDER / "quorum-leader-killed.yaml")["stops"]
    assert any(log for log in stops[-1]["logs"].values())


def test_most_important_mark_represents_a_step():
    assert mark([{"event": "promoted"}, {"event": "messages_lost"}, {"event": "node_killed"}]) == "lost"
    assert mark([{"event": "node_running"}]) == ""
    played = replay(FOLDER / "quorum-leader-killed.yaml")
    marks = dict(zip(["", *played["done"]], [stop["mark"] for stop in played["stops"]], strict=True))
    checked = next(step for step in played["done"] if step.startswith("check orders (state, members, online"))
    assert (marks["kill a"], marks[checked]) == ("fault", "")
